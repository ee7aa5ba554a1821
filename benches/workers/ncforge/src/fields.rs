//! The fields of a request.

use std::collections::BTreeMap;
use std::str::FromStr;

use ncforge_bench::{Error, Result};

/// `key=value` fields of one line, separated by tabs.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Fields<'a> {
    /// Takes a line apart.
    pub(crate) fn parse(line: &'a str) -> Result<Self> {
        let pairs = line.trim_end_matches('\n').split('\t').map(|field| {
            field.split_once('=').ok_or_else(|| Error::Invalid(format!("`{field}` is not key=value")))
        });
        Ok(Self(pairs.collect::<Result<_>>()?))
    }

    /// The value of a key that must be there.
    pub(crate) fn text(&self, key: &str) -> Result<&'a str> {
        self.0.get(key).copied().ok_or_else(|| Error::Invalid(format!("the request has no `{key}`")))
    }

    /// A number; `default` when the key is missing or its value empty.
    pub(crate) fn number<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        match self.0.get(key).copied().unwrap_or_default() {
            "" => Ok(default),
            text => text.parse().map_err(|_| Error::Invalid(format!("`{key}={text}` is not a number"))),
        }
    }

    /// Whether a key is there and 1.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|v| *v == "1")
    }

    /// Numbers separated by commas; empty when the key is missing.
    pub(crate) fn numbers(&self, key: &str) -> Result<Vec<u64>> {
        let text = self.0.get(key).copied().unwrap_or_default();
        let bad = |_| Error::Invalid(format!("`{key}={text}` is not a list of numbers"));
        text.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().map_err(bad)).collect()
    }
}
