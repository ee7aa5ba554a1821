//! Two runs of the same thing, row by row.

use std::fmt::Write;

use serde::Serialize;

use super::imported::IMPORTED;
use super::{Results, Row};
use crate::stats::{chance, chance_text, ratio_of_medians};

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
}

impl Change {
    /// Whether the difference is more than chance: the interval leaves out 1.
    pub fn is_sure(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
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

    /// Whether it takes more time by more than this share (0.1: 10 %). With an interval, chance must be excluded too; without
    /// one (fewer than three repetitions) the medians decide.
    pub fn is_slower_by(&self, share: f64) -> bool {
        self.ratio > 1.0 + share && self.interval.is_none_or(|(low, _)| low > 1.0)
    }
}

/// Sets the rows of two runs against one another.
pub fn compare(before: &Results, after: &Results) -> Comparison {
    let mut out =
        Comparison { machines: before.environment.differences(&after.environment), ..Comparison::default() };
    let rows = |r: &Results| -> Vec<(String, Row)> {
        r.sections.iter().flat_map(|s| s.rows.iter().map(|row| (s.workload.clone(), row.clone()))).collect()
    };
    let (old, new) = (rows(before), rows(after));
    let same = |a: &(String, Row), b: &(String, Row)| a.0 == b.0 && is_same(&a.1, &b.1);
    let name = |r: &(String, Row)| format!("{}: {}, {}", r.0, r.1.case, r.1.label());
    for row in &old {
        let now: Vec<_> = new.iter().filter(|n| same(row, n)).collect();
        if now.is_empty() {
            out.only_before.push(name(row));
        }
        // More than one only where the first comes from another tool, which knows one library.
        for now in now {
            let (a, b) = (row.1.seconds(), now.1.seconds());
            let Some((ratio, interval)) = ratio_of_medians(&b, &a) else { continue };
            let median = |r: &Row| r.summary().map_or(0.0, |s| s.median);
            let case = match row.1.case == now.1.case {
                true => row.1.case.clone(),
                false => format!("{}, then {}", row.1.case, now.1.case),
            };
            out.changes.push(Change {
                workload: row.0.clone(),
                case,
                phase: row.1.label(),
                before: median(&row.1),
                after: median(&now.1),
                ratio,
                interval,
                p: chance(&b, &a),
            });
        }
    }
    out.only_after.extend(new.iter().filter(|n| !old.iter().any(|o| same(o, n))).map(name));
    out
}

/// Whether two rows did the same: case, phase and state of the cache. Of a row that comes from another tool, phase and number of
/// bytes decide, and array and ranks where both tell them; its reads are warm.
fn is_same(a: &Row, b: &Row) -> bool {
    let from = |r: &Row| r.facts.get(IMPORTED).cloned();
    if from(a) == from(b) {
        return a.key() == b.key();
    }
    let fact = |r: &Row, name: &str| r.facts.get(name).cloned();
    let warm = |r: &Row| fact(r, "cache").is_none_or(|c| c == "warm");
    let alike = |name: &str| fact(a, name).zip(fact(b, name)).is_none_or(|(a, b)| a == b);
    a.phase == b.phase && warm(a) && warm(b) && alike("data_shape") && alike("ranks") && a.bytes == b.bytes
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
            let verdict = match limit {
                Some(l) if c.is_slower_by(l) => "SLOWER",
                _ if !c.is_sure() => "no difference beyond chance",
                _ if c.ratio > 1.0 => "slower",
                _ => "faster",
            };
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
                verdict.to_owned(),
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
        out
    }

    /// The same as Markdown, for the summary page of a build.
    pub fn markdown(&self, limit: Option<f64>) -> String {
        let mut out = String::from(
            "| workload | case | phase | before | after | time | times | chance |  |\n|---|---|---|--:|--:|--:|---|---|---|\n",
        );
        for c in &self.changes {
            let mark = match limit {
                Some(l) if c.is_slower_by(l) => "**slower**",
                _ if !c.is_sure() => "chance",
                _ if c.ratio > 1.0 => "slower",
                _ => "faster",
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
