//! Operations that are applied to a store, and in the same way to a plain vector.

use proptest::prelude::*;

use super::super::format::Over;
use super::super::{Codec, Options, Resources, ZippedStore};
use crate::store::random::Random;
use crate::store::{BlockStore, Part, ReadStore, RecordInsertion, Wider, WriteStore};

/// One operation.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Position (modulo a little more than the length), number of bytes, seed.
    Write(u64, usize, u64),
    SetLen(u64),
    Insert(u64, u64),
    Describe(Vec<(u64, u16, u32)>),
    /// Records of columns from a byte on: position, and bytes of each column.
    Records(u64, Vec<u16>),
    /// Widen the records of the last such step: the column after which bytes are inserted, their number, and their contents.
    Widen(usize, u16, u8),
    /// Runs of a column of these records: record, column, how many, from which seed.
    Column(u64, usize, usize, u64),
    /// New contents of this many bytes, followed by the old ones or not; fails at the end or not.
    Replace(usize, bool, bool),
    Read(u64, usize),
    Sync,
    /// Discard everything since the last sync.
    Drop,
}

pub(super) const MOST: u64 = 120_000;

pub(super) fn step() -> impl Strategy<Value = Step> {
    let at = || prop_oneof![Just(0), 0..200u64, 0..20_000u64, 0..MOST];
    let len = || prop_oneof![0..20usize, 1..300usize, 4000..9000usize, Just(4096)];
    let part =
        (0..MOST, prop_oneof![Just(1u16), Just(2), Just(4), Just(8)], prop_oneof![Just(0u32), 5..200u32]);
    prop_oneof![
        12 => (at(), len(), any::<u64>()).prop_map(|(a, n, s)| Step::Write(a, n, s)),
        1 => at().prop_map(Step::SetLen),
        2 => (at(), 1..9000u64).prop_map(|(a, n)| Step::Insert(a, n)),
        1 => prop::collection::vec(part, 1..6).prop_map(Step::Describe),
        2 => (at(), prop::collection::vec(1..40u16, 2..6)).prop_map(|(a, w)| Step::Records(a, w)),
        2 => (0..6usize, 1..20u16, any::<u8>()).prop_map(|(c, n, f)| Step::Widen(c, n, f)),
        3 => (0..300u64, 0..6usize, 1..400usize, any::<u64>())
            .prop_map(|(r, c, n, s)| Step::Column(r, c, n, s)),
        1 => (0..9000usize, any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(n, k, f)| Step::Replace(n, k, f)),
        3 => (at(), len()).prop_map(|(a, n)| Step::Read(a, n)),
        3 => Just(Step::Sync),
        2 => Just(Step::Drop),
    ]
}

/// Bytes that compress like data: runs, ramps and noise, depending on the seed.
pub(super) fn bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed | 1);
    (0..n)
        .map(|i| match seed % 4 {
            0 => 0,
            1 => [0x7C, 0xF0, 0, 0][i % 4],
            2 => ((i as u64 / 4 * (seed % 13)) >> (i % 4 * 3)) as u8,
            _ => random.bits() as u8,
        })
        .collect()
}

/// First byte, bytes of a record, and the columns: bytes and offset in a record.
type Records = (u64, u64, Vec<(u64, u64)>);

/// The places of the records of the newest table.
fn records(store: &ZippedStore) -> Option<Records> {
    let core = store.core();
    let w = core.map.windows.last()?;
    let Over::Table(n) = w.over else { return None };
    let table = &core.map.tables[n as usize];
    (w.offset == 0).then(|| (w.start, table.stride, table.columns.iter().map(|c| (c.bytes, c.at)).collect()))
}

/// Applies a step to both. Returns true for a commit. `Drop` must be handled by the caller.
pub(super) fn apply(step: &Step, store: &ZippedStore, model: &mut Vec<u8>) -> bool {
    match step {
        Step::Records(at, widths) => {
            let stride = widths.iter().map(|&w| u32::from(w)).sum();
            let mut parts = vec![Part { start: 0, width: 1, stride: 0 }];
            let mut start = 1 + *at;
            for &width in widths {
                parts.push(Part { start, width, stride });
                start += u64::from(width);
            }
            store.describe(&parts);
        }
        Step::Widen(column, n, fill) => {
            if let Some((start, stride, columns)) = records(store).filter(|r| r.0 < model.len() as u64) {
                let at = columns.get(*column).map_or(stride, |c| c.1);
                let insertion = RecordInsertion { at, len: u64::from(*n), fill: [*fill; 8], element: 1 };
                assert!(store.widen(&[], &Wider { start, stride, rooms: vec![insertion] }).unwrap());
                let mut new = model[..start as usize].to_vec();
                for record in model[start as usize..].chunks(stride as usize) {
                    let mut record = record.to_vec();
                    record.resize(stride as usize, 0);
                    let at = at as usize;
                    record.splice(at..at, vec![*fill; usize::from(*n)]);
                    new.extend_from_slice(&record);
                }
                *model = new;
            }
        }
        Step::Column(record, column, n, seed) => {
            if let Some((start, stride, columns)) = records(store) {
                let (run, at) = columns[column % columns.len()];
                let most = ((model.len() as u64).saturating_sub(start) / stride + 3).max(1);
                let record = record % most;
                let offset = start + record * stride + at;
                if store.has_column(offset, run, stride, *n as u64) && offset < MOST + 3000 {
                    let new = bytes(run as usize * n, *seed);
                    store.write_column(&new, offset, run as usize, stride).unwrap();
                    for (i, value) in new.chunks(run as usize).enumerate() {
                        let at = offset as usize + i * stride as usize;
                        model.resize(model.len().max(at + value.len()), 0);
                        model[at..at + value.len()].copy_from_slice(value);
                    }
                    let mut back = vec![0; new.len()];
                    store.read_column(&mut back, offset, run as usize, stride).unwrap();
                    assert_eq!(back, new);
                }
            }
        }
        Step::Write(at, n, seed) => {
            let (at, new) = (*at as usize % (model.len() + 3000), bytes(*n, *seed));
            store.write_at(&new, at as u64).unwrap();
            model.resize(model.len().max(at + n), 0);
            model[at..at + n].copy_from_slice(&new);
        }
        Step::SetLen(n) => {
            store.set_len(*n).unwrap();
            model.resize(*n as usize, 0);
        }
        Step::Insert(at, n) => {
            let at = *at % (model.len() as u64 + 1);
            assert!(store.insert(&[(at, *n)]).unwrap());
            // After the end there are no bytes that could move.
            if (at as usize) < model.len() {
                model.splice(at as usize..at as usize, vec![0; *n as usize]);
            }
        }
        Step::Describe(parts) => {
            let mut parts: Vec<Part> =
                parts.iter().map(|&(start, width, stride)| Part { start, width, stride }).collect();
            parts.push(Part { start: 0, width: 1, stride: 0 });
            parts.sort_by_key(|p| p.start);
            store.describe(&parts);
        }
        Step::Replace(n, keep, fail) => {
            let mut new = bytes(*n, *n as u64);
            if *keep {
                new.extend_from_slice(model);
            }
            let done = store.replace(&mut |to| {
                let old = store.read_vec(0, store.len())?;
                to.set_len(*n as u64)?;
                to.write_at(&bytes(*n, *n as u64), 0)?;
                if *keep {
                    to.write_at(&old, *n as u64)?;
                }
                assert_eq!(to.read_vec(0, to.len())?, new);
                if *fail { Err(crate::Error::Interrupted("stop".into())) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), *fail);
            if !fail {
                *model = new;
                return true;
            }
        }
        Step::Read(at, n) => {
            let at = (*at as usize).min(model.len());
            let n = (*n).min(model.len() - at);
            assert_eq!(store.read_vec(at as u64, n as u64).unwrap(), model[at..at + n]);
        }
        Step::Sync => {
            store.sync().unwrap();
            return true;
        }
        Step::Drop => {}
    }
    assert_eq!(store.len(), model.len() as u64);
    false
}

pub(super) fn options(codec: usize) -> Options {
    let codec = [Codec::Zstd(1), Codec::Deflate(1), Codec::Lz4][codec % 3];
    Options { block: 4096, codec }
}

/// Memory so small that blocks are stored long before they are committed.
pub(super) fn tight() -> Resources {
    Resources { pending: 3 * 4096, ..Resources::default() }
}
