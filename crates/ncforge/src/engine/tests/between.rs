//! Reads between writes, against a plain array, and what they cost.

use super::picks::{expected, picks};
use super::*;
use crate::select::Picks;

/// One step of a session.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<(u64, u64, u64)>, u64),
    Read(Vec<(u64, u64, u64)>),
    /// The first dimension's rows from here on, one by one, as a loop reads them.
    Rows(u64),
    Pick(Vec<bool>, usize, Vec<Vec<u64>>),
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    let numbers = prop::collection::vec(prop::collection::vec(0u64..1000, 1..6), 4);
    prop_oneof![
        4 => (seeds(), 0u64..4).prop_map(|(s, more)| Step::Write(s, more)),
        3 => seeds().prop_map(Step::Read),
        1 => (0u64..12).prop_map(Step::Rows),
        2 => (prop::collection::vec(any::<bool>(), 4), 0usize..4, numbers)
            .prop_map(|(joins, turn, at)| Step::Pick(joins, turn, at)),
        1 => Just(Step::Sync),
    ]
}

fn row(shape: &[u64], at: u64) -> Hyperslab {
    let (mut start, mut count) = (vec![0; shape.len()], shape.to_vec());
    (start[0], count[0]) = (at, 1);
    Hyperslab::new(&start, &count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every read gives what was written; with enough memory, the file does not depend on what was read.
    #[test]
    fn reads_between_writes_equal_the_array_and_change_nothing(
        case in case(), steps in prop::collection::vec(step(), 1..20), unlimited: bool, skip in 0u64..4,
        memory in prop::sample::select(vec![0u64, 700, 4000, 1 << 20]), threads in 1usize..4,
    ) {
        let unlimited = unlimited && matches!(case.kind, Kind::Records | Kind::Chunked(..)) && !case.shape.is_empty();
        let mut files = Vec::new();
        for reads in [true, false] {
            let mut model = Model::counting(&case.shape, &case.fill);
            let mut container = case.container(unlimited);
            container.fill_from(&mut model, |at| skip > 0 && at.iter().sum::<u64>() % (skip + 1) == 0);
            let store = container.store.clone();
            let mut writer = Writer::new(engine(threads, memory), Box::new(container));
            for (i, step) in steps.iter().enumerate() {
                match step {
                    Step::Write(seeds, more) => {
                        let mut shape = model.shape.clone();
                        if unlimited {
                            shape[0] += more;
                        }
                        let slab = slab(&shape, seeds);
                        let n = slab.len() as usize * case.element.size;
                        let bytes: Vec<u8> = (0..n).map(|b| (b * 13 + i * 101) as u8).collect();
                        writer.write_bytes(VAR, &slab, &bytes).unwrap();
                        model.write(&slab, &bytes);
                    }
                    Step::Sync => writer.sync().unwrap(),
                    _ if !reads => {}
                    Step::Read(seeds) => {
                        let slab = slab(&model.shape, seeds);
                        let got = writer.read(VAR, &slab).unwrap();
                        prop_assert_eq!(got.bytes().unwrap(), &model.read(&slab)[..], "{}: {:?}", i, slab);
                    }
                    Step::Rows(_) if model.shape.is_empty() => {}
                    Step::Rows(from) => {
                        for at in *from..model.shape[0] {
                            let slab = row(&model.shape, at);
                            let mut got = vec![0; slab.len() as usize * case.element.size];
                            writer.read_bytes(VAR, &slab, &mut got).unwrap();
                            prop_assert_eq!(&got, &model.read(&slab), "{}: {:?}", i, slab);
                        }
                    }
                    Step::Pick(joins, turn, at) => {
                        let picks: Picks = picks(&model.shape, joins, *turn, at);
                        let got = writer.read_picks(VAR, &picks).unwrap();
                        prop_assert_eq!(got.bytes().unwrap(), &expected(&model, &picks)[..], "{}: {:?}", i, picks);
                    }
                }
            }
            writer.sync().unwrap();
            let all = Hyperslab::all(&model.shape);
            let got = writer.engine().read(writer.container(), VAR, &all).unwrap();
            prop_assert_eq!(got.bytes().unwrap(), &model.read(&all)[..]);
            // Where memory is short, the buffers that reads leave decide which chunks go first.
            if matches!(case.kind, Kind::Chunked(..)) && memory == 1 << 20 {
                files.push(bytes_of(&*store));
            }
        }
        prop_assert!(files.first() == files.get(1));
    }
}

/// The bytes that a session added to the store, and those of all chunks that it refers to in the end.
fn added(work: impl FnOnce(&mut Writer, &mut Model)) -> (u64, u64) {
    let (container, mut model) = deflated(&[20, 30], &[5, 10]);
    let (store, index) = (container.store.clone(), container.index.clone());
    let before = store.len();
    // One thread: none is idle to decode what was not asked for.
    let mut writer = Writer::new(engine(1, 1 << 20), Box::new(container));
    work(&mut writer, &mut model);
    writer.sync().unwrap();
    let got = writer.engine().read(writer.container(), VAR, &Hyperslab::all(&[20, 30])).unwrap();
    assert_eq!(got.bytes().unwrap(), model.read(&Hyperslab::all(&[20, 30])));
    let chunks = index.0.lock().unwrap();
    // The container leaves up to 14 bytes before a chunk.
    let gaps = chunks.values().map(|r| r.len % 3 * 7).sum::<u64>();
    (store.len() - before, chunks.values().map(|r| r.len).sum::<u64>() + gaps)
}

fn change(writer: &mut Writer, model: &mut Model, slab: &Hyperslab) {
    let old = writer.read(VAR, slab).unwrap().bytes().unwrap().to_vec();
    assert_eq!(old, model.read(slab));
    let new: Vec<u8> = old.iter().map(|b| b.wrapping_mul(3)).collect();
    writer.write_bytes(VAR, slab, &new).unwrap();
    model.write(slab, &new);
}

#[test]
fn a_loop_that_reads_and_writes_decodes_and_encodes_each_chunk_once() {
    let decoded = std::cell::Cell::new(0);
    let (added, stored) = added(|writer, model| {
        (0..20).for_each(|t| change(writer, model, &Hyperslab::new(&[t, 0], &[1, 30])));
        decoded.set(writer.engine().stats().bytes_decoded);
    });
    assert_eq!((added, decoded.get()), (stored, 20 * 30 * 4));
}

#[test]
fn chunks_that_are_written_again_and_again_are_encoded_once() {
    let (added, stored) = added(|writer, model| {
        let before = writer.container().store().len();
        // Whole, in part, with strides, and across chunks; few enough for none to be in the way.
        for slab in [
            Hyperslab::new(&[0, 0], &[5, 10]),
            Hyperslab::new(&[1, 2], &[3, 7]),
            Hyperslab::strided(&[0, 0], &[5, 6], &[2, 3]),
            Hyperslab::new(&[4, 5], &[2, 12]),
        ] {
            (0..4).for_each(|_| change(writer, model, &slab));
        }
        assert_eq!(writer.container().store().len(), before, "nothing is encoded before the sync");
    });
    assert!(added < stored, "{added} {stored}");
}

#[test]
fn a_damaged_chunk_that_is_written_whole_is_read_from_memory() {
    let (container, _) = deflated(&[20, 30], &[5, 10]);
    let damaged = container.index.0.lock().unwrap()[&vec![0, 0]];
    container.sink.write_at(&vec![0xFF; damaged.len as usize], damaged.offset).unwrap();
    let mut writer = Writer::new(engine(2, 1 << 20), Box::new(container));
    let first = Hyperslab::new(&[0, 0], &[5, 10]);
    assert!(writer.read(VAR, &first).is_err());
    writer.write_bytes(VAR, &first, &[7; 200]).unwrap();
    assert_eq!(writer.read(VAR, &first).unwrap().bytes().unwrap(), [7; 200]);
    assert!(writer.read(VAR, &Hyperslab::all(&[20, 30])).is_ok());
}
