//! Runs with more and more ranks as one.

use super::{Results, Row, Section, View};

/// One document of runs that differ in the number of ranks alone: rows are named by their ranks, and drawn over them.
///
/// `runs` are numbers of ranks and what came out. `None` when there are none.
pub fn over_ranks(runs: Vec<(usize, Results)>) -> Option<Results> {
    let list: Vec<String> = runs.iter().map(|r| r.0.to_string()).collect();
    let mut all: Option<(Results, Section)> = None;
    for (ranks, run) in runs {
        for mut section in run.sections.clone() {
            for row in &mut section.rows {
                row.facts.insert("series".to_owned(), row.case.clone());
                row.facts.insert("ranks".to_owned(), ranks.to_string());
                row.case += &format!(", {ranks} rank{}", if ranks == 1 { "" } else { "s" });
            }
            // What a run found between its cases holds for its ranks.
            let told = |text: String| format!("{ranks} rank{}: {text}", if ranks == 1 { "" } else { "s" });
            section.words = section.words.into_iter().map(told).collect();
            section.notes = section.notes.into_iter().map(told).collect();
            let (_, joined) = all.get_or_insert_with(|| {
                let title = format!(
                    "{}; ranks {}",
                    section.title.split(", ").next().unwrap_or_default(),
                    list.join(", ")
                );
                (run.clone(), Section::new(&section.workload, title))
            });
            joined.rows.extend(section.rows);
            joined.words.extend(section.words);
            joined.notes.extend(section.notes);
        }
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

/// How much faster the most ranks are than the fewest, for every series.
fn gains(section: &Section, label: &str) -> Vec<String> {
    let rows: Vec<&Row> = section.rows.iter().filter(|r| r.label() == label && r.bytes > 0).collect();
    let series = |r: &Row| r.facts.get("series").cloned().unwrap_or_default();
    let ranks = |r: &&&Row| r.facts.get("ranks").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let mut seen: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for row in &rows {
        let name = series(row);
        if seen.contains(&name) {
            continue;
        }
        let mine = || rows.iter().filter(|r| series(r) == name);
        let (Some(few), Some(most)) = (mine().min_by_key(ranks), mine().max_by_key(ranks)) else { continue };
        seen.push(name.clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Measurement;

    #[test]
    fn rows_are_told_apart_and_set_against_one_another() {
        let run = |seconds: f64| {
            let mut row = Row::new("ncforge", "write", 1000);
            row.measurements = vec![Measurement::of(seconds)];
            Results::of(vec![Section {
                rows: vec![row],
                ..Section::new("io", "Blocks: 1 kB of 1:2, 9 ranks")
            }])
        };
        let all = over_ranks(vec![(1, run(1.0)), (4, run(0.5))]).unwrap();
        let section = &all.sections[0];
        assert_eq!(section.title, "Blocks: 1 kB of 1:2; ranks 1, 4");
        assert_eq!(section.rows[1].case, "ncforge, 4 ranks");
        assert!(
            section.words[0].contains("2.00×") && section.words[0].contains("(50 %"),
            "{:?}",
            section.words
        );
        assert_eq!(section.views.len(), 1);
        assert!(over_ranks(Vec::new()).is_none());
    }
}
