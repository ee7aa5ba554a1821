//! `rebuild_nemo [options] FILEBASE NDOMAIN [DIM1 DIM2]`, or with a namelist `&nam_rebuild`.

use std::path::{Path, PathBuf};

use ncforge::model::Format;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Schema};
use ncforge_ops::combine::{CombineRequest, Differing, Holes, SchemeName, TileChunks};
use ncforge_ops::copy::{ChunkSpec, CodecName, CodingRequest, RunRequest};
use ncforge_ops::request::{FormatChoice, Size};

use super::hints::OF_NEMO;
use super::{OVERWRITES, Translated, Words, budget_for, record_bytes};
use crate::args::OldArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

const USAGE: &str = "rebuild_nemo [-l ARCH] [-p] [-s SLICES] [-m] [-i] [-n NAMELIST] [-r MEM] [-d LEVEL] [-x N] [-y N] \
                     [-z N] [-t N] [-c CACHE] [-o FIRST] FILEBASE NDOMAIN [DIM1 DIM2]";

/// The request.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    base: Option<String>,
    tiles: Option<u64>,
    dims: Vec<String>,
    level: Option<u64>,
    /// x, y, z, t.
    chunks: [Option<u64>; 4],
    first: u64,
    /// Digits of the tiles' numbers, if that is said.
    digits: Option<u64>,
    /// Records of four-dimensional variables at a time; 0: all.
    slices: u64,
    /// Bytes: of all memory, and of the cache of chunks.
    memory: Option<u64>,
    cache: Option<u64>,
    threads: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &OldArgs, cx: &Context<'_>) -> Result {
    let mut words = Words::new("rebuild_nemo", USAGE, &args.words);
    let mut asked = Asked::default();
    let mut namelist: Option<PathBuf> = None;
    let mut rest: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-l" => {
                return Err(Failure::usage(
                    "rebuild_nemo: -l (a job on a compute node) is not done here",
                    "run the command, without -l, in a job of your own; -r bounds its memory",
                ));
            }
            "-r" => {
                let text = words.value(word)?;
                let size: Size = text.parse().map_err(|e| words.wrong(format!("-r {text}: {e}")))?;
                asked.memory = Some(size.0);
            }
            "-c" => asked.cache = Some(words.number(word)?),
            "-s" => asked.slices = words.number(word)?,
            // Holes hold the missing value, or zero where there is none, in any case.
            "-m" => {}
            // Time stamps in newer versions, a number of threads in older ones.
            "-p" => asked.threads = words.number_if_any().or(asked.threads),
            // The report is printed in any case.
            "-i" => {}
            "-n" => namelist = Some(words.value(word)?.into()),
            "-d" => asked.level = Some(words.number(word)?),
            "-x" => asked.chunks[0] = Some(words.number(word)?),
            "-y" => asked.chunks[1] = Some(words.number(word)?),
            "-z" => asked.chunks[2] = Some(words.number(word)?),
            "-t" => asked.chunks[3] = Some(words.number(word)?),
            "-o" => asked.first = words.number(word)?,
            "-h" | "--help" => {
                cx.printer.line(words.help("rebuild_nemo ORCA_grid_T 4", OVERWRITES));
                return Ok(Exit::Ok);
            }
            other if other.starts_with('-') => {
                return Err(words.wrong(format!("`{other}` is not one of its options")));
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
            std::fs::read_to_string(path).map_err(|e| Error::io(ncforge::Op::Open, shown_path(path), e))?;
        read_namelist(&text, &mut asked)
            .map_err(|what| words.wrong(format!("{}: {what}", shown_path(path))))?;
    }
    let (Some(base), Some(n)) = (&asked.base, asked.tiles) else {
        return Err(words.wrong("FILEBASE and NDOMAIN are needed"));
    };
    if asked.level.is_some_and(|l| l > 9) {
        return Err(words.wrong("the deflate level is 0 to 9"));
    }
    let tiles = tiles(base, &asked, n)?;
    let first = Dataset::open(&tiles[0])?;
    let request = request(&asked, &first)?;
    let memory = memory(&asked, first.schema(), n);
    let output = PathBuf::from(format!("{base}.nc"));
    let translated = Translated {
        tiles,
        exact: true,
        output,
        request,
        hints: &OF_NEMO,
        memory,
        threads: asked.threads.and_then(|n| usize::try_from(n).ok()),
        verbose: true,
        silent: false,
        show: false,
        dry: false,
    };
    super::run(&translated, cx)
}

/// The memory that all flags about it allow: `-r` says all of it, `-c` what chunks may take of it (a quarter), `-s` how
/// many records of the largest four-dimensional variable are in hand.
fn memory(asked: &Asked, tile: &Schema, tiles: u64) -> Option<u64> {
    let four = tile.var_ids().filter(|v| tile.var(*v).dims.len() == 4);
    let record = four.filter_map(|v| record_bytes(tile, v)).max();
    let slices = record
        .filter(|_| asked.slices > 0)
        .map(|bytes| budget_for(bytes.saturating_mul(tiles).saturating_mul(asked.slices)));
    [asked.memory, asked.cache.map(|c| c.saturating_mul(4)), slices].into_iter().flatten().min()
}

/// The tiles `BASE_NNNN.nc`, of the width that was said or of whatever width, from a number on.
fn tiles(base: &str, asked: &Asked, n: u64) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    let said = asked.digits.map(|d| d.min(20) as usize);
    for rank in asked.first..asked.first.saturating_add(n) {
        let widths = said.into_iter().chain((4..=8).chain(1..4).filter(|_| said.is_none()));
        let found = widths.map(|w| PathBuf::from(format!("{base}_{rank:0w$}.nc"))).find(|p| p.exists());
        out.push(found.ok_or_else(|| {
            let name = format!("{base}_{rank:0w$}.nc", w = said.unwrap_or(4));
            let hint = match out.len() {
                0 => {
                    "FILEBASE is what the names of the tiles have in common, up to the `_` before the number"
                        .into()
                }
                there => {
                    format!("{there} tiles before it are there; NDOMAIN is how many there are, {n} was given")
                }
            };
            Failure {
                class: None,
                message: format!("tile `{name}` is not there"),
                hint,
                exit: Exit::BadInput,
            }
        })?);
    }
    match out.is_empty() {
        true => Err(Failure::usage("rebuild_nemo: NDOMAIN is 0", format!("usage: {USAGE}"))),
        false => Ok(out),
    }
}

fn request(asked: &Asked, source: &Dataset) -> Result<CombineRequest> {
    let schema = source.schema();
    for dim in &asked.dims {
        if schema.find_dim(Schema::ROOT, dim).is_none() {
            return Err(schema.no_dimension("dimension", dim, &shown_path(source.path())).into());
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
        None => CodecName::Keep,
        Some(0) => CodecName::None,
        Some(_) => CodecName::Deflate,
    };
    Ok(CombineRequest {
        scheme: SchemeName::Nemo,
        differing: Differing::First,
        holes: Holes::Missing,
        chunks,
        coding: CodingRequest {
            format: FormatChoice(format),
            codec,
            level: asked.level.filter(|l| *l > 0).map(|l| l as u32),
            ..CodingRequest::default()
        },
        run: RunRequest { overwrite: true, ..RunRequest::default() },
        ..CombineRequest::default()
    })
}

/// A word of a namelist.
enum Token {
    /// Text in quotes, without them.
    Quoted(String),
    /// Anything else between separators.
    Bare(String),
    /// `=`
    Equals,
}

/// The words of a namelist up to its `/` or `&end`: separated by blanks, commas and line ends, comments behind `!` left out.
/// (Fortran 2018, §13.11; a `/` within a word is none of its ends here, so that paths need no quotes.)
fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' => break,
            '!' => while rest.next_if(|c| *c != '\n').is_some() {},
            '=' => found.push(Token::Equals),
            '\'' | '"' => {
                let mut word = String::new();
                while let Some(inner) = rest.next() {
                    // A quote that stands twice is one of the text.
                    if inner == c && rest.next_if_eq(&c).is_none() {
                        break;
                    }
                    word.push(inner);
                }
                found.push(Token::Quoted(word));
            }
            c if c == ',' || c.is_whitespace() => {}
            c => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| !matches!(c, ',' | '=' | '!') && !c.is_whitespace()) {
                    word.push(c);
                }
                if word.eq_ignore_ascii_case("&end") {
                    break;
                }
                found.push(Token::Bare(word));
            }
        }
    }
    found
}

/// Reads the values of `&nam_rebuild … /`.
fn read_namelist(text: &str, asked: &mut Asked) -> std::result::Result<(), String> {
    // Of ASCII alone: other letters may be longer in lower case, and what is found there would stand elsewhere here.
    let lower = text.to_ascii_lowercase();
    let from = lower.find("&nam_rebuild").ok_or("there is no namelist &nam_rebuild")? + "&nam_rebuild".len();
    let mut key = String::new();
    let mut rest = tokens(&text[from..]).into_iter().peekable();
    while let Some(token) = rest.next() {
        let value = match token {
            Token::Bare(name) if matches!(rest.peek(), Some(Token::Equals)) => {
                rest.next();
                key = name.to_lowercase();
                continue;
            }
            Token::Bare(value) | Token::Quoted(value) => value,
            Token::Equals => return Err("a `=` has no name before it".to_owned()),
        };
        if value.is_empty() {
            continue;
        }
        let number = || value.parse::<u64>().map_err(|_| format!("{key} is a number, not `{value}`"));
        match key.as_str() {
            "filebase" => asked.base = Some(value),
            "ndomain" => asked.tiles = Some(number()?),
            "dims" => asked.dims.push(value),
            "deflate_level" => asked.level = Some(number()?),
            "nc4_xchunk" => asked.chunks[0] = Some(number()?),
            "nc4_ychunk" => asked.chunks[1] = Some(number()?),
            "nc4_zchunk" => asked.chunks[2] = Some(number()?),
            "nc4_tchunk" => asked.chunks[3] = Some(number()?),
            "ifstart" => asked.first = number()?,
            "nslicesize" => asked.slices = number()?,
            "fchunksize" => asked.cache = Some(number()?),
            "ndigits" => asked.digits = Some(number()?),
            // As -p, -i and -m.
            "l_timestamp" | "l_verbose" | "l_maskout" => {}
            other => return Err(format!("`{other}` is no variable of nam_rebuild")),
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
        assert!(read_namelist("&nam_rebuild\n = 1\n/", &mut asked).is_err());
    }

    #[test]
    fn a_namelist_may_stand_in_one_line_and_behind_any_letters() {
        // Letters that are longer, and shorter, in lower case.
        for before in ["", "! İİİİ\n", "! \u{212a}\u{212a}é\n"] {
            let mut asked = Asked::default();
            let text =
                format!("{before}&NAM_REBUILD filebase='it''s / é', ndomain = 4 dims=x,'' l_verbose=T /");
            read_namelist(&text, &mut asked).unwrap();
            let want = Asked {
                base: Some("it's / é".into()),
                tiles: Some(4),
                dims: vec!["x".into()],
                ..Asked::default()
            };
            assert_eq!(asked, want);
        }
    }
}
