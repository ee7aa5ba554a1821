//! `rebuild_nemo [options] FILEBASE NDOMAIN [DIM1 DIM2]`, or with a namelist `&nam_rebuild`.

use std::path::{Path, PathBuf};

use ncforge::model::Format;
use ncforge::ops::combine::{CombineOptions, Differing, SchemeChoice, TileChunks};
use ncforge::ops::copy::{ChunkSpec, Codec, CopyOptions};
use ncforge::{Dataset, Error};

use super::{Request, Words};
use crate::args::OldArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

const USAGE: &str = "rebuild_nemo [-l ARCH] [-p] [-s SLICES] [-m] [-i] [-n NAMELIST] [-r MEM] [-d LEVEL] [-x N] [-y N] \
                     [-z N] [-t N] [-c CACHE] [-o FIRST] FILEBASE NDOMAIN [DIM1 DIM2]";

/// What is asked.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    base: Option<String>,
    tiles: Option<u64>,
    dims: Vec<String>,
    level: Option<u64>,
    /// x, y, z, t.
    chunks: [Option<u64>; 4],
    first: u64,
    verbose: bool,
}

/// Runs the command.
pub(crate) fn run(args: &OldArgs, cx: &Context<'_>) -> Result {
    let mut words = Words::new("rebuild_nemo", USAGE, &args.words);
    let mut asked = Asked::default();
    let mut namelist: Option<PathBuf> = None;
    let mut rest: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        match word {
            // The machine that the original was built for, and its memory: nothing of that is in the result.
            "-l" | "-r" | "-c" => drop(words.value(word)?),
            "-s" => drop(words.number(word)?),
            // Holes hold the missing value in any case.
            "-m" => {}
            "-p" | "-i" => asked.verbose = true,
            "-n" => namelist = Some(words.value(word)?.into()),
            "-d" => asked.level = Some(words.number(word)?),
            "-x" => asked.chunks[0] = Some(words.number(word)?),
            "-y" => asked.chunks[1] = Some(words.number(word)?),
            "-z" => asked.chunks[2] = Some(words.number(word)?),
            "-t" => asked.chunks[3] = Some(words.number(word)?),
            "-o" => asked.first = words.number(word)?,
            "-h" | "--help" => {
                cx.printer.line(format_args!("usage: {USAGE}"));
                return Ok(Exit::Ok);
            }
            other if other.starts_with('-') => {
                return Err(words.wrong(format!("`{other}` is none of its options")));
            }
            other => rest.push(other),
        }
    }
    match rest[..] {
        [] => {}
        // The program behind the script takes the namelist itself.
        [one] if Path::new(one).is_file() => namelist = Some(one.into()),
        [base, n, ref dims @ ..] => {
            asked.base = Some(base.into());
            asked.tiles =
                Some(n.parse().map_err(|_| words.wrong(format!("NDOMAIN is a number, not `{n}`")))?);
            asked.dims = dims.iter().map(|d| (*d).to_owned()).collect();
        }
        [_] => return Err(words.wrong("FILEBASE and NDOMAIN are needed")),
    }
    if let (Some(path), None) = (&namelist, &asked.base) {
        let text =
            std::fs::read_to_string(path).map_err(|e| Error::io("open", path.display().to_string(), e))?;
        read_namelist(&text, &mut asked)
            .map_err(|what| words.wrong(format!("{}: {what}", path.display())))?;
    }
    let (Some(base), Some(n)) = (&asked.base, asked.tiles) else {
        return Err(words.wrong("FILEBASE and NDOMAIN are needed"));
    };
    if asked.level.is_some_and(|l| l > 9) {
        return Err(words.wrong("the deflate level is 0 to 9"));
    }
    let tiles = tiles(base, asked.first, n)?;
    let options = options(&asked, &tiles[0])?;
    let output = PathBuf::from(format!("{base}.nc"));
    let request =
        Request { tiles, output, options, verbose: asked.verbose, silent: false, show: false, dry: false };
    super::run(&request, cx)
}

/// The tiles `BASE_NNNN.nc`, of whatever width, from a number on.
fn tiles(base: &str, first: u64, n: u64) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for rank in first..first.saturating_add(n) {
        let found =
            (4..=8).chain(1..4).map(|w| PathBuf::from(format!("{base}_{rank:0w$}.nc"))).find(|p| p.exists());
        out.push(found.ok_or_else(|| {
            let e = std::io::Error::from(std::io::ErrorKind::NotFound);
            Failure::from(Error::io("open", format!("{base}_{rank:04}.nc"), e))
        })?);
    }
    match out.is_empty() {
        true => Err(Failure::usage("rebuild_nemo: NDOMAIN is 0", format!("usage: {USAGE}"))),
        false => Ok(out),
    }
}

fn options(asked: &Asked, tile: &Path) -> Result<CombineOptions> {
    let source = Dataset::open(tile)?;
    let schema = source.schema();
    for dim in &asked.dims {
        if schema.find_dim(ncforge::Schema::ROOT, dim).is_none() {
            let path = tile.display().to_string();
            return Err(Error::NotFound { kind: "dimension", name: dim.clone(), path }.into());
        }
    }
    let mut chunks = TileChunks::Auto;
    if asked.chunks.iter().any(Option::is_some) {
        // Which dimensions are meant follows from the variable with the most dimensions, one with records if there is
        // one: t, z, y, x from the slowest.
        let records = |v: &ncforge::Variable| v.dims.iter().any(|d| schema.dim(*d).unlimited);
        let widest = schema.vars.iter().max_by_key(|v| (records(v), v.dims.len()));
        let names: Vec<(String, bool)> = widest
            .map(|v| {
                v.dims.iter().rev().map(|d| (schema.dim(*d).name.clone(), schema.dim(*d).unlimited)).collect()
            })
            .unwrap_or_default();
        let mut spec = ChunkSpec::default();
        for (i, len) in asked.chunks.iter().enumerate() {
            let name = match i {
                3 => names.iter().find(|n| n.1),
                i => names.get(i).filter(|n| !n.1),
            };
            if let (Some(len), Some((name, _))) = (len, name) {
                spec.dims.push((name.clone(), Some((*len).max(1))));
            }
        }
        chunks = TileChunks::Spec(spec);
    }
    let deflates = asked.level.is_some_and(|l| l > 0);
    let format = match schema.format {
        f if f.is_classic() && (deflates || asked.chunks.iter().any(Option::is_some)) => {
            Some(Format::Netcdf4)
        }
        Format::Cdf1 => Some(Format::Cdf2),
        _ => None,
    };
    let codec = match asked.level {
        None => Codec::Keep,
        Some(0) => Codec::None,
        Some(_) => Codec::Deflate,
    };
    Ok(CombineOptions {
        scheme: SchemeChoice::Nemo,
        differing: Differing::First,
        chunks,
        copy: CopyOptions {
            format,
            codec,
            level: asked.level.filter(|l| *l > 0).map(|l| l as u32),
            overwrite: true,
            ..CopyOptions::default()
        },
        ..CombineOptions::default()
    })
}

/// Reads the values of `&nam_rebuild … /`.
fn read_namelist(text: &str, asked: &mut Asked) -> std::result::Result<(), String> {
    let lower = text.to_lowercase();
    let from = lower.find("&nam_rebuild").ok_or("there is no namelist &nam_rebuild")? + "&nam_rebuild".len();
    let mut body = String::new();
    for line in text[from..].lines() {
        if line.trim() == "/" || line.trim().to_lowercase() == "&end" {
            break;
        }
        body.push_str(line.split('!').next().unwrap_or(""));
        body.push('\n');
    }
    // `key = value` pairs, separated by commas or line ends; values may be lists.
    let mut key = String::new();
    for line in body.lines() {
        let mut part = line.trim();
        if let Some((name, value)) = part.split_once('=') {
            key = name.trim().to_lowercase();
            part = value;
        }
        for value in part.split(',').map(|v| v.trim().trim_matches(['\'', '"'])).filter(|v| !v.is_empty()) {
            let number = || value.parse::<u64>().map_err(|_| format!("{key} is a number, not `{value}`"));
            match key.as_str() {
                "filebase" => asked.base = Some(value.to_owned()),
                "ndomain" => asked.tiles = Some(number()?),
                "dims" => asked.dims.push(value.to_owned()),
                "deflate_level" => asked.level = Some(number()?),
                "nc4_xchunk" => asked.chunks[0] = Some(number()?),
                "nc4_ychunk" => asked.chunks[1] = Some(number()?),
                "nc4_zchunk" => asked.chunks[2] = Some(number()?),
                "nc4_tchunk" => asked.chunks[3] = Some(number()?),
                "ifstart" => asked.first = number()?,
                "nslicesize" | "l_maskout" | "fchunksize" | "l_timestamp" | "ndigits" | "l_verbose" => {}
                other => return Err(format!("`{other}` is no variable of nam_rebuild")),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namelist_is_read() {
        let mut asked = Asked::default();
        let text = "! made by hand\n&nam_rebuild\n filebase='run/ORCA_restart'\n ndomain=16 ! tiles\n dims='x','y'\n \
                    l_maskout=.true.\n deflate_level=1,\n nc4_xchunk=206\n/\n&other\n/\n";
        read_namelist(text, &mut asked).unwrap();
        let want = Asked {
            base: Some("run/ORCA_restart".into()),
            tiles: Some(16),
            dims: vec!["x".into(), "y".into()],
            level: Some(1),
            chunks: [Some(206), None, None, None],
            ..Asked::default()
        };
        assert_eq!(asked, want);
        assert!(read_namelist("&nam_other /", &mut asked).is_err());
        assert!(read_namelist("&nam_rebuild\n what=1\n/", &mut asked).is_err());
    }
}
