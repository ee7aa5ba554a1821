//! Lengths along dimensions, as people write them.

use serde::Serialize;

/// Lengths along the dimensions, slowest first, perhaps with their names: `20:100:200:10`, `time=20:lat=100`.
///
/// ```
/// use ncforge_bench::workload::io::Lengths;
/// let data: Lengths = "time=20:lat=100:lon=200".parse().unwrap();
/// assert_eq!(data.lens, [20, 100, 200]);
/// assert_eq!(data.names.as_deref(), Some(&["time".to_owned(), "lat".into(), "lon".into()][..]));
/// assert!("10:10:-10:10".parse::<Lengths>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// The lengths, each at least 1.
    pub lens: Vec<u64>,
    /// The names, if all have one.
    pub names: Option<Vec<String>>,
}

impl std::str::FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lens = Vec::new();
        let mut names = Vec::new();
        for part in text.split(':') {
            let (name, len) = match part.split_once('=') {
                Some((name, len)) => (Some(name.trim()), len),
                None => (None, part),
            };
            let number = len.trim().parse::<u64>().ok().filter(|&n| n > 0 && i64::try_from(n).is_ok());
            let Some(number) = number else {
                return Err(format!(
                    "`{}` in `{text}` is no length: lengths are whole numbers from 1, separated by colons, as 20:100:200:10",
                    part.trim()
                ));
            };
            lens.push(number);
            names.extend(name.map(str::to_owned));
        }
        let plain = |n: &String| {
            !n.is_empty()
                && n.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
                && !n.starts_with('-')
        };
        let distinct = names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len();
        match names.len() {
            0 => Ok(Lengths { lens, names: None }),
            n if n == lens.len() && distinct && names.iter().all(plain) => {
                Ok(Lengths { lens, names: Some(names) })
            }
            _ => Err(format!(
                "in `{text}` either every dimension has a name of its own (time=20:lat=100) or none"
            )),
        }
    }
}

impl Lengths {
    /// Lengths without names.
    pub fn new(lens: &[u64]) -> Self {
        Lengths { lens: lens.to_vec(), names: None }
    }
}

/// Lengths as people write them: `1:100:100:10`.
pub fn written(lens: &[u64]) -> String {
    crate::workload::listed(lens, ":")
}
