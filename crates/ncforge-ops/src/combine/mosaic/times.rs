//! Times of a series whose files count from other dates: the units of the first file hold for all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::attrs::Conflicts;
use super::clock::said;
use crate::calendar::Rebase;
use crate::series::Ends;
use ncforge::model::{Schema, VarId};

/// The changes of values, by variable of the whole and file.
#[derive(Debug, Default)]
pub(crate) struct Times(pub(super) BTreeMap<(VarId, usize), Rebase>);

impl Times {
    /// The changes that the conflicts of files tell. What the bounds of a variable do not say of units, in any file, is what it says: they
    /// change as it does.
    pub(super) fn of<'a>(
        whole: &Schema,
        files: impl Iterator<Item = (usize, &'a Conflicts)> + Clone,
    ) -> Times {
        let own = whole.var_ids().flat_map(|v| whole.bounds_of(v).map(move |b| (v, b)));
        let named = files.clone().flat_map(|(_, one)| &one.bounds);
        let named = named.filter_map(|(v, path)| Some((*v, whole.find_var(path)?)));
        let bounds: BTreeSet<(VarId, VarId)> =
            own.chain(named).filter(|(_, b)| said(whole, *b, "units").is_none()).collect();
        let mut times = Times::default();
        for (tile, conflicts) in files {
            for (v, change, _) in &conflicts.times {
                times.0.insert((*v, tile), *change);
                for (_, b) in bounds.range((*v, VarId(0))..=(*v, VarId(usize::MAX))) {
                    times.0.entry((*b, tile)).or_insert(*change);
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
                let units = said(whole, *v, "units")?;
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
