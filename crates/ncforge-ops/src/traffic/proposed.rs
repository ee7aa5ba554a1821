//! Where the variables of a copy for object stores would lie.

use std::collections::HashMap;
use std::ops::Range;

use ncforge::model::{VarId, shape};
use ncforge::raw::coordinates;
use ncforge::store::FIRST_REQUEST;
use ncforge::{Dataset, Engine};

use super::Stored;
use crate::choosing::ChoosingRequest;
use crate::copy::{CopyRequest, plan};
use ncforge_tune::rates::StorageKind;

/// Metadata of a copy: before the values.
const METADATA: u64 = 64 << 10;
/// Chunks of one variable that are listed.
const MOST_CHUNKS: u64 = 1 << 20;

/// A copy that was not made.
pub(super) struct Planned {
    /// The bytes that the first request brings.
    pub(super) front: Range<u64>,
    /// The shape and the place of each variable of the file in the copy.
    pub(super) variables: HashMap<VarId, (Vec<u64>, Stored)>,
}

/// The copy of a file; `stored` says where its variables lie now. `None` if it cannot be copied.
pub(super) fn of<'a>(source: &Dataset, stored: impl Fn(VarId) -> Option<&'a Stored>) -> Option<Planned> {
    let choosing = ChoosingRequest { storage: Some(StorageKind::Object), ..ChoosingRequest::default() };
    let mut options = CopyRequest { choosing, ..CopyRequest::default() }.options().ok()?;
    // No values are read for this.
    options.choosing.sample = false;
    let planned = plan(source, &options, &Engine::global()).ok()?;
    let schema = &planned.schema;
    let by_path: HashMap<String, VarId> =
        source.schema().var_ids().map(|v| (source.schema().var_path(v), v)).collect();
    let mut end = METADATA;
    let mut variables = HashMap::new();
    for var in schema.var_ids() {
        let Some(&from) = by_path.get(&schema.var_path(var)) else { continue };
        let Some(now) = stored(from) else { continue };
        let shape = schema.shape(var);
        let chunk = schema.var(var).storage.chunks().map(<[u64]>::to_vec);
        let then = laid_out(now, &shape, chunk, &mut end)?;
        variables.insert(from, (shape, then));
    }
    Some(Planned { front: 0..FIRST_REQUEST.min(end), variables })
}

/// A variable whose bytes begin at `end`, which becomes the end of them.
fn laid_out(now: &Stored, shape: &[u64], chunk: Option<Vec<u64>>, end: &mut u64) -> Option<Stored> {
    let size = now.size;
    let values = shape::bytes(shape, size);
    let Some(chunk) = chunk else {
        let begin = Some((*end, None));
        *end = end.saturating_add(values);
        return Some(Stored { size, chunk: None, chunks: Vec::new(), begin });
    };
    let each = shape::bytes(&chunk, size);
    let counts: Vec<u64> = shape.iter().zip(&chunk).map(|(n, c)| n.div_ceil((*c).max(1))).collect();
    let many = shape::elements(&counts);
    if many > MOST_CHUNKS {
        return None;
    }
    let bytes = ((each as f64 * compressed(now)).ceil() as u64).max(1);
    let ranges: Vec<_> = counts.iter().map(|&n| 0..n).collect();
    let mut chunks = Vec::with_capacity(many as usize);
    for at in coordinates(&ranges) {
        chunks.push((at.iter().zip(&chunk).map(|(a, c)| a * c).collect(), super::span(*end, bytes)));
        *end = end.saturating_add(bytes);
    }
    Some(Stored { size, chunk: Some(chunk), chunks, begin: None })
}

/// Bytes in the file for a byte of values, now.
fn compressed(now: &Stored) -> f64 {
    let Some(chunk) = &now.chunk else { return 1.0 };
    let each = chunk.iter().fold(now.size as f64, |n, &c| n * c as f64);
    let stored: f64 = now.chunks.iter().map(|(_, r)| (r.end - r.start) as f64).sum();
    match now.chunks.is_empty() {
        true => 1.0,
        false => stored / (each * now.chunks.len() as f64),
    }
}
