//! One rule: its code, its name, how bad it is, what fixes it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The storage could be better.
    Info,
    /// A usual read or write takes many times as long as it must.
    Warning,
    /// A requirement is not met.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// The occasion on which a rule is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// When several files are looked at together.
    Across,
    /// Under the profile `cmip7`.
    Cmip7,
    /// Under the profile `virtual`.
    Virtual,
}

/// One thing that can be wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its code: `NC` and three digits, the first of which is the family.
    pub code: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The occasion on which it is checked.
    pub when: When,
    /// The meaning, in one sentence.
    pub about: &'static str,
    /// The fix.
    pub fixed_by: &'static str,
}

/// A family's rules, which are looked at in one case: of each its code, name, severity, what fixes it, and what it means.
macro_rules! rules {
    ($when:ident: $(($code:literal, $name:literal, $severity:ident, $fixed_by:literal, $about:literal),)*) => {
        &[$($crate::doctor::rule::Rule {
            code: $code,
            name: $name,
            severity: $crate::doctor::rule::Severity::$severity,
            when: $crate::doctor::rule::When::$when,
            about: $about,
            fixed_by: $fixed_by,
        }),*]
    };
}
pub(super) use rules;

/// A family's rule of this code.
pub(super) fn rule(family: &'static [Rule], code: &str) -> &'static Rule {
    family.iter().find(|r| r.code == code).expect("a family knows its codes")
}
