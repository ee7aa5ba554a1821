//! Random operations on a zipped file, compared with a vector, for a given time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult, TestRunner};

use super::super::{Resources, ZippedStore};
use super::basics::{image, memory};
use super::steps::{Step, apply, options, step, tight};
use crate::store::WriteStore;

/// Cases between two checks of the clock, and the total if no time is given.
const CASES: u32 = 256;

/// `ZIPPED_SECONDS` is the time; a minute in CI, an hour by hand.
#[test]
fn a_store_is_its_image() {
    let seconds = std::env::var("ZIPPED_SECONDS").ok().map_or(0, |s| s.parse().expect("a number of seconds"));
    let (begun, time) = (Instant::now(), Duration::from_secs(seconds));
    let lives = (prop::collection::vec(step(), 1..40), 0..3usize, any::<bool>());
    for round in 0.. {
        // Every runner has a seed of its own, also if the first is given (PROPTEST_RNG_SEED).
        let mut config = ProptestConfig { cases: CASES, ..ProptestConfig::with_source_file(file!()) };
        if let RngSeed::Fixed(seed) = config.rng_seed {
            config.rng_seed = RngSeed::Fixed(seed.wrapping_add(round));
        }
        let mut runner = TestRunner::new(config);
        if let Err(e) = runner.run(&lives, |(steps, codec, little)| live(&steps, codec, little)) {
            panic!("{e}\n{runner}");
        }
        if begun.elapsed() >= time {
            return;
        }
    }
}

fn live(steps: &[Step], codec: usize, little: bool) -> TestCaseResult {
    let file = memory();
    let resources = || if little { tight() } else { Resources::default() };
    let mut store = ZippedStore::create(file.clone(), &options(codec), resources()).unwrap();
    store.sync().unwrap();
    let (mut model, mut committed) = (Vec::new(), Vec::new());
    for step in steps {
        if apply(step, &store, &mut model) {
            committed.clone_from(&model);
            // Another reader sees the committed state, without errors.
            let other = ZippedStore::open(file.clone(), Resources::default()).unwrap();
            prop_assert_eq!(&image(&other), &committed);
            prop_assert_eq!(other.verify(&mut |_| Ok(())).unwrap(), vec![]);
        }
        if matches!(step, Step::Drop) {
            drop(store);
            model.clone_from(&committed);
            store = ZippedStore::open_rw(file.clone(), resources()).unwrap();
        }
    }
    prop_assert_eq!(image(&store), model);
    let used = store.survey().unwrap();
    prop_assert!(used.total.space + used.index <= used.file);
    Ok(())
}

/// Two parts that begin at one place had windows that no reader takes.
#[test]
fn a_description_with_an_empty_part_can_be_read_again() {
    for stride in [0, 5] {
        let empty = Step::Describe(vec![(52_296, 1, 5), (52_296, 1, stride)]);
        live(
            &[
                Step::Write(0, 9000, 3),
                empty.clone(),
                Step::Sync,
                empty,
                Step::Write(52_290, 300, 3),
                Step::Sync,
            ],
            0,
            false,
        )
        .unwrap();
    }
}
