//! Summaries of IOR, and what it prints where none is asked for ([`text`]).
//!
//! With `-O summaryFormat=CSV` a line for each phase and repetition, under a head that names its columns; with `JSON` a document of tests, each with
//! its parameters and a list of results. Both give rates over everything from the first open to the last close; here, as in results of ours, the time
//! of the calls counts, and opening and closing are apart.

mod text;

use serde_json::Value;

use super::{IMPORTED, add, document, seconds};
use crate::report::bytes;
use crate::result::{Measurement, Results, Row};

pub(super) use self::text::read as text;

/// The tool.
const TOOL: &str = "ior";
const NOTE: &str = "from summaries of IOR: rates are those of the calls alone (IOR's own have opening and closing in them); what was in the system's cache is not known";

/// A phase of a repetition.
#[derive(Clone, Debug, Default)]
struct Phase {
    name: String,
    /// MiB a second over the whole time.
    rate: f64,
    total: f64,
    calls: f64,
    open: Option<f64>,
    close: Option<f64>,
    /// Bytes of a block, and of a transfer.
    block: u64,
    transfer: u64,
}

/// How a test was made, as far as that is known.
#[derive(Clone, Debug, Default)]
struct Test {
    interface: Option<String>,
    version: String,
    tasks: Option<u64>,
    segments: Option<u64>,
    file_each: Option<bool>,
    collective: Option<bool>,
}

/// The results of a summary as CSV.
pub(super) fn csv(text: &str) -> Option<Results> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let head = reader.headers().ok()?.clone();
    let column = |name: &str| head.iter().position(|h| h == name);
    let (access, rate) = (column("access")?, column("bw(MiB/s)")?);
    let (calls, total) = (column("wr/rd(s)")?, column("total(s)")?);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.ok()?;
        let number = |at: usize| record.get(at).and_then(|t| t.parse::<f64>().ok()).and_then(seconds);
        let named = |name: &str| column(name).and_then(number);
        // Other lines tell of removals.
        let (Some(rate), Some(calls), Some(total)) = (number(rate), number(calls), number(total)) else {
            continue;
        };
        let kib = |name: &str| named(name).map_or(0, |n| (n * 1024.0) as u64);
        let phase = Phase {
            name: record.get(access)?.to_owned(),
            rate,
            total,
            calls,
            open: named("open(s)"),
            close: named("close(s)"),
            block: kib("block(KiB)"),
            transfer: kib("xfer(KiB)"),
        };
        let test = Test { tasks: named("numTasks").map(|n| n as u64), ..Test::default() };
        put(&mut rows, &test, &phase);
    }
    finished(rows)
}

/// The results of a summary as JSON.
pub(super) fn json(document: &Value) -> Option<Results> {
    let tests = document.get("tests")?.as_array()?;
    let summary = document.get("summary").and_then(Value::as_array);
    let mut rows = Vec::new();
    for test in tests {
        let within = |part: &str, name: &str| test.get(part).and_then(|p| p.get(name));
        let parameter = |name: &str| within("Parameters", name).or_else(|| within("Options", name));
        let told = |name: &str| summary.and_then(|s| s.first()).and_then(|s| s.get(name));
        let how = Test {
            interface: parameter("api").and_then(Value::as_str).map(str::to_owned),
            version: document.get("Version").and_then(Value::as_str).unwrap_or_default().to_owned(),
            tasks: ["tasks", "numTasks"]
                .iter()
                .find_map(|n| whole(parameter(n)?))
                .or_else(|| whole(told("numTasks")?)),
            segments: parameter("segmentCount").and_then(whole),
            file_each: parameter("filePerProc").and_then(whole).map(|n| n != 0),
            collective: parameter("collective").and_then(whole).map(|n| n != 0),
        };
        // Versions differ in where the list stands.
        let list = |v: &Value| v.as_array().cloned();
        let results =
            test.get("Results").and_then(list).or_else(|| within("Options", "Results").and_then(list));
        for result in results.iter().flatten() {
            let number = |name: &str| result.get(name).and_then(Value::as_f64).and_then(seconds);
            let (Some(calls), Some(total)) = (number("wrRdTime"), number("totalTime")) else { continue };
            let kib = |name: &str, other: &str| match number(name) {
                Some(n) => (n * 1024.0) as u64,
                None => parameter(other).and_then(whole).unwrap_or(0),
            };
            let phase = Phase {
                name: result.get("access").and_then(Value::as_str).unwrap_or_default().to_owned(),
                rate: number("bwMiB").unwrap_or(0.0),
                total,
                calls,
                open: number("openTime"),
                close: number("closeTime"),
                block: kib("blockKiB", "blockSize"),
                transfer: kib("xferKiB", "transferSize"),
            };
            put(&mut rows, &how, &phase);
        }
    }
    finished(rows)
}

/// A whole number, or a word that is one, or a yes.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_bool().map(u64::from)).or_else(|| value.as_str()?.parse().ok())
}

fn put(rows: &mut Vec<Row>, test: &Test, phase: &Phase) {
    if !["write", "read"].contains(&phase.name.as_str()) {
        return;
    }
    let Some(moved) = moved(test, phase).filter(|b| *b > 0) else { return };
    let measurement = Measurement { open: phase.open, close: phase.close, ..Measurement::of(phase.calls) };
    add(rows, test.row(phase, moved), measurement);
}

/// Bytes of all tasks: of the parameters, where all are known, else of rate and time, which have few digits, to the nearest block of all.
fn moved(test: &Test, phase: &Phase) -> Option<u64> {
    let each = test.tasks.and_then(|n| n.checked_mul(phase.block)).filter(|n| *n > 0);
    if let (Some(each), Some(segments)) = (each, test.segments) {
        return each.checked_mul(segments);
    }
    let about = phase.rate * phase.total * 1_048_576.0;
    match each {
        Some(each) => each.checked_mul(((about / each as f64).round() as u64).max(1)),
        None => Some(about.round() as u64),
    }
}

fn finished(rows: Vec<Row>) -> Option<Results> {
    let most = rows.iter().map(|r| r.bytes).max()?;
    Some(document(format!("IOR: {}", bytes(most)), rows, NOTE))
}

impl Test {
    fn row(&self, phase: &Phase, moved: u64) -> Row {
        let mut parts = vec![TOOL.to_owned()];
        parts.extend(self.interface.clone());
        parts.extend(self.tasks.map(|n| format!("{n} task{}", if n == 1 { "" } else { "s" })));
        parts.push(format!("blocks of {} by {}", bytes(phase.block), bytes(phase.transfer)));
        parts.extend(self.file_each.filter(|f| *f).map(|_| "a file each".to_owned()));
        parts.extend(self.collective.filter(|c| *c).map(|_| "collective".to_owned()));
        let mut row =
            Row::new(parts.join(", "), &phase.name, moved).with(IMPORTED, TOOL).with("pattern", "blocks");
        if let Some(tasks) = self.tasks {
            row = row.with("ranks", tasks);
        }
        if let (Some(each), Some(collective)) = (self.file_each, self.collective) {
            let access = if each {
                "file"
            } else if collective {
                "coll"
            } else {
                "ind"
            };
            row = row.with("access", access);
        }
        TOOL.clone_into(&mut row.engine);
        row.version.clone_from(&self.version);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As IOR 4.0 writes it: `ior -a MPIIO -b 16m -t 1m -s 4 -i 2 -O summaryFormat=JSON`.
    const JSON: &str = r#"{
"Version": "4.0.0", "Began": "Thu Mar 14 10:00:00 2024", "Command line": "ior -a MPIIO", "Machine": "Linux n1",
"tests": [{"TestID": 0, "StartTime": "Thu Mar 14 10:00:00 2024", "Path": "testFile",
  "Parameters": {"testID": 0, "refnum": 0, "api": "MPIIO", "segmentCount": 4, "blockSize": 16777216, "transferSize": 1048576,
    "filePerProc": 0, "collective": 1, "repetitions": 2},
  "Options": {"api": "MPIIO", "apiVersion": "(3.1)", "tasks": 4, "clientsPerNode": 4, "repetitions": 2, "xfersize": "1 MiB"},
  "Results": [
    {"access": "write", "bwMiB": 512.0, "blockKiB": 16384.0, "xferKiB": 1024.0, "iops": 520.0, "latency": 0.007, "openTime": 0.01,
     "wrRdTime": 0.48, "closeTime": 0.01, "totalTime": 0.5},
    {"access": "read", "bwMiB": 1024.0, "blockKiB": 16384.0, "xferKiB": 1024.0, "iops": 1030.0, "latency": 0.003, "openTime": 0.001,
     "wrRdTime": 0.248, "closeTime": 0.001, "totalTime": 0.25},
    {"access": "write", "bwMiB": 500.0, "blockKiB": 16384.0, "xferKiB": 1024.0, "iops": 510.0, "latency": 0.007, "openTime": 0.01,
     "wrRdTime": 0.50, "closeTime": 0.002, "totalTime": 0.512},
    {"access": "remove", "totalTime": 0.01}]}],
"summary": [{"operation": "write", "API": "MPIIO", "numTasks": 4, "blockSize": 16777216, "bwMeanMIB": 506.0}],
"Finished": "Thu Mar 14 10:00:02 2024"}"#;

    #[test]
    fn documents_become_rows_and_repetitions() {
        let found = json(&serde_json::from_str(JSON).unwrap()).unwrap();
        let rows = &found.sections[0].rows;
        assert_eq!(
            rows.iter().map(|r| (r.phase.as_str(), r.bytes, r.measurements.len())).collect::<Vec<_>>(),
            [("write", 256 << 20, 2), ("read", 256 << 20, 1)]
        );
        assert_eq!(rows[0].case, "ior, MPIIO, 4 tasks, blocks of 16.0 MiB by 1.00 MiB, collective");
        assert_eq!((rows[0].facts["ranks"].as_str(), rows[0].facts["access"].as_str()), ("4", "coll"));
        assert_eq!(rows[0].measurements[1].seconds, 0.5);
        assert_eq!(rows[0].measurements[1].close, Some(0.002));
        // Where the list stands within the options, and nobody says how many segments there were.
        let mut other: Value = serde_json::from_str(JSON).unwrap();
        let results = other["tests"][0]["Results"].take();
        other["tests"][0]["Options"]["Results"] = results;
        other["tests"][0]["Parameters"]["segmentCount"].take();
        assert_eq!(json(&other).unwrap().sections[0].rows[0].bytes, 256 << 20);
    }

    #[test]
    fn lines_become_rows() {
        let text = "\
access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,30.3120,30.3795,1.5543,131072.0000,1024.0000,15.0489,202.2413,35.0600,202.6921,48,0
read,2012.0224,2026.8185,0.0158,131072.0000,1024.0000,0.4558,3.0314,1.0307,3.0536,48,0
remove,-,-,-,-,-,-,-,-,0.1,48,0
";
        let found = csv(text).unwrap();
        let rows = &found.sections[0].rows;
        assert_eq!(rows.iter().map(|r| r.bytes).collect::<Vec<_>>(), [48 * (128 << 20); 2]);
        assert_eq!(rows[0].measurements[0].seconds, 202.2413);
        assert_eq!(rows[1].case, "ior, 48 tasks, blocks of 128 MiB by 1.00 MiB");
        // Older ones do not say how many tasks there were.
        let older = text.replace(",numTasks", "").replace(",48,", ",");
        let rows = csv(&older).unwrap().sections.swap_remove(0).rows;
        assert!(rows[0].bytes.abs_diff(48 * (128 << 20)) < 1 << 20 && !rows[0].facts.contains_key("ranks"));
    }

    #[test]
    fn other_texts_are_none() {
        for text in
            ["", "access,bw(MiB/s)\nwrite,1", "access,bw(MiB/s),wr/rd(s),total(s)\nwrite,x,y,z", "a,b\n1,2"]
        {
            assert!(csv(text).is_none(), "{text}");
        }
        for text in [
            "{}",
            r#"{"tests": []}"#,
            r#"{"tests": [{"Results": [{"access": "write", "totalTime": -1, "wrRdTime": 1}]}]}"#,
        ] {
            assert!(json(&serde_json::from_str(text).unwrap()).is_none(), "{text}");
        }
    }
}
