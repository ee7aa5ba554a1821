//! The line that a command puts in front of the global attribute `history`.

use std::time::{SystemTime, UNIX_EPOCH};

/// `date: command`, the date in ISO 8601 and UTC. `SOURCE_DATE_EPOCH` (seconds) replaces the clock, for outputs
/// that shall be the same bytes every time.
///
/// ```
/// let line = ncforge::ops::copy::history_line("ncforge copy a.nc b.nc");
/// assert!(line.ends_with("Z: ncforge copy a.nc b.nc"));
/// ```
pub fn history_line(command: &str) -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|s| s.trim().parse::<u64>().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    format!("{}: {command}", iso_date(fixed.unwrap_or(now)))
}

/// Seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`.
fn iso_date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to civil date, with years beginning in March, so that the leap day is the last of its year.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

#[cfg(test)]
mod tests {
    use super::iso_date;

    #[test]
    fn dates() {
        assert_eq!(iso_date(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso_date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso_date(1_735_689_599), "2024-12-31T23:59:59Z");
    }
}
