//! Specifications of chunks and filters as `nccopy` writes them (`nccopy(1)`, options `-c` and `-F`).

use std::fmt;

use crate::request::{escaped, rsplit_once, split, split_once, unescaped};
use ncforge::codec::{self, FilterChain};
use ncforge::model::Filter;
use ncforge::{Error, Result};
use serde_json::{Map, Value};

/// Chunk lengths by the names of dimensions and variables: `{"time": 1, "sst": [1, 90, 180]}`.
pub(crate) type Lengths = Map<String, Value>;

/// The chunks that are asked for one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VarChunks {
    /// Not chunked.
    Contiguous,
    /// Inside the metadata.
    Compact,
    /// Chunks of these lengths.
    Lens(Vec<u64>),
}

/// A chunk specification: what is asked for variables and for dimensions. A variable's own wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkSpec {
    /// Variables by path.
    pub vars: Vec<(String, VarChunks)>,
    /// Dimensions by name or path; `None` is the whole length.
    pub dims: Vec<(String, Option<u64>)>,
    /// `/`: nothing is chunked that need not be.
    pub unchunk: bool,
}

impl ChunkSpec {
    /// Reads a specification; several may stand in one text, separated by `;`. Behind a backslash a separator is a part of a name.
    ///
    /// ```
    /// use ncforge_ops::copy::{ChunkSpec, VarChunks};
    /// let s = ChunkSpec::parse("time/365,lat/40; sst:10,20,30")?;
    /// assert_eq!(s.dims, [("time".to_string(), Some(365)), ("lat".to_string(), Some(40))]);
    /// assert_eq!(s.vars, [("sst".to_string(), VarChunks::Lens(vec![10, 20, 30]))]);
    /// assert!(ChunkSpec::parse("/")?.unchunk);
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<ChunkSpec> {
        let mut spec = ChunkSpec::default();
        for part in split(text, &[';']).into_iter().map(str::trim).filter(|p| !p.is_empty()) {
            spec.add(part)?;
        }
        if spec == ChunkSpec::default() {
            return Err(bad_chunks(text, "it is empty"));
        }
        Ok(spec)
    }

    /// The same from plain data: a length for a dimension (none, or -1 as Dask has it: the whole), a list of them for a variable.
    pub(crate) fn of(lengths: &Lengths) -> Result<ChunkSpec> {
        let mut spec = ChunkSpec::default();
        let wrong = |name: &str, value: &Value| {
            let what = format!(
                "`{name}` cannot have chunks of `{value}`: a length, or for a variable a list of them"
            );
            Error::bad_option("chunks", what)
        };
        for (name, value) in lengths {
            let length = |one: &Value| one.as_u64().filter(|n| *n > 0).ok_or_else(|| wrong(name, value));
            match value {
                Value::Array(all) => {
                    let lens = all.iter().map(length).collect::<Result<_>>()?;
                    spec.vars.push((name.clone(), VarChunks::Lens(lens)));
                }
                Value::Null => spec.dims.push((name.clone(), None)),
                whole if whole.as_i64() == Some(-1) => spec.dims.push((name.clone(), None)),
                one => spec.dims.push((name.clone(), Some(length(one)?))),
            }
        }
        if spec == ChunkSpec::default() {
            return Err(bad_chunks("{}", "it is empty"));
        }
        Ok(spec)
    }

    /// Adds one specification: `/`, `var:…`, or `dim/len,…`.
    pub fn add(&mut self, part: &str) -> Result<()> {
        if part == "/" {
            self.unchunk = true;
        } else if let Some((var, lens)) = rsplit_once(part, ':') {
            let asked = match lens.trim() {
                "" | "contiguous" => VarChunks::Contiguous,
                "compact" => VarChunks::Compact,
                lens => VarChunks::Lens(lens.split(',').map(|n| length(part, n)).collect::<Result<_>>()?),
            };
            self.vars.push((unescaped(var.trim()), asked));
        } else {
            for item in split(part, &[',']) {
                let (dim, len) = item
                    .rsplit_once('/')
                    .ok_or_else(|| bad_chunks(part, "`dim/length` or `variable:length,…` is expected"))?;
                let len = if len.trim().is_empty() { None } else { Some(length(part, len)?) };
                self.dims.push((unescaped(dim.trim()), len));
            }
        }
        Ok(())
    }

    /// The request for the variable of this path.
    pub(crate) fn var(&self, path: &str) -> Option<&VarChunks> {
        let path = path.trim_start_matches('/');
        self.vars.iter().rev().find(|(p, _)| p.trim_start_matches('/') == path).map(|(_, c)| c)
    }

    /// The request for a dimension, by its path or its bare name.
    pub(crate) fn dim(&self, path: &str, name: &str) -> Option<Option<u64>> {
        self.dims.iter().rev().find(|(d, _)| d == name || d == path).map(|(_, len)| *len)
    }
}

impl fmt::Display for ChunkSpec {
    /// As [`ChunkSpec::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vars = self.vars.iter().map(|(var, asked)| {
            let var = escaped(var, &[';']);
            match asked {
                VarChunks::Contiguous => format!("{var}:contiguous"),
                VarChunks::Compact => format!("{var}:compact"),
                VarChunks::Lens(lens) => format!("{var}:{}", joined(lens)),
            }
        });
        let dims = self.dims.iter().map(|(dim, len)| {
            let len = len.map_or_else(String::new, |n| n.to_string());
            format!("{}/{len}", escaped(dim, &[';', ',', ':']))
        });
        let parts: Vec<String> =
            self.unchunk.then(|| "/".to_owned()).into_iter().chain(vars).chain(dims).collect();
        f.write_str(&parts.join(";"))
    }
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn length(part: &str, text: &str) -> Result<u64> {
    match text.trim().parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(bad_chunks(part, &format!("`{text}` is not a length"))),
    }
}

fn bad_chunks(part: &str, why: &str) -> Error {
    Error::bad_option("chunks", format!("the chunk specification `{part}` is wrong: {why}"))
}

/// Filters for some variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterSpec {
    /// Paths of variables; `None`: all.
    pub vars: Option<Vec<String>>,
    /// The filters in the order of writing; empty: none at all.
    pub filters: Vec<Filter>,
}

impl FilterSpec {
    /// Reads `var|var2,id,param,…`, `*,name,param,…`, `var,none`, `none`; further filters after `|`. Behind a backslash a
    /// separator is a part of a name.
    ///
    /// ```
    /// use ncforge_ops::copy::FilterSpec;
    /// let s = FilterSpec::parse("sst|sss,zstd,3")?;
    /// assert_eq!(s.vars.unwrap(), ["sst", "sss"]);
    /// assert_eq!((s.filters[0].id, &s.filters[0].params[..]), (32015, &[3][..]));
    /// assert!(FilterSpec::parse("none")?.filters.is_empty());
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<FilterSpec> {
        let (names, chain) = match split_once(text, ',') {
            None if text.trim() == "none" => ("*", "none"),
            None => return Err(bad_filter(text, "a variable and a filter are expected")),
            Some((names, chain)) => (names.trim(), chain.trim()),
        };
        let vars = match names {
            "*" => None,
            list => Some(split(list, &['|', '&']).into_iter().map(|n| unescaped(n.trim())).collect()),
        };
        let chain: FilterChain = chain.parse().map_err(|e: codec::Error| bad_filter(text, &e.to_string()))?;
        Ok(FilterSpec { vars, filters: chain.into() })
    }

    /// True if the request is for the variable of this path.
    pub(crate) fn names(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.vars.as_ref().is_none_or(|list| list.iter().any(|n| n.trim_start_matches('/') == path))
    }
}

impl fmt::Display for FilterSpec {
    /// As [`FilterSpec::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |vars: &Vec<String>| {
            vars.iter().map(|v| escaped(v, &[',', '|', '&', '*'])).collect::<Vec<_>>().join("|")
        };
        f.write_str(&self.vars.as_ref().map_or_else(|| "*".to_owned(), names))?;
        // By name, where that says all of it.
        let one = |f: &Filter| {
            let named = FilterChain::from(std::slice::from_ref(f)).to_string();
            let params: String = f.params.iter().map(|p| format!(",{p}")).collect();
            match named.parse::<FilterChain>() {
                Ok(same) if same.filters() == [f.clone()] => named,
                _ => format!("{}{params}", f.id),
            }
        };
        let all: Vec<String> = self.filters.iter().map(one).collect();
        write!(f, ",{}", if all.is_empty() { "none".to_owned() } else { all.join("|") })
    }
}

fn bad_filter(text: &str, why: &str) -> Error {
    Error::bad_option("filter", format!("the filter specification `{text}` is wrong: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_nccopy() {
        let s = ChunkSpec::parse("a:;/g/b:compact;lat/;/g/lon/7").unwrap();
        assert_eq!(s.var("a"), Some(&VarChunks::Contiguous));
        assert_eq!(s.var("g/b"), Some(&VarChunks::Compact));
        assert_eq!(s.dim("lat", "lat"), Some(None));
        assert_eq!(s.dim("/g/lon", "lon"), Some(Some(7)));
        for bad in ["", "lat", "lat/x", "v:1,,2", "v:0"] {
            assert!(ChunkSpec::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn filters_by_name_number_and_chain() {
        let s = FilterSpec::parse("*,shuffle,4|deflate,5").unwrap();
        assert_eq!(s.filters.iter().map(|f| f.id).collect::<Vec<_>>(), [2, 1]);
        assert!(s.names("x"));
        let s = FilterSpec::parse("/g/v,307,9").unwrap();
        assert!(s.names("/g/v") && !s.names("v"));
        assert!(FilterSpec::parse("v,nosuch").is_err());
        assert!(FilterSpec::parse("v,deflate,10").unwrap_err().to_string().contains("0 to 9"));
        assert!(FilterSpec::parse("v").is_err());
    }
}
