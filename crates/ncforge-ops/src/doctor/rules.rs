//! All rules, and the choice among them.

use std::str::FromStr;

use super::rule::Rule;
use ncforge::{Error, Result};
use ncforge_tune::vocabulary::did_you_mean;

/// All rules, by code.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let families: [&'static [Rule]; 9] = [
        super::shapes::RULES,
        super::caches::RULES,
        super::codecs::RULES,
        super::places::RULES,
        super::across::RULES,
        super::virtual_stores::ACROSS,
        super::attributes::RULES,
        super::cmip7::RULES,
        super::virtual_stores::RULES,
    ];
    families.into_iter().flatten()
}

/// A list of codes, of beginnings of codes (`NC1`: the family), or of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codes(pub(super) Vec<String>);

impl Codes {
    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a rule is meant.
    pub fn has(&self, rule: &Rule) -> bool {
        self.0.iter().any(|c| rule.code.starts_with(c.as_str()) || rule.name == c)
    }
}

impl FromStr for Codes {
    type Err = Error;

    /// Codes or names, separated by commas.
    ///
    /// ```
    /// use ncforge_ops::doctor::{Codes, rules};
    /// let codes: Codes = "NC1,no-shuffle".parse()?;
    /// assert!(rules().filter(|r| codes.has(r)).all(|r| r.code.starts_with("NC1") || r.code == "NC301"));
    /// assert!("NC9".parse::<Codes>().is_err());
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let list: Vec<String> =
            text.split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect();
        for code in &list {
            if !rules().any(|r| code.len() >= 2 && r.code.starts_with(code.as_str()) || r.name == code) {
                let known: Vec<&str> = rules().flat_map(|r| [r.code, r.name]).collect();
                let meant = did_you_mean(code, &known);
                return Err(Error::bad_option(
                    "rules",
                    format!("there is no rule `{code}`{meant}; `ncforge doctor --rules` lists them"),
                ));
            }
        }
        Ok(Codes(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_each_is_there_once() {
        let codes: Vec<&str> = rules().map(|r| r.code).collect();
        assert!(codes.windows(2).all(|w| w[0] < w[1]), "{codes:?}");
        let mut names: Vec<&str> = rules().map(|r| r.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), codes.len());
        for r in rules() {
            assert!(r.code.len() == 5 && r.code.starts_with("NC"), "{}", r.code);
            assert!(r.about.ends_with('.') && !r.fixed_by.is_empty(), "{}", r.code);
        }
    }
}
