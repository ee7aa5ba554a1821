//! Findings for programs: JSON.

use serde_json::{Value, json as object};

use super::Report;
use super::finding::Finding;

/// One report as JSON.
pub fn json(report: &Report) -> Value {
    object!({
        "file": report.file,
        "format": report.format,
        "passes": report.passes,
        "variables": report.variables,
        "bytes_read": report.bytes_read,
        "reader_cache": report.cache,
        "findings": report.findings.iter().map(|f| finding(f, &report.file)).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

/// One finding as JSON; `file` is what its command fixes.
pub(super) fn finding(f: &Finding, file: &str) -> Value {
    let commands: Vec<String> = match &f.fix {
        Some(fix) if f.files.is_empty() => vec![fix.command(file)],
        Some(fix) => f.files.iter().map(|file| fix.command(file)).collect(),
        None => Vec::new(),
    };
    object!({
        "code": f.rule.code,
        "name": f.rule.name,
        "severity": f.severity,
        "variable": f.var,
        "message": f.message,
        "commands": commands,
        "slower": f.slower,
        "netcdf_c_cache": f.cache,
        "files": f.files,
    })
}

impl Finding {
    /// The finding as JSON; `file` is what its command fixes (a finding about several files names its own).
    pub fn json(&self, file: &str) -> Value {
        finding(self, file)
    }
}
