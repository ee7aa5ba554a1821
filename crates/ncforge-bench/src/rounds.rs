//! Repetitions that go round all cases, each time in another order, and are made again where something disturbed them.

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::error::Result;
use crate::noise::Snapshot;
use crate::result::Measurement;
use crate::stats::Positions;

/// The repetitions of measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds that count.
    pub repetitions: usize,
    /// Rounds before them that do not.
    pub warmup: usize,
    /// Rounds that something else on the machine disturbed are made again, as many as `repetitions` at most.
    pub guard: bool,
    /// The seed of the order of cases.
    pub seed: u64,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds { repetitions: 5, warmup: 1, guard: true, seed: 1 }
    }
}

impl Rounds {
    /// Measures `cases` cases in turn: `once` gets the case's and the round's number (warm-up rounds count), and gives what it
    /// measured. Processor time, noise and the repetition's number are filled in here.
    ///
    /// ```
    /// use ncforge_bench::result::Measurement;
    /// use ncforge_bench::rounds::Rounds;
    ///
    /// let rounds = Rounds { repetitions: 3, guard: false, ..Rounds::default() };
    /// let all = rounds.run(2, &mut |case, _| Ok(Measurement::of(case as f64 + 1.0)))?;
    /// assert_eq!((all.len(), all[1].len(), all[1][2].seconds), (2, 3, 2.0));
    /// # Ok::<(), ncforge_bench::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first one of `once`.
    pub fn run(
        &self,
        cases: usize,
        once: &mut dyn FnMut(usize, usize) -> Result<Measurement>,
    ) -> Result<Vec<Vec<Measurement>>> {
        let mut all: Vec<Vec<Measurement>> = vec![Vec::new(); cases];
        let mut random = Positions::new(self.seed);
        let planned = self.warmup.saturating_add(self.repetitions);
        let most = planned.saturating_add(if self.guard { self.repetitions } else { 0 });
        let mut quiet = 0;
        for round in 0..most {
            let mut disturbed = false;
            for case in shuffled(cases, &mut random) {
                let (before, used) = (Snapshot::now(), clock::usage().0);
                let mut m = once(case, round)?;
                let cpu = clock::usage().0 - used;
                m.noise = before.since(cpu);
                m.cpu = m.cpu.or(Some(cpu));
                m.disturbed = self.guard && m.noise.is_disturbing(false);
                disturbed |= m.disturbed;
                if round >= self.warmup {
                    m.rep = round - self.warmup;
                    all[case].push(m);
                }
            }
            quiet += usize::from(round >= self.warmup && !disturbed);
            if quiet >= self.repetitions || (!self.guard && round + 1 >= planned) {
                break;
            }
        }
        Ok(all)
    }

    /// Notes for the reader on the measurements.
    pub fn notes(&self, all: &[Vec<Measurement>]) -> Vec<String> {
        let measured = all.iter().map(Vec::len).sum::<usize>();
        let disturbed = all.iter().flatten().filter(|m| m.disturbed).count();
        disturbances(disturbed, measured).into_iter().collect()
    }
}

/// The note on disturbed measurements, if there are any.
pub(crate) fn disturbances(disturbed: usize, measured: usize) -> Option<String> {
    let end = if disturbed * 2 > measured {
        ": these numbers are unreliable"
    } else {
        ", which were made again and are left out where enough others are there"
    };
    let text =
        || format!("something else used the machine during {disturbed} of {measured} measurements{end}");
    (disturbed > 0).then(text)
}

/// The cases in another order for each round: what follows what must not decide (Fisher and Yates' shuffle).
pub(crate) fn shuffled(cases: usize, random: &mut Positions) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
}
