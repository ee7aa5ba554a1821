//! Two runs of the same thing, row by row.

use serde::Serialize;

use super::seconds;
use super::table::Table;
use crate::result::{Results, Row};
use crate::stats::{chance, chance_text, least_chance, ratio_of_medians};

/// The result for all rows that both have.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// The rows.
    pub changes: Vec<Change>,
    /// Names of rows that only the first has.
    pub only_before: Vec<String>,
    /// Names of rows that only the second has.
    pub only_after: Vec<String>,
    /// The differences between the machines.
    pub machines: Vec<String>,
    /// Doubts of the runs about their own numbers.
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

/// The *p* from which on a difference is called chance.
const CHANCE: f64 = 0.05;

impl Change {
    /// Whether the difference is more than chance: the interval leaves out 1, and *p* is at most 0.05.
    pub fn is_sure(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
            && self.p.is_some_and(|p| p <= CHANCE)
    }

    /// The verdict in words. With a limit: whether it is exceeded.
    fn verdict(&self, limit: Option<f64>) -> &'static str {
        match limit {
            Some(l) if self.is_slower_by(l) => "SLOWER",
            _ if self.too_few => "too few repetitions to rule out chance",
            _ if !self.is_sure() => "no difference beyond chance",
            _ if self.ratio > 1.0 => "slower",
            _ => "faster",
        }
    }

    /// The ratio in words: "1.43× faster [1.31, 1.55]".
    pub fn times(&self) -> String {
        let slower = self.ratio >= 1.0;
        let turned = |r: f64| if slower { r } else { 1.0 / r };
        let interval = self.interval.map_or_else(String::new, |(low, high)| {
            let (a, b) = (turned(low), turned(high));
            format!(" [{:.2}, {:.2}]", a.min(b), a.max(b))
        });
        format!("{:.2}× {}{interval}", turned(self.ratio), if slower { "slower" } else { "faster" })
    }

    /// True if the time grew by more than this share (0.1: 10 %), and that is more than chance. Of too few repetitions (three on either
    /// side) the medians decide, and the interval where there is one.
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

/// Doubts of a run about its own numbers.
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
        self.rows(limit).text() + &self.lines().join("\n")
    }

    /// The comparison as Markdown, for the summary page of a build.
    pub fn markdown(&self, limit: Option<f64>) -> String {
        self.rows(limit).markdown().replace("| SLOWER |", "| **slower** |")
            + "\n"
            + &self.lines().join("\n\n")
    }

    fn rows(&self, limit: Option<f64>) -> Table {
        const HEAD: [&str; 10] = [
            "workload",
            "case",
            "phase",
            "#before",
            "#after",
            "#time",
            "#95 % interval",
            "#times",
            "#chance",
            "verdict",
        ];
        let cells = |c: &Change| {
            let percent = |ratio: f64| (ratio - 1.0) * 100.0;
            let interval = c.interval.map(|(l, h)| format!("{:+.1} … {:+.1} %", percent(l), percent(h)));
            [
                c.workload.clone(),
                c.case.clone(),
                c.phase.clone(),
                seconds(c.before),
                seconds(c.after),
                format!("{:+.1} %", percent(c.ratio)),
                interval.unwrap_or_else(|| "-".to_owned()),
                c.times(),
                c.p.map_or_else(|| "-".to_owned(), chance_text),
                c.verdict(limit).to_owned(),
            ]
        };
        Table::of(&HEAD, &self.changes.iter().map(|c| cells(c).to_vec()).collect::<Vec<_>>())
    }

    /// Notes for the reader, a sentence each, and an empty one at the end.
    fn lines(&self) -> Vec<String> {
        let lists = [
            ("only in the first", &self.only_before),
            ("only in the second", &self.only_after),
            ("machines differ", &self.machines),
            ("to be doubted", &self.doubts),
        ];
        let said =
            lists.iter().flat_map(|(what, list)| list.iter().map(move |text| format!("{what}: {text}")));
        said.chain([String::new()]).collect()
    }
}
