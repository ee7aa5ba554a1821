//! Reports as text, and reports again: Python checks files one by one, also in other processes, and prints all
//! of them together as the command does.

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::fix::Fix;
use super::rule::Severity;
use super::rules::rules;
use super::{ReaderCache, Report};
use ncforge::{Error, Result};
use ncforge_tune::{CacheAdvice, Slower};

#[derive(Serialize, Deserialize)]
struct Saved {
    file: String,
    format: String,
    findings: Vec<SavedFinding>,
    passes: Option<bool>,
    cache: ReaderCache,
    variables: usize,
    bytes_read: u64,
    notes: Vec<String>,
}

/// A finding with the code of its rule.
#[derive(Serialize, Deserialize)]
struct SavedFinding {
    code: String,
    var: Option<String>,
    message: String,
    weight: f64,
    severity: Severity,
    cost: f64,
    fix: Option<Fix>,
    slower: Vec<Slower>,
    cache: Option<CacheAdvice>,
    files: Vec<String>,
}

impl From<Finding> for SavedFinding {
    fn from(f: Finding) -> Self {
        // JSON has no other numbers.
        let finite = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(f64::MIN, f64::MAX) };
        SavedFinding {
            code: f.rule.code.to_owned(),
            var: f.var,
            message: f.message,
            weight: finite(f.weight),
            severity: f.severity,
            cost: finite(f.cost),
            fix: f.fix,
            slower: f.slower,
            cache: f.cache,
            files: f.files,
        }
    }
}

impl SavedFinding {
    fn restored(self) -> Result<Finding> {
        let rule = rules().find(|r| r.code == self.code);
        Ok(Finding {
            rule: rule
                .ok_or_else(|| Error::bad_option("report", format!("there is no rule {}", self.code)))?,
            var: self.var,
            message: self.message,
            weight: self.weight,
            severity: self.severity,
            cost: self.cost,
            fix: self.fix,
            slower: self.slower,
            cache: self.cache,
            files: self.files,
        })
    }
}

impl Report {
    /// The report as text, for [`Report::restored`].
    pub fn saved(&self) -> String {
        let report = self.clone();
        let saved = Saved {
            file: report.file,
            format: report.format,
            findings: report.findings.into_iter().map(SavedFinding::from).collect(),
            passes: report.passes,
            cache: report.cache,
            variables: report.variables,
            bytes_read: report.bytes_read,
            notes: report.notes,
        };
        serde_json::to_string(&saved).expect("text and numbers are JSON")
    }

    /// The report that was saved as this text.
    ///
    /// # Errors
    /// [`Error::BadOption`] if it is no such text.
    pub fn restored(text: &str) -> Result<Self> {
        let saved: Saved = serde_json::from_str(text)
            .map_err(|e| Error::bad_option("report", format!("this is no report: {e}")))?;
        Ok(Report {
            file: saved.file,
            format: saved.format,
            findings: saved.findings.into_iter().map(SavedFinding::restored).collect::<Result<_>>()?,
            passes: saved.passes,
            cache: saved.cache,
            variables: saved.variables,
            bytes_read: saved.bytes_read,
            notes: saved.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_the_same_again() {
        let rule = rules().next().unwrap();
        let mut finding = Finding::new(rule, Some("g/tas"), "a \"message\"".into());
        finding.weight = f64::INFINITY;
        finding.slower = vec![Slower { read: "map".into(), now: 0.25, then: 3.0 }];
        let mut fix = Fix::native();
        fix.and(&Fix::chunks("g/tas", &[100, 8]));
        finding.fix = Some(fix);
        let report = Report {
            file: "a.nc".into(),
            format: "netCDF-4".into(),
            findings: vec![finding],
            passes: Some(false),
            cache: ReaderCache::default(),
            variables: 3,
            bytes_read: 1 << 40,
            notes: vec!["a note".into()],
        };
        let again = Report::restored(&report.saved()).unwrap();
        let mut expected = report;
        expected.findings[0].weight = f64::MAX;
        assert_eq!(format!("{expected:?}"), format!("{again:?}"));
        assert!(Report::restored("{}").is_err());
    }
}
