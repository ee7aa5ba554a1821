//! What arguments that several commands take mean to the library.

use std::time::Duration;

use ncforge::model::Format;
use ncforge::ops::copy::{Codec, CopyOptions, Names, history_line};
use ncforge::tune::codec::Goal;
use ncforge::tune::{Machine, StorageKind};

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
    check_level(codec, args.level)?;
    Ok(CopyOptions { codec, level: args.level, ..CopyOptions::default() })
}

/// An error if a level makes no sense for a codec.
fn check_level(codec: Codec, level: Option<u32>) -> Result<()> {
    let Some(n) = level else { return Ok(()) };
    let (name, range) = match codec {
        Codec::Auto { .. } => {
            return Err(Failure::usage("--codec auto chooses the level, too", "leave --level away"));
        }
        Codec::Deflate => ("deflate", 0..=9),
        Codec::Zstd => ("zstd", 1..=22),
        Codec::Keep => ("keep", 0..=22),
        Codec::None => ("none", 0..=0),
    };
    if range.contains(&n) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("level {n} makes no sense with --codec {name}"),
        "deflate has levels 0 to 9, zstd 1 to 22",
    ))
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
