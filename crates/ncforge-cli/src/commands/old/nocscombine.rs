//! `nocscombine -f TILE -o OUT …`

use std::path::PathBuf;

use ncforge::Dataset;
use ncforge::model::Format;
use ncforge_ops::combine::{CombineRequest, Differing, SchemeName};
use ncforge_ops::copy::{CodingRequest, RunRequest};
use ncforge_ops::request::{FormatChoice, Times};

use super::hints::OF_NEMO;
use super::{OVERWRITES, Translated, Words};
use crate::args::OldArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};

const USAGE: &str = "nocscombine -f TILE_0000.nc -o OUT.nc [-d VAR,VAR] [-ts FIRST -te LAST] [-c COORDINATES.nc] \
                     [-n OFFSET] [-v] [-s] [-showhaloes]";

/// Runs the command.
pub(crate) fn run(args: &OldArgs, cx: &Context<'_>) -> Result {
    let mut words = Words::new("nocscombine", USAGE, &args.words);
    let (mut tile, mut output, mut coords): (Option<PathBuf>, Option<PathBuf>, Option<PathBuf>) =
        (None, None, None);
    let (mut first, mut last): (Option<u64>, Option<u64>) = (None, None);
    let mut vars: Vec<String> = Vec::new();
    let mut begin_with = 0;
    let (mut verbose, mut silent, mut show) = (false, false, false);
    while let Some(word) = words.next() {
        match word {
            "-f" => tile = Some(words.value(word)?.into()),
            "-o" => output = Some(words.value(word)?.into()),
            "-c" => coords = Some(words.value(word)?.into()),
            "-d" => vars
                .extend(words.value(word)?.split(',').map(|v| v.trim().to_owned()).filter(|v| !v.is_empty())),
            "-ts" => first = Some(words.number(word)?),
            "-te" => last = Some(words.number(word)?),
            // Where a task of a farm begins; the result is the same wherever that is.
            "-n" => begin_with = words.number(word)?,
            "-v" => verbose = true,
            "-s" => silent = true,
            "-showhaloes" => show = true,
            "-h" | "--help" => {
                cx.printer
                    .line(words.help("nocscombine -f ORCA_grid_T_0000.nc -o ORCA_grid_T.nc", OVERWRITES));
                return Ok(Exit::Ok);
            }
            other => return Err(words.wrong(format!("`{other}` is not one of its options"))),
        }
    }
    let (Some(tile), Some(output)) = (tile, output) else { return Err(words.wrong("-f and -o are needed")) };
    let source = Dataset::open(&tile)?;
    let schema = source.schema();
    let times = match (first, last) {
        (None, None) => None,
        (first, last) => {
            let records = schema.dims.iter().find(|d| d.unlimited).map_or(1, |d| d.len);
            let (first, last) = (first.unwrap_or(1), last.unwrap_or(records));
            if first == 0 || first > last {
                return Err(words.wrong(format!("records {first} to {last} (from 1) are no range")));
            }
            Some(Times(first - 1, last))
        }
    };
    let only = (!vars.is_empty()).then(|| {
        // The variables of the dimensions of those that were named, and the map's coordinates, come along.
        let named: Vec<_> = vars.iter().filter_map(|v| schema.find_var(v)).collect();
        let dims: Vec<&str> =
            named.iter().flat_map(|v| &schema.var(*v).dims).map(|d| schema.dim(*d).name.as_str()).collect();
        let more = schema
            .vars
            .iter()
            .map(|v| v.name.as_str())
            .filter(|n| dims.contains(n) || ["nav_lon", "nav_lat"].contains(n))
            .map(str::to_owned);
        let mut all: Vec<String> = vars.iter().cloned().chain(more).collect();
        all.sort();
        all.dedup();
        all
    });
    let format = (schema.format == Format::Cdf1).then_some(Format::Cdf2);
    let request = CombineRequest {
        scheme: SchemeName::Nemo,
        differing: Differing::First,
        coords,
        times,
        begin_with: usize::try_from(begin_with).unwrap_or(usize::MAX),
        coding: CodingRequest { format: FormatChoice(format), ..CodingRequest::default() },
        run: RunRequest { vars: only, overwrite: true, ..RunRequest::default() },
        ..CombineRequest::default()
    };
    let tiles = vec![tile];
    let asked = Translated {
        tiles,
        exact: false,
        output,
        request,
        hints: &OF_NEMO,
        memory: None,
        threads: None,
        verbose,
        silent,
        show,
        dry: false,
    };
    super::run(&asked, cx)
}
