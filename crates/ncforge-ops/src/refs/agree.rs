//! Properties that must be equal in files that are joined.

use std::cmp::Ordering;

use super::gather::{FileArrays, FileVar, Inputs};
use crate::words::shape;
use ncforge::model::Schema;
use ncforge::{Error, Result};

/// Attributes that give stored numbers their meaning.
const MEANING: [&str; 9] = [
    "scale_factor",
    "add_offset",
    "missing_value",
    "_Unsigned",
    "units",
    "calendar",
    "flag_values",
    "flag_masks",
    "flag_meanings",
];

/// The dimension along which files are joined: the given one, else the unlimited one of the first file, else the first
/// whose length differs.
pub(super) fn dimension(inputs: &Inputs<'_>, schema: &Schema, given: Option<&str>) -> Result<String> {
    if let Some(name) = given {
        return match schema.dims.iter().any(|d| d.name == name) {
            true => Ok(name.to_owned()),
            false => Err(schema.no_dimension("dimension", name, &inputs.names[0])),
        };
    }
    if let Some(dim) = schema.dims.iter().find(|d| d.unlimited) {
        return Ok(dim.name.clone());
    }
    for i in 1..inputs.names.len() {
        let other = (inputs.open)(i)?;
        if let Some(name) = differing(schema, other.schema()) {
            return Ok(name);
        }
    }
    Err(Error::Invalid(
        "no dimension is unlimited, and none differs in length: name the one along which the files are joined".into(),
    ))
}

fn differing(a: &Schema, b: &Schema) -> Option<String> {
    let other = |name: &str| b.dims.iter().find(|d| d.name == name);
    a.dims.iter().find(|d| other(&d.name).is_some_and(|o| o.len != d.len)).map(|d| d.name.clone())
}

/// Checks that a file can be joined to the first one.
pub(super) fn check(first: (&str, &FileArrays), other: (&str, &FileArrays), along: &str) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::Invalid(format!("`{}` cannot be joined to `{}`: {what}", other.0, first.0)))
    };
    if let Some(var) = other.1.vars.iter().find(|v| find(first.1, &v.path, 0).is_none()) {
        return refuse(format!("only the former has the variable `{}`", var.path));
    }
    for (i, a) in first.1.vars.iter().enumerate() {
        let Some(b) = find(other.1, &a.path, i) else {
            return refuse(format!("the variable `{}` is missing", a.path));
        };
        if let Some((what, is, was)) = difference(a, b, along) {
            return refuse(format!("{what} of `{}` is {is}, not {was}", a.path));
        }
    }
    Ok(())
}

/// Checks that the coordinate of the joined dimension goes on, from file to file, in the direction that it has from the
/// first one on; in every group that has one.
pub(super) fn check_order(names: &[String], files: &[FileArrays]) -> Result<()> {
    let coordinates = files[0].vars.iter().filter(|v| v.ends.is_some());
    coordinates.into_iter().try_for_each(|v| check_order_of(names, files, &v.path))
}

fn check_order_of(names: &[String], files: &[FileArrays], along: &str) -> Result<()> {
    let ends = |file: &FileArrays| file.vars.iter().find(|v| v.path == along).and_then(|v| v.ends);
    let known: Vec<(&String, (f64, f64))> =
        names.iter().zip(files).filter_map(|(name, file)| Some((name, ends(file)?))).collect();
    let differs = |(a, b): (f64, f64)| a.partial_cmp(&b).filter(|o| o.is_ne()).map(Ordering::is_lt);
    // Files of one step each have a direction only among each other.
    let within = known.iter().find_map(|(_, ends)| differs(*ends));
    let between = || known.windows(2).find_map(|w| differs((w[0].1.1, w[1].1.0)));
    let rises = within.or_else(between).unwrap_or(true);
    for pair in known.windows(2) {
        let ((before, (_, end)), (after, (begin, _))) = (pair[0], pair[1]);
        let goes_on = if rises { end < begin } else { end > begin };
        // Values that are no numbers say nothing.
        if !goes_on && !end.is_nan() && !begin.is_nan() {
            return Err(Error::bad_option(
                "order",
                format!(
                    "`{after}` cannot follow `{before}`: there `{along}` ends at {end}, here it begins at {begin}"
                ),
            ));
        }
    }
    Ok(())
}

/// A variable by path; variables of equal files have equal numbers.
pub(super) fn find<'a>(file: &'a FileArrays, path: &str, at: usize) -> Option<&'a FileVar> {
    let same = file.vars.get(at).filter(|v| v.path == path);
    same.or_else(|| file.vars.iter().find(|v| v.path == path))
}

/// The first difference, in `b` and in `a`.
fn difference(a: &FileVar, b: &FileVar, along: &str) -> Option<(String, String, String)> {
    let found = |what: &str, is: String, was: String| Some((what.to_owned(), is, was));
    let name = |v: &FileVar| v.kind.as_ref().map_or_else(Clone::clone, |k| k.numpy());
    if a.kind != b.kind {
        return found("the type", name(b), name(a));
    }
    if a.members != b.members {
        let text = |v: &FileVar| v.members.clone().unwrap_or_else(|| "no enum".into());
        return found("the meaning of the numbers", text(b), text(a));
    }
    if a.dims != b.dims {
        return found("the list of dimensions", b.dims.join(", "), a.dims.join(", "));
    }
    let others = |v: &FileVar| -> Vec<u64> {
        (0..v.dims.len()).filter(|&d| v.dims[d] != along).map(|d| v.shape[d]).collect()
    };
    if others(a) != others(b) {
        return found("the shape", shape(&b.shape), shape(&a.shape));
    }
    if a.own_fill_text != b.own_fill_text {
        let text = |v: &FileVar| v.own_fill_text.clone().unwrap_or_else(|| "none".into());
        return found("`_FillValue`", text(b), text(a));
    }
    if a.fill != b.fill && (a.has_unwritten() || b.has_unwritten()) {
        let text = |v: &FileVar| format!("{:?}", v.fill);
        return found("the value (bytes) of what was never written", text(b), text(a));
    }
    for name in MEANING {
        let text = |v: &FileVar| v.attrs.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone());
        let (is, was) = (text(b), text(a));
        if is != was {
            let word = |t: Option<String>| t.unwrap_or_else(|| "missing".into());
            return found(&format!("`{name}`"), word(is), word(was));
        }
    }
    let (Some(x), Some(y)) = (a.digest, b.digest) else { return None };
    (x != y).then(|| {
        (format!("the content, which does not lie along `{along}`,"), "different".into(), "the same".into())
    })
}
