//! Shapes by the model's own measure: bounds, weights, extremes.

use ncforge::model::shape;
use ncforge_tune::{
    Access, Axis, Choice, Coding, Grid, Kind, Limits, Machine, Request, Role, StorageKind, choose,
};
use proptest::prelude::*;

fn machines() -> impl Strategy<Value = Machine> {
    let own = Machine::default();
    prop::sample::select(vec![own, own.on(StorageKind::Nfs), own.on(StorageKind::Object), own.netcdf_c()])
}

fn codings() -> impl Strategy<Value = Coding> {
    prop::sample::select(vec![Coding::none(), Coding::deflate(1), Coding::zstd()])
}

/// Axes in the usual order, of lengths from 1 to large primes.
fn axes(lens: &[u64], unlimited: bool) -> Vec<Axis> {
    let roles: &[Role] = match lens.len() {
        1 => &[Role::Time],
        2 => &[Role::Time, Role::X],
        3 => &[Role::Time, Role::Y, Role::X],
        4 => &[Role::Time, Role::Vertical, Role::Y, Role::X],
        _ => &[],
    };
    (0..lens.len())
        .map(|i| {
            let role = roles.get(i).copied().unwrap_or(match lens.len() - i {
                1 => Role::X,
                2 => Role::Y,
                3 => Role::Vertical,
                _ if i == 0 => Role::Time,
                _ => Role::Other,
            });
            Axis { unlimited: unlimited && i == 0, ..Axis::new(&format!("d{i}"), lens[i], role) }
        })
        .collect()
}

fn lengths() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        1u64..40,
        40u64..4000,
        prop::sample::select(vec![1, 2, 127, 128, 1009, 7919, 104_729, 1 << 20, 1 << 33]),
    ];
    prop::collection::vec(one, 1..9)
}

fn mix(weights: &[(Kind, f64)]) -> Vec<Access> {
    weights.iter().map(|(kind, weight)| Access { kind: kind.clone(), weight: *weight }).collect()
}

/// The factor of a choice for bytes that are stored beyond those of the array, and for chunks below the least size.
fn in_vain(choice: &Choice, axes: &[Axis], request: &Request<'_>) -> f64 {
    let lens = axes.iter().map(|a| a.len.max(1));
    let count: f64 = lens.clone().zip(&choice.chunks).map(|(l, c)| l.div_ceil(*c) as f64).product();
    let needed = lens.map(|l| l as f64).product::<f64>() * request.element as f64;
    let volume = choice.bytes as f64;
    let excess = count * request.coding.stored(volume) / request.coding.stored(needed).max(1.0) - 1.0;
    let least = request.limits.least(needed as u64, request.element, &request.coding);
    let least = least.min(request.limits.max_bytes / 4);
    let small = least as f64 / volume - 1.0;
    0.5 * excess.clamp(0.0, 10.0) + 4.0 * small.max(0.0)
}

/// Weighted mean of the reads' times with a shape, each divided by that read's best.
fn mean(choice: &Choice, axes: &[Axis], chunks: &[u64], request: &Request<'_>) -> f64 {
    let lens: Vec<u64> = axes.iter().map(|a| a.len.max(1)).collect();
    let grid = Grid { lens: &lens, chunk: Some(chunks), element: request.element, coding: request.coding };
    let (mut sum, mut weights) = (0.0, 0.0);
    for t in &choice.predictions {
        sum += t.pattern.weight * grid.read(&t.pattern, request.machine).seconds / t.best.seconds;
        weights += t.pattern.weight;
    }
    sum / weights
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn bounds_are_respected(
        lens in lengths(),
        unlimited in any::<bool>(),
        element in prop::sample::select(vec![1u64, 2, 3, 4, 8, 16, 1000]),
        machine in machines(),
        coding in codings(),
        least in 0u32..16,
        most in 8u32..26,
        memory in prop::option::of(20u32..34),
        expected in prop::option::of(1u64..10_000),
    ) {
        let mut axes = axes(&lens, unlimited);
        if let (true, Some(n)) = (unlimited, expected) {
            axes[0].len = n;
        }
        let limits = Limits {
            min_bytes: 1 << least,
            max_bytes: 1 << most,
            writer_memory: memory.map(|m| 1 << m),
            ..Limits::default()
        };
        let request = Request { limits, ..Request::new(&axes, element, coding, &machine) };
        let choice = choose(&request).unwrap();
        prop_assert_eq!(choice.chunks.len(), axes.len());
        for (c, a) in choice.chunks.iter().zip(&axes) {
            prop_assert!(*c >= 1 && (a.unlimited || *c <= a.len), "{:?}", choice.chunks);
        }
        let bytes = shape::bytes(&choice.chunks, element);
        prop_assert_eq!(bytes, choice.bytes);
        prop_assert!(bytes <= limits.max_bytes.max(element), "{bytes}");
        prop_assert!(choice.mean.is_finite() && choice.mean >= 0.99, "{}", choice.mean);
        if let (true, Some(memory)) = (unlimited, limits.writer_memory) {
            // The row of chunks that one record touches; a single record may need more than there is.
            let along = |d: usize| axes[d].len.div_ceil(choice.chunks[d]).saturating_mul(choice.chunks[d]);
            let others = shape::product((1..axes.len()).map(along));
            let row = others.saturating_mul(choice.chunks[0]).saturating_mul(element);
            prop_assert!(row <= memory || choice.chunks[0] == 1, "{row} of {memory}: {:?}", choice.chunks);
        }
        let again = choose(&request).unwrap();
        prop_assert_eq!(choice.chunks, again.chunks);
    }

    #[test]
    fn a_read_that_weighs_more_gets_no_slower(
        lens in prop::collection::vec(prop_oneof![1u64..30, 30u64..3000], 2..5),
        unlimited in any::<bool>(),
        element in prop::sample::select(vec![1u64, 2, 4, 8]),
        machine in machines(),
        coding in codings(),
        others in prop::collection::vec(1u32..10, 3),
        at in 0usize..4,
    ) {
        let axes = axes(&lens, unlimited);
        // With a box among them: where nobody asks for one, a small one is looked at all the same, unseen here.
        let kinds = [Kind::Series, Kind::Map, Kind::Full, Kind::Box];
        let mut chosen: Vec<(f64, f64, f64)> = Vec::new();
        // Bytes stored in vain make every read dearer by the same share. So it is the read's time with that share that becomes no more: the
        // time alone may, a little, where space is gained.
        for weight in [0.1, 1.0, 4.0, 20.0, 100.0] {
            let mut other = others.iter().map(|&w| f64::from(w));
            let weights: Vec<(Kind, f64)> = (kinds.iter().enumerate())
                .map(|(i, k)| (k.clone(), if i == at { weight } else { other.next().unwrap_or(1.0) }))
                .collect();
            let request = Request { accesses: mix(&weights), ..Request::new(&axes, element, coding, &machine) };
            let choice = choose(&request).unwrap();
            // Kinds that are the same box on this array are one read.
            let Some(read) = choice.predictions.get(at).filter(|_| choice.predictions.len() == 4) else { return Ok(()) };
            let vain = 1.0 + in_vain(&choice, &axes, &request);
            let now = read.chosen.seconds / read.best.seconds * vain;
            let rest = choice.mean * weights.iter().map(|w| w.1).sum::<f64>() * vain - weight * now;
            // Two shapes of nearly the same price may be very unlike. The search finds one within NEARLY of the least, and
            // so the read may lose as much as that allows at both weights.
            for (lighter, before, others) in &chosen {
                let margin = NEARLY * (weight * before + others + lighter * now + rest) / (weight - lighter);
                prop_assert!(now <= before + margin, "{weight}: {now} after {before} with {lighter}, {margin}");
            }
            chosen.push((weight, now, rest));
        }
    }

    #[test]
    fn neither_extreme_is_better(
        lens in prop::collection::vec(prop_oneof![1u64..30, 30u64..3000], 2..5),
        element in prop::sample::select(vec![1u64, 2, 4, 8]),
        machine in machines(),
        coding in codings(),
        series in 1u32..10,
        map in 1u32..10,
    ) {
        let axes = axes(&lens, false);
        // With a box among them, as above.
        let accesses =
            mix(&[(Kind::Series, f64::from(series)), (Kind::Map, f64::from(map)), (Kind::Box, 1.0)]);
        let request = Request { accesses, ..Request::new(&axes, element, coding, &machine) };
        let choice = choose(&request).unwrap();
        let ours = mean(&choice, &axes, &choice.chunks, &request);
        let legal = |c: &[u64]| {
            let bytes = c.iter().product::<u64>() * element;
            bytes <= request.limits.max_bytes && bytes >= request.limits.min_bytes
        };
        let mut slabs = lens.clone();
        slabs[0] = 1;
        let mut columns = vec![1; lens.len()];
        columns[0] = lens[0];
        for extreme in [slabs, columns, lens.clone()].iter().filter(|c| legal(c)) {
            let theirs = mean(&choice, &axes, extreme, &request);
            prop_assert!(ours <= theirs * TOLERANCE, "{ours} of {:?} against {theirs} of {extreme:?}", choice.chunks);
        }
    }
}

/// Stored size counts along with the reads' times.
const TOLERANCE: f64 = 1.05;
/// The search stops within this share of the least price.
const NEARLY: f64 = 0.03;
