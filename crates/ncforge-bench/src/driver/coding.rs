//! How a variable's values are encoded in a file: codec, shuffle, rounding, byte order.

use std::fmt;
use std::str::FromStr;

use ncforge::codec::filters;
use ncforge::codec::quantize::Quantize;
use ncforge::model::Filter;
use ncforge_tune::vocabulary::did_you_mean;
use serde::{Serialize, Serializer};

/// The filters of values on their way into a chunk.
///
/// ```
/// use ncforge_bench::driver::{Coding, Shuffle};
/// let coding = Coding { codec: "zstd=3".parse().unwrap(), shuffle: Shuffle::Bytes, ..Coding::default() };
/// assert_eq!(coding.to_string(), "shuffle + zstd 3");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coding {
    /// The compressor.
    pub codec: Codec,
    /// The shuffle before the codec.
    pub shuffle: Shuffle,
    /// Bits that are lost on purpose.
    pub rounding: Option<Rounding>,
}

/// A lossless compressor, with its level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// None.
    #[default]
    None,
    /// zlib, 1 to 9.
    Deflate(u32),
    /// Zstandard, -7 to 22.
    Zstd(i32),
    /// LZ4.
    Lz4,
    /// LZF.
    Lzf,
    /// bzip2, 1 to 9.
    Bzip2(u32),
    /// Blosc with LZ4, 1 to 9.
    BloscLz4(u32),
    /// Blosc with Zstandard, 1 to 9.
    BloscZstd(u32),
}

/// How bytes are sorted before they are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// Not at all.
    #[default]
    Off,
    /// Bytes by their place in a value.
    Bytes,
    /// Bits by their place in a value.
    Bits,
}

/// Mantissas that lose bits, as netCDF-C's quantization does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding(pub Quantize);

impl Coding {
    /// Deflate at a level; 0 is no compression at all.
    pub fn deflate(level: u32, shuffle: bool) -> Self {
        if level == 0 {
            return Coding::default();
        }
        let shuffle = if shuffle { Shuffle::Bytes } else { Shuffle::Off };
        Coding { codec: Codec::Deflate(level), shuffle, rounding: None }
    }

    /// Whether chunks pass through a filter, so that there must be chunks.
    pub fn is_filtered(&self) -> bool {
        self.codec != Codec::None || self.shuffle != Shuffle::Off
    }

    /// The filters for values and chunks of these bytes, in the order of writing.
    pub fn filters(&self, size: usize, chunk: usize) -> Vec<Filter> {
        let bits = |compressor, level| filters::bitshuffle(size, compressor, level);
        let sorted = match self.shuffle {
            Shuffle::Off => 0,
            Shuffle::Bytes => 1,
            Shuffle::Bits => 2,
        };
        // Some compressors sort bytes themselves, each block that they compress.
        match (self.codec, self.shuffle) {
            (Codec::BloscLz4(level), _) => return vec![filters::blosc(size, chunk, level, sorted, 1)],
            (Codec::BloscZstd(level), _) => return vec![filters::blosc(size, chunk, level, sorted, 5)],
            (Codec::Lz4, Shuffle::Bits) => return vec![bits(2, 0)],
            (Codec::Zstd(level), Shuffle::Bits) => return vec![bits(3, level)],
            _ => {}
        }
        let first = match self.shuffle {
            Shuffle::Off => None,
            Shuffle::Bytes => Some(filters::shuffle(size)),
            Shuffle::Bits => Some(bits(0, 0)),
        };
        let then = match self.codec {
            Codec::None | Codec::BloscLz4(_) | Codec::BloscZstd(_) => None,
            Codec::Deflate(level) => Some(filters::deflate(level)),
            Codec::Zstd(level) => Some(filters::zstd(level)),
            Codec::Lz4 => Some(filters::lz4(0)),
            Codec::Lzf => Some(filters::lzf(chunk)),
            Codec::Bzip2(level) => Some(filters::bzip2(level)),
        };
        first.into_iter().chain(then).collect()
    }
}

/// The parameters that HDF5's plug-in takes for a filter, where they are not those that a file holds afterwards.
pub(super) fn plugin_parameters(filter: &Filter) -> &[u32] {
    match filter.id {
        // The plug-in writes its version and the size of a value itself.
        filters::BITSHUFFLE => filter.params.get(3..).unwrap_or_default(),
        _ => &filter.params,
    }
}

impl fmt::Display for Coding {
    /// The coding in words: "shuffle + deflate 4, bitround 9".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        match self.shuffle {
            Shuffle::Off => {}
            Shuffle::Bytes => parts.push("shuffle".to_owned()),
            Shuffle::Bits => parts.push("bitshuffle".to_owned()),
        }
        if self.codec != Codec::None {
            parts.push(self.codec.to_string().replace('=', " "));
        }
        let mut text = parts.join(" + ");
        if text.is_empty() {
            text.push_str("not compressed");
        }
        if let Some(rounding) = self.rounding {
            text = format!("{text}, {}", rounding.to_string().replace('=', " "));
        }
        f.write_str(&text)
    }
}

impl Codec {
    /// Its name, without the level.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Deflate(_) => "deflate",
            Codec::Zstd(_) => "zstd",
            Codec::Lz4 => "lz4",
            Codec::Lzf => "lzf",
            Codec::Bzip2(_) => "bzip2",
            Codec::BloscLz4(_) => "blosc-lz4",
            Codec::BloscZstd(_) => "blosc-zstd",
        }
    }

    /// Its level; `None` where it has none.
    pub fn level(self) -> Option<i64> {
        match self {
            Codec::None | Codec::Lz4 | Codec::Lzf => None,
            Codec::Zstd(n) => Some(n.into()),
            Codec::Deflate(n) | Codec::Bzip2(n) | Codec::BloscLz4(n) | Codec::BloscZstd(n) => Some(n.into()),
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.level().map_or(Ok(()), |level| write!(f, "={level}"))
    }
}

impl FromStr for Codec {
    type Err = String;

    /// `none`, `deflate=4`, `zstd=3`, `lz4`, `lzf`, `bzip2=9`, `blosc-lz4=5`, `blosc-zstd=5`; those with a level have a usual one, too.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = match text.split_once('=') {
            Some((name, level)) => {
                let number = level.parse::<i32>().map_err(|_| format!("`{level}` is no level of {name}"))?;
                (name, Some(number))
            }
            None => (text, None),
        };
        let within = |usual: i32, least: i32, most: i32| match level.unwrap_or(usual) {
            n if (least..=most).contains(&n) => Ok(n),
            n => Err(format!("a level of {name} is {least} to {most}, not {n}")),
        };
        let small = |usual| within(usual, 1, 9).map(i32::unsigned_abs);
        match name {
            "deflate" | "zlib" => small(4).map(Codec::Deflate),
            "zstd" => within(3, -7, 22).map(Codec::Zstd),
            "bzip2" => small(9).map(Codec::Bzip2),
            "blosc-lz4" => small(5).map(Codec::BloscLz4),
            "blosc-zstd" => small(5).map(Codec::BloscZstd),
            "none" | "lz4" | "lzf" if level.is_some() => Err(format!("{name} has no levels")),
            "none" => Ok(Codec::None),
            "lz4" => Ok(Codec::Lz4),
            "lzf" => Ok(Codec::Lzf),
            _ => Err(format!(
                "no codec `{name}`{}: none, deflate=1…9, zstd=-7…22, lz4, lzf, bzip2=1…9, blosc-lz4=1…9, blosc-zstd=1…9",
                did_you_mean(
                    name,
                    &["none", "deflate", "zstd", "lz4", "lzf", "bzip2", "blosc-lz4", "blosc-zstd"]
                )
            )),
        }
    }
}

impl FromStr for Shuffle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Shuffle::Off),
            "on" | "bytes" => Ok(Shuffle::Bytes),
            "bits" => Ok(Shuffle::Bits),
            other => Err(format!("no kind of shuffle `{other}`: off, bytes (or on), bits")),
        }
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Quantize::BitGroom(_) => "bitgroom",
            Quantize::GranularBitRound(_) => "granular",
            Quantize::BitRound(_) => "bitround",
        };
        write!(f, "{name}={}", self.0.kept())
    }
}

impl FromStr for Rounding {
    type Err = String;

    /// `bitgroom=DIGITS`, `granular=DIGITS`, `bitround=BITS`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |n: &str| n.parse::<u32>().map_err(|_| format!("`{n}` is no number of digits or bits"));
        match text.split_once('=') {
            Some(("bitgroom", n)) => Ok(Rounding(Quantize::BitGroom(number(n)?))),
            Some(("granular", n)) => Ok(Rounding(Quantize::GranularBitRound(number(n)?))),
            Some(("bitround", n)) => Ok(Rounding(Quantize::BitRound(number(n)?))),
            _ => Err(format!("no rounding `{text}`: bitgroom=DIGITS, granular=DIGITS or bitround=BITS")),
        }
    }
}

macro_rules! saved_as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    )*};
}

saved_as_text!(Codec, Rounding);
