use proptest::prelude::*;

use super::*;

fn pattern(counts: &[u64]) -> Pattern {
    Pattern { name: "p".into(), counts: counts.to_vec(), weight: 1.0 }
}

proptest! {
    #[test]
    fn touched_is_the_mean_over_all_places(d in 1u64..60, a in 1u64..60, c in 1u64..70) {
        let a = a.min(d);
        let sum: u64 = (0..=d - a).map(|s| (s + a - 1) / c - s / c + 1).sum();
        let mean = sum as f64 / (d - a + 1) as f64;
        prop_assert!((touched(a, d, c) - mean).abs() < 1e-12, "{} {}", touched(a, d, c), mean);
    }

    #[test]
    fn costs_are_finite_and_cover_what_is_asked(
        dims in prop::collection::vec((1u64..5000, 1u64..5000, 1u64..5000), 0..6),
        filtered in any::<bool>(),
    ) {
        let lens: Vec<u64> = dims.iter().map(|d| d.0).collect();
        let chunk: Vec<u64> = dims.iter().map(|d| d.1.min(d.0)).collect();
        let counts: Vec<u64> = dims.iter().map(|d| d.2.min(d.0)).collect();
        let coding = if filtered { Coding::deflate(4) } else { Coding::none() };
        let grid = Grid { lens: &lens, chunk: Some(&chunk), element: 4, coding };
        let cost = grid.read(&pattern(&counts), &Machine::default());
        prop_assert!(cost.seconds.is_finite() && cost.seconds > 0.0);
        let had = if filtered { cost.decoded } else { cost.fetched };
        prop_assert!(had >= cost.delivered * 0.999, "{cost:?}");
    }
}

#[test]
fn huge_axes_are_counted_exactly() {
    let d = 1u64 << 40;
    assert!((touched(2, d, 1000) - 1.001).abs() < 1e-9);
    assert_eq!(touched(d, d, 1), d as f64);
}

/// Columns that lie a page apart in a large result: where they are long, every value waits for a line.
#[test]
fn thin_chunks_wait_for_memory() {
    let coding = Coding { decode: 1e10, slower: [1.0; 5], ..Coding::deflate(1) };
    let read = |lens: &[u64], chunk: &[u64]| {
        let grid = Grid { lens, chunk: Some(chunk), element: 4, coding };
        grid.read(&pattern(lens), &Machine::default()).seconds
    };
    let long = read(&[24, 3000, 512], &[24, 3000, 1]);
    let rows = read(&[24, 3000, 512], &[24, 6, 512]);
    assert!(long > 2.0 * rows, "{long} {rows}");
    // The lines of short ones are in the cache when the next column comes.
    let short = read(&[24, 100, 512], &[24, 100, 1]);
    assert!(long > 40.0 * short, "{long} {short}");
}

/// Rates that were timed on this machine are not scaled by its properties.
#[test]
fn timed_rates_are_those_of_the_machine() {
    let slow = Machine { decoder: 0.5 * Machine::default().decoder, ..Machine::default() };
    let seconds = |timed: bool, machine: &Machine| {
        let coding = Coding { timed, ..Coding::deflate(1) };
        let grid = Grid { lens: &[100, 1000], chunk: Some(&[100, 1000]), element: 4, coding };
        grid.read(&pattern(&[100, 1000]), machine).seconds
    };
    assert_eq!(seconds(true, &slow), seconds(true, &Machine::default()));
    assert!(seconds(false, &slow) > 1.5 * seconds(false, &Machine::default()));
}

/// Two threads on one core are hardly faster than one.
#[test]
fn threads_that_share_a_core_gain_little() {
    let grid = Grid { lens: &[64, 4096], chunk: Some(&[1, 4096]), element: 4, coding: Coding::deflate(1) };
    let seconds = |threads: f64, gain: f64| {
        let machine = Machine { threads, gain, ..Machine::default() };
        grid.read(&pattern(&[64, 4096]), &machine).seconds
    };
    let (one, two, shared, none) =
        (seconds(1.0, 1.0), seconds(2.0, 1.0), seconds(2.0, 0.3), seconds(2.0, 0.0));
    assert!(two < 0.6 * one && shared > 0.7 * one && shared < 0.9 * one, "{one} {two} {shared}");
    assert!(none >= one && none < 1.2 * one, "{one} {none}");
    // The gain that was measured on the data goes before that of the machine.
    let known = Grid { coding: Coding { gain: Some(0.3), ..grid.coding }, ..grid };
    let machine = Machine { threads: 2.0, gain: 1.0, ..Machine::default() };
    let known = known.read(&pattern(&[64, 4096]), &machine).seconds;
    assert!(known > 0.95 * shared && known <= shared, "{known} {shared}");
}

/// Another reader fetches chunks one by one, on storage that answers slowly, too, and takes whole what is not encoded.
#[test]
fn another_reader_goes_chunk_by_chunk() {
    let lens = [1560, 128, 256];
    let coded = Grid { lens: &lens, chunk: Some(&[10, 32, 64]), element: 4, coding: Coding::deflate(1) };
    let plain = Grid { coding: Coding::none(), ..coded };
    let own = Machine::default().on(crate::StorageKind::Nfs);
    let map = pattern(&[1, 128, 256]);
    let (ours, theirs) = (coded.read(&map, &own), coded.read(&map, &own.netcdf_c()));
    assert!(ours.requests < 16.0 && theirs.requests == 16.0, "{ours:?} {theirs:?}");
    assert!(theirs.seconds >= 16e-3 && ours.seconds < 12e-3, "{ours:?} {theirs:?}");
    let (ours, theirs) = (plain.read(&map, &own), plain.read(&map, &own.netcdf_c()));
    assert_eq!((theirs.fetched, theirs.decoded), (1310720.0, 0.0));
    assert!(ours.fetched < theirs.fetched, "{ours:?}");
}

/// A chunk that the end of an axis cuts off may take ten times as long, and nobody can help with it.
#[test]
fn the_last_chunk_is_waited_for() {
    let machine = Machine { gain: 1.0, wake: 0.0, ..Machine::default() };
    let coding = |edge: f64| Coding { edge, decode: 1e9, slower: [1.0; 5], ..Coding::deflate(1) };
    let grid = |edge: f64| Grid {
        lens: &[100_000, 31],
        chunk: Some(&[25_000, 16]),
        element: 4,
        coding: coding(edge),
    };
    let both = |edge: f64| grid(edge).at(&[0, 0], &[1, 31], &machine).seconds;
    // As long as before altogether, nearly all of it in one chunk.
    assert!(both(1e6) > 1.9 * both(1.0) && both(1e6) < 2.1 * both(1.0), "{} {}", both(1e6), both(1.0));
    // A read of one of the two takes as long as that one does.
    let one = |at: u64| grid(3.0).at(&[0, at], &[1, 1], &machine).seconds;
    assert!((one(20) / one(3) - 3.0).abs() < 0.1, "{} {}", one(20), one(3));
    let mean = |edge: f64| grid(edge).read(&pattern(&[1, 1]), &machine).seconds;
    assert!((mean(3.0) - (16.0 * one(3) + 15.0 * one(20)) / 31.0).abs() < 1e-6);
    // Of many, each thread has some of either kind.
    let all = |edge: f64| grid(edge).read(&pattern(&[100_000, 31]), &machine).seconds;
    assert!(all(3.0) > all(1.0) && all(3.0) < 1.3 * all(1.0), "{} {}", all(3.0), all(1.0));
    // Where everything is cut off, nothing is known of whole chunks.
    let grid = Grid { lens: &[10], chunk: Some(&[16]), element: 4, coding: coding(1.0) };
    assert!(grid.read(&pattern(&[10]), &machine).seconds.is_finite());
}

#[test]
fn a_series_from_maps_decodes_everything() {
    let lens = [1560, 128, 256];
    let grid = Grid { lens: &lens, chunk: Some(&[1, 128, 256]), element: 4, coding: Coding::deflate(1) };
    let machine = Machine::default();
    let series = grid.read(&pattern(&[1560, 1, 1]), &machine);
    assert_eq!((series.chunks, series.decoded), (1560.0, 1560.0 * 131072.0));
    let map = grid.read(&pattern(&[1, 128, 256]), &machine);
    assert_eq!((map.chunks, map.requests), (1.0, 1.0));
    // Plain, it is a request for every element, not a byte more.
    let plain = Grid { coding: Coding::none(), ..grid }.read(&pattern(&[1560, 1, 1]), &machine);
    assert_eq!((plain.requests, plain.fetched), (1560.0, 6240.0));
    let run = Grid { chunk: None, coding: Coding::none(), ..grid }.read(&pattern(&[1, 128, 256]), &machine);
    assert_eq!((run.requests, run.fetched), (1.0, 131072.0));
}
