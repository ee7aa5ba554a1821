//! Properties that must be equal in files that are joined.

use super::gather::{FileArrays, FileVar};
use super::options::POLICY;
use crate::series;
use crate::words::shape;
use ncforge::model::agreement::{Class, Verdict, same_words};
use ncforge::{Error, Result};

/// Checks that a file can be joined to the first one.
pub(super) fn check(first: (&str, &FileArrays), other: (&str, &FileArrays), along: &str) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::CannotJoin { file: other.0.to_owned(), to: format!("to `{}`", first.0), why: what })
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
    files[0].vars.iter().filter(|v| v.ends.is_some()).try_for_each(|v| {
        let ends = |file: &FileArrays| file.vars.iter().find(|own| own.path == v.path)?.ends;
        let known: Vec<_> =
            names.iter().zip(files).filter_map(|(name, file)| Some((name.as_str(), ends(file)?))).collect();
        series::check_order(&v.path, &known, |x| x.to_string())
    })
}

/// A variable by path; variables of equal files have equal numbers.
pub(super) fn find<'a>(file: &'a FileArrays, path: &str, at: usize) -> Option<&'a FileVar> {
    let same = file.vars.get(at).filter(|v| v.path == path);
    same.or_else(|| file.vars.iter().find(|v| v.path == path))
}

/// Whether two JSON texts of an attribute mean the same in other words.
fn means_same(name: &str, a: &Option<String>, b: &Option<String>) -> bool {
    let text = |t: &Option<String>| t.as_ref().map_or(Some(String::new()), |t| serde_json::from_str(t).ok());
    text(a).zip(text(b)).is_some_and(|(a, b)| same_words(name, &a, &b))
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
    let fill = |v: &FileVar| v.kind.as_ref().map_or_else(|_| v.fill.clone(), |kind| kind.one_nan(&v.fill));
    if fill(a) != fill(b) && (a.has_unwritten() || b.has_unwritten()) {
        let text = |v: &FileVar| format!("{:?}", v.fill);
        return found("the value (bytes) of what was never written", text(b), text(a));
    }
    let names = a.attrs.iter().chain(&b.attrs).map(|(name, _)| name);
    for name in names.filter(|name| POLICY.verdict(Class::of_variable(name)) == Verdict::Refuse) {
        let text = |v: &FileVar| v.attrs.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone());
        let (is, was) = (text(b), text(a));
        if is != was && !means_same(name, &is, &was) {
            let word = |t: Option<String>| t.unwrap_or_else(|| "missing".into());
            return found(&format!("`{name}`"), word(is), word(was));
        }
    }
    let (Some(x), Some(y)) = (a.digest, b.digest) else { return None };
    (x != y).then(|| {
        (format!("the content, which does not lie along `{along}`,"), "different".into(), "the same".into())
    })
}
