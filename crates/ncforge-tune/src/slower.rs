//! Reads that other chunks or filters make slower.

use serde::{Deserialize, Serialize};

use crate::words::seconds;

/// A read that a copy makes slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slower {
    /// The read.
    pub read: String,
    /// Seconds that it takes now, …
    pub now: f64,
    /// … and then.
    pub then: f64,
}

impl Slower {
    /// Several of them in a sentence; `None` for none.
    pub fn words(list: &[Slower]) -> Option<String> {
        let one = |s: &Slower| {
            format!(
                "{} ({} times, {} instead of {})",
                s.read,
                ratio(s.then / s.now),
                seconds(s.then),
                seconds(s.now)
            )
        };
        let all: Vec<String> = list.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("that takes longer: {}", all.join(", ")))
    }
}

/// Rounded up: a read is slower by no more than what is reported.
fn ratio(x: f64) -> String {
    if x < 10.0 { format!("{:.1}", (x * 10.0).ceil() / 10.0) } else { format!("{:.0}", x.ceil()) }
}
