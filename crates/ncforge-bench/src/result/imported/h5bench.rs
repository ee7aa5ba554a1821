//! Lists of metrics that h5bench writes where its configuration names a `CSV_FILE`: a name, a value and a unit on each line; and what it prints
//! under `Performance Results`, where the same stands as `name: value unit`, or `name = value unit` in older versions.
//!
//! A file is one run; several of them, one after the other, are repetitions. Names have changed: `raw time` was `Raw_write_time` once. h5bench tells
//! the time of the calls that move data ("raw") and that of everything but the emulated computing ("observed"); here the first counts.

use super::{IMPORTED, add, document, seconds};
use crate::report::bytes;
use crate::result::{Measurement, Results, Row};

/// The tool.
const TOOL: &str = "h5bench";
const NOTE: &str =
    "from metrics of h5bench: times and rates are its raw ones, without metadata, opening and closing";

/// One run.
#[derive(Clone, Debug, Default)]
struct Run {
    phase: Option<String>,
    ranks: Option<u64>,
    collective: Option<bool>,
    /// Bytes of values.
    size: Option<f64>,
    raw: Option<f64>,
    /// Bytes a second.
    rate: Option<f64>,
    metadata: Option<f64>,
}

/// The runs of a text; `None` where there is none.
pub(super) fn read(text: &str) -> Option<Results> {
    let mut runs: Vec<Run> = Vec::new();
    // Whether what is printed, and not a list, is being read.
    let mut printed = false;
    for line in text.lines() {
        if let Some(ranks) = beginning(line) {
            // Older versions tell the number of ranks first, and begin after that.
            let told = printed && runs.last().is_some_and(|r| r.ranks.is_some() && r.raw.is_none());
            if !told {
                runs.push(Run { ranks, ..Run::default() });
            }
            printed = true;
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let name = cells[0].to_lowercase().replace('_', " ");
        // What a list begins with, of newer and of older versions.
        if name == "metric" || name == "num ranks" {
            runs.push(Run::default());
            printed = false;
        }
        let Some(run) = runs.last_mut() else { continue };
        if let Some(value) = cells.get(1).filter(|_| !printed) {
            run.take(&name, value, cells.get(2).copied().unwrap_or_default());
        } else if let Some((name, value, unit)) = sentence(line).filter(|_| printed) {
            run.take(&name, value, unit);
        }
    }
    let mut rows = Vec::new();
    for run in &runs {
        let (Some(raw), Some(size)) = (run.raw, run.bytes()) else { continue };
        let split = run.metadata.map(|s| ("metadata".to_owned(), s));
        add(
            &mut rows,
            run.row(size),
            Measurement { split: split.into_iter().collect(), ..Measurement::of(raw) },
        );
    }
    let most = rows.iter().map(|r| r.bytes).max()?;
    Some(document(format!("h5bench: {}", bytes(most)), rows, NOTE))
}

/// Whether a line begins what h5bench prints about a run, and the number of ranks, if that line tells it.
#[expect(clippy::option_option, reason = "a beginning may tell the ranks or not")]
fn beginning(line: &str) -> Option<Option<u64>> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Performance measured with ") {
        return Some(rest.split_whitespace().next().and_then(|n| n.parse().ok()));
    }
    let title = line.trim_matches('=').trim();
    (line.starts_with("===") && title.eq_ignore_ascii_case("performance results")).then_some(None)
}

/// A name, a value and a unit of a line that is printed: `SYNC Raw write rate: 1.248 GB/s`.
fn sentence(line: &str) -> Option<(String, &str, &str)> {
    let (name, rest) = line.split_once([':', '='])?;
    let name = name.trim().to_lowercase();
    // How files are written stands before rates.
    let name = name.strip_prefix("sync ").or_else(|| name.strip_prefix("async ")).unwrap_or(&name).to_owned();
    let mut words = rest.split_whitespace();
    Some((name, words.next()?, words.next().unwrap_or_default()))
}

/// A time with its unit: seconds, or in older versions thousandths of them.
fn in_seconds(value: &str, unit: &str) -> Option<f64> {
    let scale = if unit.eq_ignore_ascii_case("ms") { 1e-3 } else { 1.0 };
    seconds(value.parse::<f64>().ok()? * scale)
}

/// A number with a unit of bytes, or of bytes a second: `0.5, GB`. h5bench counts in steps of 1,024.
fn in_bytes(value: &str, unit: &str) -> Option<f64> {
    let power = match unit.chars().next()?.to_ascii_uppercase() {
        'B' => 0,
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        _ => return None,
    };
    Some(seconds(value.parse().ok()?)? * 1024f64.powi(power))
}

impl Run {
    fn take(&mut self, name: &str, value: &str, unit: &str) {
        // Older names have the phase in them.
        for phase in ["write", "read", "modify"] {
            if name.contains(&format!(" {phase} ")) {
                self.phase.get_or_insert_with(|| phase.to_owned());
            }
        }
        let name = name.replace(" write ", " ").replace(" read ", " ").replace(" modify ", " ");
        let yes = || Some(value.eq_ignore_ascii_case("yes"));
        let time = || in_seconds(value, unit);
        match name.as_str() {
            "operation" => self.phase = Some(value.to_lowercase()),
            "ranks" | "num ranks" | "total number of ranks" => self.ranks = value.parse().ok(),
            "collective data" | "collectivewrite" => self.collective = yes(),
            "total size" => self.size = in_bytes(value, unit),
            "raw time" => self.raw = time(),
            "raw rate" => self.rate = in_bytes(value, unit),
            "metadata time" | "core metadata time" => self.metadata = time(),
            _ => {}
        }
    }

    /// Bytes of values: of the size, or of rate and time where that is so small that it was rounded away.
    fn bytes(&self) -> Option<u64> {
        let told = self.size.filter(|s| *s > 0.0);
        let made = || Some(self.rate? * self.raw?);
        told.or_else(made).map(|b| b.round() as u64).filter(|b| *b > 0)
    }

    fn row(&self, size: u64) -> Row {
        let phase = match self.phase.as_deref() {
            Some("overwrite" | "modify") => "rewrite",
            Some(other) => other,
            None => "write",
        };
        let mut parts = vec![TOOL.to_owned()];
        parts.extend(self.ranks.map(|n| format!("{n} rank{}", if n == 1 { "" } else { "s" })));
        parts.extend(self.collective.map(|c| if c { "collective" } else { "independent" }.to_owned()));
        let mut row = Row::new(parts.join(", "), phase, size).with(IMPORTED, TOOL).with("format", "hdf5");
        if let Some(ranks) = self.ranks {
            row = row.with("ranks", ranks);
        }
        if let Some(collective) = self.collective {
            row = row.with("access", if collective { "coll" } else { "ind" });
        }
        row.engine = TOOL.to_owned();
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\
metric, value, unit
operation, write, 
ranks, 16, 
collective data, YES, 
collective meta, NO, 
total compute time, 4.000, seconds
total size, 640.000, MB
raw time, 1.250, seconds
raw rate, 512.000, MB/s
metadata time, 0.002, seconds
observed rate, 120.1, MB/s
observed time, 9.300, seconds
";

    #[test]
    fn lists_become_rows_and_repetitions() {
        let read_list =
            NEW.replace("operation, write", "operation, read").replace("collective data, YES, \n", "");
        let found =
            read(&format!("{NEW}{}{read_list}", NEW.replace("raw time, 1.250", "raw time, 1.500"))).unwrap();
        let rows = &found.sections[0].rows;
        assert_eq!(
            rows.iter().map(|r| (r.phase.as_str(), r.measurements.len(), r.bytes)).collect::<Vec<_>>(),
            [("write", 2, 640 << 20), ("read", 1, 640 << 20)]
        );
        assert_eq!(
            (rows[0].case.as_str(), rows[0].facts["access"].as_str()),
            ("h5bench, 16 ranks, collective", "coll")
        );
        assert_eq!(rows[0].measurements[1].seconds, 1.5);
        assert_eq!(rows[0].measurements[0].split, [("metadata".to_owned(), 0.002)]);
    }

    #[test]
    fn older_names_are_known() {
        let text = "\
NUM_RANKS, 31
CollectiveWrite, NO
CollectiveMetaWrite, NO
Total emulated compute time, 4, sec
Total_write_size, 77, GB
Raw_write_time, 70.011, sec
Raw_write_rate, 1.100, GB/sec
Core_metadata_time, 0.005, sec
Observed_write_rate, 1.091, GB/sec
Observed_completion_time, 74.593, sec
NUM_RANKS, 31
Total read size, 0, GB
Raw read time, 0.500, sec
Raw read rate, 0.250, GB/sec
";
        let found = read(text).unwrap();
        let rows = &found.sections[0].rows;
        assert_eq!(
            (rows[0].phase.as_str(), rows[0].bytes, rows[0].facts["access"].as_str()),
            ("write", 77 << 30, "ind")
        );
        assert_eq!((rows[1].phase.as_str(), rows[1].bytes), ("read", 1 << 27));
    }

    #[test]
    fn older_lists_of_reads_tell_metadata_in_thousandths() {
        let text = "\
NUM_RANKS, 2
Total emulated compute time, 4, sec
Total read size, 512, MB
Metadata_time, 250.000, ms
Raw read time, 0.500, sec
Raw read rate, 1024.000, MB/sec
";
        let found = read(text).unwrap();
        assert_eq!(found.sections[0].rows[0].measurements[0].split, [("metadata".to_owned(), 0.25)]);
    }

    /// As h5bench's own documentation shows what it prints (hpc-io/h5bench, `docs`), and as a user showed what an older one printed
    /// (issue 27 there), shortened.
    #[test]
    fn what_is_printed_is_read() {
        let new = "\
=================== Performance Results ==================
Total number of ranks: 1
Total emulated compute time: 4.000 s
Total write size: 2.500 GB
Raw write time: 2.003 s
Raw Full write time (inc. d2h) = 246.879 s
Metadata time: 0.002 s
H5Fcreate() time: 0.002 s
Observed completion time: 7.311 s
SYNC Raw write rate: 1.248 GB/s
SYNC Raw Full write rate (inc. d2h): 10.369 MB/s
SYNC Observed write rate: 773.215 MB/s
===========================================================
";
        let found = read(&format!("{new}{new}")).unwrap();
        let row = &found.sections[0].rows[0];
        assert_eq!((row.case.as_str(), row.phase.as_str(), row.bytes), ("h5bench, 1 rank", "write", 5 << 29));
        assert_eq!(row.measurements.iter().map(|m| m.seconds).collect::<Vec<_>>(), [2.003, 2.003]);
        assert_eq!(row.measurements[0].split, [("metadata".to_owned(), 0.002)]);
        let old = "\
Writing Timestep_4 ... 

 Performance measured with 31 ranks, 
==================  Performance results  =================
Total emulated compute time 4 ms
Total write size = 77 GB
Raw write time = 70.011 sec
Metadata time = 5.000 ms
H5Fcreate() takes 189478.000 sec
Observed completion time = 74.593 sec
Sync Raw write rate = 1.100 GB/sec 
Sync Observed write rate = 1.091 GB/sec
";
        let rows = read(&format!("{old}{old}")).unwrap().sections.swap_remove(0).rows;
        assert_eq!((rows[0].case.as_str(), rows[0].bytes), ("h5bench, 31 ranks", 77 << 30));
        assert_eq!(rows[0].measurements.len(), 2);
        assert_eq!(rows[0].measurements[1].split, [("metadata".to_owned(), 0.005)]);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "metric, value, unit\n",
            "metric, value, unit\nraw time, -1, seconds\ntotal size, 1, GB",
            "a,b,c",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
