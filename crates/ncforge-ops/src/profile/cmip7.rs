//! The file layout that CMIP7 asks for, brought about: the time coordinate and its bounds in one chunk, chunks of the
//! data variable of 4 MiB or more, by more steps along the first axis. Variables in new chunks get shuffle, deflate 4 and a
//! checksum, as `cmip7repack` does it (Hassell and Cimadevilla, 2026). Metadata stand in front in every file that
//! ncforge makes. Variables that meet the rules already are left alone.

use ncforge::codec::filters;
use ncforge::model::{Filter, Schema, Storage, VarId, shape};

/// Bytes of values in a chunk of the data variable, at least.
pub(crate) const MIN_CHUNK: u64 = 4 << 20;
/// HDF5 stores the size of a chunk in 32 bits.
const MAX_CHUNK: u64 = (1 << 32) - 1;

/// The time coordinate: `time` in the root group.
pub(crate) fn time_of(schema: &Schema) -> Option<VarId> {
    schema.find_var("time")
}

/// Its bounds, which the attribute `bounds` names.
pub(crate) fn bounds_of(schema: &Schema) -> Option<VarId> {
    schema.named_by(time_of(schema)?, "bounds").next()
}

/// The data variable, which the global attribute `variable_id` names.
pub(crate) fn data_of(schema: &Schema) -> Option<VarId> {
    let name = schema.groups[0].attrs.iter().find(|a| a.name == "variable_id")?;
    schema.find_var(name.as_text()?.trim())
}

/// Changes the storage of the output's variables so that the file meets the rules.
pub(crate) fn apply(schema: &mut Schema) {
    let (time, bounds, data) = (time_of(schema), bounds_of(schema), data_of(schema));
    for v in [time, bounds].into_iter().flatten() {
        let lens = whole(schema, v);
        recut(schema, v, lens);
    }
    if let Some(v) = data.filter(|v| Some(*v) != time && Some(*v) != bounds) {
        let lens = thick(schema, v);
        recut(schema, v, lens);
    }
}

/// All of the variable in one chunk.
fn whole(schema: &Schema, v: VarId) -> Option<Vec<u64>> {
    let Storage::Chunked { chunks, .. } = &schema.var(v).storage else { return None };
    let lens: Vec<u64> = schema.shape(v).iter().zip(chunks).map(|(&n, &c)| n.max(c.min(n.max(1)))).collect();
    let several = schema.shape(v).iter().zip(chunks).any(|(n, c)| n > c);
    (several && bytes(schema, v, &lens) <= MAX_CHUNK).then_some(lens)
}

/// Chunks with more steps along the first axis, and, where all of those are not enough, along the next.
fn thick(schema: &Schema, v: VarId) -> Option<Vec<u64>> {
    let Storage::Chunked { chunks, .. } = &schema.var(v).storage else { return None };
    let shape = schema.shape(v);
    let several = shape.iter().zip(chunks).any(|(n, c)| n > c);
    let now = bytes(schema, v, chunks);
    let step = if chunks.len() > 1 { now / chunks[0].max(1) } else { 0 };
    if !several || now.saturating_add(step) >= MIN_CHUNK {
        return None;
    }
    let mut lens = chunks.clone();
    for d in 0..lens.len() {
        let others = bytes(schema, v, &lens) / lens[d].max(1);
        let wanted = MIN_CHUNK.div_ceil(others.max(1));
        lens[d] = wanted.clamp(lens[d].min(shape[d].max(1)), shape[d].max(1));
        if bytes(schema, v, &lens) >= MIN_CHUNK {
            break;
        }
    }
    Some(lens)
}

fn bytes(schema: &Schema, v: VarId, lens: &[u64]) -> u64 {
    let var = schema.var(v);
    let element = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype)) as u64;
    shape::bytes(lens, element)
}

fn recut(schema: &mut Schema, v: VarId, lens: Option<Vec<u64>>) {
    let Some(chunks) = lens else { return };
    let var = schema.var(v);
    let list: Vec<Filter> = match schema.fixed_size(var.dtype) {
        Some(1) => vec![filters::deflate(4), filters::fletcher32()],
        Some(n) => vec![filters::shuffle(n), filters::deflate(4), filters::fletcher32()],
        None => Vec::new(),
    };
    schema.vars[v.0].storage = Storage::Chunked { chunks, filters: list };
}
