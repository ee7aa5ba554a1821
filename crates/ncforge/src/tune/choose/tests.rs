use proptest::prelude::*;

use super::super::axes::Role;
use super::contest::{NEAR, UNLIKE_NEAR, unlike};
use super::*;

fn pr() -> Vec<Axis> {
    vec![
        Axis::new("time", 1560, Role::Time).unlimited(),
        Axis::new("lat", 128, Role::Y),
        Axis::new("lon", 256, Role::X),
    ]
}

fn chosen(axes: &[Axis], accesses: &str) -> Choice {
    let machine = Machine::default();
    let request = Request::new(axes, 4, Coding::deflate(1), &machine);
    choose(&Request { accesses: Access::parse(accesses, &[]).unwrap(), ..request }).unwrap()
}

#[test]
fn one_access_alone_gets_its_own_shape() {
    let series = chosen(&pr(), "series");
    assert_eq!(series.chunks[0], 1560, "{:?}", series.chunks);
    let map = chosen(&pr(), "map");
    // One chunk, or two halves that two threads decode.
    assert!(map.chunks[0] <= 2, "{:?}", map.chunks);
    assert!(series.mean < 1.2, "{}", series.mean);
    // Small boxes, which break ties, and stored bytes have their say against a read that costs some 20 µs.
    assert!(map.mean < 1.23, "{}", map.mean);
}

/// What the first look knows only roughly is settled by what is known of each shape.
#[test]
fn among_contenders_the_one_that_decodes_fastest_wins() {
    let (axes, machine) = (pr(), Machine::default());
    let request = || Request::new(&axes, 4, Coding::deflate(1), &machine);
    let first = choose(&request()).unwrap();
    let shapes = Contest::new(request()).unwrap().contenders();
    assert!(shapes.len() > 4 && shapes.len() < 30 && shapes[0] == first.chunks, "{shapes:?}");
    let known = |number: usize, fast: usize| {
        let mut contest = Contest::new(request()).unwrap();
        for (i, chunks) in shapes[..number].iter().enumerate() {
            let coding = Coding { decode: if i == fast { 2e10 } else { 5e8 }, ..Coding::deflate(1) };
            contest.add(Contender { chunks: chunks.clone(), coding, timed: coding });
        }
        contest
    };
    let all = shapes.len();
    assert_eq!(known(all, 0).choice().unwrap().chunks, shapes[0]);
    // Another that is not much worse by the first look: the one after those that are best for single reads.
    assert_eq!(known(all, all - 1).choice().unwrap().chunks, shapes[all - 1]);
    assert_eq!(known(1, 0).choice().unwrap().chunks, shapes[0]);
    assert!(known(0, 0).choice().is_err() && known(0, 0).near().is_empty());
}

/// The way from shape to shape ends where none around is better, and goes on from one that is.
#[test]
fn shapes_around_the_best_are_asked_for_until_none_is_better() {
    let (axes, machine) = (pr(), Machine::default());
    let mut contest = Contest::new(Request::new(&axes, 4, Coding::deflate(1), &machine)).unwrap();
    let add = |contest: &mut Contest<'_>, chunks: &[u64], decode: f64| {
        let coding = Coding { decode, ..Coding::deflate(1) };
        contest.add(Contender { chunks: chunks.to_vec(), coding, timed: coding });
    };
    let first = contest.contenders().remove(0);
    add(&mut contest, &first, 1e9);
    let near = contest.near();
    assert!(near.len() > 2 && near.len() <= NEAR, "{near:?}");
    assert!(near.iter().all(|n| unlike(n, &first) < 1.5 && unlike(n, &first) >= UNLIKE_NEAR), "{near:?}");
    add(&mut contest, &near[0], 2e10);
    let next = contest.near();
    assert!(!next.is_empty() && !next.contains(&first) && !next.contains(&near[0]), "{next:?}");
    add(&mut contest, &next[0], 1e8);
    assert!(contest.near().is_empty());
    assert_eq!(contest.choice().unwrap().chunks, near[0]);
}

#[test]
fn weights_pull_monotonously() {
    let lens: Vec<u64> =
        ["series=1,map=9", "series=1,map=3", "series,map", "series=3,map=1", "series=9,map=1"]
            .iter()
            .map(|mix| chosen(&pr(), mix).chunks[0])
            .collect();
    assert!(lens.windows(2).all(|w| w[0] <= w[1]), "{lens:?}");
}

#[test]
fn the_search_finds_what_an_exhaustive_one_finds() {
    let machine = Machine::default();
    for mix in ["series,map", "series=9,map=1", "map=4,box=1,series=1", "full,map", "box"] {
        let axes = pr();
        let mut request = Request::new(&axes, 4, Coding::deflate(1), &machine);
        request.accesses = Access::parse(mix, &[]).unwrap();
        let problem = Problem::new(&request).unwrap();
        let patterns: Vec<(Pattern, f64)> =
            Pattern::bind(&request.accesses, &axes).into_iter().map(|p| (p.clone(), p.weight)).collect();
        let (_, found) = problem.best(&patterns, &[], None);
        let scale = if patterns.len() == 1 { 1.0 } else { patterns.iter().map(|p| p.1).sum() };
        let mut least = f64::INFINITY;
        for &a in &problem.lists[0] {
            for &b in &problem.lists[1] {
                for &c in &problem.lists[2] {
                    least = least.min(problem.price(&[a, b, c], &patterns) / scale);
                }
            }
        }
        assert!(found <= least * 1.02, "{mix}: {found} against {least}");
    }
}

#[test]
fn given_lengths_and_writers_are_respected() {
    let mut axes = pr();
    axes[0].given = Some(12);
    assert_eq!(chosen(&axes, "series,map").chunks[0], 12);
    let machine = Machine::default();
    let axes = [
        Axis::new("time", 8760, Role::Time).unlimited(),
        Axis::new("y", 2000, Role::Y),
        Axis::new("x", 3000, Role::X),
    ];
    let mut request = Request::new(&axes, 4, Coding::deflate(1), &machine);
    request.limits.writer_memory = Some(256 << 20);
    request.accesses = Access::parse("series", &[]).unwrap();
    let c = choose(&request).unwrap().chunks;
    assert!(c[0] * 2000 * 3000 * 4 <= 300 << 20, "{c:?}");
}

#[test]
fn degenerate_arrays_get_sensible_answers() {
    let machine = Machine::default();
    let shape = |lens: &[(u64, bool)], element| {
        let axes: Vec<Axis> = lens
            .iter()
            .enumerate()
            .map(|(i, &(n, u))| Axis { unlimited: u, ..Axis::new(&format!("d{i}"), n, Role::Other) })
            .collect();
        choose(&Request::new(&axes, element, Coding::deflate(4), &machine)).map(|c| c.chunks)
    };
    assert_eq!(shape(&[], 8).unwrap(), Vec::<u64>::new());
    assert_eq!(shape(&[(0, false), (5, false)], 8).unwrap(), [1, 5]);
    assert_eq!(shape(&[(12, true)], 8).unwrap(), [1024]);
    assert_eq!(shape(&[(1, false); 8], 8).unwrap(), [1; 8]);
    let c = shape(&[(1 << 40, false)], 8).unwrap();
    assert!(c[0] * 8 <= 4 << 20 && c[0] * 8 >= 1 << 20, "{c:?}");
    let c = shape(&[(7919, false), (104_729, false)], 4).unwrap();
    assert!(c[0] * c[1] * 4 >= 8 << 10, "{c:?}");
    assert_eq!(shape(&[(3, false), (3, false)], 5 << 20).unwrap(), [1, 1]);
    assert!(shape(&[(3, false)], 5 << 32).is_err());
}

#[test]
fn reasons_are_in_words() {
    let axes = pr();
    let machine = Machine::default();
    let mut request = Request::new(&axes, 4, Coding::deflate(1), &machine);
    request.before = Some((Some(vec![1, 128, 256]), Coding::deflate(1)));
    let choice = choose(&request).unwrap();
    assert_eq!(choice.reasons.len(), 4);
    assert!(choice.reasons[0].starts_with("chunks of "), "{}", choice.reasons[0]);
    assert!(choice.reasons[1].starts_with("series: ") && choice.reasons[1].ends_with("faster than now)"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn bounds_are_respected_and_no_extreme_is_better(
        lens in prop::collection::vec((1u64..3000, any::<bool>()), 1..6),
        element in 1u64..9,
        weights in prop::collection::vec(1u32..10, 4),
    ) {
        let axes: Vec<Axis> = lens.iter().enumerate().map(|(i, &(n, u))| Axis {
            unlimited: u && i == 0,
            ..Axis::new(&format!("d{i}"), n, [Role::Time, Role::Vertical, Role::Y, Role::X, Role::Other][i])
        }).collect();
        let machine = Machine::default();
        let mut request = Request::new(&axes, element, Coding::deflate(1), &machine);
        request.accesses = [Kind::Map, Kind::Series, Kind::Full, Kind::Box].into_iter().zip(&weights)
            .map(|(kind, &w)| Access { kind, weight: f64::from(w) }).collect();
        let choice = choose(&request).unwrap();
        prop_assert_eq!(choice.chunks.len(), axes.len());
        prop_assert!(choice.bytes <= 4 << 20);
        for (c, a) in choice.chunks.iter().zip(&axes) {
            prop_assert!(*c >= 1 && (a.unlimited || *c <= a.len));
        }
        // By its own model, no worse for the mix than the shape that serves any one access best.
        let weight: f64 = choice.told.iter().map(|t| t.pattern.weight).sum();
        for other in &choice.told {
            let grid = Grid { lens: &axes.iter().map(|a| a.len.max(1)).collect::<Vec<_>>(), chunk: Some(&other.best_chunks),
                element, coding: request.coding };
            let mean: f64 = choice.told.iter()
                .map(|t| t.pattern.weight * grid.read(&t.pattern, &machine).seconds / t.best.seconds).sum::<f64>() / weight;
            // The box that breaks ties and the stored size have a small say, too.
            prop_assert!(choice.mean <= mean * 1.35 + 0.05, "{} against {} of {:?}", choice.mean, mean, other.best_chunks);
        }
    }
}
