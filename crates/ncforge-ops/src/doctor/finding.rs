//! Findings: one a variable, and those that are alike put together.

use std::cmp::Reverse;

use super::fix::Fix;
use super::rule::{Rule, Severity};
use ncforge_tune::{CacheAdvice, Slower};

/// One thing that was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The variable's (or the dimension's) path; `None`: the file.
    pub var: Option<String>,
    /// The finding in words, with figures.
    pub message: String,
    /// How bad it is among other findings of its rule: the worst of several is shown.
    pub weight: f64,
    /// How bad it is here: as the rule says, but a remark where every usual read takes a moment only.
    pub severity: Severity,
    /// Seconds that the read which gains most takes longer than it must.
    pub cost: f64,
    /// The fix; `None` where no copy can help.
    pub fix: Option<Fix>,
    /// Reads that take longer after that.
    pub slower: Vec<Slower>,
    /// The cache that users of netCDF-C can set instead.
    pub cache: Option<CacheAdvice>,
    /// The files that differ, where several were looked at together.
    pub files: Vec<String>,
}

impl Finding {
    pub(super) fn new(rule: &'static Rule, var: Option<&str>, message: String) -> Self {
        Finding {
            rule,
            var: var.map(str::to_owned),
            message,
            weight: 0.0,
            severity: rule.severity,
            cost: 0.0,
            fix: None,
            slower: Vec::new(),
            cache: None,
            files: Vec::new(),
        }
    }

    pub(super) fn weighing(self, weight: f64) -> Self {
        Finding { weight, ..self }
    }

    pub(super) fn fixed_by(self, fix: Fix) -> Self {
        Finding { fix: Some(fix), ..self }
    }

    pub(super) fn caching(self, cache: CacheAdvice) -> Self {
        Finding { cache: Some(cache), ..self }
    }
}

/// Variables with the same findings.
#[derive(Clone, Debug)]
pub struct Group {
    /// The variables; empty: the file itself.
    pub vars: Vec<String>,
    /// Their findings, one a rule; the figures are those of the worst.
    pub findings: Vec<Folded>,
}

/// A finding of one or several variables.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The finding with the most weight; its fix is for all of them.
    pub worst: Finding,
    /// Whether the others' figures differ.
    pub differ: bool,
}

impl Group {
    /// The worst severity in it.
    pub fn severity(&self) -> Severity {
        self.findings.iter().map(|f| f.worst.severity).max().unwrap_or(Severity::Info)
    }

    fn cost(&self) -> f64 {
        self.findings.iter().map(|f| f.worst.cost).fold(0.0, f64::max)
    }
}

/// Puts variables together of which the same rules speak; what is worst, and then what costs most, comes first.
pub fn fold(findings: &[Finding]) -> Vec<Group> {
    let mut vars: Vec<Option<&str>> = Vec::new();
    for f in findings {
        if !vars.contains(&f.var.as_deref()) {
            vars.push(f.var.as_deref());
        }
    }
    let of = |var: Option<&str>| -> Vec<&Finding> {
        let mut list: Vec<&Finding> = findings.iter().filter(|f| f.var.as_deref() == var).collect();
        list.sort_by_key(|f| (Reverse(f.severity), f.rule.code));
        list
    };
    type Codes = Vec<(&'static str, Severity)>;
    let mut groups: Vec<(Codes, Vec<Option<&str>>)> = Vec::new();
    for &var in &vars {
        let codes: Vec<_> = of(var).iter().map(|f| (f.rule.code, f.severity)).collect();
        match groups.iter_mut().find(|(c, v)| *c == codes && var.is_some() && v[0].is_some()) {
            Some((_, list)) => list.push(var),
            None => groups.push((codes, vec![var])),
        }
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(codes, vars)| {
            let lists: Vec<Vec<&Finding>> = vars.iter().map(|v| of(*v)).collect();
            let folded = (0..codes.len()).map(|i| {
                let same: Vec<&Finding> = lists.iter().map(|l| l[i]).collect();
                let worst = same.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).expect("there is one");
                let mut worst = (*worst).clone();
                for f in &same {
                    match (&mut worst.fix, &f.fix) {
                        (Some(all), Some(one)) => all.and(one),
                        (all @ None, Some(one)) => *all = Some(one.clone()),
                        _ => {}
                    }
                }
                let differ = same.iter().any(|f| f.message != worst.message);
                Folded { worst, differ }
            });
            Group {
                findings: folded.collect(),
                vars: vars.into_iter().flatten().map(str::to_owned).collect(),
            }
        })
        .collect();
    groups.sort_by(|a, b| b.severity().cmp(&a.severity()).then(b.cost().total_cmp(&a.cost())));
    groups
}
