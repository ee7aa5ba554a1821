//! The codecs of variables, chosen on samples of their values (`--codec auto`).

use std::collections::BTreeMap;

use super::options::{Codec, CopyOptions};
use crate::sampling::{Budget, PartLimits, encode, parts_of};
use ncforge::codec::CodecChain;
use ncforge::model::{Schema, VarId, shape};
use ncforge::{Dataset, Result};
use ncforge_tune::codec::{CodecChoice, Goal, Method};

/// Chooses codecs, one variable after the other.
pub(super) struct Coders<'a> {
    source: &'a Dataset,
    options: &'a CopyOptions,
    /// Choices of an earlier run, which stand.
    recorded: &'a BTreeMap<String, Method>,
    /// Variables of the output whose values lose bits before they are encoded.
    rounded: &'a [VarId],
    /// Bytes that samples may still read and decode, for `vars_left` variables.
    budget: Budget,
    vars_left: u64,
    /// The chosen codecs, by path.
    pub(super) found: BTreeMap<String, CodecChoice>,
}

impl<'a> Coders<'a> {
    /// The coders for the output that `schema` describes.
    pub(super) fn new(
        source: &'a Dataset,
        schema: &Schema,
        options: &'a CopyOptions,
        rounded: &'a [VarId],
        recorded: &'a BTreeMap<String, Method>,
        budget: Budget,
    ) -> Self {
        let large = |v: &VarId| bytes_of(schema, *v).is_some_and(|b| b >= options.min_chunked);
        let vars_left = schema.var_ids().filter(large).count() as u64;
        let found = BTreeMap::new();
        Coders { source, options, recorded, rounded, budget, vars_left, found }
    }

    /// The method for the variable `v` of the output, whose values are those of `from`; no compression where nobody
    /// asked for a choice. `chunks` are the lengths that it would have with the usual codec (`None`: no chunks): what
    /// is smaller in large chunks need not be so in small ones.
    pub(super) fn of_variable(
        &mut self,
        schema: &Schema,
        v: VarId,
        from: Option<VarId>,
        chunks: Option<&[u64]>,
    ) -> Result<Method> {
        let Codec::Auto { goal, zstd } = self.options.codec else { return Ok(Method::None) };
        let (shape, path) = (schema.shape(v), schema.var_path(v));
        if shape.is_empty() || self.options.filters.iter().any(|f| f.names(&path)) {
            return Ok(Method::None);
        }
        if let Some(&recorded) = self.recorded.get(&path) {
            return Ok(recorded);
        }
        let none = |why: &str| CodecChoice::given(Method::None, goal, format!("no compression: {why}"));
        let size = schema.fixed_size(schema.var(v).dtype).zip(bytes_of(schema, v));
        let choice = match (size, from) {
            (None, _) => none("strings and ragged rows are stored apart from their chunks"),
            (Some((_, bytes)), _) if bytes < self.options.min_chunked => none("the variable is small"),
            (_, None) => none("there are no values"),
            (Some((n, _)), Some(from)) => {
                let limit = self.budget.share(self.vars_left);
                self.vars_left = self.vars_left.saturating_sub(1);
                let limits = PartLimits::of_codecs(limit);
                let (mut parts, read) = parts_of(self.source, from, chunks.unwrap_or(&shape), limits)?;
                self.budget.spend(read);
                if let Some(how) = self.options.quantize.filter(|_| self.rounded.contains(&v)) {
                    let fill = schema.fill_value(v);
                    parts.iter_mut().for_each(|p| how.apply(schema.var(v).dtype, p, &fill));
                }
                self.best(&parts, n, goal, zstd)?
            }
        };
        let method = choice.method;
        self.found.insert(path, choice);
        Ok(method)
    }

    /// The best method for these values of `element` bytes each.
    fn best(&self, parts: &[Vec<u8>], element: usize, goal: Goal, zstd: bool) -> Result<CodecChoice> {
        let raw: u64 = parts.iter().map(|p| p.len() as u64).sum();
        if raw == 0 {
            let shuffle = self.options.shuffle.unwrap_or(true) && element > 1;
            let why = "nothing of it could be looked at within the limit for samples: deflate 1, as usual";
            return Ok(CodecChoice::given(Method::Deflate { level: 1, shuffle }, goal, why.into()));
        }
        let mut stored: Vec<(Method, u64)> = Vec::new();
        // The quickest levels first: where shuffle makes values much smaller or larger, higher levels do not turn that round.
        let mut candidates = Method::candidates(element, self.options.shuffle, zstd);
        candidates.sort_by_key(|m| !m.is_quickest());
        for method in candidates {
            if !method.is_quickest() && beaten(method, &stored) {
                continue;
            }
            let bytes = match method {
                Method::None => raw,
                _ => encode(&CodecChain::new(&method.filters(element), element)?, parts)?.bytes,
            };
            stored.push((method, bytes));
        }
        Ok(CodecChoice::of(goal, raw, &stored, &self.options.choosing.machine))
    }
}

/// Codecs that are larger by this factor at the quickest level, with shuffle or without, are not tried at others.
const BEATEN: f64 = 1.15;

/// Whether the same with shuffle where this has none (or the other way round) was so much better that this need not be tried.
fn beaten(method: Method, stored: &[(Method, u64)]) -> bool {
    let quickest = |shuffle: bool| {
        let same = stored.iter().filter(|(m, _)| m.is_quickest() && m.shuffles() == shuffle);
        same.map(|s| s.1).min()
    };
    match (quickest(method.shuffles()), quickest(!method.shuffles())) {
        (Some(own), Some(other)) => own as f64 > BEATEN * other as f64,
        _ => false,
    }
}

/// Bytes of a variable's values, where they have a size.
fn bytes_of(schema: &Schema, v: VarId) -> Option<u64> {
    let element = schema.fixed_size(schema.var(v).dtype)? as u64;
    Some(shape::bytes(&schema.shape(v), element))
}
