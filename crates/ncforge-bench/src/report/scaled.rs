//! Runs with more and more ranks as one.

use super::io::{compared, thinned};
use crate::result::{Measurement, Results, Row, Section, View};
use crate::stats::distinct;

/// Repetitions of the same run as one section, their measurements one after the other. `None` when there are none.
fn joined(sections: impl IntoIterator<Item = Section>) -> Option<Section> {
    let mut all = sections.into_iter().reduce(|mut all, run| {
        for more in run.rows {
            let Some(row) = all.rows.iter_mut().find(|r| r.key() == more.key()) else { continue };
            let next = row.measurements.len();
            row.measurements
                .extend(more.measurements.into_iter().map(|m| Measurement { rep: m.rep + next, ..m }));
            row.calls.extend(more.calls);
        }
        all.notes = distinct(all.notes.into_iter().chain(run.notes));
        all
    })?;
    for row in &mut all.rows {
        // Words on one repetition do not hold for all.
        row.words.clear();
        row.calls.sort_by(f32::total_cmp);
        row.calls = thinned(&row.calls);
    }
    compared(&mut all);
    Some(all)
}

/// One document of runs of `bench io` that differ in the number of ranks alone: rows are named by their ranks, and drawn over them.
///
/// `runs` are numbers of ranks and what came out in every repetition. `None` when there are none.
pub fn over_ranks(runs: Vec<(usize, Vec<Results>)>) -> Option<Results> {
    let list: Vec<String> = runs.iter().map(|r| r.0.to_string()).collect();
    let mut all: Option<(Results, Section)> = None;
    for (ranks, repetitions) in runs {
        let Some(run) = repetitions.first().cloned() else { continue };
        let Some(mut section) = joined(repetitions.into_iter().flat_map(|r| r.sections)) else { continue };
        let number = format!("{ranks} rank{}", if ranks == 1 { "" } else { "s" });
        for row in &mut section.rows {
            row.facts.insert("series".to_owned(), row.case.clone());
            row.facts.insert("ranks".to_owned(), ranks.to_string());
            row.case += &format!(", {number}");
        }
        let (_, joined) = all.get_or_insert_with(|| {
            let title = section.title.split(", ").next().unwrap_or_default();
            let title = format!("{title}; ranks {}", list.join(", "));
            (run, Section::new(&section.workload, title))
        });
        joined.rows.extend(section.rows);
        // Comparisons between the cases of a run hold for its ranks.
        joined.words.extend(section.words.into_iter().map(|text| format!("{number}: {text}")));
        joined.notes.extend(section.notes.into_iter().map(|text| format!("{number}: {text}")));
    }
    let (first, mut section) = all?;
    let mut words = Vec::new();
    for label in section.labels() {
        words.extend(gains(&section, &label));
        section.views.push(View::Scaling {
            title: format!("{label}: more and more ranks"),
            phase: label,
            over: "ranks".to_owned(),
        });
    }
    words.append(&mut section.words);
    section.words = words;
    Some(Results { sections: vec![section], ..first })
}

/// The speed-up of the most ranks over the fewest, for every series.
fn gains(section: &Section, label: &str) -> Vec<String> {
    let rows: Vec<&Row> = section.labelled(label).into_iter().filter(|r| r.bytes > 0).collect();
    let series = |r: &Row| r.facts.get("series").cloned().unwrap_or_default();
    let ranks = |r: &&&Row| r.facts.get("ranks").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let mut out = Vec::new();
    for name in distinct(rows.iter().map(|r| series(r))) {
        let mine = || rows.iter().filter(|r| series(r) == name);
        let (Some(few), Some(most)) = (mine().min_by_key(ranks), mine().max_by_key(ranks)) else { continue };
        if let Some((a, b)) = few.rate().zip(most.rate()).filter(|_| ranks(&few) != ranks(&most)) {
            let times = b / a;
            let efficiency = times * ranks(&few) as f64 / ranks(&most) as f64 * 100.0;
            out.push(format!(
                "{label}: {name} moves {times:.2}× as much a second with {} ranks as with {} ({efficiency:.0} % of what as many times the ranks could)",
                ranks(&most),
                ranks(&few)
            ));
        }
    }
    out
}
