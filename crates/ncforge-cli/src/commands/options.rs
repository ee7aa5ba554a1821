//! What arguments that several commands take mean to the library.

use std::time::Duration;

use ncforge::model::Format;
use ncforge_ops::copy::{Codec, CopyOptions, Names, history_line};
use ncforge_ops::tune::codec::Goal;
use ncforge_ops::tune::{Machine, StorageKind};

use super::Context;
use crate::args::{CodecArg, CodecArgs, FormatArg, GoalArg, OnlyArgs, RunArgs, StorageArg, WrittenArgs};
use crate::exit::{Failure, Result};

/// The options of a copy that these arguments give; the others are the defaults.
pub(crate) fn copying(
    codec: &CodecArgs,
    run: &RunArgs,
    output: &WrittenArgs,
    cx: &Context<'_>,
) -> Result<CopyOptions> {
    Ok(CopyOptions {
        history: (!run.no_history).then(|| history_line(&cx.command_line())),
        overwrite: output.overwrite,
        resume: run.resume,
        checkpoint: Duration::try_from_secs_f64(run.checkpoint).map_err(|e| {
            Failure::usage(format!("--checkpoint {}: {e}", run.checkpoint), "a number of seconds")
        })?,
        verify: run.verify,
        ..coding(codec)?
    })
}

/// The same of arguments about compression alone.
pub(crate) fn coding(args: &CodecArgs) -> Result<CopyOptions> {
    let codec = match args.codec {
        CodecArg::Keep => Codec::Keep,
        CodecArg::None => Codec::None,
        CodecArg::Deflate => Codec::Deflate,
        CodecArg::Zstd => Codec::Zstd,
        CodecArg::Auto => Codec::Auto {
            goal: match args.goal {
                None | Some(GoalArg::Balanced) => Goal::Balanced,
                Some(GoalArg::FastRead) => Goal::FastRead,
                Some(GoalArg::Small) => Goal::Small,
            },
            zstd: args.allow_zstd,
        },
    };
    if args.codec != CodecArg::Auto && (args.goal.is_some() || args.allow_zstd) {
        return Err(Failure::usage("--goal and --allow-zstd go with --codec auto", "add --codec auto"));
    }
    let options = CopyOptions { codec, level: args.level, ..CopyOptions::default() };
    options.check().map_err(Failure::usage_of)?;
    Ok(options)
}

/// The variables that were named; `None`: all.
pub(super) fn only(args: &OnlyArgs) -> Option<Names> {
    (!args.vars.is_empty()).then(|| Names { vars: args.vars.clone(), groups: Vec::new() })
}

/// The user's machine, with files on the storage that was named.
pub(super) fn machine_on(storage: Option<StorageArg>) -> Machine {
    let user = Machine::of_user();
    match storage {
        None => user,
        Some(StorageArg::Local) => user.on(StorageKind::Local),
        Some(StorageArg::Nfs) => user.on(StorageKind::Nfs),
        Some(StorageArg::Object) => user.on(StorageKind::Object),
    }
}

/// The format that an argument means; `None`: the input's.
pub(crate) fn format(arg: FormatArg) -> Option<Format> {
    match arg {
        FormatArg::Keep => None,
        FormatArg::Classic => Some(Format::Cdf1),
        FormatArg::Cdf2 => Some(Format::Cdf2),
        FormatArg::Cdf5 => Some(Format::Cdf5),
        FormatArg::Netcdf4 => Some(Format::Netcdf4),
        FormatArg::Netcdf4Classic => Some(Format::Netcdf4Classic),
    }
}
