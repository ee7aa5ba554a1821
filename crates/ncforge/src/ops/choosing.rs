//! Chunk shapes for the variables of a dataset: what [`crate::tune`] says, given what the file tells.

use crate::codec::filters;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::layout::Place;
use crate::model::{DType, Filter, Schema, Storage, VarId};
use crate::ops::sampling::sample;
use crate::tune::{Access, Choice, Coding, Limits, Machine, Request, axes_of, choose};

/// Bytes that a sample may read and decode.
const SAMPLE: u64 = 64 << 20;

/// How to choose.
#[derive(Clone, Debug)]
pub struct Choosing {
    /// How the variables will be read.
    pub accesses: Vec<Access>,
    /// The machine that reads.
    pub machine: Machine,
    /// Bounds.
    pub limits: Limits,
    /// Whether to look at some of the values, to know how well and how fast they are coded.
    pub sample: bool,
}

impl Default for Choosing {
    /// The usual accesses, the user's machine, no sample.
    fn default() -> Self {
        Choosing {
            accesses: Access::usual(),
            machine: Machine::of_user(),
            limits: Limits::default(),
            sample: false,
        }
    }
}

/// The chunk shape for a variable, as it would be with `filters` (`None`: with those that it has, or shuffle and
/// deflate where it has none). `None` for scalars and for variables without fixed-size values.
///
/// # Errors
/// As [`choose`] and, with a sample, as reading.
pub fn chunks_for(
    dataset: &Dataset,
    var: VarId,
    wanted: Option<&[Filter]>,
    choosing: &Choosing,
) -> Result<Option<Choice>> {
    let schema = dataset.schema();
    let v = schema.var(var);
    let (Some(size), false) = (schema.fixed_size(v.dtype), v.dims.is_empty()) else { return Ok(None) };
    let chain = match (wanted, &v.storage) {
        (Some(filters), _) => filters.to_vec(),
        (None, Storage::Chunked { filters, .. }) if !filters.is_empty() => filters.clone(),
        _ => default_filters(v.dtype, size),
    };
    let mut coding = coding_of(&chain);
    if choosing.sample
        && let Some(found) = sample(dataset, var, &chain, SAMPLE)?
    {
        coding = found.coding;
    }
    let axes = axes_of(schema, var);
    let request = Request {
        accesses: choosing.accesses.clone(),
        limits: choosing.limits,
        before: before(dataset, schema, var)?,
        ..Request::new(&axes, size as u64, coding, &choosing.machine)
    };
    choose(&request).map(Some)
}

/// What is usual for a filter chain.
fn coding_of(chain: &[Filter]) -> Coding {
    let has = |id: u16| chain.iter().any(|f| f.id == id);
    match () {
        () if chain.is_empty() => Coding::none(),
        () if has(1) => Coding::deflate(1),
        () => Coding { filtered: true, ..Coding::zstd() },
    }
}

fn default_filters(dtype: DType, size: usize) -> Vec<Filter> {
    let mut chain = Vec::new();
    if size > 1 && dtype != DType::String {
        chain.push(filters::shuffle(size));
    }
    chain.push(filters::deflate(1));
    chain
}

/// How the variable is stored now, where that can be compared.
fn before(dataset: &Dataset, schema: &Schema, var: VarId) -> Result<Option<(Option<Vec<u64>>, Coding)>> {
    let layout = dataset.container().layout(var)?;
    Ok(match &layout.place {
        Place::Chunked { chunk, .. } => {
            let chain = match &schema.var(var).storage {
                Storage::Chunked { filters, .. } => &filters[..],
                _ => &[],
            };
            Some((Some(chunk.clone()), coding_of(chain)))
        }
        Place::Contiguous { .. } => Some((None, Coding::none())),
        _ => None,
    })
}
