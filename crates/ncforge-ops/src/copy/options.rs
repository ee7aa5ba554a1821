//! Options of a copy.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::spec::{ChunkSpec, FilterSpec};
use crate::choosing::Choosing;
use crate::endings::{self, Told};
use crate::profile::Profile;
use crate::select::Selection;
use ncforge::codec::quantize::Quantize;
use ncforge::model::{Endian, Filter, Format, Schema, Segments, VarId, Variable};
use ncforge::store::zipped;
use ncforge::{Error, Result};
use ncforge_tune::codec::Goal;

/// Chunk shapes of the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Chunks {
    /// The source's; where the source has none and the output needs some, chosen.
    #[default]
    Keep,
    /// Chosen, as [`CopyOptions::choosing`] says.
    Auto,
    /// As the user says; what the specification does not name is kept.
    Spec(ChunkSpec),
}

/// Compression of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// The source's filters.
    #[default]
    Keep,
    /// No compression.
    None,
    /// Deflate (zlib), which every netCDF-4 reader knows.
    Deflate,
    /// Zstandard.
    Zstd,
    /// The best of a few lossless codecs for each variable on a sample of its values, by [`ncforge_tune::codec`]; without a level.
    Auto {
        /// The goal of the choice.
        goal: Goal,
        /// Whether zstd may be chosen, which other readers need a plugin for.
        zstd: bool,
    },
}

/// Some of a file's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Paths of variables.
    pub vars: Vec<String>,
    /// Paths of groups: all of their variables, and those of the groups below.
    pub groups: Vec<String>,
}

impl Names {
    /// Nothing was named.
    pub fn is_empty(&self) -> bool {
        self.vars.is_empty() && self.groups.is_empty()
    }

    /// Whether a variable is one of them.
    pub(crate) fn has(&self, schema: &Schema, v: VarId) -> bool {
        let path = schema.var_path(v);
        let is_below = |group: &String| {
            let rest = path.trim_start_matches('/').strip_prefix(group.trim_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.vars.iter().any(|name| schema.find_var(name) == Some(v)) || self.groups.iter().any(is_below)
    }
}

/// Options of a copy that are on or off, as users and the library give them: all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Switches {
    /// Whether deflate chunks that would be moved as they are get access points, if they have none and are worth them.
    pub add_access_points: bool,
    /// Whether every chunk gets a checksum, besides those that have one in the source and are copied with their filters.
    pub fletcher32: bool,
    /// Whether chunks that hold nothing but the fill value are left out; they read the same.
    pub skip_fill: bool,
    /// Whether unlimited dimensions become fixed ones of their length.
    pub fix_unlimited: bool,
    /// Whether groups, dimensions and types that nothing uses come along where only some variables are copied.
    pub all_dimensions: bool,
    /// Whether a classic output takes no string, and no integer of a type that it has not, even where text or another integer
    /// holds the same.
    pub strict: bool,
    /// Whether the output is read back for its [digest](crate::digest) before it gets its name.
    pub digest: bool,
}

/// Options of a copy. The default is a copy that changes nothing.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Format of the output; `None`: the source's.
    pub format: Option<Format>,
    /// Whether a classic source becomes netCDF-4 where no format is asked for: it is wanted in chunks.
    pub chunked_format: bool,
    /// Chunk shapes.
    pub chunks: Chunks,
    /// How chunk shapes are chosen, where they are.
    pub choosing: Choosing,
    /// Compression.
    pub codec: Codec,
    /// Level of compression: 0 (none) to 9 for deflate, 1 to 22 for zstd. With [`Codec::Keep`] it changes the
    /// level of those filters where the source has them.
    pub level: Option<u32>,
    /// Whether bytes are shuffled before compression. `None`: yes where the elements are larger than a byte, and
    /// with [`Codec::Keep`] as in the source.
    pub shuffle: Option<bool>,
    /// The access points of deflate chunks that are encoded. `None`: where chunks are worth them.
    pub access_points: Option<Segments>,
    /// Options that are only on or off.
    pub switches: Switches,
    /// Filters of single variables; they win over the codec.
    pub filters: Vec<FilterSpec>,
    /// A variable of fixed shape with fewer bytes is not chunked, unless its source is and chunks are kept.
    pub min_chunked: u64,
    /// Only these variables, and the dimensions and types that they use. `None`: all.
    pub only: Option<Names>,
    /// Values of these variables only; the others are defined and read as fill. `None`: all.
    pub values_of: Option<Names>,
    /// Only these indices along dimensions.
    pub select: Selection,
    /// Byte order of all numbers in netCDF-4 output. `None`: the source's.
    pub endian: Option<Endian>,
    /// How values of float and double lose bits, so that they compress better. Coordinates, their bounds, and
    /// variables that were quantized before keep all of theirs. `None`: no value changes.
    pub quantize: Option<Quantize>,
    /// Requirements that the output's layout shall meet; where they say nothing, the other options count.
    pub profile: Option<Profile>,
    /// A line to put in front of the global attribute `history`. `None`: the attribute is left alone.
    pub history: Option<String>,
    /// Whether an existing output may be replaced (at the end, in one step).
    pub overwrite: bool,
    /// Whether to go on with an interrupted copy, if there is one.
    pub resume: bool,
    /// The interval at which finished work is made durable and noted, so that it need not be done again.
    pub checkpoint: Duration,
    /// Whether to read the output back and compare all of it before it gets its name.
    pub verify: bool,
    /// Bytes kept free behind the header (of a classic file) or in the metadata block (netCDF-4), for what is added
    /// later; `None`: what the format takes unasked.
    pub header_room: Option<u64>,
    /// Make the output a zipped file: a classic one in compressed blocks. [`copy`](super::copy) does so unasked, with
    /// default options, if the output's name ends in `.ncz`. Without a format, a source that is not classic gets
    /// the first classic version that can hold it.
    pub zipped: Option<zipped::Options>,
}

impl CopyOptions {
    /// The options for an output of this name, as [`copy`](super::copy) takes them: `.ncz` makes a zipped file.
    ///
    /// # Errors
    /// [`Error::BadOption`] of the option `output` where the name tells a format that is not written: `out.zarr`.
    ///
    /// ```
    /// use std::path::Path;
    /// use ncforge_ops::copy::CopyOptions;
    ///
    /// assert!(CopyOptions::default().for_output(Path::new("out.ncz"))?.zipped.is_some());
    /// assert!(CopyOptions::default().for_output(Path::new("out.nc"))?.zipped.is_none());
    /// assert!(CopyOptions::default().for_output(Path::new("out.zarr")).is_err());
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    pub fn for_output(mut self, output: &Path) -> Result<Self> {
        endings::check(output, &[Told::Netcdf, Told::Zipped])?;
        if self.zipped.is_none() && zipped::is_named_zipped(output) {
            self.zipped = Some(zipped::Options::default());
        }
        Ok(self)
    }
}

impl CopyOptions {
    /// An error where options are wrong together, whatever is copied: a level that the codec does not have.
    ///
    /// ```
    /// use ncforge_ops::copy::{Codec, CopyOptions};
    ///
    /// let with = |codec, level| CopyOptions { codec, level: Some(level), ..CopyOptions::default() };
    /// assert!(with(Codec::Zstd, 12).check().is_ok());
    /// assert!(with(Codec::Deflate, 12).check().unwrap_err().to_string().contains("level 12"));
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check(&self) -> Result<()> {
        let Some(level) = self.level else { return Ok(()) };
        let (name, known) = match self.codec {
            Codec::Auto { .. } => {
                return Err(Error::bad_option(
                    "level",
                    "the codec auto chooses the level, too: give no level with it",
                ));
            }
            Codec::Deflate => ("deflate", 0..=9),
            Codec::Zstd => ("zstd", 1..=22),
            // Of what the source has.
            Codec::Keep => ("keep", 0..=22),
            Codec::None => ("none", 0..=0),
        };
        if known.contains(&level) {
            return Ok(());
        }
        Err(Error::bad_option(
            "level",
            format!("the codec {name} has no level {level}: deflate has levels 0 to 9, zstd 1 to 22"),
        ))
    }
}

impl CopyOptions {
    /// Whether chunks that could be moved are encoded anew to get access points.
    pub(super) fn adds_points(&self) -> bool {
        self.switches.add_access_points || self.profile == Some(Profile::Cmip7)
    }

    /// Completes the storage of an output by what is said of its compression: the access points of its chunks.
    ///
    /// # Errors
    /// [`Error::BadOption`] where an option is about compressed chunks, and there are none.
    pub(super) fn complete(&self, schema: &mut Schema) -> Result<()> {
        self.check_compressed(schema)?;
        self.set_access_points(schema)
    }

    /// Options of the input's compression need some; with a codec of their own, variables without chunks are as they must be.
    fn check_compressed(&self, schema: &Schema) -> Result<()> {
        let is_compressed = |v: &Variable| v.storage.filters().iter().any(Filter::compresses);
        if self.codec != Codec::Keep || schema.vars.iter().any(is_compressed) {
            return Ok(());
        }
        let asked = match (self.level, self.shuffle) {
            (Some(1..), _) => "level",
            (_, Some(true)) => "shuffle",
            _ => return Ok(()),
        };
        let why = format!(
            "`{asked}` is for compressed chunks, and nothing of the output is compressed: give a codec"
        );
        Err(Error::bad_option(asked, why))
    }

    /// The option that asks for access points, if one does.
    pub(super) fn asks_for_points(&self) -> Option<&'static str> {
        match (self.switches.add_access_points, self.access_points) {
            (true, _) => Some("add_access_points"),
            (_, Some(Segments::Auto | Segments::Bytes(_))) => Some("access_points"),
            _ => None,
        }
    }

    fn set_access_points(&self, schema: &mut Schema) -> Result<()> {
        // As for other options: with a codec that may deflate, variables without chunks are as they must be.
        let deflates = matches!(self.codec, Codec::Deflate | Codec::Auto { .. })
            || schema.vars.iter().any(|v| v.storage.is_deflated());
        if let Some(asked) = self.asks_for_points().filter(|_| !deflates) {
            let why = "only chunks that are deflated (zlib) have access points, and nothing of the output is";
            return Err(Error::bad_option(asked, why));
        }
        let segments = self.access_points.unwrap_or_default();
        schema.vars.iter_mut().for_each(|v| v.access_points = segments);
        Ok(())
    }
}

impl Default for CopyOptions {
    fn default() -> Self {
        CopyOptions {
            format: None,
            chunks: Chunks::Keep,
            choosing: Choosing { sample: true, ..Choosing::default() },
            codec: Codec::Keep,
            level: None,
            shuffle: None,
            access_points: None,
            switches: Switches::default(),
            filters: Vec::new(),
            min_chunked: 8 << 10,
            only: None,
            values_of: None,
            select: Selection::default(),
            endian: None,
            quantize: None,
            profile: None,
            chunked_format: false,
            history: None,
            overwrite: false,
            resume: false,
            checkpoint: Duration::from_secs(2),
            verify: false,
            header_room: None,
            zipped: None,
        }
    }
}
