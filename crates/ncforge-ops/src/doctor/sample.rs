//! A few parts of a variable's values, and what filters would make of them.
//!
//! Of a chunked variable some chunks are fetched and decoded; of others some runs of bytes. A part is at most
//! 64 KiB: what is asked is how filters compare, and that shows on small parts already.

use std::time::Instant;

use super::facts::{Facts, VALUE_BYTES, VarFacts};
use ncforge::codec::deflate::{Work, take_work};
use ncforge::codec::filters::{self, BITSHUFFLE, BLOSC, DEFLATE, FLETCHER32, SHUFFLE, ZSTD};
use ncforge::codec::{self, CodecChain, locate};
use ncforge::error::Result;
use ncforge::layout::{ChunkRecord, Place};
use ncforge::model::Filter;
use ncforge::store::ReadStore;

/// Bytes of a part.
const PART: usize = 64 << 10;
/// Bytes of records that are read at a time, where they interleave variables.
const WINDOW: u64 = 256 << 10;
/// Parts of a variable.
const PARTS: usize = 4;
/// Variables that are sampled, the largest first.
const VARIABLES: usize = 24;
/// Bytes that are decoded, in all.
const DECODED: u64 = 48 << 20;
/// A variable of fewer bytes is not worth a look.
const SMALL: u64 = 64 << 10;

/// What parts of a variable show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Bytes looked at.
    pub(super) raw: u64,
    /// Their size with the variable's own filters, as encoded here.
    pub(super) now: u64,
    /// Mean bytes of a part, and the seconds that one thread of the usual machine takes to decode it with these filters, where
    /// that is known: counted, and so the same in every run.
    pub(super) decoding: Option<(f64, f64)>,
    /// With shuffle and deflate 1.
    pub(super) shuffled: u64,
    /// With shuffle before the variable's own filters, where it has none.
    pub(super) with_shuffle: Option<u64>,
    /// With deflate at level 1, where the variable's level is higher; and how many times faster that is.
    pub(super) level_one: Option<(u64, f64)>,
    /// Chunks looked at among the smallest, and how many of them held fill values only.
    pub(super) fill_only: (u64, u64),
}

/// Looks at values of the largest variables, within the limits.
pub(super) fn sample(facts: &mut Facts) -> Result<()> {
    let begun = facts.watched.bytes_read();
    let mut decoded = DECODED;
    let mut order: Vec<usize> = (0..facts.vars.len()).filter(|&i| facts.vars[i].bytes >= SMALL).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(facts.vars[i].bytes));
    let all = order.len();
    order.truncate(VARIABLES);
    let mut looked = 0;
    for i in order {
        let room = VALUE_BYTES.saturating_sub(facts.watched.bytes_read() - begun);
        let found = of_variable(facts, &facts.vars[i], room, &mut decoded);
        match found {
            Ok(found) => {
                looked += usize::from(found.is_some());
                facts.vars[i].sample = found;
            }
            // Damage is told, and does not stop the rest.
            Err(e) => facts.notes.push(e.to_string()),
        }
    }
    if looked < all {
        facts.notes.push(format!("values were looked at in {looked} of {all} variables of 64 KiB or more"));
    }
    Ok(())
}

fn of_variable(facts: &Facts, v: &VarFacts, mut room: u64, decoded: &mut u64) -> Result<Option<Sample>> {
    if v.layout.element.heap || v.element == 0 {
        return Ok(None);
    }
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut found = Sample::default();
    match (&v.layout.place, &v.index) {
        (Place::Chunked { codecs, .. }, Some(index)) => {
            let bytes = v.chunk_bytes();
            let mut chunk = |r: &ChunkRecord| -> Result<Option<Vec<u8>>> {
                if r.len > room || bytes > *decoded || bytes > VALUE_BYTES {
                    return Ok(None);
                }
                room -= r.len;
                *decoded -= bytes;
                decode(facts, codecs, r, bytes).map(Some)
            };
            for (_, r) in index.picks.iter().take(PARTS) {
                if let Some(values) = chunk(r)? {
                    parts.push(part(values, v.element));
                }
            }
            // All stored chunks being equally long (unfiltered), the picks of the index stand for them.
            for (_, r) in &index.smallest.2 {
                if let Some(values) = chunk(r)? {
                    found.fill_only.0 += 1;
                    found.fill_only.1 += u64::from(is_fill(&values, &v.layout.fill));
                }
            }
        }
        (Place::Contiguous { offset }, _) => {
            runs(facts, *offset, v.bytes, PART as u64, &mut room, &mut parts)?;
        }
        (Place::Records { begin, stride }, _) => {
            let records = v.axes.first().map_or(0, |a| a.len);
            let each = v.bytes / records.max(1);
            let together = (WINDOW / (*stride).max(1)).clamp(1, records.max(1));
            for i in 0..PARTS as u64 {
                let first = (records - together.min(records)) / PARTS as u64 * i;
                let at = begin.saturating_add(first.saturating_mul(*stride));
                let mut bytes = Vec::new();
                let span = ((together - 1).saturating_mul(*stride)).saturating_add(each.min(PART as u64));
                read_run(facts, at, span, &mut room, &mut bytes)?;
                let own =
                    bytes.chunks((*stride).max(1) as usize).flat_map(|r| &r[..r.len().min(each as usize)]);
                parts.push(own.copied().take(PART).collect());
            }
        }
        _ => {}
    }
    parts.retain(|p| p.len() as u64 >= v.element);
    if parts.is_empty() {
        return Ok((found.fill_only.0 > 0).then_some(found));
    }
    measure(v, &parts, &mut found)?;
    Ok(Some(found))
}

fn decode(facts: &Facts, codecs: &CodecChain, r: &ChunkRecord, bytes: u64) -> Result<Vec<u8>> {
    let stored = facts.watched.read_vec(r.offset, r.len)?;
    let explain = |e: codec::Error| locate(e, facts.watched.name(), r.offset);
    codecs.check_len(stored.len(), r.mask, bytes as usize).map_err(explain)?;
    let mut out = vec![0; bytes as usize];
    codecs.decode(&stored, r.mask, &mut out).map_err(explain)?;
    Ok(out)
}

/// Whole elements of the middle of some values.
fn part(values: Vec<u8>, element: u64) -> Vec<u8> {
    if values.len() <= PART {
        return values;
    }
    let element = (element as usize).max(1);
    let from = (values.len() - PART) / 2 / element * element;
    values[from..from + (PART / element).max(1) * element].to_vec()
}

fn runs(
    facts: &Facts,
    offset: u64,
    bytes: u64,
    each: u64,
    room: &mut u64,
    parts: &mut Vec<Vec<u8>>,
) -> Result<()> {
    for i in 0..PARTS as u64 {
        let at = bytes.saturating_sub(each) / 8 * 8 / PARTS as u64 * i / 8 * 8;
        let mut out = Vec::new();
        read_run(facts, offset.saturating_add(at), each.min(bytes), room, &mut out)?;
        parts.push(out);
    }
    Ok(())
}

/// Bytes of the file, as many as are there.
fn read_run(facts: &Facts, at: u64, len: u64, room: &mut u64, out: &mut Vec<u8>) -> Result<()> {
    let len = len.min(facts.watched.len().saturating_sub(at));
    if len > *room || len == 0 {
        return Ok(());
    }
    *room -= len;
    out.extend(facts.watched.read_vec(at, len)?);
    Ok(())
}

fn is_fill(values: &[u8], fill: &[u8]) -> bool {
    !fill.is_empty() && !values.is_empty() && values.chunks(fill.len()).all(|e| e == fill)
}

/// All parts, encoded with some filters.
struct Encoded {
    bytes: u64,
    seconds: f64,
    /// What decoding them takes, where that is known.
    work: Option<Work>,
}

fn measure(v: &VarFacts, parts: &[Vec<u8>], found: &mut Sample) -> Result<()> {
    let size = v.element as usize;
    let element = filters::shuffle(size);
    // Checksums and the like do not count.
    let own: Vec<Filter> = v.filters.iter().filter(|f| f.id != FLETCHER32).cloned().collect();
    let total = |chain: &[Filter]| -> Result<Encoded> {
        let chain = CodecChain::new(chain, size)?;
        let begun = Instant::now();
        let mut bytes = 0;
        let mut work = Some(Work::default());
        for p in parts {
            take_work();
            bytes += chain.encode(p)?.0.len() as u64;
            match (&mut work, take_work()) {
                (Some(sum), Some(part)) => *sum += part,
                _ => work = None,
            }
        }
        Ok(Encoded { bytes, seconds: begun.elapsed().as_secs_f64(), work })
    };
    found.raw = parts.iter().map(|p| p.len() as u64).sum();
    let mut usual = vec![filters::deflate(1)];
    if size > 1 {
        usual.insert(0, element.clone());
    }
    found.shuffled = total(&usual)?.bytes;
    let level = own.iter().find(|f| f.id == DEFLATE).map(|f| f.params.first().copied().unwrap_or(6));
    let simple = own.iter().all(|f| [DEFLATE, ZSTD, SHUFFLE].contains(&f.id));
    if own.is_empty() {
        found.now = found.raw;
    } else if simple {
        let now = total(&own)?;
        found.now = now.bytes;
        let n = parts.len() as f64;
        found.decoding = now.work.map(|work| (found.raw as f64 / n, work.seconds(parts.len() as u64) / n));
        if !own.iter().any(|f| [SHUFFLE, BITSHUFFLE, BLOSC].contains(&f.id)) && size > 1 {
            let mut chain = vec![element];
            chain.extend(own.iter().cloned());
            found.with_shuffle = Some(total(&chain)?.bytes);
        }
        if level.is_some_and(|l| l > 1) {
            let mut chain = own;
            chain.iter_mut().filter(|f| f.id == DEFLATE).for_each(|f| *f = filters::deflate(1));
            let fast = total(&chain)?;
            found.level_one = Some((fast.bytes, now.seconds / fast.seconds.max(1e-9)));
        }
    }
    Ok(())
}
