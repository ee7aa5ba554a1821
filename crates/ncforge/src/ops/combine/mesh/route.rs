//! From where the values of a run of the whole are read.

use super::set::{NONE, Set};

/// Values of one partition that are read in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) part: usize,
    /// The first, by number in the partition.
    pub(super) from: u64,
    pub(super) count: u64,
    /// Where they stand among all that is read.
    pub(super) at: u64,
}

/// What is read for a run of the whole, and where in it each value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) runs: Vec<Run>,
    /// Values that are read.
    pub(super) width: u64,
    /// By place in the run of the whole: which of those it is; [`NONE`]: nobody has it.
    pub(super) take: Vec<u32>,
}

impl Route {
    /// For `from..to` of the whole. Up to `gap` values between are read with them.
    pub(super) fn new(set: &Set, from: u64, to: u64, gap: u64) -> Route {
        let (from, to) = (from as usize, to as usize);
        let wanted = &set.source[from..to];
        let mut take = vec![NONE; wanted.len()];
        let mut runs: Vec<Run> = Vec::new();
        let mut width = 0u64;
        let mut visit = |one: u32, i: usize| {
            let part = runs.last().map_or(usize::MAX, |r| r.part);
            let inside = part != usize::MAX && one < set.first[part + 1];
            let near = runs.last().filter(|_| inside).and_then(|r| {
                let end = r.from + r.count;
                let local = u64::from(one - set.first[part]);
                (local <= end + gap).then_some(local)
            });
            let at = match (near, runs.last_mut()) {
                (Some(local), Some(run)) => {
                    let count = local + 1 - run.from;
                    width += count - run.count;
                    run.count = count;
                    width - 1
                }
                _ => {
                    let part = set.part_of(one);
                    runs.push(Run { part, from: u64::from(one - set.first[part]), count: 1, at: width });
                    width += 1;
                    width - 1
                }
            };
            take[i] = at as u32;
        };
        // Partition after partition, in their order. A large part of everything is found by walking over everything.
        if wanted.len() >= set.place.len() / 16 {
            for (one, &place) in set.place.iter().enumerate() {
                let place = place as usize;
                if (from..to).contains(&place) && wanted[place - from] == one as u32 {
                    visit(one as u32, place - from);
                }
            }
        } else {
            let mut order: Vec<u32> =
                (0..wanted.len() as u32).filter(|&i| wanted[i as usize] != NONE).collect();
            order.sort_unstable_by_key(|&i| wanted[i as usize]);
            order.into_iter().for_each(|i| visit(wanted[i as usize], i as usize));
        }
        Route { runs, width, take }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_walks_find_the_same() {
        // Three partitions; every other one's things go to places far apart, some nobody has.
        let mut set = Set::new("cell", "", Vec::new(), &[40, 0, 25, 35]).unwrap();
        set.source = vec![NONE; 90];
        for one in 0..100u32 {
            let place = one * 37 % 101;
            if place < 90 && one % 7 != 3 {
                set.place[one as usize] = place;
                set.source[place as usize] = one;
            }
        }
        let mut many = set.clone();
        many.place.extend(vec![NONE; 5000]);
        for (from, to, gap) in [(0, 90, 0), (0, 90, 3), (10, 30, 100), (40, 41, 0), (5, 5, 1)] {
            let route = Route::new(&set, from, to, gap);
            assert_eq!(route, Route::new(&many, from, to, gap), "{from} {to} {gap}");
            assert_eq!(route.width, route.runs.iter().map(|r| r.count).sum::<u64>());
            for (i, &take) in route.take.iter().enumerate() {
                let source = set.source[from as usize + i];
                if take == NONE {
                    assert_eq!(source, NONE);
                    continue;
                }
                let take = u64::from(take);
                let run = route.runs.iter().find(|r| (r.at..r.at + r.count).contains(&take)).unwrap();
                assert_eq!(u64::from(set.first[run.part]) + run.from + take - run.at, u64::from(source));
            }
            for pair in route.runs.windows(2).filter(|w| w[0].part == w[1].part) {
                assert!(pair[1].from > pair[0].from + pair[0].count + gap);
            }
        }
    }
}
