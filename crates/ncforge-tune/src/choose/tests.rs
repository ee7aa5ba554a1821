use proptest::prelude::*;

use super::super::axes::{Axis, Role};
use super::super::search::unlike;
use super::contest::{NEAR, UNLIKE_NEAR};
use super::*;
use crate::rates::Machine;

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

fn contest<'a>(axes: &'a [Axis], machine: &'a Machine) -> Contest<'a> {
    Contest::new(Request::new(axes, 4, Coding::deflate(1), machine)).unwrap()
}

/// Holds a contest in which chunks decode at the rate that `decode` says. Gives the samples, too.
fn held(
    contest: &mut Contest<'_>,
    mut decode: impl FnMut(&[u64], Depth, usize) -> f64,
) -> Vec<(Vec<u64>, Depth)> {
    let mut samples = Vec::new();
    while let Some((chunks, depth)) = contest.next_sample() {
        let coding = Coding { decode: decode(&chunks, depth, samples.len()), ..Coding::deflate(1) };
        contest.add(Contender { chunks: chunks.clone(), coding, timed: coding });
        samples.push((chunks, depth));
    }
    samples
}

/// Close samples of each shape decide where the first sample is rough.
#[test]
fn among_contenders_the_one_that_decodes_fastest_wins() {
    let (axes, machine) = (pr(), Machine::default());
    let first = choose(&Request::new(&axes, 4, Coding::deflate(1), &machine)).unwrap();
    let mut even = contest(&axes, &machine);
    let samples = held(&mut even, |_, _, _| 1e9);
    let rough = samples.iter().take_while(|l| l.1 == Depth::Rough).count();
    assert!(samples[0].0 == first.chunks && rough > 4 && rough < 30, "{samples:?}");
    // Any of them that is not much worse by the first sample.
    for fast in [0, rough - 1] {
        let mut one = contest(&axes, &machine);
        held(&mut one, |chunks, _, _| if *chunks == *samples[fast].0 { 2e10 } else { 5e8 });
        assert_eq!(one.choice().unwrap().chunks, samples[fast].0);
    }
    assert!(contest(&axes, &machine).choice().is_err());
}

/// A shape that seems best after a rough sample, and is not, does not win; the search ends even if every shape disappoints.
#[test]
fn the_best_is_looked_at_closely() {
    let (axes, machine) = (pr(), Machine::default());
    let mut lucky = contest(&axes, &machine);
    let mut seen: Vec<Vec<u64>> = Vec::new();
    let samples = held(&mut lucky, |chunks, depth, i| match depth {
        Depth::Rough if i == 8 => {
            seen.push(chunks.to_vec());
            5e10
        }
        _ => 1e9,
    });
    assert!(samples.contains(&(seen[0].clone(), Depth::Close)), "{samples:?}");
    assert_ne!(lucky.choice().unwrap().chunks, seen[0]);
    let mut sobering = contest(&axes, &machine);
    let samples = held(&mut sobering, |_, depth, _| if depth == Depth::Rough { 2e10 } else { 1e8 });
    let chosen = sobering.choice().unwrap().chunks;
    assert!(samples.contains(&(chosen, Depth::Close)) && samples.len() < 60, "{}", samples.len());
}

/// A shape that seemed best after a rough sample, and could not be sampled closely any more, does not win either; nor does its apparent
/// size raise the price of those that were.
#[test]
fn a_close_look_that_says_nothing_does_not_count() {
    let (axes, machine) = (pr(), Machine::default());
    let mut spent = contest(&axes, &machine);
    let mut lucky = None;
    for i in 0.. {
        let Some((chunks, depth)) = spent.next_sample() else { break };
        let coding = match depth {
            Depth::Rough if i == 8 => {
                lucky = Some(chunks.clone());
                Coding { decode: 5e10, fraction: 0.01, ..Coding::deflate(1) }
            }
            _ => Coding { decode: 1e9, ..Coding::deflate(1) },
        };
        if depth == Depth::Rough || lucky.as_ref() != Some(&chunks) {
            spent.add(Contender { chunks, coding, timed: coding });
        }
        assert!(i < 100);
    }
    // Nobody else was sampled closely: the best by rough samples.
    assert_eq!(Some(spent.choice().unwrap().chunks), lucky);
    // Here others were, before.
    let mut spent = contest(&axes, &machine);
    let mut closely = Vec::new();
    let mut lucky = None;
    while let Some((chunks, depth)) = spent.next_sample() {
        let after = !closely.is_empty() && lucky.is_none();
        let coding = match depth {
            Depth::Rough if after => {
                lucky = Some(chunks.clone());
                Coding { decode: 5e10, fraction: 0.01, ..Coding::deflate(1) }
            }
            _ => Coding { decode: 1e9, ..Coding::deflate(1) },
        };
        if depth == Depth::Close {
            if lucky.is_some() {
                continue;
            }
            closely.push(chunks.clone());
        }
        spent.add(Contender { chunks, coding, timed: coding });
    }
    let chosen = spent.choice().unwrap().chunks;
    assert!(closely.contains(&chosen) && lucky.is_some_and(|l| l != chosen), "{chosen:?}");
}

/// Shapes around the best follow, and those around one of them that is better.
#[test]
fn shapes_around_the_best_are_looked_at() {
    let (axes, machine) = (pr(), Machine::default());
    let mut even = contest(&axes, &machine);
    let samples = held(&mut even, |_, _, _| 1e9);
    let best = samples.iter().position(|l| l.1 == Depth::Close).unwrap();
    let (centre, near) = (&samples[best].0, &samples[best + 1..]);
    let near: Vec<&Vec<u64>> = near.iter().take_while(|l| l.1 == Depth::Rough).map(|l| &l.0).collect();
    assert!(near.len() > 2 && near.len() <= NEAR, "{near:?}");
    assert!(near.iter().all(|n| unlike(n, centre) < 1.5 && unlike(n, centre) >= UNLIKE_NEAR), "{near:?}");
    let better = near[1].clone();
    let mut one = contest(&axes, &machine);
    let samples = held(&mut one, |chunks, _, _| if *chunks == *better { 2e10 } else { 1e9 });
    assert_eq!(one.choice().unwrap().chunks, better);
    let closely = samples.iter().position(|l| *l == (better.clone(), Depth::Close)).unwrap();
    assert!(samples.len() > closely + 2, "none around it: {samples:?}");
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
        let patterns = Pattern::bind(&request.accesses, &axes);
        let weights: Vec<f64> = patterns.iter().map(|p| p.weight).collect();
        let (_, found) =
            Prices::new(&problem, &patterns).best(&weights, &problem.lattice(THOROUGH), &[], true);
        let scale: f64 = weights.iter().sum();
        let mut least = f64::INFINITY;
        for &a in &problem.lists[0] {
            for &b in &problem.lists[1] {
                for &c in &problem.lists[2] {
                    if problem.allowed(&[a, b, c]) {
                        least = least.min(problem.priced(&[a, b, c], &patterns).of(&weights) / scale);
                    }
                }
            }
        }
        assert!(found <= least * 1.02, "{mix}: {found} against {least}");
    }
}

/// A search that may look at few shapes finds one that is not much worse.
#[test]
fn a_quick_search_comes_near() {
    let machine = Machine::default();
    let space = |y, x| [Axis::new("lat", y, Role::Y), Axis::new("lon", x, Role::X)];
    let growing = |t, y, x| [vec![Axis::new("time", t, Role::Time)], space(y, x).to_vec()].concat();
    for axes in
        [growing(12, 90, 180), growing(132, 73, 144), growing(1560, 128, 256), space(1800, 3600).to_vec()]
    {
        for coding in [Coding::none(), Coding::deflate(1)] {
            let thorough = Request::new(&axes, 4, coding, &machine);
            let best = choose(&thorough).unwrap();
            for (shapes, worse) in [(64, 1.5), (500, 1.25), (2000, 1.1)] {
                let quick = choose(&Request { shapes, ..thorough.clone() }).unwrap();
                let price = |c: &Choice| -> f64 {
                    c.predictions
                        .iter()
                        .zip(&best.predictions)
                        .map(|(c, b)| c.chosen.seconds / b.best.seconds)
                        .sum()
                };
                let ratio = price(&quick) / price(&best);
                assert!(ratio <= worse, "{axes:?} {shapes}: {:?} {:?} {ratio}", quick.chunks, best.chunks);
            }
        }
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
        let weight: f64 = choice.predictions.iter().map(|t| t.pattern.weight).sum();
        for other in &choice.predictions {
            let grid = Grid { lens: &axes.iter().map(|a| a.len.max(1)).collect::<Vec<_>>(), chunk: Some(&other.best_chunks),
                element, coding: request.coding };
            let mean: f64 = choice.predictions.iter()
                .map(|t| t.pattern.weight * grid.read(&t.pattern, &machine).seconds / t.best.seconds).sum::<f64>() / weight;
            // The box that breaks ties and the stored size have a small say, too.
            prop_assert!(choice.mean <= mean * 1.35 + 0.05, "{} against {} of {:?}", choice.mean, mean, other.best_chunks);
        }
    }
}
