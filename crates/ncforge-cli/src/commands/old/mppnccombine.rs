//! `mppnccombine [options] OUT [TILE…]`

use std::path::PathBuf;

use ncforge::model::Format;
use ncforge::{Dataset, Schema};
use ncforge_ops::combine::{CombineRequest, Differing, Holes, SchemeName};
use ncforge_ops::copy::{CodecName, CodingRequest, RunRequest};
use ncforge_ops::request::{FormatChoice, Size};

use super::hints::Hints;
use super::{Translated, Words, budget_for, record_bytes};
use crate::args::OldArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

const USAGE: &str = "mppnccombine [-v] [-V] [-M] [-f] [-a] [-r] [-n START] [-k BLOCKING] [-e END] [-h HEADERPAD] [-64] \
                     [-n4] [-d LEVEL] [-s] [-m] [-x] OUT.nc [TILE …]";

const HINTS: Hints = Hints {
    missing: "give all tiles; -f fills the places of those that are not there",
    unlike: "give all tiles of one run and one date; `ncforge info TILE` shows what each is",
    exists: "remove it, or name another output; -a puts the tiles into it",
    format: "-n4 writes netCDF-4, which holds more",
};

/// Bytes behind the header, unless `-h` says otherwise.
const PADDING: u64 = 16384;
/// Records that `-k` may ask for at a time.
const MOST_BLOCKING: u64 = 100;

/// Runs the command.
pub(crate) fn run(args: &OldArgs, cx: &Context<'_>) -> Result {
    let mut words = Words::new("mppnccombine", USAGE, &args.words);
    let (mut verbose, mut peak, mut force, mut remove, mut dry) = (false, false, false, false, false);
    let (mut start, mut end): (u64, Option<u64>) = (0, None);
    let (mut format, mut level, mut shuffle): (Option<Format>, Option<u64>, bool) = (None, None, false);
    let (mut append, mut blocking, mut padding) = (false, None, PADDING);
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-v" => verbose = true,
            "-V" => {
                cx.printer.line(format_args!("mppnccombine by ncforge {}", env!("CARGO_PKG_VERSION")));
                return Ok(Exit::Ok);
            }
            "-M" => peak = true,
            "-f" => force = true,
            "-a" => append = true,
            "-r" => remove = true,
            "-n" => start = words.number(word)?,
            "-e" => end = Some(words.number(word)?),
            "-k" => blocking = Some(words.number(word)?),
            "-h" => padding = words.number(word)?,
            "-64" => format = Some(Format::Cdf2),
            "-n4" => format = Some(Format::Netcdf4Classic),
            "-d" => level = Some(words.number(word)?),
            "-s" => shuffle = true,
            // Holes hold the missing value, or zero where there is none, in any case.
            "-m" => {}
            "-x" => dry = true,
            "--help" => {
                cx.printer.line(words.help(
                    "mppnccombine -n4 ocean.nc ocean.nc.????",
                    "An existing output is an error without -a.",
                ));
                return Ok(Exit::Ok);
            }
            other if other.starts_with('-') => {
                return Err(words.wrong(format!("`{other}` is not one of its options")));
            }
            file => files.push(file.into()),
        }
    }
    if level.is_some_and(|l| l > 9) {
        return Err(words.wrong("-d takes a level from 0 to 9"));
    }
    let Some((output, given)) = files.split_first() else { return Err(words.wrong("an output is needed")) };
    let tiles = if given.is_empty() { numbered(output, start, end)? } else { given.to_vec() };
    if blocking.is_some_and(|k| k > MOST_BLOCKING) {
        return Err(words.wrong(format!("-k takes a number from 0 to {MOST_BLOCKING}")));
    }
    let tile = Dataset::open(&tiles[0])?;
    let first = tile.schema().format;
    let memory = blocking.map(|k| blocked(tile.schema(), tiles.len() as u64, k));
    let format = match (format, level) {
        (Some(Format::Cdf2), Some(_)) => return Err(words.wrong("-64 and -d exclude each other")),
        (Some(f), _) => Some(f),
        // The file that the tiles are put into keeps its own.
        (None, _) if append => None,
        (None, Some(_)) if first.is_classic() => Some(Format::Netcdf4Classic),
        (None, _) if first == Format::Cdf1 => Some(Format::Cdf2),
        _ => None,
    };
    let request = CombineRequest {
        scheme: SchemeName::Fms,
        differing: Differing::First,
        holes: Holes::Missing,
        allow_missing: force,
        append,
        delete_tiles: remove,
        coding: CodingRequest {
            format: FormatChoice(format),
            codec: if level.is_some() { CodecName::Deflate } else { CodecName::Keep },
            level: level.map(|l| l as u32),
            shuffle: level.is_some().then_some(shuffle),
            ..CodingRequest::default()
        },
        header_space: Some(Size(padding)),
        run: RunRequest { overwrite: append, ..RunRequest::default() },
        ..CombineRequest::default()
    };
    let asked = Translated {
        tiles,
        exact: true,
        output: output.clone(),
        request,
        hints: &HINTS,
        memory,
        threads: None,
        verbose,
        silent: false,
        show: false,
        dry,
    };
    let done = super::run(&asked, cx)?;
    if peak {
        cx.printer.note(format_args!("mppnccombine: {} KiB of memory at most", peak_kib()));
    }
    Ok(done)
}

/// The memory for `k` records of all variables at a time; with 0 as many as there are, and never more than that.
fn blocked(tile: &Schema, tiles: u64, k: u64) -> u64 {
    let record: u64 = tile.var_ids().filter_map(|v| record_bytes(tile, v)).fold(0, u64::saturating_add);
    let records = tile.dims.iter().filter(|d| d.unlimited).map(|d| d.len).max().unwrap_or(1);
    let most = records.min(MOST_BLOCKING);
    let k = if k == 0 { most } else { k.min(most) };
    budget_for(record.saturating_mul(tiles).saturating_mul(k))
}

/// The tiles `OUT.NNNN` (or six digits) from a number on, to another if there is one.
fn numbered(output: &std::path::Path, start: u64, end: Option<u64>) -> Result<Vec<PathBuf>> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder =
        output.parent().filter(|p| !p.as_os_str().is_empty()).map_or(PathBuf::from("."), PathBuf::from);
    let fail = |e| Failure::from(ncforge::Error::io(ncforge::Op::Open, folder.display().to_string(), e));
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let other = entry.file_name().to_string_lossy().into_owned();
        let digits = other.strip_prefix(&name).and_then(|r| r.strip_prefix('.')).unwrap_or("");
        if !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && let Ok(number) = digits.parse::<u64>()
            && number >= start
            && end.is_none_or(|e| number <= e)
        {
            found.push((number, output.with_file_name(other)));
        }
    }
    found.sort();
    if found.is_empty() {
        let e = std::io::Error::new(std::io::ErrorKind::NotFound, "there are no such tiles");
        return Err(ncforge::Error::io(ncforge::Op::Open, format!("{name}.{start:04}"), e).into());
    }
    Ok(found.into_iter().map(|f| f.1).collect())
}

/// The most memory that the process had.
fn peak_kib() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a plain system call that writes into our own structure, which is valid when it is all zeros.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init().ru_maxrss
    }
}
