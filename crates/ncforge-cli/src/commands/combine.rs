//! `ncforge combine`

pub(crate) mod report;

use ncforge::Error;
use ncforge_ops::combine::{
    CombineOptions, Differing, GenericScheme, Holes, Placement, SchemeChoice, TileChunks, combine, plan,
};
use ncforge_ops::copy::{ChunkSpec, CopyOptions, partial_path};

use super::options::{copying, format, only};
use super::{Context, page};
use crate::args::{CombineArgs, DifferingArg, HolesArg, SchemeArg, TileChunksArg};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(args: &CombineArgs, cx: &Context<'_>) -> Result {
    let options = options(args, cx)?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    let progress = cx.printer.progress("combine");
    if args.run.dry_run {
        let plan = plan(&args.tiles, &args.output, &options, &engine)?;
        progress.finish();
        report::plan(&plan, args.told.json, cx.printer);
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    let done = combine(&args.tiles, &args.output, &options, &engine, &progress);
    progress.finish();
    match done {
        Ok(r) => {
            report::done(&r, args.told.json, cx.printer);
            Ok(Exit::Ok)
        }
        Err(e @ Error::Interrupted(_)) => Err(Failure {
            hint: format!(
                "what is done is kept: --resume goes on; to give up, remove `{}`",
                partial_path(&args.output).display()
            ),
            ..Failure::from(e)
        }),
        Err(e) => Err(e.into()),
    }
}

fn options(args: &CombineArgs, cx: &Context<'_>) -> Result<CombineOptions> {
    let scheme = match args.scheme {
        SchemeArg::Auto => SchemeChoice::Auto,
        SchemeArg::Nemo => SchemeChoice::Nemo,
        SchemeArg::Fms => SchemeChoice::Fms,
        SchemeArg::Roms => SchemeChoice::Roms,
        SchemeArg::Wrf => SchemeChoice::Wrf,
        SchemeArg::Mitgcm => SchemeChoice::Mitgcm,
        SchemeArg::Generic => generic(args)?,
    };
    let is_placed = !args.place.is_empty() || args.names.is_some();
    if is_placed && !matches!(scheme, SchemeChoice::Generic(_)) {
        return Err(Failure::usage("--place and --names go with --scheme generic", "add --scheme generic"));
    }
    let chunks = match &args.chunks {
        TileChunksArg::Auto => TileChunks::Auto,
        TileChunksArg::Tiles => TileChunks::Tiles,
        TileChunksArg::Keep => TileChunks::Keep,
        TileChunksArg::Spec(text) => TileChunks::Spec(ChunkSpec::parse(text).map_err(|e| {
            Failure::usage(
                e.to_string(),
                "write auto, tiles, keep, time/365,lat/40,lon/40 (dimensions) or sst:365,40,40 (a variable)",
            )
        })?),
    };
    Ok(CombineOptions {
        scheme,
        holes: match args.holes {
            HolesArg::Fill => Holes::Fill,
            HolesArg::Zero => Holes::Zero,
            HolesArg::Error => Holes::Error,
        },
        allow_missing: args.allow_missing,
        allow_ragged: args.allow_ragged,
        differing: match args.differing {
            DifferingArg::Error => Differing::Error,
            DifferingArg::First => Differing::First,
        },
        into_existing: args.append.then(|| args.output.clone()),
        begin_with: 0,
        coords: args.coords.clone(),
        records: args.times.map(|t| (t.0, t.1)),
        chunks,
        delete_tiles: args.delete_tiles,
        copy: CopyOptions {
            format: format(args.format),
            only: only(&args.only),
            overwrite: args.told.overwrite || args.append,
            ..copying(&args.coding, &args.run, &args.told, cx)?
        },
    })
}

fn generic(args: &CombineArgs) -> Result<SchemeChoice> {
    let hint = "as --place x=attr:ibegin,base:1 --place y=tile:j --names 'out_{j}.nc'";
    if args.place.is_empty() {
        return Err(Failure::usage("--scheme generic needs --place for every split dimension", hint));
    }
    let placements = args
        .place
        .iter()
        .map(|p| Placement::parse(p).map_err(|e| Failure::usage(e.to_string(), hint)))
        .collect::<Result<_>>()?;
    Ok(SchemeChoice::Generic(GenericScheme { placements, pattern: args.names.clone() }))
}
