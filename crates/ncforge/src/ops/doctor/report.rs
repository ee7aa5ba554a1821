//! Findings for programs: JSON, and SARIF 2.1.0 (OASIS standard, 2020) for services that show them beside code.

use serde_json::{Value, json as object};

use super::Report;
use super::finding::{Finding, Slower};
use super::rules::{Severity, rules};

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

/// One finding as JSON; `file` is what its command mends.
pub(super) fn finding(f: &Finding, file: &str) -> Value {
    let commands: Vec<String> = match &f.mend {
        Some(mend) if f.files.is_empty() => vec![mend.command(file)],
        Some(mend) => f.files.iter().map(|file| mend.command(file)).collect(),
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
    /// The finding as JSON; `file` is what its command mends (a finding about several files names its own).
    pub fn json(&self, file: &str) -> Value {
        finding(self, file)
    }
}

/// Reports, and findings about all files, as one SARIF log.
pub fn sarif(reports: &[Report], across: &[Finding]) -> Value {
    let listed: Vec<_> = rules().collect();
    let results = (reports.iter())
        .flat_map(|r| r.findings.iter().map(move |f| result(f, std::slice::from_ref(&r.file))))
        .chain(across.iter().map(|f| result(f, &f.files)));
    object!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ncforge doctor",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": listed.iter().map(|r| object!({
                    "id": r.code,
                    "name": r.name,
                    "shortDescription": {"text": r.about},
                    "help": {"text": format!("mended by: {}", r.mended_by)},
                    "defaultConfiguration": {"level": level(r.severity)},
                })).collect::<Vec<_>>(),
            }},
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn result(f: &Finding, files: &[String]) -> Value {
    let mut text = match &f.var {
        Some(var) => format!("{var}: {}", f.message),
        None => f.message.clone(),
    };
    if let (Some(mend), Some(file)) = (&f.mend, files.first()) {
        text += &format!("\nMended by: {}", mend.command(file));
        if let Some(words) = Slower::words(&f.slower) {
            text += &format!(" ({words})");
        }
    }
    let logical: Vec<Value> = f
        .var
        .iter()
        .map(|var| object!({"name": var, "fullyQualifiedName": var, "kind": "variable"}))
        .collect();
    let places: Vec<Value> = (files.iter())
        .map(|file| {
            let mut place = object!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}}});
            if !logical.is_empty() {
                place["logicalLocations"] = Value::Array(logical.clone());
            }
            place
        })
        .collect();
    object!({
        "ruleId": f.rule.code,
        "ruleIndex": rules().position(|r| r.code == f.rule.code),
        "level": level(f.severity),
        "message": {"text": text},
        "locations": places,
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A path as a relative or file URI: what a URI cannot hold becomes %XX (RFC 3986).
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for b in path.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => out.push(b as char),
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b.nc"), "a%20b.nc");
        assert_eq!(uri("/x/ä"), "file:///x/%C3%A4");
    }
}
