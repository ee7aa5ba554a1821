//! Looking ahead: the same results, and how often chunks are decoded.

use super::*;
use crate::engine::{Engine, EngineStats};

/// One request after the other over all of an array: `count` elements at a time, the axes in `order`, the fastest
/// first.
fn nest(shape: &[u64], count: &[u64], order: &[usize]) -> Vec<Hyperslab> {
    let turns: Vec<_> = order.iter().rev().map(|&d| 0..shape[d] / count[d]).collect();
    crate::select::coordinates(&turns)
        .map(|at| {
            let mut start = vec![0; shape.len()];
            for (&d, i) in order.iter().rev().zip(at) {
                start[d] = i * count[d];
            }
            Hyperslab::new(&start, count)
        })
        .collect()
}

fn run(engine: &Engine, container: &TestContainer, model: &Model, requests: &[Hyperslab]) -> EngineStats {
    let before = engine.stats();
    for slab in requests {
        let got = engine.read(container, VAR, slab).unwrap();
        assert_eq!(got.bytes().unwrap(), model.read(slab), "{slab:?}");
    }
    let mut stats = engine.stats();
    stats.misses -= before.misses;
    stats.ahead_hits -= before.ahead_hits;
    stats
}

#[test]
fn sweeps_decode_each_chunk_once_when_the_row_of_chunks_fits() {
    let (container, model) = deflated(&[24, 16, 20], &[8, 4, 5]);
    let chunks = 3 * 4 * 4;
    for (count, order) in [
        (vec![1, 16, 20], vec![0]),
        (vec![24, 1, 1], vec![2, 1]),
        (vec![24, 1, 1], vec![1, 2]),
        (vec![1, 1, 20], vec![1, 0]),
        (vec![24, 2, 5], vec![2, 1]),
        (vec![8, 4, 5], vec![2, 1, 0]),
        (vec![2, 16, 20], vec![0]),
    ] {
        for threads in [1, 3] {
            let engine = engine(threads, 1 << 20);
            let requests = nest(&[24, 16, 20], &count, &order);
            let stats = run(&engine, &container, &model, &requests);
            assert_eq!(stats.misses, chunks, "{count:?} along {order:?}, {threads} threads");
        }
    }
}

#[test]
fn a_quarter_of_the_row_costs_four_passes_over_it() {
    // One row of chunks of 32 slabs; the engine has room for eight of them.
    let (container, model) = deflated(&[64, 16, 20], &[32, 4, 5]);
    let slab = 16 * 20 * 4;
    let requests = nest(&[64, 16, 20], &[1, 16, 20], &[0]);
    for threads in [1, 2, 3, 8] {
        let stats = run(&engine(threads, 8 * slab), &container, &model, &requests);
        assert_eq!(stats.misses, 4 * 32, "each of the 32 chunks four times, {threads} threads");
        assert_eq!(stats.ahead_hits, 64);
        // Room for a little less than eight: seven, five times.
        let stats = run(&engine(threads, 8 * slab - 1), &container, &model, &requests);
        assert_eq!(stats.misses, 5 * 32, "{threads} threads");
    }
    // With room for not even two slabs it is as without looking ahead.
    let stats = run(&engine(1, slab), &container, &model, &requests);
    assert_eq!((stats.misses, stats.ahead_hits), (64 * 16, 0));
}

#[test]
fn the_next_row_is_decoded_in_the_background() {
    let (container, model) = deflated(&[64, 8, 10], &[8, 4, 5]);
    let requests = nest(&[64, 8, 10], &[1, 8, 10], &[0]);
    let engine = engine(3, 1 << 20);
    let mut prefetched = 0;
    for slab in &requests {
        run(&engine, &container, &model, std::slice::from_ref(slab));
        // A caller that computes gives the helpers time; how much they do is not certain.
        for _ in 0..200 {
            std::thread::yield_now();
        }
        prefetched = engine.stats().bytes_prefetched;
    }
    assert!(prefetched > 0);
    assert_eq!(engine.stats().misses, 8 * 4, "no chunk twice");
    // The sweep is over: nothing was decoded in vain, and one thread decodes nothing that nobody asked for.
    let alone = super::engine(1, 1 << 20);
    run(&alone, &container, &model, &requests[..20]);
    let stats = alone.stats();
    assert_eq!((stats.bytes_prefetched, stats.misses), (0, 3 * 4));
}

#[test]
fn plainly_stored_series_are_looked_ahead_by_the_page() {
    let element = Element { size: 4, order: Order::Swap(4), heap: false };
    for kind in [Kind::Contiguous, Kind::Records, Kind::Chunked(vec![3, 4, 12], CodecChain::none())] {
        let mut model = Model::counting(&[10, 8, 12], &[9; 4]);
        let mut container = TestContainer::new(&[10, 8, 12], element.clone(), &[9; 4], &kind, false);
        container.fill_from(&mut model, |_| false);
        let engine = engine(1, 1 << 20);
        let stats = run(&engine, &container, &model, &nest(&[10, 8, 12], &[10, 1, 1], &[2, 1]));
        // Pages of tests are six elements long.
        assert!(stats.ahead_hits >= 8 * 12 - 1, "{kind:?}: {stats:?}");
        assert!(stats.bytes_fetched <= 2 * 10 * 8 * 12 * 4 + 80, "{kind:?}: {stats:?}");
    }
}

#[test]
fn what_is_written_is_read_also_in_the_middle_of_a_sweep() {
    for kind in ["deflated", "contiguous"] {
        let element = Element { size: 4, order: Order::Keep, heap: false };
        let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(1)], 4).unwrap();
        let kind = if kind == "deflated" { Kind::Chunked(vec![8, 4, 5], chain) } else { Kind::Contiguous };
        for threads in [1, 3] {
            let shape = [16, 8, 10];
            let mut model = Model::counting(&shape, &[9; 4]);
            let mut container = TestContainer::new(&shape, element.clone(), &[9; 4], &kind, false);
            container.fill_from(&mut model, |_| false);
            let mut writer = Writer::new(engine(threads, 1 << 20), Box::new(container));
            for (count, order) in [([1, 8, 10], vec![0]), ([16, 1, 1], vec![2, 1])] {
                for (i, slab) in nest(&shape, &count, &order).iter().enumerate() {
                    if i % 5 == 4 {
                        // The present request, and the next one.
                        let n = slab.len().min(16);
                        let bytes: Vec<u8> = (0..n * 4).map(|b| (b + i as u64 * 3) as u8).collect();
                        let part = Hyperslab::new(&[0, 3, 2], &[n, 1, 1]);
                        writer.write_bytes(VAR, &part, &bytes).unwrap();
                        model.write(&part, &bytes);
                    }
                    let got = writer.read(VAR, slab).unwrap();
                    assert_eq!(got.bytes().unwrap(), model.read(slab), "{slab:?}");
                }
            }
        }
    }
}

#[test]
fn damage_ahead_is_no_error_before_it_is_asked_for() {
    let (container, model) = deflated(&[20, 30], &[5, 10]);
    let broken = container.index.0.lock().unwrap()[&vec![1, 1]];
    container.sink.write_at(&[0xFF; 4], broken.offset).unwrap();
    for threads in [1, 3] {
        let engine = engine(threads, 1 << 20);
        // Columns 10 to 19 lie in the damaged chunk, for rows 5 to 9.
        for y in 0..20u64 {
            let slab = Hyperslab::new(&[y, 0], &[1, 30]);
            match engine.read(&container, VAR, &slab) {
                Ok(got) => assert_eq!(got.bytes().unwrap(), model.read(&slab)),
                Err(e) => assert!((5..10).contains(&y), "row {y}: {e}"),
            }
            assert_eq!(engine.read(&container, VAR, &slab).is_err(), (5..10).contains(&y));
        }
        for x in 0..30u64 {
            let slab = Hyperslab::new(&[0, x], &[5, 1]);
            assert_eq!(engine.read(&container, VAR, &slab).unwrap().bytes().unwrap(), model.read(&slab));
        }
    }
}

#[test]
fn several_sweeps_share_the_budget_and_closed_files_give_theirs_back() {
    let files: Vec<_> = (0..4).map(|_| deflated(&[32, 8, 10], &[16, 4, 5])).collect();
    let row = 16 * 8 * 10 * 4;
    let engine = engine(2, 2 * row);
    for slab in nest(&[32, 8, 10], &[1, 8, 10], &[0]) {
        for (container, model) in &files {
            run(&engine, container, model, std::slice::from_ref(&slab));
            let stats = engine.stats();
            assert!(stats.bytes_ahead + stats.bytes_kept <= 2 * row, "{stats:?}");
        }
    }
    let stats = engine.stats();
    // Each file has half a row: two passes over each of its 16 chunks, and some to get going.
    assert!(stats.misses <= 4 * 16 * 4, "{stats:?}");
    for (container, _) in &files {
        engine.forget_store(&container.store);
    }
    // Helpers may still hold what they were filling.
    for _ in 0..1000 {
        if engine.stats().bytes_ahead == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!((engine.stats().bytes_ahead, engine.stats().bytes_kept), (0, 0));
}

#[test]
fn threads_that_sweep_the_same_file_and_others_do_not_mix_up() {
    let files: Vec<_> = (0..3).map(|_| deflated(&[24, 8, 10], &[8, 4, 5])).collect();
    for memory in [3000, 12_000, 1 << 20] {
        let engine = engine(3, memory);
        std::thread::scope(|s| {
            for t in 0..8usize {
                let (files, engine) = (&files, &engine);
                s.spawn(move || {
                    for round in 0..3 {
                        let (container, model) = &files[(t / 3 + round) % files.len()];
                        let (count, order) = match (t + round) % 3 {
                            0 => ([1, 8, 10], vec![0]),
                            1 => ([24, 1, 1], vec![2, 1]),
                            _ => ([8, 4, 5], vec![2, 1, 0]),
                        };
                        for slab in nest(&[24, 8, 10], &count, &order) {
                            let got = engine.read(container, VAR, &slab).unwrap();
                            assert_eq!(got.bytes().unwrap(), model.read(&slab), "{slab:?}");
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn windows_grow_with_their_pattern_while_the_cache_holds_the_chunks() {
    let (container, model) = deflated(&[200, 4, 4], &[200, 2, 2]);
    let engine = engine(1, 1 << 20);
    let requests = nest(&[200, 4, 4], &[1, 4, 4], &[0]);
    let slab = 4 * 4 * 4;
    run(&engine, &container, &model, &requests[..2]);
    let first = engine.stats().bytes_ahead;
    assert!(first > slab && first <= 16 * slab, "{first}");
    run(&engine, &container, &model, &requests[2..40]);
    assert!(engine.stats().bytes_ahead > 2 * first);
    run(&engine, &container, &model, &requests[40..]);
    assert_eq!((engine.stats().misses, engine.stats().bytes_kept), (4, 0), "decoded once, and let go");
}

#[cfg(unix)]
#[test]
fn a_forked_child_reads_on_in_the_middle_of_a_sweep() {
    let (container, model) = deflated(&[32, 8, 10], &[8, 4, 5]);
    let engine = engine(3, 1 << 20);
    let requests = nest(&[32, 8, 10], &[1, 8, 10], &[0]);
    run(&engine, &container, &model, &requests[..6]);
    let expected: Vec<_> = requests[6..].iter().map(|slab| model.read(slab)).collect();
    // SAFETY: the child only reads and leaves without running anything of its parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let same = requests[6..].iter().zip(&expected).all(|(slab, want)| {
            engine.read(&container, VAR, slab).is_ok_and(|got| got.bytes().is_some_and(|b| b == &want[..]))
        });
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!same)) };
    }
    let mut status = -1;
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    run(&engine, &container, &model, &requests[6..]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn loops_of_any_kind_read_what_is_there(
        case in case(),
        loops in prop::collection::vec(
            (prop::collection::vec((0usize..4, -3i64..4, 1u64..7), 1..4), seeds(), 1usize..60), 1..4),
        memory in prop::sample::select(vec![0u64, 300, 2000, 1 << 20]), skip in 0u64..5,
        distant: bool,
    ) {
        let rank = case.shape.len();
        prop_assume!(rank > 0);
        let mut model = Model::counting(&case.shape, &case.fill);
        let mut container = case.container(false);
        container.fill_from(&mut model, |at| skip > 0 && at.iter().sum::<u64>() % (skip + 1) == 0);
        if distant {
            container.store = Arc::new(Profiled::new(bytes_of(&*container.store), DISTANT));
        }
        for threads in [1, 2, 3, 8] {
            let engine = engine(threads, memory);
            for (levels, seeds, most) in &loops {
                let first = slab(&case.shape, seeds);
                let turns: Vec<_> = levels.iter().rev().map(|l| 0..l.2).collect();
                for at in crate::select::coordinates(&turns).take(*most) {
                    let mut slab = first.clone();
                    for ((d, step, _), i) in levels.iter().rev().zip(at) {
                        let d = d % rank;
                        slab.start[d] = slab.start[d].saturating_add_signed(step * i as i64);
                    }
                    // Requests beyond the array are left out: loops break off.
                    if slab.check(&case.shape, "v").is_err() {
                        continue;
                    }
                    let got = engine.read(&container, VAR, &slab).unwrap();
                    prop_assert_eq!(got.bytes().unwrap(), &model.read(&slab)[..], "{:?}", slab);
                }
            }
        }
    }
}
