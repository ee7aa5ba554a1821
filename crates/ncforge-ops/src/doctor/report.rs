//! Findings for programs: JSON.

use serde_json::{Value, json as object};

use super::Report;
use super::finding::Finding;
use super::fix::{Commands, Fix};

/// One report as JSON, with the commands of a front.
pub fn json(report: &Report, front: &dyn Commands) -> Value {
    let fix = report.fix();
    object!({
        "file": report.file,
        "format": report.format,
        "passes": report.passes,
        "variables": report.variables,
        "bytes_read": report.bytes_read,
        "reader_cache": report.cache,
        "findings": report.findings.iter().map(|f| f.json(&report.file, front)).collect::<Vec<_>>(),
        "commands": fix.as_ref().map_or_else(Vec::new, |fix| fix.commands(&[&report.file], front)),
        "fix": fix.as_ref().map(Fix::options),
        "notes": report.notes,
    })
}

impl Finding {
    /// The finding as JSON; `file` is what its command fixes (a finding about several files names its own).
    pub fn json(&self, file: &str, front: &dyn Commands) -> Value {
        let commands: Vec<String> = match &self.fix {
            Some(fix) if self.files.is_empty() => fix.commands(&[file], front),
            Some(fix) => fix.commands(&self.files, front),
            None => Vec::new(),
        };
        object!({
            "code": self.rule.code,
            "name": self.rule.name,
            "severity": self.severity,
            "variable": self.var,
            "message": self.message,
            "commands": commands,
            "fix": self.fix.as_ref().map(Fix::options),
            "slower": self.slower,
            "netcdf_c_cache": self.cache,
            "files": self.files,
        })
    }
}
