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
        "findings": report.findings.iter().map(|f| f.json(&report.file)).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

impl Finding {
    /// The finding as JSON; `file` is what its command fixes (a finding about several files names its own).
    pub fn json(&self, file: &str) -> Value {
        let commands: Vec<String> = match &self.fix {
            Some(fix) if self.files.is_empty() => vec![fix.command(file)],
            Some(fix) => fix.commands(&self.files),
            None => Vec::new(),
        };
        object!({
            "code": self.rule.code,
            "name": self.rule.name,
            "severity": self.severity,
            "variable": self.var,
            "message": self.message,
            "commands": commands,
            "slower": self.slower,
            "netcdf_c_cache": self.cache,
            "files": self.files,
        })
    }
}
