//! Changes the schema of a file in use: in place if the header padding suffices, else by moving its data.

mod records;

use super::emit;
use super::layout::{Extent, Layout, record_size};
use super::limits;
use super::reader::stored_fill;
use super::rebuild::rebuild;
use super::writer::{ClassicWriter, describe};
use super::written::Written;
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::model::{DimId, Schema};

/// Implements `ContainerMut::redefine`. If it fails before data had to move, nothing has changed.
pub(super) fn redefine(w: &mut ClassicWriter, schema: Schema) -> Result<()> {
    let version = w.file.version;
    if schema.format != version.format() {
        let (from, to) = (version.name(), schema.format.kind());
        return Err(Error::CannotRedefine(format!(
            "turn `{}`, which is {from}, into {to}",
            w.file.store.name()
        )));
    }
    let mut schema = limits::normalise(schema, version);
    continues(&w.file.schema, &schema)?;
    limits::check(&schema, version, &w.file.schema.names())?;

    // First with the existing records; then grow.
    let mut grown = None;
    for (i, dim) in schema.dims.iter_mut().enumerate().filter(|(_, d)| d.unlimited) {
        let records = w.file.schema.dims.get(i).map_or(0, |d| d.len);
        grown = (dim.len > records).then_some((DimId(i), dim.len));
        dim.len = records;
    }
    let sizes = limits::sizes(&schema, version)?;
    let header = emit::header_len(&schema, version)?;
    let floor = floor(w);
    let refilled = other_fill(w, &schema);
    let stays = if has_data(w) {
        extend(&w.file.layout, &sizes, header, floor, w.file.records())
    } else {
        Some(limits::place_behind(&schema, version, &sizes, w.options.header_room, floor)?)
    };
    match stays {
        Some(layout) if fits(&schema, &layout, w, floor).is_ok() => {
            w.written.resize(schema.vars.len(), Written::default());
            refill(w, &refilled);
            w.adopt(schema, layout);
            w.redefined = true;
            w.touched = true;
            w.skip_unfilled();
        }
        _ => match widen(w, schema, &sizes, header)? {
            None => {
                refill(w, &refilled);
                w.skip_unfilled();
            }
            Some(schema) => {
                // A new file, which has no old header. A file that was redefined once will be again: with as much room as the
                // header takes, data move seldom however often.
                let room = w.options.header_room.unwrap_or(header.max(SPARE));
                let tight = limits::place(&schema, version, &sizes, Some(room))?;
                let roomy = before_records(&tight, w).filter(|roomy| fits(&schema, roomy, w, 0).is_ok());
                let layout = roomy.unwrap_or(tight);
                fits(&schema, &layout, w, 0)?;
                rebuild(w, schema, layout, &refilled)?;
            }
        },
    }
    describe(&*w.store, &w.file.layout, &w.file.schema);
    match grown {
        Some((dim, len)) => w.grow(dim, len),
        None => Ok(()),
    }
}

/// Variables without values whose fill value changes.
fn other_fill(w: &ClassicWriter, new: &Schema) -> Vec<usize> {
    let old = w.file.schema.vars.iter().zip(&new.vars).enumerate();
    let changed = old.filter(|(i, (a, b))| !w.written[*i].has_values && stored_fill(a) != stored_fill(b));
    changed.map(|(i, _)| i).collect()
}

/// Fills them again with the next sync.
fn refill(w: &mut ClassicWriter, vars: &[usize]) {
    for &var in vars {
        w.written[var] = Written::default();
        // The old fill values may be in the file.
        w.zero_from = w.zero_from.max(w.file.store.len());
    }
}

/// Header padding beyond the space that is needed, where it costs nothing.
const SPARE: u64 = 4096;
/// Space is inserted in multiples of this, so that data stay aligned to pages.
const PAGE: u64 = 4096;

/// Bytes of the variables without records.
fn fixed(vars: &[Extent]) -> Option<u64> {
    vars.iter().filter(|e| !e.record).try_fold(0u64, |n, e| n.checked_add(e.padded()))
}

/// Places variables one behind the other from byte `at`; the byte behind the last one.
fn place<'a>(vars: impl Iterator<Item = &'a mut Extent>, mut at: u64) -> Option<u64> {
    for e in vars {
        e.begin = at;
        at = at.checked_add(e.padded())?;
    }
    Some(at)
}

/// The layout with as much room before the records as the new fixed variables take, within limits: more of them are added one by one, and
/// for each all records would be moved.
fn before_records(layout: &Layout, w: &ClassicWriter) -> Option<Layout> {
    let old = &w.file.layout;
    let new = fixed(&layout.vars[old.vars.len()..]).filter(|new| *new > 0)?;
    let has_records = w.file.records() > 0 && old.record_size > 0;
    let room = has_records.then(|| new.clamp(SPARE, limits::AUTO_PADDING_MAX))?;
    let mut roomy = layout.clone();
    roomy.records_begin = roomy.records_begin.checked_add(room)?;
    for e in roomy.vars.iter_mut().filter(|e| e.record) {
        e.begin = e.begin.checked_add(room)?;
    }
    Some(roomy)
}

/// Inserts space where it is needed, if the store can do that without moving data; returns the schema if it cannot.
fn widen(w: &mut ClassicWriter, schema: Schema, sizes: &[Extent], header: u64) -> Result<Option<Schema>> {
    let store = w.store.clone();
    let Some(blocks) = store.blocks() else { return Ok(Some(schema)) };
    let (old, records) = (&w.file.layout, w.file.records());
    let Some(Widened { layout, insertions }) = widened(old, sizes, header, records) else {
        return Ok(Some(schema));
    };
    // A store that cannot insert space must not be called with a layout that would not be legal.
    if fits(&schema, &layout, w, floor(w)).is_err() {
        return Ok(Some(schema));
    }
    let count = old.vars.len();
    let has_new =
        records > 0 && old.record_size > 0 && sizes[count..].iter().any(|e| e.record && e.bytes > 0);
    let done = if has_new {
        let Some(wider) = records::wider(old, &schema, sizes, w.options.fill) else {
            return Ok(Some(schema));
        };
        // The store fills the records that it has: it must have all of them.
        let len = old.file_len(records).unwrap_or(0);
        if w.file.store.len() < len {
            w.store.set_len(len)?;
        }
        blocks.widen(&insertions, &wider)?
    } else {
        blocks.insert(&insertions)?
    };
    if !done {
        return Ok(Some(schema));
    }
    w.zero_from = w.zero_from.saturating_add(insertions.iter().map(|r| r.1).sum()).max(w.file.store.len());
    w.written.resize(schema.vars.len(), Written::default());
    for (written, e) in w.written.iter_mut().zip(sizes).skip(count).filter(|(_, e)| has_new && e.record) {
        // The store has filled them.
        *written = Written::filled(e.bytes * records, records);
    }
    w.adopt(schema, layout);
    w.redefined = true;
    w.touched = true;
    w.skip_unfilled();
    Ok(None)
}

/// A layout, and the insertions (offset, bytes) that change an old one into it.
struct Widened {
    layout: Layout,
    insertions: Vec<(u64, u64)>,
}

/// The layout with space inserted before the first data, between fixed variables and records, and in the records.
fn widened(old: &Layout, sizes: &[Extent], header: u64, records: u64) -> Option<Widened> {
    let live = |e: &&Extent| !e.record || records > 0;
    let first = old.vars.iter().filter(live).map(|e| e.begin).min()?;
    let count = old.vars.len();
    let records_stay = records > 0 && old.record_size > 0;
    let front = match header.checked_sub(first) {
        None | Some(0) => 0,
        Some(lacking) => lacking.checked_add(SPARE)?.checked_next_multiple_of(PAGE)?,
    };
    let need = fixed(&sizes[count..])?;
    let odd = old.records_begin.next_multiple_of(4) - old.records_begin;
    let middle = if records_stay && need > 0 { (need + odd).checked_next_multiple_of(PAGE)? } else { 0 };
    let mut vars = sizes.to_vec();
    for (new, old) in vars.iter_mut().zip(&old.vars) {
        new.begin = old.begin.checked_add(front)?;
        if old.record {
            new.begin = new.begin.checked_add(middle)?;
        }
    }
    // New fixed variables: right before the records, or after all fixed ones.
    let fixed_end = if old.vars.iter().any(|e| !e.record) { old.fixed_end() } else { old.records_begin };
    let at = if records_stay { old.records_begin } else { fixed_end }.checked_add(front)?;
    let at = place(vars[count..].iter_mut().filter(|e| !e.record), at.checked_next_multiple_of(4)?)?;
    let records_begin = if records_stay {
        let begin = old.records_begin.checked_add(front)?.checked_add(middle)?;
        // New record variables: after those of the first record.
        let old_records = old.vars.iter().filter(|e| e.record);
        let at = old_records.map(Extent::padded).try_fold(begin, u64::checked_add)?;
        place(vars[count..].iter_mut().filter(|e| e.record), at)?;
        begin
    } else {
        place(vars.iter_mut().filter(|e| e.record), at)?;
        at
    };
    let record_size = record_size(&vars)?;
    let insertions = [(first, front), (old.records_begin, middle)];
    let insertions = insertions.into_iter().filter(|r| r.1 > 0).collect();
    Some(Widened { layout: Layout { header, vars, records_begin, record_size }, insertions })
}

/// An error unless `new` begins with the dimensions and variables of `old` (whose names may differ).
fn continues(old: &Schema, new: &Schema) -> Result<()> {
    let refuse = |what: String| Err(Error::CannotRedefine(what));
    if new.dims.len() < old.dims.len() || new.vars.len() < old.vars.len() {
        return refuse("remove dimensions or variables".into());
    }
    for (a, b) in old.dims.iter().zip(&new.dims) {
        if a.unlimited != b.unlimited || (!a.unlimited && a.len != b.len) {
            return refuse(format!("change the length of dimension `{}`", a.name));
        }
    }
    for (a, b) in old.vars.iter().zip(&new.vars) {
        if a.dtype != b.dtype || a.dims != b.dims {
            return refuse(format!("change the type or the shape of variable `{}`", a.name));
        }
    }
    Ok(())
}

/// Whether any variable has data.
fn has_data(w: &ClassicWriter) -> bool {
    let records = w.file.records();
    w.file.layout.vars.iter().any(|e| !e.record || records > 0)
}

/// The first byte where data may begin because of the file on disk: after the header of the last sync.
///
/// Until the next sync, other programs read that header, and it is the state after a crash, however short the new one
/// will be; and its bytes become zeros when a shorter header replaces it.
fn floor(w: &ClassicWriter) -> u64 {
    w.on_disk.len() as u64
}

/// An error if the version does not allow a layout, or if it has data before byte `floor`.
fn fits(schema: &Schema, layout: &Layout, w: &ClassicWriter, floor: u64) -> Result<()> {
    limits::check_offsets(schema, w.file.version, layout)?;
    layout.check(schema, floor).map_err(Error::Invalid)?;
    match layout.file_len(w.file.records()) {
        Some(_) => Ok(()),
        None => Err(w.file.version.cannot("data of more than 2^63 bytes")),
    }
}

/// The layout with more variables and another header length in which no old data move and no new data begin before
/// byte `floor`, if there is one.
fn extend(old: &Layout, sizes: &[Extent], header: u64, floor: u64, records: u64) -> Option<Layout> {
    let live = |e: &&Extent| !e.record || records > 0;
    let first = old.vars.iter().filter(live).map(|e| e.begin).min()?;
    if header > first {
        return None;
    }
    let count = old.vars.len();
    let mut vars = sizes.to_vec();
    for (new, old) in vars.iter_mut().zip(&old.vars) {
        new.begin = old.begin;
    }
    let records_stay = records > 0 && old.record_size > 0;
    let need = fixed(&vars[count..])?;
    let at = if old.vars.iter().any(|e| !e.record) {
        old.fixed_end()
    } else {
        // Only records so far: as close before them as possible, so that the header padding stays.
        (old.records_begin / 4 * 4).checked_sub(need).filter(|&at| at >= header.max(floor))?
    };
    let at = place(vars[count..].iter_mut().filter(|e| !e.record), at)?;
    let records_begin = if records_stay {
        if at > old.records_begin || vars[count..].iter().any(|e| e.record) {
            return None;
        }
        old.records_begin
    } else {
        place(vars.iter_mut().filter(|e| e.record), at)?;
        at
    };
    let record_size = record_size(&vars)?;
    Some(Layout { header, vars, records_begin, record_size })
}
