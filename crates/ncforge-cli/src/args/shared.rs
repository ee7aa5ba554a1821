//! Arguments that several commands take, each declared once.

use std::path::{Path, PathBuf};

use clap::Args;
use ncforge::Format;
use ncforge_ops::copy::{CodecName, CodingRequest, RunRequest};
use ncforge_ops::request::{FormatChoice, PointsChoice, names};
use ncforge_ops::select::Selection;
use ncforge_tune::codec::Goal;

use super::word;

/// The digits by which netCDF's tools name formats.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Digits {
    /// netCDF classic (CDF-1)
    #[arg(short = '3', group = "digit")]
    classic: bool,
    /// netCDF-4
    #[arg(short = '4', group = "digit")]
    netcdf4: bool,
    /// 64-bit data (CDF-5)
    #[arg(short = '5', group = "digit")]
    cdf5: bool,
    /// 64-bit offset (CDF-2)
    #[arg(short = '6', group = "digit")]
    cdf2: bool,
    /// netCDF-4 classic model
    #[arg(short = '7', group = "digit")]
    netcdf4_classic: bool,
}

impl Digits {
    /// The format that was asked for, if any was.
    pub(crate) fn format(self) -> Option<Format> {
        let digits = [
            (self.classic, Format::Cdf1),
            (self.netcdf4, Format::Netcdf4),
            (self.cdf5, Format::Cdf5),
            (self.cdf2, Format::Cdf2),
            (self.netcdf4_classic, Format::Netcdf4Classic),
        ];
        digits.into_iter().find(|(given, _)| *given).map(|(_, format)| format)
    }
}

/// Format of an output.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// Format of the output
    #[arg(long, value_parser = word::<FormatChoice>(), default_value = "keep", conflicts_with = "digit")]
    format: FormatChoice,
    #[command(flatten)]
    digits: Digits,
}

impl FormatArgs {
    /// The format asked for, by `--format` or by digit.
    pub(crate) fn choice(&self) -> FormatChoice {
        self.digits.format().map_or(self.format, |format| FormatChoice(Some(format)))
    }
}

/// How an output is compressed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CodecArgs {
    /// Compression
    #[arg(long, value_parser = word::<CodecName>(), default_value = "keep")]
    pub(crate) codec: CodecName,
    /// With --codec auto: what for [default: balanced]
    #[arg(long, value_parser = word::<Goal>())]
    pub(crate) goal: Option<Goal>,
    /// With --codec auto: zstd may be chosen, too; other readers need a plugin for it
    #[arg(long)]
    pub(crate) allow_zstd: bool,
    /// Level of compression: 0-9 for deflate (0: none), 1-22 for zstd
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,
    /// Access points of deflate chunks, at which ncforge begins to decode: a segment has BYTES of a chunk's values. Chunks that are
    /// moved keep theirs [default: auto, where a chunk is worth them]
    #[arg(long, value_name = "off|auto|BYTES")]
    pub(crate) access_points: Option<PointsChoice>,
}

/// What of the input goes into the output.
#[derive(Args, Debug)]
pub(crate) struct OnlyArgs {
    /// Only these variables, and the dimensions that they use; behind a backslash a comma is a part of a name
    #[arg(long, value_name = "A,B")]
    pub(crate) vars: Vec<List>,
    /// Only these indices along dimensions: `time=0:12`, `lat=-10..10` (values), `time=2000-01..2000-06` (dates); several with commas
    /// between them, or repeated
    #[arg(long, value_name = "DIM=WHAT")]
    select: Vec<Selection>,
}

impl OnlyArgs {
    /// The indices along dimensions.
    pub(crate) fn selection(&self) -> Selection {
        Selection::all(&self.select)
    }
}

/// How a long run goes, and goes on.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RunArgs {
    /// Read the output back and compare every value: finds what was lost on the way to the file. It reads as ncforge reads, so not
    /// what other libraries read differently
    #[arg(long)]
    pub(crate) verify: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Go on with an interrupted run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Seconds between two notes of what is done, from which --resume goes on
    #[arg(long, value_name = "SECONDS", default_value = "2", hide = true)]
    pub(crate) checkpoint: f64,
    /// Do not write the command line into the `history` attribute
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// What becomes of outputs that are there already, and where the command's JSON document goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct WrittenArgs {
    /// Overwrite outputs that exist
    #[arg(short = 'O', long)]
    pub(crate) overwrite: bool,
    /// Write everything as JSON; without a path to stdout, in place of the text
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
}

impl WrittenArgs {
    /// Whether the document takes the place of the text on stdout.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

impl CodecArgs {
    /// What is asked of format and compression.
    pub(crate) fn request(&self, format: FormatChoice) -> CodingRequest {
        CodingRequest {
            format,
            codec: self.codec,
            goal: self.goal,
            allow_zstd: self.allow_zstd,
            level: self.level,
            shuffle: None,
            access_points: self.access_points,
        }
    }
}

impl RunArgs {
    /// What is asked of a run; `history` is the command line. Threads and memory are those of every command.
    pub(crate) fn request(&self, only: &OnlyArgs, written: &WrittenArgs, history: String) -> RunRequest {
        RunRequest {
            vars: listed(&only.vars),
            select: only.selection(),
            verify: self.verify,
            overwrite: written.overwrite,
            resume: self.resume,
            checkpoint: Some(self.checkpoint),
            history: (!self.no_history).then_some(history),
            ..RunRequest::default()
        }
    }
}

/// Names with commas between them; behind a backslash a comma is a part of a name.
#[derive(Clone, Debug)]
pub(crate) struct List(Vec<String>);

impl From<String> for List {
    fn from(text: String) -> Self {
        List(names(&text))
    }
}

impl List {
    /// The names of all lists.
    pub(crate) fn all(lists: &[List]) -> Vec<String> {
        lists.iter().flat_map(|list| &list.0).cloned().collect()
    }
}

/// What was listed; nothing: no matter what.
pub(crate) fn listed(lists: &[List]) -> Option<Vec<String>> {
    (!lists.is_empty()).then(|| List::all(lists))
}
