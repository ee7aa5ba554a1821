//! `ncforge copy`

use std::path::{Path, PathBuf};

use clap::Args;
use ncforge_ops::copy::{CodingRequest, CopyRequest, Switches};
use ncforge_ops::doctor::Profile;
use ncforge_ops::request::{EndianChoice, RequestError, value};

use crate::exit::Failure;

use super::{ChoosingArgs, CodecArgs, FormatArgs, GlobalArgs, OnlyArgs, RunArgs, WrittenArgs, word};

/// Copy a file into another format, chunk shape or compression.
///
/// Memory stays within the budget whatever the file's size. The output appears under its name only when it is
/// whole. Without options the copy keeps everything as it is in the input. Several files, or one and a name that ends in `/`, are copied
/// into a folder under their own names; it is made if it is not there.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct CopyArgs {
    /// The file to copy, or several; and at the end the file to write, or the folder
    // One list: options may stand anywhere among the names.
    #[arg(value_name = "IN… OUT", required = true)]
    pub(super) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Chunk shapes: keep; auto, or auto:READS as for --for; or a specification such as `time/365,lat/40,lon/40` or
    /// `sst:365,40,40` [default: keep; auto with --for, --storage,
    /// --expect, --reader or --writer-memory]
    #[arg(long, value_name = "keep|auto[:READS]|SPEC")]
    pub(crate) chunks: Option<String>,
    #[command(flatten)]
    pub(crate) choosing: ChoosingArgs,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    /// Shuffle bytes before compression [default: yes, where numbers are longer than a byte]
    #[arg(long, overrides_with = "no_shuffle")]
    pub(crate) shuffle: bool,
    /// Do not shuffle
    #[arg(long, overrides_with = "shuffle")]
    pub(crate) no_shuffle: bool,
    /// Add access points to deflate chunks that have none and are worth them: only these are encoded again, all others are
    /// moved as they are
    #[arg(long)]
    pub(crate) add_access_points: bool,
    /// Add a checksum to every chunk
    #[arg(long)]
    pub(crate) fletcher32: bool,
    /// Filters of single variables, as nccopy -F takes them: `tas|pr,shuffle|deflate,1`, `v,none`; repeatable
    #[arg(long, value_name = "SPEC")]
    pub(crate) filters: Vec<String>,
    /// Round floats and doubles to so many significant decimal digits, so that they compress better; coordinates
    /// keep all of theirs. This changes values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=15), conflicts_with = "keep_bits")]
    pub(crate) keep_digits: Option<u32>,
    /// The same, to so many bits of the mantissa
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=52))]
    pub(crate) keep_bits: Option<u32>,
    /// Byte order of numbers in netCDF-4 output; enums keep theirs
    #[arg(long, value_parser = word::<EndianChoice>(), default_value = "keep")]
    pub(crate) endian: EndianChoice,
    /// Leave out chunks that hold nothing but the fill value; they read the same
    #[arg(long)]
    pub(crate) skip_fill: bool,
    /// Make unlimited dimensions fixed ones of their length
    #[arg(long)]
    pub(crate) fix_unlimited: bool,
    /// Refuse strings and integers that a classic output has no type for, instead of writing text, or another integer that holds
    /// the same
    #[arg(long)]
    pub(crate) strict: bool,
    /// Read the output back and print its digest, as `ncforge digest` does
    #[arg(long)]
    pub(crate) digest: bool,
    /// Give the output the layout that a project requires
    #[arg(long, value_parser = word::<Profile>())]
    pub(crate) profile: Option<Profile>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge copy in.nc out.nc --format netcdf4 --chunks auto --codec deflate --verify
  ncforge copy in.nc out.nc --for series=3,map=1 --dry-run
  ncforge copy in.nc out.nc --chunks time/365,lat/40,lon/40 --codec zstd --level 3
  ncforge copy -5 in.nc out.nc
  ncforge copy in.nc out.nc --select 'time=2000-06..2000-08,lat=-10..10'
  ncforge copy day_*.nc rechunked/ --chunks auto";

pub(super) const RECHUNK: &str = "\
Copy a file into the chunk shapes that your reads need.

`ncforge copy` with `--chunks auto` as the default, and the same options. `--for` names the reads that matter: map, series, \
profile, or several with weights.";

pub(super) const RECHUNK_AFTER: &str = "\
Examples:
  ncforge rechunk in.nc out.nc --for series
  ncforge rechunk in.nc out.nc --for series=3,map=1 --codec deflate --dry-run
  ncforge rechunk in.nc out.nc --chunks time/365,lat/40,lon/40";

impl CopyArgs {
    /// The files to copy, and the file to write, or the folder.
    pub(crate) fn paths(&self) -> Result<(&[PathBuf], &Path), Failure> {
        match &self.paths[..] {
            [inputs @ .., output] if !inputs.is_empty() => Ok((inputs, output)),
            _ => Err(Failure::usage(
                "the name of the output is missing",
                "`ncforge copy --help` lists all options, with examples",
            )),
        }
    }

    /// Whether a word of the command line is one of these names.
    pub(crate) fn is_path(&self, word: &Path) -> bool {
        self.paths.iter().any(|path| path == word)
    }

    /// The same, with chunk shapes that are chosen where none are given.
    pub(crate) fn rechunking(mut self) -> Self {
        self.chunks.get_or_insert_with(|| "auto".to_owned());
        self
    }

    /// The request that these arguments are; `history` is the command line.
    pub(crate) fn request(&self, history: String) -> Result<CopyRequest, RequestError> {
        let shuffle = match (self.shuffle, self.no_shuffle) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        Ok(CopyRequest {
            chunks: self.chunks.as_deref().map(|text| value("chunks", text)).transpose()?,
            choosing: self.choosing.request()?,
            coding: CodingRequest { shuffle, ..self.coding.request(self.format.choice()) },
            switches: Switches {
                add_access_points: self.add_access_points,
                fletcher32: self.fletcher32,
                skip_fill: self.skip_fill,
                fix_unlimited: self.fix_unlimited,
                strict: self.strict,
                digest: self.digest,
                ..Switches::default()
            },
            filters: self.filters.iter().map(|text| value("filters", text)).collect::<Result<_, _>>()?,
            keep_digits: self.keep_digits,
            keep_bits: self.keep_bits,
            endian: self.endian,
            profile: self.profile,
            run: self.run.request(&self.only, &self.written, history),
            ..CopyRequest::default()
        })
    }
}
