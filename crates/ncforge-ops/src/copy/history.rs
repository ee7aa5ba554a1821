//! The line that a command puts in front of the global attribute `history`.

use std::time::{SystemTime, UNIX_EPOCH};

use ncforge_tune::words::iso_date;

/// `date: command`, the date in ISO 8601 and UTC. `SOURCE_DATE_EPOCH` (seconds) replaces the clock, for outputs
/// that shall be the same bytes every time.
///
/// ```
/// let line = ncforge_ops::copy::history_line("ncforge copy a.nc b.nc");
/// assert!(line.ends_with("Z: ncforge copy a.nc b.nc"));
/// ```
pub fn history_line(command: &str) -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|s| s.trim().parse::<u64>().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    format!("{}: {command}", iso_date(fixed.unwrap_or(now)))
}
