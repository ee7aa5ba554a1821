//! Times of a series whose files count from other dates: the units of the first file hold for all of them.

use std::collections::BTreeMap;

use super::attrs::Conflicts;
use super::units::counts_as;
use crate::calendar::Rebase;
use crate::series::{Ends, lies_along};
use ncforge::model::{Attribute, Schema, VarId};

/// The changes of values, by variable of the whole and file.
#[derive(Debug, Default)]
pub(crate) struct Times(pub(super) BTreeMap<(VarId, usize), Rebase>);

impl Times {
    /// Adds the change of a variable in a file, and of its bounds, which count as it does where they do not say otherwise.
    pub(super) fn add(&mut self, whole: &Schema, v: VarId, tile: usize, change: Rebase) {
        self.0.insert((v, tile), change);
        for b in whole.vars_in(whole.var(v).group).filter(|b| counts_as(whole, *b, v)) {
            self.0.insert((b, tile), change);
        }
    }

    /// Those of the variables that the first file has, along the dimension `along`.
    pub(super) fn of<'a>(first: &Schema, along: &str, files: impl Iterator<Item = &'a Conflicts>) -> Times {
        let mut times = Times::default();
        for (tile, conflicts) in files.enumerate() {
            for (v, change, _) in &conflicts.times {
                if lies_along(first, *v, along) {
                    times.add(first, *v, tile, *change);
                }
            }
        }
        times
    }

    /// Whether values of a variable change.
    pub(super) fn has(&self, v: VarId) -> bool {
        self.0.range((v, 0)..=(v, usize::MAX)).next().is_some()
    }

    /// The ends of a file's coordinate, in the units of the whole.
    pub(super) fn about(&self, v: VarId, tile: usize, ends: Ends) -> Ends {
        let Some(change) = self.0.get(&(v, tile)) else { return ends };
        let size = |step: f64| change.about(step) - change.about(0.0);
        Ends {
            first: change.about(ends.first),
            last: change.about(ends.last),
            steps: ends.steps.map(|(least, most)| (size(least), size(most))),
        }
    }

    /// A note for each variable that changes.
    pub(super) fn notes(&self, whole: &Schema, name: impl Fn(usize) -> String, files: usize) -> Vec<String> {
        let keys: Vec<&(VarId, usize)> = self.0.keys().collect();
        keys.chunk_by(|a, b| a.0 == b.0)
            .filter_map(|of_var| {
                let (v, tile) = of_var[0];
                let units = whole.var(*v).attr("units").and_then(Attribute::as_text)?;
                Some(format!(
                    "`{}` has other units in {} of {files} files, such as `{}`: converted to `{units}`",
                    whole.var_path(*v).trim_start_matches('/'),
                    of_var.len(),
                    name(*tile)
                ))
            })
            .collect()
    }
}
