//! The cost of reads of each variable now, and with better chunks and the filters that are advised.

use super::DoctorOptions;
use super::facts::Facts;
use crate::choosing::{Chooser, Choosing, OF_FILE};
use ncforge_tune::Roles;

/// Reads of smaller variables cost little, however they are cut.
const SMALL: u64 = 64 << 10;
/// Kinds of variables for which the best chunks are worked out, the largest first.
const KINDS: usize = 250;

/// Adds the cost of reads now, and with better chunks and the filters that are advised, after samples were taken.
pub(super) fn choose(facts: &mut Facts, options: &DoctorOptions) {
    let choosing = Choosing {
        accesses: options.accesses.clone(),
        machine: options.machine,
        sample: options.sample && options.profile.is_none(),
        ..Choosing::default()
    };
    let mut vars = std::mem::take(&mut facts.vars);
    let roles = Roles::of(facts.schema());
    let mut chooser = Chooser::new(&facts.dataset, &choosing, OF_FILE).untimed();
    let mut order: Vec<usize> = (0..vars.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(vars[i].bytes));
    for i in order {
        let v = &mut vars[i];
        v.target = super::codecs::target(v, options);
        if v.layout.element.heap || v.chunk.is_none() && v.target.is_empty() {
            continue;
        }
        if chooser.kinds() >= KINDS {
            facts.notes.push(format!("`{}` and smaller variables: reads were not looked at", v.path));
            break;
        }
        match chooser.of_variable(&roles, v.id, Some(&v.target)) {
            Ok(found) => {
                v.coding = found.as_ref().and_then(|f| f.coding);
                let choice = found.map(|f| f.choice);
                v.best_chunks = choice.as_ref().map(|c| c.chunks.clone());
                v.choice = choice.filter(|_| v.bytes > SMALL);
            }
            // Damage is reported, and does not stop the rest.
            Err(e) => facts.notes.push(e.to_string()),
        }
    }
    facts.vars = vars;
}
