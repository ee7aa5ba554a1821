//! What the producer does, and what a consumer does.

use std::path::Path;
use std::time::Duration;

use ncforge::Format;
use serde::{Deserialize, Serialize};

use super::FollowOptions;
use crate::clock;
use crate::driver::{Driver, Producer, RecordFile};
use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::result::Measurement;
use crate::stats::percentile;
use crate::team::{Team, agree};

/// Seconds without a new record after which a consumer gives up, beyond the interval between two.
const PATIENCE: f64 = 30.0;

/// What the records are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Container {
    /// CDF-1.
    Classic,
    /// CDF-2.
    Cdf2,
    /// CDF-5.
    Cdf5,
    /// CDF-5 in compressed blocks.
    Packed,
    /// netCDF-4, which nobody may read while it is written.
    Netcdf4,
}

impl Container {
    const NAMES: [(Container, &'static str); 5] = [
        (Container::Classic, "classic"),
        (Container::Cdf2, "cdf2"),
        (Container::Cdf5, "cdf5"),
        (Container::Packed, "packed"),
        (Container::Netcdf4, "netcdf4"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|n| n.0 == self).map_or("", |n| n.1)
    }

    pub(super) fn format(self) -> Format {
        match self {
            Container::Classic => Format::Cdf1,
            Container::Cdf2 => Format::Cdf2,
            Container::Cdf5 | Container::Packed => Format::Cdf5,
            Container::Netcdf4 => Format::Netcdf4,
        }
    }

    pub(super) fn is_packed(self) -> bool {
        self == Container::Packed
    }
}

impl std::str::FromStr for Container {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|n| n.1 == text).map(|n| n.0);
        found.ok_or_else(|| format!("no container `{text}`: {}", Self::NAMES.map(|n| n.1).join(", ")))
    }
}

/// What every process knows about a part.
pub(super) struct Plan<'a> {
    pub(super) team: &'a dyn Team,
    pub(super) options: &'a FollowOptions,
    pub(super) driver: &'a dyn Driver,
    pub(super) file: &'a RecordFile,
    pub(super) path: &'a Path,
    /// The values of all records.
    pub(super) all: &'a [u8],
    pub(super) stop: Option<&'a dyn Fn() -> bool>,
    /// Whether there are more ranks than processors.
    pub(super) crowded: bool,
}

/// When the producer did what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Produced {
    /// The first append.
    pub(super) begun: f64,
    /// Beginning and end of each commit with the appends before it, and the records there were then.
    pub(super) commits: Vec<(f64, f64, u64)>,
    /// Processor seconds.
    pub(super) cpu: f64,
}

impl Produced {
    pub(super) fn measurement(&self, (noise, disturbed): (Noise, bool)) -> Measurement {
        // What lies between two commits is not the library's.
        let mut each: Vec<f64> = self.commits.iter().map(|c| c.1 - c.0).collect();
        let seconds = each.iter().sum();
        each.sort_by(f64::total_cmp);
        Measurement {
            calls: percentile(&each, 0.5).zip(percentile(&each, 0.99)),
            cpu: Some(self.cpu),
            noise,
            disturbed,
            ..Measurement::of(seconds)
        }
    }
}

/// What a consumer saw.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Consumed {
    /// When it had the values of each record.
    pub(super) seen: Vec<f64>,
    /// Values that were not what was written.
    pub(super) wrong: u64,
    /// How often it looked.
    pub(super) looks: u64,
    /// The most records that were new at once.
    pub(super) most: u64,
    /// Processor seconds.
    pub(super) cpu: f64,
}

impl Consumed {
    /// Seconds from the end of each record's commit until its values were there; 0 where they were before.
    pub(super) fn lags(&self, produced: &Produced) -> Vec<f64> {
        let mut commits = produced.commits.iter().peekable();
        let mut lags = Vec::with_capacity(self.seen.len());
        for (record, seen) in (0u64..).zip(&self.seen) {
            while commits.next_if(|c| c.2 <= record).is_some() {}
            let Some(commit) = commits.peek() else { break };
            lags.push((seen - commit.1).max(0.0));
        }
        lags
    }
}

impl Plan<'_> {
    /// Does this process' part.
    pub(super) fn part(
        &self,
        followed: bool,
        produced: &mut Produced,
        consumed: &mut Consumed,
    ) -> Result<()> {
        let opened = match self.team.rank() {
            0 => self.driver.producer(self.path, self.file).map(Some),
            _ => Ok(None),
        };
        // The file is there then.
        let done = match agree(self.team, opened)? {
            Some(file) => self.produce(file, produced),
            None if followed => self.consume(consumed),
            None => Ok(()),
        };
        if let Err(e) = &done
            && !matches!(e, Error::Rank { .. })
        {
            // Nobody waits for records that will never come.
            self.team.fail(e);
        }
        agree(self.team, done)
    }

    fn asked_to_stop(&self) -> Result<()> {
        self.team.failed()?;
        if self.stop.is_some_and(|stop| stop()) { Err(Error::Stopped) } else { Ok(()) }
    }

    fn produce(&self, mut file: Box<dyn Producer>, produced: &mut Produced) -> Result<()> {
        let used = clock::usage().0;
        let record = self.file.record();
        let mut next = 0;
        produced.begun = clock::now();
        while next < self.options.records {
            self.asked_to_stop()?;
            let begun = clock::now();
            let end = next.saturating_add(self.options.batch).min(self.options.records);
            for r in next..end {
                file.append(r, &self.all[r as usize * record..][..record])?;
            }
            file.commit()?;
            produced.commits.push((begun, clock::now(), end));
            next = end;
            if next < self.options.records && self.options.interval > 0.0 {
                std::thread::sleep(Duration::from_secs_f64(self.options.interval));
            }
        }
        produced.cpu = clock::usage().0 - used;
        file.close()
    }

    fn consume(&self, consumed: &mut Consumed) -> Result<()> {
        let used = clock::usage().0;
        let record = self.file.record();
        let mut out = vec![0xA5u8; self.all.len()];
        let mut file = self.driver.consumer(self.path, self.file)?;
        let (mut have, mut last) = (0, clock::now());
        while have < self.options.records {
            self.asked_to_stop()?;
            let records = file.records()?.min(self.options.records);
            consumed.looks += 1;
            if records > have {
                let room = &mut out[have as usize * record..records as usize * record];
                file.read(have, records - have, room)?;
                last = clock::now();
                consumed.most = consumed.most.max(records - have);
                consumed.seen.resize(records as usize, last);
                have = records;
                continue;
            }
            if clock::now() - last > PATIENCE + self.options.interval {
                return Err(Error::Unreadable(format!(
                    "{} has {have} of {} records, and no new one for {PATIENCE} s",
                    self.path.display(),
                    self.options.records
                )));
            }
            std::thread::sleep(Duration::from_secs_f64(self.options.poll));
        }
        consumed.cpu = clock::usage().0 - used;
        let size = self.options.dtype.size();
        let values = out.chunks_exact(size).zip(self.all.chunks_exact(size));
        consumed.wrong = values.filter(|(a, b)| a != b).count() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_from_the_commit_that_has_the_record() {
        let produced =
            Produced { begun: 0.0, commits: vec![(0.0, 1.0, 2), (2.0, 3.0, 4), (4.0, 5.0, 5)], cpu: 0.0 };
        let consumed = Consumed { seen: vec![1.5, 1.5, 2.75, 3.5, 5.25], ..Consumed::default() };
        // The third was there before its commit had ended.
        assert_eq!(consumed.lags(&produced), [0.5, 0.5, 0.0, 0.5, 0.25]);
        let m = produced.measurement((Noise::default(), false));
        assert_eq!((m.seconds, m.calls), (3.0, Some((1.0, 1.0))));
    }

    #[test]
    fn containers_have_names() {
        for (container, name) in Container::NAMES {
            assert_eq!(name.parse(), Ok(container));
        }
        assert!("hdf5".parse::<Container>().is_err());
    }
}
