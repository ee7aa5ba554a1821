//! Words that options take: each listed once, with its other names and its meaning.

use std::fmt::Debug;

use ncforge::model::{Endian, Format};

use super::{BadValue, did_you_mean};

/// A word that an option takes.
#[derive(Clone, Copy, Debug)]
pub struct Word<T: 'static> {
    /// The value of the word.
    pub value: T,
    /// The word.
    pub name: &'static str,
    /// Other names of the value.
    pub aliases: &'static [&'static str],
    /// The meaning, in a line of help.
    pub about: &'static str,
}

/// An option whose values are words.
pub trait Words: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// All of them, in the order of the help.
    const WORDS: &'static [Word<Self>];

    /// The word for a value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|w| w.value == self).map_or("", |w| w.name)
    }

    /// The value of a word or of one of its other names.
    ///
    /// # Errors
    /// [`BadValue`] with the words that there are.
    fn named(text: &str) -> Result<Self, BadValue> {
        if let Some(word) = Self::WORDS.iter().find(|w| w.name == text || w.aliases.contains(&text)) {
            return Ok(word.value);
        }
        let names: Vec<&str> = Self::WORDS.iter().map(|w| w.name).collect();
        let meant = did_you_mean(text, &names);
        Err(BadValue::of(text, format_args!("no such word; there are {}{meant}", names.join(", "))))
    }
}

/// The words of a type, and reading and writing them: `FromStr`, `Display`, and serde as text.
macro_rules! words {
    ($type:ty: $(($value:expr, $name:literal, [$($alias:literal),*], $about:literal)),+ $(,)?) => {
        impl $crate::request::Words for $type {
            const WORDS: &'static [$crate::request::Word<Self>] = &[$($crate::request::Word {
                value: $value, name: $name, aliases: &[$($alias),*], about: $about,
            }),+];
        }
        impl std::str::FromStr for $type {
            type Err = $crate::request::BadValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::request::Words::named(text)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::request::Words::word(*self))
            }
        }
        $crate::request::text_of!($type);
    };
}
pub(crate) use words;

/// A format to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatChoice(
    /// `None`: the input's.
    pub Option<Format>,
);

words!(FormatChoice:
    (FormatChoice(None), "keep", [], "The input's own format"),
    (FormatChoice(Some(Format::Cdf1)), "classic", ["cdf1", "nc3", "NETCDF3_CLASSIC"], "netCDF classic, CDF-1"),
    (FormatChoice(Some(Format::Cdf2)), "cdf2",
        ["64-bit-offset", "64-bit offset", "nc6", "NETCDF3_64BIT", "NETCDF3_64BIT_OFFSET"],
        "netCDF 64-bit offset, CDF-2"),
    (FormatChoice(Some(Format::Cdf5)), "cdf5", ["64-bit-data", "64-bit data", "nc5", "NETCDF3_64BIT_DATA"],
        "netCDF 64-bit data, CDF-5"),
    (FormatChoice(Some(Format::Netcdf4)), "netcdf4",
        ["nc4", "netCDF-4", "netCDF4", "NETCDF4", "hdf5", "enhanced"], "netCDF-4"),
    (FormatChoice(Some(Format::Netcdf4Classic)), "netcdf4-classic",
        ["nc7", "nc4c", "NETCDF4_CLASSIC", "netCDF-4 classic model", "netCDF-4-classic", "netCDF-4_classic",
            "netCDF4_classic", "hdf5-nc3", "enhanced-nc3"],
        "netCDF-4 restricted to the classic model"),
);

/// Byte order of the numbers in netCDF-4 output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndianChoice(
    /// `None`: the input's.
    pub Option<Endian>,
);

words!(EndianChoice:
    (EndianChoice(None), "keep", [], "As in the input"),
    (EndianChoice(Some(Endian::Native)), "native", [], "This machine's"),
    (EndianChoice(Some(Endian::Little)), "little", [], "Least significant byte first"),
    (EndianChoice(Some(Endian::Big)), "big", [], "Most significant byte first"),
);
