//! Filter chains as people write them: `shuffle|deflate,4`, the grammar of `nccopy -F` (`nccopy(1)`).
//!
//! A filter chain is a list of registered filters in the order of writing. Its text reads back as the same filters, but for
//! parameters that follow from the variable ([`FilterChain::for_elements`] fills those in).

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::filters::{self, DEFLATE, Kind, filter_name};
use crate::types::Filter;

/// Level of deflate where none is named: higher ones gain a few per cent on measured data and cost a multiple of the time.
pub const USUAL_DEFLATE_LEVEL: u32 = 1;
/// Level of zstd where none is named (the library's own default).
pub const USUAL_ZSTD_LEVEL: i32 = 3;

/// A list of filters, in the order of writing.
///
/// ```
/// use ncforge_codec::{FilterChain, filters};
/// let chain: FilterChain = "shuffle|deflate,4".parse()?;
/// let complete = chain.for_elements(8);
/// assert_eq!((complete[0].id, complete[0].params[0]), (filters::SHUFFLE, 8));
/// assert_eq!((complete[1].id, complete[1].params[0]), (filters::DEFLATE, 4));
/// assert_eq!(chain.to_string(), "shuffle|deflate,4");
/// assert_eq!(chain.words(), "shuffle, deflate level 4");
/// assert_eq!("none".parse::<FilterChain>()?, FilterChain::default());
/// # Ok::<(), ncforge_codec::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterChain(Vec<Filter>);

impl FilterChain {
    /// The filters, as they were given.
    pub fn filters(&self) -> &[Filter] {
        &self.0
    }

    /// The filters for elements of `size` bytes, with the parameters that the text left out.
    pub fn for_elements(&self, size: usize) -> Vec<Filter> {
        let complete = |f: &Filter| match (f.kind(), f.params.is_empty()) {
            (Some(Kind::Deflate), true) => filters::deflate(USUAL_DEFLATE_LEVEL),
            (Some(Kind::Shuffle), _) => filters::shuffle(size),
            (Some(Kind::Fletcher32), _) => filters::fletcher32(),
            (Some(Kind::Zstd), true) => filters::zstd(USUAL_ZSTD_LEVEL),
            _ => f.clone(),
        };
        self.0.iter().map(complete).collect()
    }

    /// The chain in words; `none` without filters.
    pub fn words(&self) -> String {
        match self.0.is_empty() {
            true => "none".into(),
            false => self.0.iter().map(filters::describe).collect::<Vec<_>>().join(", "),
        }
    }
}

impl From<&[Filter]> for FilterChain {
    fn from(filters: &[Filter]) -> Self {
        FilterChain(filters.to_vec())
    }
}

impl From<Vec<Filter>> for FilterChain {
    fn from(filters: Vec<Filter>) -> Self {
        FilterChain(filters)
    }
}

impl From<FilterChain> for Vec<Filter> {
    fn from(chain: FilterChain) -> Self {
        chain.0
    }
}

impl FromStr for FilterChain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim() {
            "none" => Ok(FilterChain::default()),
            list => list.split('|').map(filter).collect::<Result<_>>().map(FilterChain),
        }
    }
}

impl fmt::Display for FilterChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, one) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("|")?;
            }
            match one.kind() {
                Some(Kind::Deflate | Kind::Zstd) => {
                    let level = one.params.first().copied().unwrap_or(1).cast_signed();
                    write!(f, "{},{level}", filter_name(one.id))?;
                }
                Some(Kind::Shuffle | Kind::Fletcher32) => f.write_str(filter_name(one.id))?,
                _ => {
                    write!(f, "{}", one.id)?;
                    one.params.iter().try_for_each(|p| write!(f, ",{p}"))?;
                }
            }
        }
        Ok(())
    }
}

/// One filter: its name or number, then parameters.
fn filter(text: &str) -> Result<Filter> {
    let mut words = text.split(',').map(str::trim);
    let name = words.next().unwrap_or_default();
    let id = match name.parse::<u16>() {
        Ok(id) => id,
        Err(_) => filters::kind::by_name(&name.to_ascii_lowercase())
            .ok_or_else(|| Error::BadFilter(format!("`{name}` is not the name of a filter")))?,
    };
    let params: Vec<u32> = words
        .map(|w| parameter(w).ok_or_else(|| Error::BadFilter(format!("`{w}` is not a parameter"))))
        .collect::<Result<_>>()?;
    if id == DEFLATE
        && let Some(level) = params.first().filter(|&&level| level > 9)
    {
        return Err(Error::BadFilter(format!("a level of deflate is 0 to 9, not {level}")));
    }
    Ok(Filter { id, params, optional: false })
}

/// A parameter of 32 bits: unsigned, or negative as its two's complement.
fn parameter(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(['u', 'U']);
    digits.parse::<u32>().ok().or_else(|| digits.parse::<i32>().ok().map(i32::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in
            ["none", "shuffle|deflate,5", "zstd,-3", "307,9", "32008,0,5,4,0,2", "shuffle|zstd,9|fletcher32"]
        {
            assert_eq!(text.parse::<FilterChain>().unwrap().to_string(), text);
        }
        assert_eq!("zlib,2".parse::<FilterChain>().unwrap().to_string(), "deflate,2");
        for bad in ["nosuch", "deflate,10", "deflate,x", ""] {
            assert!(bad.parse::<FilterChain>().is_err(), "{bad}");
        }
    }
}
