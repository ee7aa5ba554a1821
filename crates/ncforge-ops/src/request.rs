//! Requests: what a user asks of an operation, in the user's words, whatever front took them down.
//!
//! Every operation has one request (`copy::CopyRequest`, `combine::CombineRequest`, …): a plain structure whose fields are the
//! options, each documented there with its unit and its default. The command fills it from arguments, Python from keyword
//! arguments by [`from_options`]; the request checks what must go together and turns itself into the operation's options and
//! its engine. The words that an option takes are listed once ([`Words`]), with their other names and what they mean: help, error
//! messages and parsing all read that list.
//!
//! Errors are facts ([`RequestError`]); how an option is written (`--fix-unlimited`, `fix_unlimited=`) is the front's [`Front`].
//!
//! ```
//! use ncforge_ops::copy::{Chunks, CopyRequest};
//! use ncforge_ops::request::{RequestError, from_options};
//!
//! let options = serde_json::json!({ "format": "NETCDF4", "for": "series", "writer_memory": "512M" });
//! let request: CopyRequest = from_options(options.as_object().unwrap().clone())?;
//! assert_eq!(request.options()?.chunks, Chunks::Auto);
//! let options = serde_json::json!({ "fromat": "NETCDF4" });
//! let wrong = from_options::<CopyRequest>(options.as_object().unwrap().clone()).unwrap_err();
//! assert!(matches!(wrong, RequestError::Unknown { nearest: Some(name), .. } if name == "format"));
//! # Ok::<(), ncforge::Error>(())
//! ```

mod escape;
mod parts;
mod values;
mod words;

use std::fmt;

use ncforge::{Error, nearest};
use ncforge_tune::vocabulary::BadValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use escape::{escaped, names};
pub(crate) use escape::{rsplit_once, split, split_once, unescaped};
pub use parts::EngineRequest;
pub use values::{PointsChoice, Size, Tiling, Times};
pub(crate) use values::{list, list_or_none, path};
pub use words::{EndianChoice, FormatChoice};

/// The reason why a request cannot be met, whatever the files are.
#[derive(Debug)]
#[non_exhaustive]
pub enum RequestError {
    /// The operation has no such option.
    Unknown {
        /// The given word.
        option: String,
        /// The option whose name is most like it.
        nearest: Option<String>,
    },
    /// The value of an option means nothing.
    Value {
        /// The option.
        option: String,
        /// Why.
        bad: BadValue,
    },
    /// Options that mean something only where another one has a value.
    Needs {
        /// The options.
        options: &'static [&'static str],
        /// The other one.
        other: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// A value of an option that needs another option.
    Lacks {
        /// The option that was given.
        option: &'static str,
        /// Its value.
        value: &'static str,
        /// The option that is needed.
        needed: &'static str,
        /// The number of times that it is needed, in words.
        often: &'static str,
        /// A value that may be written for the needed option.
        write: &'static str,
    },
    /// Options that exclude each other.
    Exclude {
        /// One.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// Reads are given by `for` and by `chunks`.
    ReadsTwice,
    /// Anything else that the library refuses.
    Other(Error),
}

/// The options as a front writes them.
pub trait Front {
    /// An option: `--fix-unlimited`.
    fn option(&self, name: &str) -> String;
    /// An option with a value: `--codec auto`.
    fn setting(&self, name: &str, value: &str) -> String;
}

/// Options by their names alone.
struct Plain;

impl Front for Plain {
    fn option(&self, name: &str) -> String {
        format!("`{name}`")
    }

    fn setting(&self, name: &str, value: &str) -> String {
        format!("`{name}` = `{value}`")
    }
}

impl RequestError {
    /// The fault, with options as `front` writes them.
    pub fn message(&self, front: &dyn Front) -> String {
        match self {
            RequestError::Unknown { option, .. } => format!("there is no option {}", front.option(option)),
            RequestError::Value { option, bad } => match &bad.text {
                Some(text) => format!("{}: {}", front.setting(option, text), bad.why),
                None => format!("{}: {}", front.option(option), bad.why),
            },
            RequestError::Needs { options, other, value } => {
                let verb = if options.len() == 1 { "goes" } else { "go" };
                let options: Vec<String> = options.iter().map(|o| front.option(o)).collect();
                format!("{} {verb} with {}", options.join(" and "), front.setting(other, value))
            }
            RequestError::Lacks { option, value, needed, often, .. } => {
                format!("{} needs {} {often}", front.setting(option, value), front.option(needed))
            }
            RequestError::Exclude { one, other } => {
                format!("{} and {} exclude each other", front.option(one), front.option(other))
            }
            RequestError::ReadsTwice => "the reads are given twice".to_owned(),
            RequestError::Other(e) => e.to_string(),
        }
    }

    /// The remedy, if there is one.
    pub fn hint(&self, front: &dyn Front) -> Option<String> {
        match self {
            RequestError::Unknown { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean {}?", front.option(name)))
            }
            RequestError::Value { bad, .. } => bad.write.map(|write| format!("write {write}")),
            RequestError::Needs { other, value, .. } => Some(format!("add {}", front.setting(other, value))),
            RequestError::Lacks { write, .. } => Some((*write).to_owned()),
            RequestError::Exclude { .. } => Some("give one of them".to_owned()),
            RequestError::ReadsTwice => {
                Some(format!("write them behind {}, or behind auto:", front.option("for")))
            }
            RequestError::Other(_) => None,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&Plain))?;
        self.hint(&Plain).map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for RequestError {}

impl From<Error> for RequestError {
    fn from(e: Error) -> Self {
        RequestError::Other(e)
    }
}

impl From<RequestError> for Error {
    fn from(e: RequestError) -> Self {
        match e {
            RequestError::Other(e) => e,
            other => Error::Invalid(other.to_string()),
        }
    }
}

/// The value of an option from its text.
///
/// # Errors
/// [`RequestError::Value`], which names the option.
pub fn value<T: std::str::FromStr<Err = BadValue>>(
    option: &'static str,
    text: &str,
) -> Result<T, RequestError> {
    text.parse().map_err(|bad| RequestError::Value { option: option.to_owned(), bad })
}

/// The names of a request's options.
pub fn names_of<T: Default + Serialize>() -> Vec<String> {
    match serde_json::to_value(T::default()) {
        Ok(Value::Object(all)) => all.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

/// The options of a request by name, without those that have their default: [`from_options`] makes the same request of them.
pub fn options_of<T: Default + Serialize>(request: &T) -> Map<String, Value> {
    let usual = serde_json::to_value(T::default()).unwrap_or_default();
    match serde_json::to_value(request) {
        Ok(Value::Object(all)) => {
            all.into_iter().filter(|(name, value)| usual.get(name) != Some(value)).collect()
        }
        _ => Map::new(),
    }
}

/// A request from options by name; what is not named has its default.
///
/// Requests share parts, and serde's `deny_unknown_fields` does not work with flattened parts: unknown names are refused here.
///
/// # Errors
/// [`RequestError::Unknown`] and [`RequestError::Value`].
pub fn from_options<T>(options: Map<String, Value>) -> Result<T, RequestError>
where
    T: Default + Serialize + DeserializeOwned,
{
    let known = names_of::<T>();
    if let Some(option) = options.keys().find(|name| !known.contains(name)) {
        return Err(RequestError::Unknown { option: option.clone(), nearest: nearest(option, &known) });
    }
    let whole = match serde_json::from_value(Value::Object(options.clone())) {
        Ok(request) => return Ok(request),
        Err(e) => e,
    };
    // Which of them it is: the one that is no value when it stands alone.
    let alone = |(name, value): (String, Value)| {
        let one = Map::from_iter([(name.clone(), value)]);
        serde_json::from_value::<T>(Value::Object(one)).err().map(|e| (name, e))
    };
    match options.into_iter().find_map(alone) {
        None => Err(Error::Invalid(whole.to_string()).into()),
        Some((option, e)) => {
            let bad = BadValue { text: None, why: e.to_string(), write: None };
            Err(RequestError::Value { option, bad })
        }
    }
}

#[cfg(test)]
mod tests;
