//! NetCDF-Bench's table, to the blank: for scripts that read it.
//!
//! Its rates are as it defines them (the bytes of all ranks divided by the time of *one* rank; minimum, mean and
//! maximum over the ranks), however misleading. Its debug lines are not.

use std::fmt::Write;

use crate::workload::io::{AccessKind, IoReport, PhaseKind, RankPhase, type_names, written};

/// The table for the first case of a report; of several repetitions the one with the median time.
pub fn netcdf_bench_table(report: &IoReport) -> String {
    let mut out = String::new();
    let size = report.options.dtype.size() as u64;
    let kind = type_names(report.options.dtype).1;
    let _ = writeln!(out, "Benchtool (datatype: {kind}) ");
    let mut line = |label: &str, value: &str, unit: Option<&str>, more: &str| {
        let _ = match unit {
            Some(unit) => writeln!(out, "{label:<40} {value:>20} {unit:<20}{more}"),
            None => writeln!(out, "{label:<40} {value:>20}"),
        };
    };
    let g = &report.geometry;
    let case = &report.cases[0];
    let mut parts = vec![("Data", "Datasize", &g.data), ("Block", "Blocksize", &g.block)];
    if let Some(chunks) = &case.chunks {
        parts.push(("Chunk", "Chunksize", chunks));
    }
    for (name, _, lens) in &parts {
        let value = format!("{} x {size}", written(lens));
        line(&format!("{name} geometry (t:x:y:z x sizeof(type))"), &value, Some("bytes"), "");
    }
    for (_, name, lens) in &parts {
        let bytes = lens.iter().product::<u64>() * size;
        line(name, &bytes.to_string(), Some("bytes"), &format!(" ({})", suffixed(bytes)));
    }
    let access = if case.ask.access == AccessKind::Collective { "collective" } else { "independent" };
    line("I/O Access", access, None, "");
    line("Storage", if case.chunks.is_some() { "chunked" } else { "contiguous" }, None, "");
    line("File length", if report.options.unlimited { "unlimited" } else { "fixed" }, None, "");
    // The label differs with the value, in NetCDF-Bench as well.
    let (label, value) = if report.options.fill { ("Fill value", "yes") } else { ("File value", "no") };
    line(label, value, None, "");
    let _ = writeln!(out, "{:<20} {:<40} {:>20} {:>20} {:>20} {:<20}", "", "", "min", "avg", "max", "");
    for kind in [PhaseKind::Write, PhaseKind::Read] {
        let mut runs: Vec<_> = report.phases.iter().filter(|p| p.case == 0 && p.kind == kind).collect();
        runs.sort_by(|a, b| a.measurement.seconds.total_cmp(&b.measurement.seconds));
        let Some(run) = runs.get(runs.len() / 2) else { continue };
        let mib = run.bytes as f64 / f64::from(1 << 20);
        let column = |f: &dyn Fn(&RankPhase) -> f64| run.ranks.iter().map(f).collect::<Vec<_>>();
        let rows: [(&str, Vec<f64>, &str); 5] = [
            ("Open time", column(&|r| r.open.seconds()), "secs"),
            ("I/O time", column(&RankPhase::io_seconds), "secs"),
            ("Close time", column(&|r| r.close.seconds()), "secs"),
            ("I/O Performance (w/o open/close)", column(&|r| mib / r.io_seconds()), "MiB/s"),
            ("I/O Performance", column(&|r| mib / r.total()), "MiB/s"),
        ];
        for (name, values, unit) in rows {
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            let max = values.iter().copied().fold(0.0, f64::max);
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let head = format!("benchmark:{}", kind.name());
            let _ = writeln!(out, "{head:<20} {name:<40} {min:>20.10} {mean:>20.10} {max:>20.10} {unit:<20}");
        }
    }
    out
}

/// `16000000` as `16.0 MB`: powers of 1000, one digit, cut off.
fn suffixed(bytes: u64) -> String {
    let mut scale = 1;
    for unit in ["B", "kB", "MB"] {
        if bytes / scale < 1000 {
            return format!("{}.{} {unit}", bytes / scale, bytes % scale * 10 / scale);
        }
        scale *= 1000;
    }
    format!("{}.{} GB", bytes / scale, bytes % scale * 10 / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_off() {
        assert_eq!(suffixed(16384), "16.3 kB");
        assert_eq!(suffixed(400_000), "400.0 kB");
        assert_eq!(suffixed(512), "512.0 B");
        assert_eq!(suffixed(999_999_999), "999.9 MB");
        assert_eq!(suffixed(5_000_000_000_000), "5000.0 GB");
    }
}
