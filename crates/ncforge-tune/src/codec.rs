//! Which lossless codec an array gets: the trade between size and time, from sizes that were sampled and rates that
//! are fixed. No time of this run goes in, so that the same values give the same choice.

use serde::{Deserialize, Serialize};

use crate::rates::{CodecRates, Machine, of_filters};
use crate::vocabulary::Words;
use crate::words;
use ncforge::codec::filters::{self, Kind};
use ncforge::model::Filter;

/// The goal of a choice of codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The least time of writing once and reading ten times, from storage of at most 250 MB/s.
    #[default]
    Balanced,
    /// The least time of one read from the machine's storage.
    FastRead,
    /// The fewest bytes; what saves less than 1 % is not compressed at all.
    Small,
}

words!(Goal:
    (Goal::Balanced, "balanced", [],
        "Size, reading and writing: the least time of one write and ten reads from storage of 250 MB/s at most"),
    (Goal::FastRead, "fast-read", [],
        "The least time of a read from this machine's storage, or that of --storage where a command has it"),
    (Goal::Small, "small", [], "The fewest bytes"),
);

/// Reads for each write, and the storage's greatest rate, that [`Goal::Balanced`] supposes.
const BALANCE: (f64, f64) = (10.0, 250e6);
/// Sizes this near to the smallest count as the smallest: those of values as they are, and all others. The second is
/// small, so that more codecs to choose from never make a larger file (but for what a sample cannot know).
const TIE: (f64, f64) = (1.01, 1.001);

/// A lossless way to store chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Values as they are.
    None,
    /// zlib's format, which every netCDF-4 reader knows.
    Deflate {
        /// 1 to 9.
        level: u32,
        /// Whether bytes are shuffled before.
        shuffle: bool,
    },
    /// Zstandard, for which netCDF-C needs a plugin.
    Zstd {
        /// 1 to 22.
        level: u32,
        /// Whether bytes are shuffled before.
        shuffle: bool,
    },
}

impl Method {
    /// The methods that are tried on elements of `element` bytes: the values as they are, and levels of deflate and, if allowed, zstd.
    /// `shuffle` says with, without, or (`None`) both.
    pub fn candidates(element: usize, shuffle: Option<bool>, zstd: bool) -> Vec<Method> {
        let mut all = vec![Method::None];
        for s in [true, false] {
            if (s && element < 2) || (element > 1 && shuffle.is_some_and(|only| only != s)) {
                continue;
            }
            all.extend([1, 4, 6].map(|level| Method::Deflate { level, shuffle: s }));
            if zstd {
                all.extend([1, 3, 9].map(|level| Method::Zstd { level, shuffle: s }));
            }
        }
        all
    }

    /// Whether bytes are shuffled before.
    pub fn shuffles(self) -> bool {
        matches!(self, Method::Deflate { shuffle: true, .. } | Method::Zstd { shuffle: true, .. })
    }

    /// True for the lowest level of its kind.
    pub fn is_quickest(self) -> bool {
        !matches!(self, Method::Deflate { level: 2.., .. } | Method::Zstd { level: 2.., .. })
    }

    /// Its filters, for elements of `element` bytes.
    pub fn filters(self, element: usize) -> Vec<Filter> {
        let (shuffle, coder) = match self {
            Method::None => return Vec::new(),
            Method::Deflate { level, shuffle } => (shuffle, filters::deflate(level)),
            Method::Zstd { level, shuffle } => (shuffle, filters::zstd(level as i32)),
        };
        let mut list = Vec::new();
        if shuffle && element > 1 {
            list.push(filters::shuffle(element));
        }
        list.push(coder);
        list
    }

    /// The method that a variable's filters are; `None` for other filters.
    pub fn of_chain(chain: &[Filter]) -> Option<Method> {
        let (mut shuffle, mut method) = (false, Method::None);
        for f in chain {
            let level = f.params.first().copied().unwrap_or(1);
            match (f.kind()?, method) {
                (Kind::Shuffle, _) => shuffle = true,
                (Kind::Fletcher32, _) => {}
                (Kind::Deflate, Method::None) => method = Method::Deflate { level, shuffle },
                (Kind::Zstd, Method::None) => method = Method::Zstd { level, shuffle },
                _ => return None,
            }
        }
        Some(method)
    }

    /// How fast one thread encodes and decodes with it.
    pub fn rates(self) -> CodecRates {
        of_filters(&self.filters(4))
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, level, shuffle) = match self {
            Method::None => return f.write_str("no compression"),
            Method::Deflate { level, shuffle } => ("deflate", level, shuffle),
            Method::Zstd { level, shuffle } => ("zstd", level, shuffle),
        };
        write!(f, "{}{name} {level}", if *shuffle { "shuffle and " } else { "" })
    }
}

/// A method and what became of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The method.
    pub method: Method,
    /// Stored bytes ÷ bytes of values.
    pub fraction: f64,
    /// Predicted seconds of reading a byte of values.
    pub read: f64,
    /// Predicted seconds of encoding a byte of values.
    pub encode: f64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodecChoice {
    /// The method.
    pub method: Method,
    /// The goal of the choice.
    pub goal: Goal,
    /// Bytes of values that were sampled.
    pub sampled: u64,
    /// All that were tried.
    pub tried: Vec<Tried>,
    /// The choice in words, one sentence a line.
    pub reasons: Vec<String>,
}

impl CodecChoice {
    /// A choice for a reason that needs no sample.
    pub fn given(method: Method, goal: Goal, reason: String) -> CodecChoice {
        CodecChoice { method, goal, sampled: 0, tried: Vec::new(), reasons: vec![reason] }
    }

    /// Chooses among methods with the stored bytes of a sample of `sampled` bytes (more than 0).
    ///
    /// ```
    /// use ncforge_tune::codec::{CodecChoice, Goal, Method};
    /// use ncforge_tune::Machine;
    /// let deflated = Method::Deflate { level: 1, shuffle: true };
    /// let stored = [(Method::None, 1000), (deflated, 400)];
    /// let choose = |goal| CodecChoice::of(goal, 1000, &stored, &Machine::default()).method;
    /// assert_eq!(choose(Goal::Small), deflated);
    /// // From the page cache nothing is quicker than the values as they are.
    /// assert_eq!(choose(Goal::FastRead), Method::None);
    /// ```
    pub fn of(goal: Goal, sampled: u64, stored: &[(Method, u64)], machine: &Machine) -> CodecChoice {
        let bandwidth = match goal {
            Goal::Balanced => machine.bandwidth.min(BALANCE.1),
            _ => machine.bandwidth,
        };
        let tried: Vec<Tried> = stored
            .iter()
            .map(|&(method, stored)| {
                let CodecRates { encode_bytes_per_second: encode, decode_bytes_per_second: decode } =
                    method.rates();
                let fraction = stored as f64 / sampled.max(1) as f64;
                Tried {
                    method,
                    fraction,
                    read: fraction / bandwidth + 1.0 / (decode * machine.decoder * machine.threads),
                    encode: 1.0 / (encode * machine.decoder * machine.threads),
                }
            })
            .collect();
        let smallest = tried.iter().map(|t| t.fraction).fold(f64::INFINITY, f64::min);
        let tie = |m: Method| if m == Method::None { TIE.0 } else { TIE.1 };
        let cost = |t: &Tried| match goal {
            Goal::Balanced => BALANCE.0 * t.read + t.encode + t.fraction / bandwidth,
            Goal::FastRead => t.read,
            Goal::Small if t.fraction <= smallest * tie(t.method) => {
                1.0 / t.method.rates().decode_bytes_per_second
            }
            Goal::Small => f64::INFINITY,
        };
        // Among equals the smaller: levels of one codec decode alike.
        let best =
            tried.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.fraction.total_cmp(&b.fraction)));
        let Some(best) = best.copied() else {
            return CodecChoice::given(Method::None, goal, "no codec was tried".into());
        };
        let why = match goal {
            Goal::Balanced => "least time of one write and ten reads at the storage's rate, 250 MB/s at most",
            Goal::FastRead => "least time of a read at the machine's rates",
            Goal::Small => {
                "the smallest, or within 0.1 % of it and the quickest to decode; no compression if that saves less than 1 %"
            }
        };
        let mut reasons = vec![format!(
            "{}: a sample of {} becomes {:.1} % ({}: {why})",
            best.method,
            words::bytes(sampled),
            100.0 * best.fraction,
            goal.word()
        )];
        let others: Vec<String> = tried
            .iter()
            .filter(|t| t.method != best.method && t.method != Method::None)
            .map(|t| format!("{} {:.1} %", t.method, 100.0 * t.fraction))
            .collect();
        reasons.push(format!("tried besides: {}", others.join(", ")));
        CodecChoice { method: best.method, goal, sampled, tried, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StorageKind;
    use ncforge::codec::CodecChain;

    fn sizes(bytes: &[u8]) -> Vec<(Method, u64)> {
        let size =
            |m: Method| CodecChain::new(&m.filters(4), 4).unwrap().encode(bytes).unwrap().0.len() as u64;
        Method::candidates(4, None, true).into_iter().map(|m| (m, size(m))).collect()
    }

    fn noise() -> Vec<u8> {
        (1..=1u64 << 14)
            .flat_map(|i| {
                let z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB).to_ne_bytes()
            })
            .collect()
    }

    #[test]
    fn noise_stays_as_it_is_and_smooth_values_are_shuffled() {
        let machine = Machine::default();
        let (noise, nfs) = (noise(), machine.on(StorageKind::Nfs));
        let stored = sizes(&noise);
        for goal in [Goal::Balanced, Goal::FastRead, Goal::Small] {
            for m in [&machine, &nfs] {
                assert_eq!(CodecChoice::of(goal, noise.len() as u64, &stored, m).method, Method::None);
            }
        }
        let smooth: Vec<u8> =
            (0..32_768).flat_map(|i| (280.0 + (i as f32 / 900.0).sin()).to_ne_bytes()).collect();
        let stored: Vec<_> =
            sizes(&smooth).into_iter().filter(|s| !matches!(s.0, Method::Zstd { .. })).collect();
        for goal in [Goal::Balanced, Goal::Small] {
            let found = CodecChoice::of(goal, smooth.len() as u64, &stored, &machine);
            assert!(matches!(found.method, Method::Deflate { shuffle: true, .. }), "{found:?}");
            assert_eq!(found.tried.len(), 7);
        }
        let found = CodecChoice::of(Goal::FastRead, smooth.len() as u64, &stored, &nfs);
        assert_ne!(found.method, Method::None, "{found:?}");
    }

    #[test]
    fn small_is_the_smallest_and_ties_go_to_the_quicker() {
        let [a, b, c] = [1, 4, 6].map(|level| Method::Deflate { level, shuffle: false });
        let z = Method::Zstd { level: 9, shuffle: true };
        let choose =
            |list: &[(Method, u64)]| CodecChoice::of(Goal::Small, 10_000, list, &Machine::default()).method;
        assert_eq!(choose(&[(Method::None, 10_000), (a, 500), (b, 490), (c, 470)]), c);
        assert_eq!(choose(&[(Method::None, 10_000), (a, 5000), (c, 4999), (z, 5003)]), z);
        assert_eq!(choose(&[(Method::None, 10_000), (a, 5000), (c, 4990), (z, 5010)]), c);
        assert_eq!(choose(&[(Method::None, 10_000), (c, 9950)]), Method::None);
    }

    #[test]
    fn candidates_are_what_was_allowed() {
        assert_eq!(Method::candidates(4, None, false).len(), 7);
        assert_eq!(Method::candidates(1, Some(true), false).len(), 4);
        assert_eq!(Method::candidates(4, Some(false), true).len(), 7);
        assert!(Method::candidates(8, None, false).iter().all(|m| !matches!(m, Method::Zstd { .. })));
    }
}
