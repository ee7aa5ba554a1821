//! Two runs of the same thing, row by row.

use std::fmt::Write;

use serde::Serialize;

use super::{Results, Row};
use crate::stats::{chance, chance_text, least_chance, ratio_of_medians};

/// What came out for all rows that both have.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// The rows.
    pub changes: Vec<Change>,
    /// Names of rows that only the first has.
    pub only_before: Vec<String>,
    /// Names of rows that only the second has.
    pub only_after: Vec<String>,
    /// What is different about the machines.
    pub machines: Vec<String>,
    /// What the runs themselves say against their numbers.
    pub doubts: Vec<String>,
}

/// One row before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The workload.
    pub workload: String,
    /// The case.
    pub case: String,
    /// The phase, with the state of the cache.
    pub phase: String,
    /// Median seconds before.
    pub before: f64,
    /// Median seconds after.
    pub after: f64,
    /// Seconds after, divided by those before: above 1 is slower.
    pub ratio: f64,
    /// 95 % interval of that.
    pub interval: Option<(f64, f64)>,
    /// How likely chance alone would set the two as far apart (rank-sum test).
    pub p: Option<f64>,
    /// Whether there are so few repetitions that *p* is above 0.05 however far they are apart.
    pub too_few: bool,
}

/// From this *p* on a difference is called chance.
const CHANCE: f64 = 0.05;

impl Change {
    /// Whether the difference is more than chance: the interval leaves out 1, and *p* is at most 0.05.
    pub fn is_sure(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
            && self.p.is_some_and(|p| p <= CHANCE)
    }

    /// What is to be said of it. With a limit: whether it is beyond that.
    fn verdict(&self, limit: Option<f64>) -> &'static str {
        match limit {
            Some(l) if self.is_slower_by(l) => "SLOWER",
            _ if self.too_few => "too few repetitions to tell from chance",
            _ if !self.is_sure() => "no difference beyond chance",
            _ if self.ratio > 1.0 => "slower",
            _ => "faster",
        }
    }

    /// In words: "1.43× faster [1.31, 1.55]".
    pub fn times(&self) -> String {
        let slower = self.ratio >= 1.0;
        let turned = |r: f64| if slower { r } else { 1.0 / r };
        let interval = self.interval.map_or_else(String::new, |(low, high)| {
            let (a, b) = (turned(low), turned(high));
            format!(" [{:.2}, {:.2}]", a.min(b), a.max(b))
        });
        format!("{:.2}× {}{interval}", turned(self.ratio), if slower { "slower" } else { "faster" })
    }

    /// Whether it takes more time by more than this share (0.1: 10 %), and that is more than chance. Of too few repetitions to tell
    /// (three on either side) the medians decide, and the interval where there is one.
    pub fn is_slower_by(&self, share: f64) -> bool {
        let beyond_chance = match self.too_few {
            true => self.interval.is_none_or(|(low, _)| low > 1.0),
            false => self.is_sure(),
        };
        self.ratio > 1.0 + share && beyond_chance
    }
}

/// Sets the rows of two runs against one another.
pub fn compare(before: &Results, after: &Results) -> Comparison {
    let mut out = Comparison {
        machines: before.environment.differences(&after.environment),
        doubts: doubts("first", before).chain(doubts("second", after)).collect(),
        ..Comparison::default()
    };
    let rows = |r: &Results| -> Vec<(String, Row)> {
        r.sections.iter().flat_map(|s| s.rows.iter().map(|row| (s.workload.clone(), row.clone()))).collect()
    };
    let (old, new) = (rows(before), rows(after));
    let same = |a: &(String, Row), b: &(String, Row)| a.0 == b.0 && a.1.key() == b.1.key();
    let name = |r: &(String, Row)| format!("{}: {}, {}", r.0, r.1.case, r.1.label());
    for row in &old {
        let Some(now) = new.iter().find(|n| same(row, n)) else {
            out.only_before.push(name(row));
            continue;
        };
        let (a, b) = (row.1.seconds(), now.1.seconds());
        let Some((ratio, interval)) = ratio_of_medians(&b, &a) else { continue };
        let median = |r: &Row| r.summary().map_or(0.0, |s| s.median);
        out.changes.push(Change {
            workload: row.0.clone(),
            case: row.1.case.clone(),
            phase: row.1.label(),
            before: median(&row.1),
            after: median(&now.1),
            ratio,
            interval,
            p: chance(&b, &a),
            too_few: least_chance(b.len(), a.len()) > CHANCE,
        });
    }
    out.only_after.extend(new.iter().filter(|n| !old.iter().any(|o| same(o, n))).map(name));
    out
}

/// What a run says against its own numbers.
fn doubts(which: &'static str, results: &Results) -> impl Iterator<Item = String> {
    results.doubts().into_iter().map(move |doubt| format!("the {which}: {doubt}"))
}

impl Comparison {
    /// Rows that are slower by more than this share.
    pub fn slower(&self, share: f64) -> Vec<&Change> {
        self.changes.iter().filter(|c| c.is_slower_by(share)).collect()
    }

    /// A table for people. With a limit, rows beyond it are marked.
    pub fn table(&self, limit: Option<f64>) -> String {
        let mut rows = vec![
            ["workload", "case", "phase", "before", "after", "time", "95 % interval", "times", "chance", ""]
                .map(str::to_owned)
                .to_vec(),
        ];
        for c in &self.changes {
            rows.push(vec![
                c.workload.clone(),
                c.case.clone(),
                c.phase.clone(),
                crate::report::seconds(c.before),
                crate::report::seconds(c.after),
                format!("{:+.1} %", (c.ratio - 1.0) * 100.0),
                c.interval.map_or_else(
                    || "-".to_owned(),
                    |(l, h)| format!("{:+.1} … {:+.1} %", (l - 1.0) * 100.0, (h - 1.0) * 100.0),
                ),
                c.times(),
                c.p.map_or_else(|| "-".to_owned(), chance_text),
                c.verdict(limit).to_owned(),
            ]);
        }
        let mut out = crate::report::aligned(&rows, 3);
        for (list, which) in [(&self.only_before, "first"), (&self.only_after, "second")] {
            for name in list {
                let _ = writeln!(out, "only in the {which}: {name}");
            }
        }
        for line in &self.machines {
            let _ = writeln!(out, "machines differ: {line}");
        }
        for line in &self.doubts {
            let _ = writeln!(out, "to be doubted: {line}");
        }
        out
    }

    /// The same as Markdown, for the summary page of a build.
    pub fn markdown(&self, limit: Option<f64>) -> String {
        let mut out = String::from(
            "| workload | case | phase | before | after | time | times | chance |  |\n|---|---|---|--:|--:|--:|---|---|---|\n",
        );
        for c in &self.changes {
            let mark = match c.verdict(limit) {
                "SLOWER" => "**slower**",
                verdict => verdict,
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {:+.1} % | {} | {} | {mark} |",
                c.workload,
                c.case.replace('|', "\\|"),
                c.phase,
                crate::report::seconds(c.before),
                crate::report::seconds(c.after),
                (c.ratio - 1.0) * 100.0,
                c.times(),
                c.p.map_or_else(|| "-".to_owned(), chance_text),
            );
        }
        for line in &self.machines {
            let _ = writeln!(out, "\nMachines differ: {line}");
        }
        for line in &self.doubts {
            let _ = writeln!(out, "\nTo be doubted: {line}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Measurement, Section};

    fn run(times: &[(&str, [f64; 5])]) -> Results {
        let rows = times
            .iter()
            .map(|(case, seconds)| {
                let mut row = Row::new(*case, "write", 100);
                row.measurements = seconds.map(Measurement::of).to_vec();
                row
            })
            .collect();
        Results::of(vec![Section { rows, ..Section::new("io", "t") }])
    }

    #[test]
    fn p_above_a_twentieth_is_no_difference() {
        // The interval leaves out 1, and the rank-sum test gives 0.056.
        let before = run(&[("a", [1.00, 1.01, 1.02, 1.03, 1.30])]);
        let after = run(&[("a", [1.025, 1.24, 1.25, 1.26, 1.31])]);
        let change = &compare(&before, &after).changes[0];
        assert!(change.p.is_some_and(|p| p > 0.05), "{change:?}");
        assert!(!change.is_sure() && !change.is_slower_by(0.1));
        assert_eq!(change.verdict(Some(0.1)), "no difference beyond chance");
    }

    #[test]
    fn three_repetitions_are_too_few_for_the_test() {
        let three = |seconds: [f64; 3]| {
            let mut row = Row::new("a", "write", 100);
            row.measurements = seconds.map(Measurement::of).to_vec();
            Results::of(vec![Section { rows: vec![row], ..Section::new("io", "t") }])
        };
        let found = compare(&three([1.0, 1.01, 1.02]), &three([2.0, 2.01, 2.02]));
        assert!(found.changes[0].too_few && found.changes[0].is_slower_by(0.1));
        assert!(found.table(None).contains("too few repetitions"), "{}", found.table(None));
    }

    #[test]
    fn what_a_run_says_against_itself_is_repeated() {
        let quiet = run(&[("a", [1.0; 5])]);
        let mut loud = quiet.clone();
        for m in &mut loud.sections[0].rows[0].measurements {
            m.disturbed = true;
        }
        let found = compare(&quiet, &loud);
        let told = "the second: Something else used the machine during 5 of 5 measurements: these numbers are unreliable";
        assert!(found.doubts.iter().any(|d| d.starts_with(told)), "{:?}", found.doubts);
        assert!(found.table(None).contains(told) && found.markdown(None).contains(told));
    }

    #[test]
    fn slower_is_told_from_chance() {
        let before = run(&[("a", [1.0, 1.01, 1.02, 0.99, 1.0]), ("b", [1.0; 5]), ("c", [1.0; 5])]);
        let after =
            run(&[("a", [1.3, 1.31, 1.29, 1.3, 1.32]), ("b", [0.5, 1.2, 1.3, 0.6, 1.2]), ("d", [1.0; 5])]);
        let c = compare(&before, &after);
        assert_eq!(c.changes.len(), 2);
        assert!(c.machines.is_empty());
        let slower = c.slower(0.1);
        assert_eq!(slower.iter().map(|c| c.case.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(c.slower(0.5).is_empty());
        assert_eq!((c.only_before.len(), c.only_after.len()), (1, 1));
        let text = c.table(Some(0.1));
        assert!(
            text.contains("SLOWER") && text.contains("beyond chance") && text.contains("+30.0 %"),
            "{text}"
        );
        assert!(text.contains("1.30× slower [") && text.contains("p = 0.008"), "{text}");
        assert!(c.markdown(Some(0.1)).contains("**slower**"));
        let back = compare(&after, &before);
        assert!(back.changes[0].times().starts_with("1.30× faster [1.2"), "{}", back.changes[0].times());
    }
}
