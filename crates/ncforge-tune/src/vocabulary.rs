//! Words that options take, as people write them: each is listed once, with its other names and its meaning. Help, messages and parsing
//! read that list.

use std::fmt::{self, Debug};
use std::str::FromStr;

use ncforge::{Error, nearest};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// The reason why the text of an option means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// The text, where `why` does not repeat it.
    pub text: Option<String>,
    /// The fault of the text.
    pub why: String,
    /// The text that may be written instead.
    pub write: Option<&'static str>,
}

impl BadValue {
    /// An error of the library that repeats the text.
    pub fn repeated(e: impl fmt::Display, write: &'static str) -> Self {
        BadValue { text: None, why: e.to_string(), write: Some(write) }
    }

    /// The fault of `text`.
    pub fn of(text: &str, why: impl fmt::Display) -> Self {
        BadValue { text: Some(text.to_owned()), why: why.to_string(), write: None }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            write!(f, "`{text}`: ")?;
        }
        f.write_str(&self.why)?;
        self.write.map_or(Ok(()), |write| write!(f, "; write {write}"))
    }
}

impl std::error::Error for BadValue {}

impl From<BadValue> for Error {
    fn from(e: BadValue) -> Self {
        Error::Invalid(e.to_string())
    }
}

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
#[macro_export]
macro_rules! words {
    ($type:ty: $(($value:expr, $name:literal, [$($alias:literal),*], $about:literal)),+ $(,)?) => {
        impl $crate::vocabulary::Words for $type {
            const WORDS: &'static [$crate::vocabulary::Word<Self>] = &[$($crate::vocabulary::Word {
                value: $value, name: $name, aliases: &[$($alias),*], about: $about,
            }),+];
        }
        impl std::str::FromStr for $type {
            type Err = $crate::vocabulary::BadValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::vocabulary::Words::named(text)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::vocabulary::Words::word(*self))
            }
        }
        $crate::text_of!($type);
    };
}

/// Reading and writing a type as its text; reading it `or` from plain data.
#[macro_export]
macro_rules! text_of {
    ($type:ty) => {
        $crate::text_of!($type, $crate::vocabulary::parsed);
    };
    ($type:ty, or $plain:ty) => {
        $crate::text_of!($type, $crate::vocabulary::parsed_or::<_, _, $plain>);
    };
    ($type:ty, $read:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $read(from)
            }
        }
    };
}

/// A value from its text.
pub fn parsed<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = BadValue>,
{
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// A value from its text, or from plain data.
pub fn parsed_or<'de, D, T, P>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = BadValue> + TryFrom<P>,
    P: Deserialize<'de>,
    T::Error: fmt::Display,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given<P> {
        Text(String),
        Plain(P),
    }
    match Given::deserialize(from).map_err(|_| D::Error::custom("a text, or lengths by name"))? {
        Given::Text(text) => text.parse().map_err(D::Error::custom),
        Given::Plain(plain) => T::try_from(plain).map_err(D::Error::custom),
    }
}

/// The nearest of the known names as a part of a message, with a blank in front; nothing if none is like `name`.
///
/// ```
/// use ncforge_tune::vocabulary::did_you_mean;
/// assert_eq!(did_you_mean("delfate", &["deflate", "zstd"]), " (did you mean `deflate`?)");
/// assert_eq!(did_you_mean("qqq", &["deflate", "zstd"]), "");
/// ```
pub fn did_you_mean<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}
