//! The pattern of the last requests for a variable.
//!
//! People read arrays in loops: a map after a map, a series after a series, the pixels of a region row by row.
//! Such a loop nest is an *odometer*: requests of one shape whose start moves by a fixed step along one axis, and
//! when that axis begins anew, by a fixed step along another. The odometer is learned from the starts alone, and
//! predicts what comes next.

use crate::select::Hyperslab;

/// One loop of the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) axis: usize,
    /// The distance of a request from the one before along the axis; never 0.
    pub(super) step: i64,
    /// The beginning of the loop.
    pub(super) first: u64,
    /// The turn of the loop of the last request.
    pub(super) index: u64,
    /// The number of turns, once it was seen to begin anew.
    pub(super) len: Option<u64>,
}

impl Level {
    /// Start along the axis at a turn of the loop.
    pub(super) fn start(&self, index: u64) -> Option<u64> {
        let far = i64::try_from(index).ok()?.checked_mul(self.step)?;
        self.first.checked_add_signed(far)
    }

    /// The number of turns that can follow the turn `index` in an array of length `shape`, for requests that reach over
    /// `extent` elements.
    pub(super) fn remaining(&self, index: u64, shape: u64, extent: u64) -> u64 {
        let Some(start) = self.start(index) else { return 0 };
        let room = if self.step > 0 { shape.saturating_sub(start.saturating_add(extent)) } else { start };
        let bound = room / self.step.unsigned_abs();
        self.len.map_or(bound, |n| bound.min(n.saturating_sub(index + 1)))
    }
}

/// The requests of one variable, as far as they make a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    last: Option<Hyperslab>,
    /// The loops, the innermost first.
    levels: Vec<Level>,
    /// Requests that the odometer explained, one after the other.
    matched: u32,
}

impl Pattern {
    /// The loops, the innermost first.
    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The number of requests in a row that followed the pattern.
    pub(super) fn matched(&self) -> u32 {
        self.matched
    }

    /// Takes note of a request that is not empty. Whether it is what the pattern made expect (or the same request
    /// once more).
    pub(super) fn observe(&mut self, slab: &Hyperslab) -> bool {
        let Some(last) = &mut self.last else {
            self.last = Some(slab.clone());
            return false;
        };
        if last.count != slab.count || last.stride != slab.stride {
            *last = slab.clone();
            self.levels.clear();
            self.matched = 0;
            return false;
        }
        let follows = Self::follow(&mut self.levels, &last.start, &slab.start);
        if follows {
            self.matched += u32::from(last.start != slab.start);
        } else {
            // Perhaps the beginning of another pattern.
            self.levels.clear();
            let mut moved = (0..slab.rank()).filter(|&d| last.start[d] != slab.start[d]);
            if let (Some(axis), None) = (moved.next(), moved.next()) {
                self.levels.extend(first_move(axis, last.start[axis], slab.start[axis]));
            }
            self.matched = self.levels.len() as u32;
        }
        last.start.copy_from_slice(&slab.start);
        follows
    }

    /// Moves the odometer from one start to the next, if it is the next.
    fn follow(levels: &mut Vec<Level>, from: &[u64], to: &[u64]) -> bool {
        if from == to {
            return true;
        }
        for n in 0..levels.len() {
            let turns = levels[n];
            let axis = turns.axis;
            let is_next = to[axis] == from[axis].wrapping_add_signed(turns.step)
                && (0..from.len()).filter(|&d| d != axis).all(|d| {
                    let begins_anew = levels[..n].iter().find(|l| l.axis == d);
                    to[d] == begins_anew.map_or(from[d], |l| l.first)
                });
            if is_next {
                Self::begin_anew(&mut levels[..n]);
                let level = &mut levels[n];
                level.index += 1;
                if level.len.is_some_and(|len| level.index >= len) {
                    level.len = None;
                }
                return true;
            }
        }
        // All known loops begin anew, and one more axis moves.
        let all_anew = !levels.is_empty() && levels.iter().all(|l| to[l.axis] == l.first && l.index > 0);
        if !all_anew {
            return false;
        }
        let mut others =
            (0..from.len()).filter(|d| levels.iter().all(|l| l.axis != *d) && from[*d] != to[*d]);
        let (Some(axis), None) = (others.next(), others.next()) else { return false };
        let Some(outer) = first_move(axis, from[axis], to[axis]) else { return false };
        Self::begin_anew(levels);
        levels.push(outer);
        true
    }

    fn begin_anew(levels: &mut [Level]) {
        for l in levels {
            l.len = Some(l.index + 1);
            l.index = 0;
        }
    }
}

fn first_move(axis: usize, from: u64, to: u64) -> Option<Level> {
    let step = i64::try_from(i128::from(to) - i128::from(from)).ok()?;
    Some(Level { axis, step, first: from, index: 1, len: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(pattern: &mut Pattern, start: &[u64]) -> bool {
        pattern.observe(&Hyperslab::new(start, &vec![1; start.len()]))
    }

    #[test]
    fn a_sweep_is_seen_at_its_second_request_and_sure_at_its_third() {
        let mut p = Pattern::default();
        assert!(!see(&mut p, &[4, 0]) && p.levels().is_empty());
        assert!(!see(&mut p, &[6, 0]));
        assert_eq!(p.levels(), [Level { axis: 0, step: 2, first: 4, index: 1, len: None }]);
        assert_eq!(p.matched(), 1);
        assert!(see(&mut p, &[8, 0]) && p.matched() == 2);
        assert!(see(&mut p, &[8, 0]) && p.matched() == 2, "the same once more");
        assert_eq!(p.levels()[0].remaining(2, 15, 1), 3);
        assert_eq!(p.levels()[0].start(5), Some(14));
    }

    #[test]
    fn nested_sweeps_are_learned_level_by_level() {
        let mut p = Pattern::default();
        let mut expected = Vec::new();
        for z in 0..3 {
            for y in (10..14).rev() {
                for x in [5, 8, 11] {
                    expected.push(see(&mut p, &[x, 7, y, z]));
                }
            }
        }
        // The first two requests say nothing; all others follow, also where a loop begins anew.
        assert_eq!(expected.iter().filter(|e| !**e).count(), 2);
        assert!(!expected[0] && !expected[1]);
        let len: Vec<_> = p.levels().iter().map(|l| (l.axis, l.step, l.first, l.index, l.len)).collect();
        assert_eq!(len, [(0, 3, 5, 2, Some(3)), (2, -1, 13, 3, Some(4)), (3, 1, 0, 2, None)]);
        assert_eq!(p.matched(), 35);
        assert_eq!(p.levels()[1].remaining(1, 100, 1), 2);
        assert_eq!(p.levels()[1].start(1), Some(12));
    }

    #[test]
    fn random_requests_and_other_shapes_are_no_pattern() {
        let mut p = Pattern::default();
        for start in [[3, 9], [7, 2], [1, 4], [8, 8], [0, 1]] {
            assert!(!see(&mut p, &start) && p.matched() == 0);
        }
        see(&mut p, &[0, 2]);
        see(&mut p, &[0, 3]);
        assert_eq!(p.matched(), 2);
        assert!(!see(&mut p, &[0, 9]), "broken off");
        assert_eq!((p.matched(), p.levels()[0].step), (1, 6));
        assert!(!p.observe(&Hyperslab::new(&[0, 15], &[2, 1])));
        assert_eq!((p.matched(), p.levels().len()), (0, 0));
    }

    #[test]
    fn a_loop_that_runs_longer_than_before_forgets_its_length() {
        let mut p = Pattern::default();
        for start in [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]] {
            see(&mut p, &start);
        }
        assert_eq!(p.levels()[0].len, Some(3));
        assert!(see(&mut p, &[1, 3]));
        assert_eq!((p.levels()[0].len, p.levels()[0].index), (None, 3));
    }
}
