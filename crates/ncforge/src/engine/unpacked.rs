//! Reading what stored numbers mean: each strip of a selection is unpacked right after it was decoded, while it is in
//! cache, by the thread that has it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Engine;
use super::boxes;
use super::checks::{check_memory, checked_layout, result_bytes};
use super::how::{How, Keep};
use super::policy::DECODE_PARALLEL;
use super::shared::SharedOut;
use super::source::Source;
use super::stats::add;
use crate::buffer::Buffer;
use crate::codec::unpack::{Missing, Unpacking};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Place, VarLayout};
use crate::model::{DType, VarId};
use crate::select::Hyperslab;

/// Stored bytes of a strip, where chunks allow it: with its results it fits the caches of one processor.
const STRIP: u64 = 512 << 10;
/// Elements that one thread unpacks at a time of a selection that was read as a whole.
const PIECE: usize = 128 << 10;

/// Memory of one strip, until its task takes it: results, and the mask of missing ones.
type StripBuffers<'a> = Mutex<Option<(&'a mut [u8], Option<&'a mut [u8]>)>>;

/// Reads a selection and unpacks it. `mask` has a byte for every element; those of missing ones become 1. Whether any
/// is missing.
pub(super) fn read(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
    rules: &Unpacking,
    out: &mut [u8],
    mask: Option<&mut [u8]>,
) -> Result<bool> {
    let layout = checked_layout(container, var, slab)?;
    let size = layout.element.size;
    let is_number = matches!(container.schema().var(var).dtype, DType::Atomic(_) | DType::User(_));
    if layout.element.heap || !is_number || rules.stored_size() != size {
        return Err(Error::wrong_kind(layout.name.clone(), "holds no such numbers"));
    }
    rules.check()?;
    let stored = result_bytes(slab, &layout)?;
    let count = stored / size as u64;
    if count.checked_mul(rules.result_size() as u64) != Some(out.len() as u64)
        || mask.as_ref().is_some_and(|m| m.len() as u64 != count)
    {
        return Err(Error::Length(format!(
            "`{}`: the selection has {count} elements, the destination is of another size",
            layout.name
        )));
    }
    if count == 0 {
        return Ok(false);
    }
    let rows = rows_of_strip(&layout, slab, stored);
    let strips = slab.count.first().map_or(1, |n| n.div_ceil(rows)) as usize;
    // A store with latency is asked for all of it at once.
    if strips == 1 || container.store().io_profile().has_latency() {
        return read_whole(engine, container, var, slab, rules, out, mask);
    }
    let inner = &*engine.inner;
    let number = inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
    let rooms = cut(out, mask, (count / slab.count[0] * rows) as usize, rules);
    let any = AtomicBool::new(false);
    let source = Source { engine, store: container.store(), var, layout: &layout, newer: None };
    let parallel = inner.pool.shares(stored, DECODE_PARALLEL);
    inner.pool.run(strips, parallel, |i| {
        let Some((out, mask)) = take(&rooms[i]) else { return Ok(()) };
        let part = strip(slab, rows, i as u64);
        let how = How::new(number, false, Keep::Parts);
        let found = if rules.scaling.is_none() {
            read_strip(&source, &part, out, how)?;
            rules.find(out, mask)?
        } else {
            let mut raw = inner.results.buffer(result_bytes(&part, &layout)? as usize)?;
            read_strip(&source, &part, &mut raw, how)?;
            rules.unpack(&raw, out, mask)?
        };
        if found {
            any.store(true, Ordering::Relaxed);
        }
        Ok(())
    })?;
    add(&inner.counters.delivered, stored);
    Ok(any.into_inner())
}

/// Reads a selection and unpacks it into new memory.
pub(super) fn read_new(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
    rules: &Unpacking,
) -> Result<(Buffer, Option<Buffer>)> {
    let layout = checked_layout(container, var, slab)?;
    let count = result_bytes(slab, &layout)? / layout.element.size.max(1) as u64;
    let results = count.checked_mul(rules.result_size() as u64);
    check_memory(&layout, results.map_or(u64::MAX, |n| n.saturating_add(count)))?;
    // Every byte is overwritten, or the buffer is dropped by the error.
    let mut out = engine.inner.results.buffer(count as usize * rules.result_size())?;
    let marks = rules.becomes == Missing::Marked;
    let mut mask = marks.then(|| Buffer::try_zeroed(count as usize)).transpose()?;
    let any = read(engine, container, var, slab, rules, &mut out, mask.as_deref_mut())?;
    Ok((out, mask.filter(|_| any)))
}

/// One strip: read as any other selection is, with looking ahead where it is one of a series.
fn read_whole(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
    rules: &Unpacking,
    out: &mut [u8],
    mask: Option<&mut [u8]>,
) -> Result<bool> {
    if rules.scaling.is_none() {
        engine.read_bytes(container, var, slab, out)?;
        return Ok(rules.find(out, mask)?);
    }
    let count = out.len() / rules.result_size();
    let mut raw = engine.inner.results.buffer(count * rules.stored_size())?;
    engine.read_bytes(container, var, slab, &mut raw)?;
    let pieces = cut(out, mask, PIECE, rules);
    let any = AtomicBool::new(false);
    let parallel = engine.inner.pool.shares(raw.len() as u64, DECODE_PARALLEL);
    engine.inner.pool.run(pieces.len(), parallel, |i| {
        let Some((out, mask)) = take(&pieces[i]) else { return Ok(()) };
        let size = rules.stored_size();
        let from = i * PIECE * size;
        let stored = &raw[from..raw.len().min(from + PIECE * size)];
        if rules.unpack(stored, out, mask)? {
            any.store(true, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(any.into_inner())
}

/// The memory of a task, which takes it once.
fn take<'a>(room: &StripBuffers<'a>) -> Option<(&'a mut [u8], Option<&'a mut [u8]>)> {
    room.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn read_strip(source: &Source<'_>, part: &Hyperslab, raw: &mut [u8], how: How) -> Result<()> {
    let steps = boxes::steps(&part.count, source.layout.element.size)?;
    let raw = SharedOut::new(raw);
    // SAFETY: `raw` is ours.
    unsafe { source.read(part, &steps, &raw, how) }
}

/// Positions on the first axis that are read at a time: whole rows of chunks, of about [`STRIP`] bytes.
fn rows_of_strip(layout: &VarLayout, slab: &Hyperslab, stored: u64) -> u64 {
    let Some(&n) = slab.count.first() else { return 1 };
    let row = (stored / n.max(1)).max(1);
    let wanted = (STRIP / row).clamp(1, n.max(1));
    let chunk = match &layout.place {
        Place::Chunked { chunk, .. } => chunk.first().copied().unwrap_or(1).max(1),
        _ => 1,
    };
    // Positions of the selection on one row of chunks; where they begin inside one, strips are off by that.
    let on_one = (chunk / slab.stride[0].max(1)).max(1);
    wanted.div_ceil(on_one).saturating_mul(on_one).min(n.max(1))
}

/// The strip of number `i`.
fn strip(slab: &Hyperslab, rows: u64, i: u64) -> Hyperslab {
    let mut part = slab.clone();
    if let Some(n) = part.count.first_mut() {
        let first = i * rows;
        *n = rows.min(*n - first);
        part.start[0] += first * slab.stride[0];
    }
    part
}

/// Cuts the destinations into those of strips of so many elements.
fn cut<'a>(
    out: &'a mut [u8],
    mask: Option<&'a mut [u8]>,
    elements: usize,
    rules: &Unpacking,
) -> Vec<StripBuffers<'a>> {
    let outs = out.chunks_mut(elements * rules.result_size());
    match mask {
        None => outs.map(|o| Mutex::new(Some((o, None)))).collect(),
        Some(mask) => {
            outs.zip(mask.chunks_mut(elements)).map(|(o, m)| Mutex::new(Some((o, Some(m))))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::unpack::{Scaling, Width};
    use crate::dataset::{CreateOptions, Dataset, DatasetMut};
    use crate::model::{Atomic, DimId, Dimension, Format, Schema, Storage, Variable};

    fn written(path: &std::path::Path, chunks: Option<Vec<u64>>, shape: [u64; 3]) {
        let mut schema = Schema::new(Format::Netcdf4);
        for (name, len) in ["t", "y", "x"].into_iter().zip(shape) {
            schema.dims.push(Dimension::new(name, len, false));
        }
        let mut var = Variable::new("v", Atomic::Short, vec![DimId(0), DimId(1), DimId(2)]);
        if let Some(chunks) = chunks {
            var.storage = Storage::Chunked { chunks, filters: vec![crate::codec::filters::deflate(1)] };
        }
        schema.vars.push(var);
        let mut new = DatasetMut::create(path, schema, CreateOptions::default()).unwrap();
        let all: Vec<i16> = (0..shape.iter().product()).map(|i: u64| (i * 37 % 4001) as i16 - 2000).collect();
        new.put(VarId(0), &Hyperslab::all(&shape), &all).unwrap();
        new.close().unwrap();
    }

    #[test]
    fn strips_give_what_the_whole_gives() {
        let dir = tempfile::tempdir().unwrap();
        let shape = [90, 60, 128];
        let rules = Unpacking {
            stored: Atomic::Short,
            missing: vec![(-1999i16).to_ne_bytes().to_vec()],
            low: None,
            high: None,
            becomes: Missing::Marked,
            scaling: Some(Scaling { width: Width::Double, factor: Some(0.1), offset: Some(-3.0) }),
        };
        for (name, chunks) in [("flat", None), ("chunked", Some(vec![7, 20, 50]))] {
            let path = dir.path().join(name);
            written(&path, chunks, shape);
            let data = Dataset::open(&path).unwrap();
            for slab in [
                Hyperslab::all(&shape),
                Hyperslab { start: vec![3, 1, 2], count: vec![29, 55, 100], stride: vec![3, 1, 1] },
                Hyperslab { start: vec![5, 0, 0], count: vec![1, 1, 1], stride: vec![1, 1, 1] },
                Hyperslab { start: vec![0, 0, 0], count: vec![90, 0, 128], stride: vec![1, 1, 1] },
            ] {
                let raw: Vec<i16> = data.get(VarId(0), &slab).unwrap();
                let (mut out, mut mask) = (vec![0u8; raw.len() * 8], vec![0u8; raw.len()]);
                let any = data.read_unpacked(VarId(0), &slab, &rules, &mut out, Some(&mut mask)).unwrap();
                assert_eq!(any, raw.contains(&-1999));
                for (i, v) in raw.iter().enumerate() {
                    let got = f64::from_ne_bytes(out[i * 8..][..8].try_into().unwrap());
                    let want = if *v == -1999 { f64::from(*v) } else { f64::from(*v) * 0.1 - 3.0 };
                    assert_eq!((got, mask[i]), (want, u8::from(*v == -1999)), "{name} {slab:?} {i}");
                }
            }
            let all = Hyperslab::all(&shape);
            assert!(
                data.read_unpacked(VarId(0), &all, &rules, &mut [0; 8], None).is_err(),
                "too little room"
            );
            let beyond = Hyperslab::all(&[91, 60, 128]);
            assert!(data.read_unpacked(VarId(0), &beyond, &rules, &mut [0; 8], None).is_err());
        }
    }
}
