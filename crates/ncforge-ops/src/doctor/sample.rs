//! A few parts of a variable's values, and what filters would make of them.
//!
//! A part is at most 64 KiB: the question is how filters compare, and small parts answer it. Of a chunked variable the smallest
//! chunks are decoded, too, to see whether they hold fill values only, and one without access points, to see whether it would get some.

use super::facts::{Facts, Sample, VALUE_BYTES, VarFacts};
use crate::sampling::{Encoded, PartLimits, encode, parts_of};
use ncforge::Result;
use ncforge::codec::filters::{self, Kind, Purpose};
use ncforge::codec::{self, CodecChain, locate};
use ncforge::model::Filter;
use ncforge::raw::ChunkRecord;
use ncforge::raw::policy::PART_COST;
use ncforge::store::ReadStore;
use ncforge_tune::codec::Method;

/// Bytes of values of a variable that are encoded.
const VALUES: u64 = 256 << 10;
/// Variables that are sampled, the largest first.
const VARIABLES: usize = 24;
/// Bytes that are decoded, in all.
const DECODED: u64 = 48 << 20;
/// A longer chunk is not decoded for its segments, …
const LARGEST: u64 = 16 << 20;
/// … and no more of it is encoded.
const ENCODED: u64 = 2 << 20;
/// A variable of fewer bytes is not worth a sample.
const SMALL: u64 = 64 << 10;

/// Samples values of the largest variables, within the limits.
pub(super) fn sample(facts: &mut Facts) -> Result<()> {
    let begun = facts.watched.bytes_read();
    let mut decoded = DECODED;
    let mut order: Vec<usize> = (0..facts.vars.len()).filter(|&i| facts.vars[i].bytes >= SMALL).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(facts.vars[i].bytes));
    let all = order.len();
    order.truncate(VARIABLES);
    let mut sampled = 0;
    for i in order {
        let read = VALUE_BYTES.saturating_sub(facts.watched.bytes_read() - begun);
        match of_variable(facts, &facts.vars[i], read, &mut decoded) {
            Ok(found) => {
                sampled += usize::from(found.is_some());
                facts.vars[i].sample = found;
            }
            // Damage is reported, and does not stop the rest.
            Err(e) => facts.notes.push(e.to_string()),
        }
    }
    if sampled < all {
        facts.notes.push(format!("values were looked at in {sampled} of {all} variables of 64 KiB or more"));
    }
    Ok(())
}

/// A sample of a variable from at most `read` bytes of the file, and `decoded` of values.
fn of_variable(facts: &Facts, v: &VarFacts, mut read: u64, decoded: &mut u64) -> Result<Option<Sample>> {
    if v.layout.element.heap || v.element == 0 {
        return Ok(None);
    }
    let mut found = Sample::default();
    if let (Some(codecs), Some(index)) = (v.layout.place.codecs(), &v.index) {
        let bytes = v.chunk_bytes();
        for (_, record) in &index.smallest.2 {
            if record.len > read || bytes > *decoded || bytes > VALUE_BYTES {
                continue;
            }
            read -= record.len;
            *decoded -= bytes;
            let values = decode(facts, codecs, record, bytes)?;
            found.fill_only.0 += 1;
            found.fill_only.1 += u64::from(is_fill(&values, v.layout.absent.inside().unwrap_or_default()));
        }
    }
    found.segment = segment(facts, v, &mut read, decoded)?;
    // Values that are read may be fewer than what is decoded for them, never more.
    let limits = PartLimits { values: (VALUES, VALUES), read: read.min(*decoded), each: VALUE_BYTES };
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len).collect();
    let (mut parts, spent) = parts_of(&facts.dataset, v.id, v.chunk.as_ref().unwrap_or(&lens), limits)?;
    *decoded = decoded.saturating_sub(spent);
    parts.retain(|p| p.len() as u64 >= v.element);
    if parts.is_empty() {
        return Ok((found.fill_only.0 > 0 || found.segment.is_some()).then_some(found));
    }
    let fill = facts.schema().fill_value(v.id);
    found.holds_fill = !fill.is_empty() && parts.iter().any(|p| p.chunks(fill.len()).any(|e| e == fill));
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

/// Bytes of the values in a segment of a chunk that has no access points, encoded anew; all of the chunk if it would get none. Nothing for
/// chunks that are too small or too large to be looked at.
fn segment(facts: &Facts, v: &VarFacts, read: &mut u64, decoded: &mut u64) -> Result<Option<u64>> {
    let bytes = v.chunk_bytes();
    let Some(codecs) = v.layout.place.codecs() else { return Ok(None) };
    let Some(record) = v.index.as_ref().and_then(|i| i.points?.without) else { return Ok(None) };
    if bytes <= PART_COST || bytes > LARGEST.min(*decoded) || record.len > *read {
        return Ok(None);
    }
    *read -= record.len;
    *decoded -= bytes;
    let mut values = decode(facts, codecs, &record, bytes)?;
    // Of long ones, a part is enough.
    values.truncate((ENCODED.min(bytes) / v.element * v.element) as usize);
    let chain = CodecChain::new(&at_level_one(&v.filters), v.element as usize)?;
    let (encoded, mask) = chain.encode(&values)?;
    let own = chain.segmented(mask).and_then(|own| Some((own.segment(&encoded)? * own.planes) as u64));
    Ok(Some(own.unwrap_or(bytes)))
}

fn is_fill(values: &[u8], fill: &[u8]) -> bool {
    !fill.is_empty() && !values.is_empty() && values.chunks(fill.len()).all(|e| e == fill)
}

/// The filters, with deflate at level 1.
fn at_level_one(own: &[Filter]) -> Vec<Filter> {
    let one = |f: &Filter| match f.kind() {
        Some(Kind::Deflate) => filters::deflate(1),
        _ => f.clone(),
    };
    own.iter().map(one).collect()
}

fn measure(v: &VarFacts, parts: &[Vec<u8>], found: &mut Sample) -> Result<()> {
    let size = v.element as usize;
    let element = filters::shuffle(size);
    // Checksums and the like do not count.
    let own: Vec<Filter> = v.filters.iter().filter(|f| f.purpose() != Purpose::Check).cloned().collect();
    let total = |chain: &[Filter]| -> Result<Encoded> { encode(&CodecChain::new(chain, size)?, parts) };
    found.raw = parts.iter().map(|p| p.len() as u64).sum();
    let mut usual = vec![filters::deflate(1)];
    if size > 1 {
        usual.insert(0, element.clone());
    }
    found.shuffled = total(&usual)?.bytes;
    let level = own.iter().find(|f| f.kind() == Some(Kind::Deflate)).and_then(Filter::level);
    let simple = Method::of_chain(&own).is_some();
    if own.is_empty() {
        found.now = found.raw;
    } else if simple {
        let mut best = total(&own)?;
        let mut chain = own;
        found.now = best.bytes;
        if !chain.iter().any(Filter::sorts) && size > 1 {
            let with = [&[element], &chain[..]].concat();
            let encoded = total(&with)?;
            found.with_shuffle = Some(encoded.bytes);
            if found.shuffle_gain().is_some() {
                (best, chain) = (encoded, with);
            }
        }
        if level.is_some_and(|l| l > 1) {
            let fast = total(&at_level_one(&chain))?;
            if fast.bytes > 0 {
                let gain = 1.0 - best.bytes as f64 / fast.bytes as f64;
                found.above_level_one = Some((gain, best.seconds / fast.seconds.max(1e-9)));
            }
        }
    }
    Ok(())
}
