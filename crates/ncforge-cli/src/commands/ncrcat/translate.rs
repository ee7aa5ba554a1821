//! ncrcat's options as a [`ConcatRequest`].
//!
//! Reference: the manual of NCO 5, sections "Shared features" and "ncrcat", and where it is silent, what the program does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ncforge::model::{DimId, VarId};
use ncforge::{Format, Schema};
use ncforge_ops::combine::{ConcatRequest, Differing};
use ncforge_ops::copy::{
    ChunkChoice, ChunkSpec, CodecName, CodingRequest, CopyRequest, RunRequest, with_companions,
};
use ncforge_ops::request::{FormatChoice, Size};
use ncforge_ops::select::Selection;
use ncforge_tune::vocabulary::BadValue;

use crate::args::{List, NcrcatArgs};
use crate::exit::{Failure, Result};

/// The input files, and the output.
pub(super) fn files(args: &NcrcatArgs) -> Result<(Vec<PathBuf>, PathBuf), Failure> {
    let mut files = args.files.clone();
    let output = match &args.output {
        Some(output) => Some(output.clone()),
        None => files.pop(),
    };
    let (Some(output), false) = (output, files.is_empty()) else {
        return Err(Failure::usage("ncrcat: the name of the output is missing", "give it last, or with -o"));
    };
    if let Some(spec) = &args.numbered {
        files = match &files[..] {
            [first] => numbered(spec, first)?,
            _ => {
                return Err(Failure::usage(
                    "ncrcat: -n takes one file, the first",
                    "give the others no names",
                ));
            }
        };
    }
    if let Some(folder) = &args.folder {
        let has_folder = |file: &Path| file.parent().is_some_and(|p| !p.as_os_str().is_empty());
        files.iter_mut().filter(|file| !has_folder(file)).for_each(|file| *file = folder.join(&*file));
    }
    Ok((files, output))
}

/// The names that `-n NUMBER,DIGITS[,STEP]` means.
fn numbered(spec: &str, first: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong =
        |what: String| Failure::usage(format!("ncrcat: -n {spec}: {what}"), "write -n 12,2 or -n 12,2,1");
    let numbers: Option<Vec<u64>> = spec.split(',').map(|n| n.trim().parse().ok()).collect();
    let (many, width, step) = match numbers.as_deref() {
        Some(&[many, width]) => (many, width, 1),
        Some(&[many, width, step]) => (many, width, step),
        Some([_, _, _, _, ..]) => {
            return Err(wrong("names that begin anew after the largest number are not supported".into()));
        }
        _ => return Err(wrong("numbers are expected".into())),
    };
    let name = first.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let end = name.rfind(|c: char| c.is_ascii_digit()).map_or(0, |i| i + 1);
    let begin = usize::try_from(width).ok().and_then(|width| end.checked_sub(width));
    let digits =
        begin.and_then(|begin| name.get(begin..end)).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    let (Some(begin), Some(Ok(number))) = (begin, digits.map(str::parse::<u64>)) else {
        return Err(wrong(format!("`{name}` has no number of {width} digits at its end")));
    };
    let width = width as usize;
    (0..many)
        .map(|i| {
            let number = i.checked_mul(step).and_then(|n| n.checked_add(number));
            let number = number.ok_or_else(|| wrong("the numbers are too large".into()))?;
            let name = format!("{}{number:0width$}{}", &name[..begin], &name[end..]);
            Ok(first.with_file_name(name))
        })
        .collect()
}

/// The request of ncrcat's options, for the first of the files. Records come in the order of the files, and what has none is the first's.
pub(super) fn request(args: &NcrcatArgs, first: &Schema, history: String) -> Result<ConcatRequest, Failure> {
    refuse(args)?;
    if !first.dims.iter().any(|d| d.unlimited) {
        let hint = "`ncforge concat --along DIM` joins along another dimension";
        return Err(Failure::usage("ncrcat: the first file has no record dimension", hint));
    }
    let is_deflated = args.deflate.is_some_and(|level| level > 0);
    let codec = match args.deflate {
        Some(0) => CodecName::None,
        Some(_) => CodecName::Deflate,
        None => CodecName::Keep,
    };
    let (chunks, vars) = (chunks(args)?, variables(args, first)?);
    let is_chunked = is_deflated || chunks.is_some();
    Ok(ConcatRequest {
        unsorted: true,
        differing: Differing::First,
        copy: CopyRequest {
            coding: CodingRequest {
                format: FormatChoice(
                    args.digits
                        .format()
                        .or((is_chunked && first.format.is_classic()).then_some(Format::Netcdf4)),
                ),
                codec,
                level: args.deflate.filter(|_| is_deflated),
                ..CodingRequest::default()
            },
            chunks,
            min_chunked: args.min_chunked.map(Size),
            run: RunRequest {
                select: selection(args, first, &vars)?,
                vars: Some(vars.iter().map(|v| first.var_path(*v)).collect()),
                verify: args.verify,
                resume: args.resume,
                overwrite: args.overwrite,
                history: (!args.no_history).then_some(history),
                ..RunRequest::default()
            },
            ..CopyRequest::default()
        },
        ..ConcatRequest::default()
    })
}

/// The failure for options that would change the output, and that are not there.
fn refuse(args: &NcrcatArgs) -> Result<(), Failure> {
    if args.append {
        let hint = "write another file, and copy the variables with `ncks -A`";
        return Err(Failure::usage("ncrcat: -A (append) is not supported", hint));
    }
    Ok(())
}

/// `-d DIM,MIN,MAX,STRIDE`: indices from 0, both included, from the end below 0; values of the coordinate as they are stored where numbers have
/// a point or an exponent.
fn selection(args: &NcrcatArgs, first: &Schema, vars: &BTreeSet<VarId>) -> Result<Selection, Failure> {
    let mut all = Vec::new();
    for slab in &args.slabs {
        check_end(slab, first, vars)?;
        let selection = slab_as_selection(slab).map_err(|what| {
            let hint = "`ncforge concat --select` takes indices, values and dates; docs/reference/select.md";
            Failure::usage(format!("ncrcat: -d {slab}: {what}"), hint)
        })?;
        all.push(selection);
    }
    Ok(Selection::all(&all))
}

/// A failure where the last index lies beyond a dimension of variables that are joined. The number of records is that of all files: of
/// those, as with ncrcat, there may be fewer than were asked for.
fn check_end(slab: &str, first: &Schema, vars: &BTreeSet<VarId>) -> Result<(), Failure> {
    let parts: Vec<&str> = slab.split(',').map(str::trim).collect();
    let [name, _, max, ..] = parts[..] else { return Ok(()) };
    let Ok(last) = max.parse::<u64>() else { return Ok(()) };
    let along = first.dims.iter().position(|d| d.unlimited);
    let mut dims = vars.iter().flat_map(|v| &first.var(*v).dims).filter(|d| Some(d.0) != along);
    let short =
        dims.find(|d| first.dim(**d).name == name.trim_start_matches('/') && first.dim(**d).len <= last);
    match short.map(|d| first.dim(*d).len) {
        None => Ok(()),
        Some(len) => Err(Failure::usage(
            format!("ncrcat: -d {slab}: `{name}` has no index {last}, its length is {len}"),
            format!("`-d {name},{},` goes to the end", parts[1]),
        )),
    }
}

fn slab_as_selection(slab: &str) -> Result<Selection, String> {
    let parts: Vec<&str> = slab.split(',').map(str::trim).collect();
    let (dim, min, max, stride) = match parts[..] {
        [dim, only] => (dim, only, None, ""),
        [dim, min, max] => (dim, min, Some(max), ""),
        [dim, min, max, stride] => (dim, min, Some(max), stride),
        _ => return Err("DIM,MIN,MAX,STRIDE is expected".into()),
    };
    if dim.trim_matches('/').is_empty() {
        return Err("DIM is missing".into());
    }
    let given = || [Some(min), max].into_iter().flatten().filter(|text| !text.is_empty());
    let text = if given().any(|text| text.contains(['.', 'e', 'E']) && text.parse::<f64>().is_ok()) {
        let Some(max) = max else { return Err("the nearest of a value is not supported".into()) };
        let ends: Vec<f64> = given().filter_map(|text| text.parse().ok()).collect();
        if ends.len() != given().count() {
            return Err("MIN and MAX are not both values".into());
        }
        if !stride.is_empty() {
            return Err("a stride between values is not supported".into());
        }
        // As Rust writes numbers: NCO's `4.` would be a third dot.
        let shown = |text: &str| text.parse().map_or_else(|_| String::new(), |x: f64| format!("{x:?}"));
        format!("{dim}=={}..{}", shown(min), shown(max))
    } else {
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse::<i64>().map(Some).map_err(|_| format!("`{text}` is no index")),
        };
        let (first, last) = (number(min)?, number(max.unwrap_or(min))?);
        let shown = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
        if let (Some(min), Some(max)) = (first, last)
            && min > max
            && (min < 0) == (max < 0)
        {
            return Err("MIN lies behind MAX".into());
        }
        if number(stride)?.is_some_and(|stride| stride < 1) {
            return Err("STRIDE is below 1".into());
        }
        // The last index of all has none behind it.
        let end = last.filter(|last| *last != -1).map(|last| last.saturating_add(1));
        format!(
            "{dim}={}:{}{}",
            shown(first),
            shown(end),
            number(stride)?.map(|n| format!(":{n}")).unwrap_or_default()
        )
    };
    text.parse().map_err(|e: BadValue| e.to_string())
}

/// `--cnk_dmn` and `--cnk_plc`.
fn chunks(args: &NcrcatArgs) -> Result<Option<ChunkChoice>, Failure> {
    match args.chunk_policy.as_deref() {
        None | Some("g3d" | "cnk_g3d" | "plc_g3d" | "xst" | "cnk_xst" | "plc_xst") => {}
        Some("uck" | "cnk_uck" | "plc_uck" | "unchunk" | "none") => {
            return Ok(Some(ChunkChoice::Spec(ChunkSpec { unchunk: true, ..ChunkSpec::default() })));
        }
        Some(other) => {
            let hint = "the policies are xst and uck; --cnk_dmn says the lengths";
            return Err(Failure::usage(format!("ncrcat: --cnk_plc {other} is not supported"), hint));
        }
    }
    let mut spec = ChunkSpec::default();
    for text in &args.chunks {
        spec.add(&text.replace(',', "/"))
            .map_err(|e| Failure::usage(e.to_string(), "write --cnk_dmn time,365"))?;
    }
    Ok((!args.chunks.is_empty()).then_some(ChunkChoice::Spec(spec)))
}

/// `-v -x -c -C`: the variables, of those that the first file has; what only later files have is left out.
fn variables(args: &NcrcatArgs, first: &Schema) -> Result<BTreeSet<VarId>, Failure> {
    if args.vars.is_empty() {
        return Ok(first.var_ids().collect());
    }
    let mut chosen: BTreeSet<VarId> = BTreeSet::new();
    for name in &List::all(&args.vars) {
        let means = |v: &VarId| {
            first.var(*v).name == *name
                || first.var_path(*v).trim_start_matches('/') == name.trim_start_matches('/')
        };
        let found: Vec<VarId> = first.var_ids().filter(means).collect();
        if found.is_empty() {
            return Err(Failure::usage(
                format!("ncrcat: the first file has no variable `{name}`"),
                "`ncforge info` shows what is in it",
            ));
        }
        chosen.extend(found);
    }
    if args.exclude {
        chosen = first.var_ids().filter(|v| !chosen.contains(v)).collect();
    }
    if args.coordinates {
        chosen.extend(first.var_ids().filter(|v| first.coordinate_dim(*v).is_some()));
    }
    if !args.no_coordinates {
        chosen =
            if follows_cf(first) { with_companions(first, chosen) } else { with_coordinates(first, chosen) };
    }
    let is_unlimited = |v: &VarId| first.var(*v).dims.iter().any(|d| first.dim(*d).unlimited);
    if !chosen.iter().any(is_unlimited) {
        let hint = "name a variable that has them, or copy these from one file: `ncforge copy --vars`";
        return Err(Failure::usage("ncrcat: no variable that was chosen has records", hint));
    }
    Ok(chosen)
}

/// Whether NCO takes a file for one of the CF conventions, in which attributes name further coordinates and bounds.
fn follows_cf(schema: &Schema) -> bool {
    let attrs = schema.group(Schema::ROOT).attrs.iter();
    attrs.filter(|a| ["Conventions", "conventions"].contains(&a.name.as_str())).any(|a| {
        a.as_text().is_some_and(|text| ["CF-1", "CF1", "NCAR-CSM"].iter().any(|name| text.contains(name)))
    })
}

/// The variables with the coordinates of their dimensions.
fn with_coordinates(schema: &Schema, mut vars: BTreeSet<VarId>) -> BTreeSet<VarId> {
    let dims: BTreeSet<DimId> = vars.iter().flat_map(|v| schema.var(*v).dims.iter().copied()).collect();
    let is_theirs = |v: &VarId| schema.coordinate_dim(*v).is_some_and(|d| dims.contains(&d));
    vars.extend(schema.var_ids().filter(is_theirs));
    vars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperslabs_are_selections() {
        let same = |slab: &str, wanted: &str| {
            let wanted: Selection = wanted.parse().unwrap();
            assert_eq!(slab_as_selection(slab), Ok(wanted), "{slab}");
        };
        same("time,3,20", "time=3:21");
        same("time,3,-1", "time=3:");
        same("time,-3,-2", "time=-3:-1");
        same("time,5", "time=5:6");
        same("time,-1", "time=-1:");
        same("time,,,2", "time=::2");
        same("lat,-10.,10.5", "lat==-10..10.5");
        same("lat,,1e1", "lat==..10.0");
        same("lon,315.,45.", "lon==315..45");
        for bad in ["time", "time,x", "time,1,2,3,4", "lat,5.", "lat,1.,2.,2", "time,1,2,0"] {
            assert!(slab_as_selection(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_counted_on() {
        let names = |spec, first| {
            numbered(spec, Path::new(first))
                .map(|all| all.iter().map(|p| p.display().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(
            names("3,2", "d/month_09.nc").ok().unwrap(),
            ["d/month_09.nc", "d/month_10.nc", "d/month_11.nc"]
        );
        assert_eq!(names("2,4,10", "y1990").ok().unwrap(), ["y1990", "y2000"]);
        for (spec, first) in
            [("3", "a_1.nc"), ("3,2", "a_1.nc"), ("3,1,1,12,1", "a_1.nc"), ("x,1", "a_1.nc"), ("1,0", "a.nc")]
        {
            assert!(names(spec, first).is_err(), "{spec} {first}");
        }
    }
}
