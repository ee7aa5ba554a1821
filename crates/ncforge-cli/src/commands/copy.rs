//! `ncforge copy`

pub(crate) mod report;

use ncforge::codec::quantize::Quantize;
use ncforge::engine::Engine;
use ncforge::model::Endian;
use ncforge::{Dataset, Error};
use ncforge_ops::copy::{ChunkSpec, Chunks, CopyOptions, FilterSpec, copy, partial_path, plan};
use ncforge_ops::doctor::Profile;

use super::options::{copying, format, only};
use super::tune::choosing;
use super::{Context, page};
use crate::args::{ChunksArg, CopyArgs, EndianArg, ProfileArg};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(args: &CopyArgs, cx: &Context<'_>) -> Result {
    let options = options(args, cx)?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    if args.run.dry_run {
        let progress = cx.printer.progress("plan");
        let source = Dataset::open_with(&args.input, &engine)?;
        let plan = plan(&source, &options.for_output(&args.output), &engine)?;
        progress.finish();
        report::plan(&plan, args.told.json, cx.printer);
        return Ok(Exit::Ok);
    }
    copy_and_report(&args.input, &args.output, &options, &engine, args.told.json, cx)
}

/// Copies, shows progress, tells what was done.
fn copy_and_report(
    input: &std::path::Path,
    output: &std::path::Path,
    options: &CopyOptions,
    engine: &Engine,
    json: bool,
    cx: &Context<'_>,
) -> Result {
    interrupt::catch();
    let progress = cx.printer.progress("copy");
    let done = copy(input, output, options, engine, &progress);
    progress.finish();
    match done {
        Ok(report) => {
            report::done(&report, json, cx.printer);
            Ok(Exit::Ok)
        }
        Err(Error::Exists(path)) => {
            Err(Failure { hint: exists_hint(input, &path), ..Failure::from(Error::Exists(path)) })
        }
        Err(e @ Error::Io { .. }) if partial_path(output).exists() => Err(Failure {
            hint: format!(
                "what is done is kept: --resume goes on; to give up, remove `{}`",
                partial_path(output).display()
            ),
            ..Failure::from(e)
        }),
        Err(e) => Err(e.into()),
    }
}

fn exists_hint(input: &std::path::Path, output: &std::path::Path) -> String {
    let same = std::fs::canonicalize(input).ok() == std::fs::canonicalize(output).ok();
    match same {
        true => "it is the input itself; -O replaces it when the copy is complete".into(),
        false => "give -O to overwrite it".into(),
    }
}

fn options(args: &CopyArgs, cx: &Context<'_>) -> Result<CopyOptions> {
    let mut wanted = args.choosing.clone();
    let chunks = match &args.chunks {
        None if wanted.reads.is_some() => Chunks::Auto,
        None | Some(ChunksArg::Keep) => Chunks::Keep,
        Some(ChunksArg::Auto(None)) => Chunks::Auto,
        Some(ChunksArg::Auto(Some(_))) if wanted.reads.is_some() => {
            return Err(Failure::usage(
                "the reads are given twice",
                "write them behind --for, or behind auto:",
            ));
        }
        Some(ChunksArg::Auto(reads)) => {
            wanted.reads.clone_from(reads);
            Chunks::Auto
        }
        Some(ChunksArg::Spec(text)) => Chunks::Spec(ChunkSpec::parse(text).map_err(|e| {
            Failure::usage(
                e.to_string(),
                "write keep, auto, time/365,lat/40,lon/40 (dimensions) or sst:365,40,40 (a variable)",
            )
        })?),
    };
    let filters = args.filters.iter().map(|text| FilterSpec::parse(text)).collect::<ncforge::Result<_>>();
    Ok(CopyOptions {
        filters: filters.map_err(|e| Failure::usage(e.to_string(), "write v,shuffle|deflate,1 or v,none"))?,
        endian: match args.endian {
            EndianArg::Keep => None,
            EndianArg::Native => Some(Endian::Native),
            EndianArg::Little => Some(Endian::Little),
            EndianArg::Big => Some(Endian::Big),
        },
        skip_fill: args.skip_fill,
        quantize: match (args.keep_digits, args.keep_bits) {
            (Some(n), _) => Some(Quantize::GranularBitRound(n)),
            (None, n) => n.map(Quantize::BitRound),
        },
        unlimited_to_fixed: args.fix_unlimited,
        profile: args.profile.map(|ProfileArg::Cmip7| Profile::Cmip7),
        format: format(args.format()),
        chunks,
        choosing: choosing(&wanted, true)?,
        shuffle: match (args.shuffle, args.no_shuffle) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        fletcher32: args.fletcher32,
        only: only(&args.only),
        ..copying(&args.coding, &args.run, &args.told, cx)?
    })
}
