//! Values of options that are no words: sizes, lists, paths, reads, records, tilings. As text, and as front ends have them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{self, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use ncforge::codec::Segments;
use ncforge_tune::vocabulary::BadValue;

/// One text, or several.
struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(all)
    }
}

/// Values from one text each; a single one needs no list.
pub(crate) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: fmt::Display,
{
    let texts = from.deserialize_any(Texts)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

/// As [`list`], or nothing.
pub(crate) fn list_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let given: Option<serde_json::Value> = Option::deserialize(from)?;
    given.map(|value| value.deserialize_any(Texts)).transpose().map_err(D::Error::custom)
}

/// A path, or nothing: as text, or as the bytes of a name that is no text.
pub(crate) fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Bytes(Vec<u8>),
    }
    Ok(match Option::deserialize(from)? {
        None => None,
        Some(Given::Text(text)) => Some(text.into()),
        Some(Given::Bytes(bytes)) => Some(of_bytes(bytes)),
    })
}

#[cfg(unix)]
fn of_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn of_bytes(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// A number of bytes; suffixes are powers of 1024, as [`ncforge::parse_size`] reads them.
///
/// ```
/// use ncforge_ops::request::Size;
/// assert_eq!("1.5G".parse(), Ok(Size(3 << 29)));
/// assert_eq!(Size(102_400).to_string(), "100 KiB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let size = ncforge::parse_size(text).map(Size);
        size.map_err(|e| BadValue { text: None, why: e.to_string(), write: None })
    }
}

impl fmt::Display for Size {
    /// As a person reads it: three digits and a binary unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ncforge_tune::words::bytes(self.0))
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Bytes(u64),
            Text(String),
        }
        match Given::deserialize(from).map_err(|_| D::Error::custom("a size is bytes, or 512K, 256M, 2G"))? {
            Given::Bytes(bytes) => Ok(Size(bytes)),
            Given::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Two numbers with a separator between them, as text or as a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pair {
    Text(String),
    List(Vec<Option<i64>>),
}

/// Records `A:B`: from A up to, but not including, B; counting from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times(pub u64, pub u64);

impl Times {
    fn bad(given: impl fmt::Display) -> BadValue {
        let why = format!(
            "`{given}` is no run of records A:B: the first record, and the one after the last, from 0"
        );
        BadValue { text: None, why, write: None }
    }
}

impl FromStr for Times {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || Times::bad(text);
        let (a, b) = text.split_once(':').ok_or_else(bad)?;
        let number = |t: &str, empty: u64| match t.trim() {
            "" => Ok(empty),
            t => t.parse().map_err(|_| bad()),
        };
        match (number(a, 0)?, number(b, u64::MAX)?) {
            (a, b) if a < b => Ok(Times(a, b)),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            u64::MAX => write!(f, "{}:", self.0),
            end => write!(f, "{}:{end}", self.0),
        }
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = serde_json::Value::deserialize(from)?;
        let bad = || D::Error::custom(Times::bad(&given));
        match Pair::deserialize(&given).map_err(|_| bad())? {
            Pair::Text(text) => text.parse().map_err(D::Error::custom),
            // First and end, as of a Python slice; a step of it must be 1.
            Pair::List(list) => match list[..] {
                [first, end] | [first, end, None | Some(1)] => {
                    let first = u64::try_from(first.unwrap_or(0)).map_err(|_| bad())?;
                    let end = end.map_or(Ok(u64::MAX), u64::try_from).map_err(|_| bad())?;
                    if first < end { Ok(Times(first, end)) } else { Err(bad()) }
                }
                _ => Err(bad()),
            },
        }
    }
}

/// The access points that deflate chunks get when they are written: `off`, `auto`, or the bytes of values in a segment.
///
/// ```
/// use ncforge::codec::Segments;
/// use ncforge_ops::request::PointsChoice;
///
/// assert_eq!("64K".parse(), Ok(PointsChoice(Segments::Bytes(65_536))));
/// assert_eq!(PointsChoice(Segments::None).to_string(), "off");
/// assert!("8".parse::<PointsChoice>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointsChoice(pub Segments);

impl FromStr for PointsChoice {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        const WRITE: &str = "off, auto, or the bytes of a segment: 256 to 1G";
        let bad = |why: String| BadValue { text: Some(text.to_owned()), why, write: Some(WRITE) };
        Ok(PointsChoice(match text.trim() {
            "off" => Segments::None,
            "auto" => Segments::Auto,
            size => {
                let bytes = ncforge::parse_size(size).map_err(|e| bad(e.to_string()))?;
                match usize::try_from(bytes) {
                    Ok(n) if (Segments::LEAST..=1 << 30).contains(&n) => Segments::Bytes(n),
                    _ => return Err(bad(format!("no segment has {bytes} bytes"))),
                }
            }
        }))
    }
}

impl fmt::Display for PointsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Segments::None => f.write_str("off"),
            Segments::Auto => f.write_str("auto"),
            Segments::Bytes(n) => write!(f, "{n}"),
        }
    }
}

impl Serialize for PointsChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PointsChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(from)? {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map_err(D::Error::custom)
    }
}

/// Tiles `NXxNY`: columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling(pub u64, pub u64);

impl FromStr for Tiling {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let parts: Vec<u64> = text.split(['x', 'X', '×']).map(|n| n.trim().parse().unwrap_or(0)).collect();
        match parts[..] {
            [a, b] if a > 0 && b > 0 => Ok(Tiling(a, b)),
            _ => {
                let why = format!("`{text}` is not NXxNY, such as 4x3");
                Err(BadValue { text: None, why, write: None })
            }
        }
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0, self.1)
    }
}

impl Serialize for Tiling {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tiling {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match Pair::deserialize(from)? {
            Pair::Text(text) => text,
            Pair::List(list) => {
                list.iter().map(|n| n.map_or(String::new(), |n| n.to_string())).collect::<Vec<_>>().join("x")
            }
        };
        text.parse().map_err(D::Error::custom)
    }
}
