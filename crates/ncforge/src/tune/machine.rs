//! Where the rates of this machine are kept between runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cost::Machine;
use crate::error::{Error, Result};

/// Version of the file's contents.
const VERSION: u32 = 1;

/// What `ncforge tune calibrate` measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this description; others are not read.
    pub version: u32,
    /// The machine with files in the page cache.
    pub machine: Machine,
    /// Seconds of a request to the disk itself, where that could be measured.
    pub cold_request: Option<f64>,
    /// Bytes a second from the disk itself.
    pub cold_bandwidth: Option<f64>,
}

impl Calibration {
    /// A description of this version.
    pub fn new(machine: Machine, cold: Option<(f64, f64)>) -> Self {
        Calibration {
            version: VERSION,
            machine,
            cold_request: cold.map(|c| c.0),
            cold_bandwidth: cold.map(|c| c.1),
        }
    }

    /// The user's file: `NCFORGE_MACHINE` if it is set, else `ncforge/machine.json` in the user's cache folder
    /// (`XDG_CACHE_HOME`, else `.cache` in the home folder). `None` without either.
    pub fn path() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        set("NCFORGE_MACHINE").or_else(|| {
            let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
            Some(cache.join("ncforge").join("machine.json"))
        })
    }

    /// The user's calibration. `None` where there is none, or none that is of use: a choice must not fail
    /// because of a file that can be measured anew.
    pub fn load() -> Option<Self> {
        Self::from_file(&Self::path()?)
    }

    fn from_file(path: &Path) -> Option<Self> {
        let found: Calibration = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (found.version == VERSION && found.machine.is_sane()).then_some(found)
    }

    /// Writes the calibration to a file, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder or the file cannot be written.
    pub fn store(&self, path: &Path) -> Result<()> {
        let fail = |e: std::io::Error| Error::io("write", path.display().to_string(), e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::Invalid(e.to_string()))?;
        let beside = path.with_extension(format!("json.{}", std::process::id()));
        std::fs::write(&beside, text).map_err(fail)?;
        std::fs::rename(&beside, path).map_err(fail)
    }
}

impl Machine {
    /// What the user measured on this machine, else the default.
    pub fn of_user() -> Machine {
        Calibration::load().map_or_else(Machine::default, |c| c.machine)
    }

    /// Whether all rates and times are numbers that a machine may have.
    fn is_sane(&self) -> bool {
        let times = [self.request, self.read, self.chunk, self.wake, self.row];
        let rates = [self.bandwidth, self.deliver, self.keep, self.decoder, self.threads, self.in_flight];
        times.iter().all(|t| t.is_finite() && *t >= 0.0) && rates.iter().all(|r| r.is_finite() && *r > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrations_come_back_and_bad_ones_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/machine.json");
        let c = Calibration::new(Machine { chunk: 3e-6, ..Machine::default() }, Some((1e-4, 2e9)));
        c.store(&path).unwrap();
        assert_eq!(Calibration::from_file(&path), Some(c));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        Calibration { version: 99, ..c }.store(&path).unwrap();
        assert_eq!(Calibration::from_file(&path), None);
        Calibration::new(Machine { bandwidth: 0.0, ..Machine::default() }, None).store(&path).unwrap();
        assert_eq!(Calibration::from_file(&path), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Calibration::from_file(&path), None);
    }
}
