//! Tables of NetCDF-Bench.
//!
//! Each table is a repetition; tables with the same head are one case. NetCDF-Bench's rates divide the bytes of all ranks by the time of
//! one; here they are made anew, from the slowest rank's time, which its column `max` has.

use super::{IMPORTED, add, document};
use crate::report::bytes;
use crate::result::{Measurement, Results, Row};

/// The tool.
const TOOL: &str = "netcdf-bench";

/// What stands above a table.
#[derive(Clone, Debug, Default, PartialEq)]
struct Head {
    data: String,
    block: String,
    chunk: Option<String>,
    bytes: u64,
    access: String,
    storage: String,
    unlimited: bool,
    fill: bool,
}

/// Minimum, mean and maximum over the ranks, of a phase.
#[derive(Clone, Debug, Default)]
struct Phase {
    name: String,
    open: Option<f64>,
    io: Option<f64>,
    close: Option<f64>,
}

/// The tables of a text, as a document; `None` where there is none.
pub(super) fn read(text: &str) -> Option<Results> {
    let mut head = Head::default();
    let mut runs: Vec<(Head, Vec<Phase>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Benchtool") {
            head = Head::default();
        } else if let Some((phase, what, slowest)) = timing(line) {
            let new = what == "Open time";
            // A table with another head, or the same phase once more, is another repetition.
            let same =
                runs.last().is_some_and(|r| r.0 == head && !(new && r.1.iter().any(|p| p.name == phase)));
            if !same {
                runs.push((head.clone(), Vec::new()));
            }
            let phases = &mut runs.last_mut()?.1;
            if !phases.iter().any(|p| p.name == phase) {
                phases.push(Phase { name: phase.to_owned(), ..Phase::default() });
            }
            let slot = phases.iter_mut().find(|p| p.name == phase)?;
            match what {
                "Open time" => slot.open = Some(slowest),
                "I/O time" => slot.io = Some(slowest),
                "Close time" => slot.close = Some(slowest),
                _ => {}
            }
        } else {
            told(line, &mut head);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (head, phase) in runs.iter().flat_map(|(head, phases)| phases.iter().map(move |p| (head, p))) {
        let Some(seconds) = phase.io else { continue };
        let (open, close) = (phase.open, phase.close);
        add(&mut rows, head.row(&phase.name), Measurement { open, close, ..Measurement::of(seconds) });
    }
    let first = runs.first().filter(|_| !rows.is_empty())?;
    let title = format!("NetCDF-Bench: {} of {}", bytes(first.0.bytes), first.0.data);
    let note = "from tables of NetCDF-Bench: rates are made anew, of all bytes and the slowest rank's time; its reads find the file in the system's cache";
    Some(document(title, rows, note))
}

/// `benchmark:write  I/O time  min avg max secs`: phase, what, and the maximum.
fn timing(line: &str) -> Option<(&str, &str, f64)> {
    let rest = line.strip_prefix("benchmark:")?;
    let (phase, rest) = rest.split_once(' ').filter(|p| ["write", "read"].contains(&p.0))?;
    let (what, numbers) = rest.trim_start().split_once("  ")?;
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let [_, _, slowest, "secs"] = numbers[..] else { return None };
    let slowest = slowest.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0)?;
    Some((phase, what.trim(), slowest))
}

/// A line of the head.
fn told(line: &str, head: &mut Head) {
    let Some((label, value)) = line.split_once("  ") else { return };
    let value = value.trim();
    let lens = || value.split_whitespace().next().unwrap_or_default().to_owned();
    match label.split(" (").next().unwrap_or_default() {
        "Data geometry" => head.data = lens(),
        "Block geometry" => head.block = lens(),
        "Chunk geometry" => head.chunk = Some(lens()),
        "Datasize" => head.bytes = lens().parse().unwrap_or(0),
        "I/O Access" => head.access = lens(),
        "Storage" => head.storage = lens(),
        "File length" => head.unlimited = value == "unlimited",
        "Fill value" | "File value" => head.fill = value == "yes",
        _ => {}
    }
}

impl Head {
    fn row(&self, phase: &str) -> Row {
        let chunks = self.chunk.as_ref().map_or_else(String::new, |c| format!(" {c}"));
        let more = [(self.unlimited, " unlimited"), (self.fill, " filled")];
        let more: String = more.iter().filter(|m| m.0).map(|m| m.1).collect();
        let case = format!("{TOOL} {} {} {}{chunks}{more}", self.data, self.access, self.storage);
        let mut row = Row::new(case, phase, self.bytes)
            .with(IMPORTED, TOOL)
            .with("data_shape", &self.data)
            .with("block_shape", &self.block)
            .with("access", if self.access == "collective" { "coll" } else { "ind" })
            .with("chunk_shape", self.chunk.clone().unwrap_or_default())
            .with("chunk_asked", self.chunk.clone().unwrap_or_else(|| "none".into()))
            .with("unlimited", u8::from(self.unlimited))
            .with("fill", u8::from(self.fill))
            .with("pattern", "blocks");
        row.engine = TOOL.to_owned();
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Benchtool (datatype: int) 
0 pretents to be 1 on file t.nc
Data geometry (t:x:y:z x sizeof(type))      20:100:200:10 x 4 bytes               
Block geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               
Chunk geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               
Datasize                                             16000000 bytes                (16.0 MB)
I/O Access                                         collective
Storage                                               chunked
File length                                         unlimited
File value                                                 no
                                                                               min                  avg                  max                     
benchmark:write      Open time                                        0.0098616620         0.0098621025         0.0098625430 secs                
benchmark:write      I/O time                                         0.0102558270         0.0102558920         0.0100000000 secs                
benchmark:write      Close time                                       0.0088896990         0.0088899290         0.0088901590 secs                
benchmark:write      I/O Performance (w/o open/close)              1487.7976830890      1487.8071125423      1487.8165419955 MiB/s               
benchmark:read       Open time                                        0.0046050570         0.0046051320         0.0046052070 secs                
benchmark:read       I/O time                                         0.0011475040         0.0011478195         0.0011481350 secs                
";

    #[test]
    fn tables_become_rows_and_repetitions() {
        let found = read(&format!("{TABLE}{TABLE}")).unwrap();
        let rows = &found.sections[0].rows;
        assert_eq!(
            rows.iter().map(|r| (r.phase.as_str(), r.measurements.len())).collect::<Vec<_>>(),
            [("write", 2), ("read", 2)]
        );
        assert_eq!(rows[0].case, "netcdf-bench 20:100:200:10 collective chunked 1:100:100:10 unlimited");
        assert_eq!((rows[0].bytes, rows[0].rate()), (16_000_000, Some(1.6e9)));
        assert_eq!(rows[0].measurements[1].close, Some(0.008_890_159));
        assert_eq!(rows[1].measurements[0].close, None);
        let other = TABLE.replace("collective", "independent");
        assert_eq!(read(&format!("{TABLE}{other}")).unwrap().sections[0].rows.len(), 4);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "benchmark:write",
            "benchmark:write Open time  x y z secs",
            "benchmark:write  I/O time  1 1 inf secs",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
