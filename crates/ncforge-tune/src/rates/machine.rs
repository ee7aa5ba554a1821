//! How fast a machine is, and where measurements are stored between runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::words;
use ncforge::store::OutputFile;
use ncforge::{Error, Op, Result};

/// Version of the file's contents.
const VERSION: u32 = 5;

/// How fast a machine and its storage are. Times in seconds, rates in bytes a second.
///
/// The default is what was measured with files in memory on two cores of an AMD EPYC (Zen 4) virtual machine;
/// `ncforge tune calibrate` measures one's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Time to the first byte of a request to the storage.
    pub request: f64,
    /// Requests that the storage serves at a time.
    pub in_flight: f64,
    /// Rate of the storage, all requests together; of memory, where requests are that quick, each thread's.
    pub bandwidth: f64,
    /// Time of a read besides all that is counted: checks, plan, result.
    pub read: f64,
    /// Time that the first read of a variable spends on each chunk that the variable has, touched or not: the index is
    /// read as a whole. Of an array of three dimensions; entries are longer with more.
    pub index: f64,
    /// Time of a touched chunk besides its bytes: look-up, task, start of the decoder.
    pub chunk: f64,
    /// The time of calling other threads: half of it the caller's, and all of it until they help.
    pub wake: f64,
    /// Threads that decode.
    pub threads: f64,
    /// The speed that each further thread adds, as a part of one thread's: less than 1 where threads share a core, or its clock.
    pub gain: f64,
    /// Rate of handing values to the caller, in long rows, where the result is in memory. (In the processor's last cache this, the next and
    /// [`Machine::bandwidth`] are six times as fast.)
    pub deliver: f64,
    /// Time of a row of neighbouring elements besides its bytes.
    pub row: f64,
    /// Time of a line of memory (64 bytes) that a row begins: it is fetched when it is written to, and in a sixth of the time from the
    /// processor's last cache. Later lines of a row are fetched ahead.
    pub line: f64,
    /// Rate of caching decoded chunks of which only a part was wanted, in memory.
    pub keep: f64,
    /// Time of going to another node of the index, where the index is not read as a whole.
    #[serde(default)]
    pub find: f64,
    /// Whether HDF5's own library reads: chunks are fetched one after the other, whole even where nothing is encoded,
    /// and inflated by zlib.
    #[serde(default)]
    pub hdf5: bool,
    /// Decoders are this many times as fast as those of the default machine.
    pub decoder: f64,
    /// Rates of decoders that were timed on this machine are multiplied by this: an engine that decodes chunk after chunk differs a little
    /// from a loop that does nothing else.
    pub timed: f64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            request: 2e-6,
            in_flight: 1.0,
            bandwidth: 8.9e9,
            read: 1.3e-6,
            index: 19e-9,
            chunk: 0.69e-6,
            wake: 60e-6,
            threads: 2.0,
            gain: 0.85,
            deliver: 17e9,
            row: 3.4e-9,
            line: 7.7e-9,
            keep: 31e9,
            find: 0.0,
            hdf5: false,
            decoder: 1.07,
            timed: 1.0,
        }
    }
}

/// Kinds of storage whose rates are known roughly, without a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// A solid-state disk or the page cache.
    Local,
    /// A file server: a millisecond a request, four in flight, 500 MB/s.
    Nfs,
    /// An object store: 25 ms a request, 16 in flight, 800 MB/s in all.
    Object,
}

words!(StorageKind:
    (StorageKind::Local, "local", [], "A local disk"),
    (StorageKind::Nfs, "nfs", [], "A file server"),
    (StorageKind::Object, "object", [], "An object store"),
);

impl Machine {
    /// The machine read from by netCDF-C with HDF5 and zlib, and a chunk cache that is large enough: one thread, chunk by
    /// chunk, an index that is looked up; what decoding takes follows from [`Coding::zlib`](crate::Coding::zlib). Fitted to 1,416 reads of the
    /// arrays `swath`, `ensemble` and `stations` of `ncforge bench chunks --proof`, and of a field with land, by netCDF-C 4.9.0 with HDF5
    /// 1.10.8 and zlib 1.2.13 on the machine of the default.
    ///
    /// ```
    /// use ncforge_tune::{Coding, Grid, Machine};
    /// let grid = Grid { lens: &[1000, 1000], chunk: Some(&[100, 100]), element: 4, coding: Coding::deflate(1) };
    /// let seconds = |machine: Machine| grid.at(&[0, 0], &[1000, 1000], &machine).seconds;
    /// assert!(seconds(Machine::default().netcdf_c()) > 3.0 * seconds(Machine::default()));
    /// ```
    pub fn netcdf_c(self) -> Machine {
        Machine {
            in_flight: 1.0,
            read: 5e-6,
            index: 0.0,
            chunk: 2.2e-6,
            wake: 0.0,
            threads: 1.0,
            find: 5e-6,
            hdf5: true,
            decoder: 1.05 * self.decoder,
            timed: 1.05 * self.timed,
            ..self
        }
    }

    /// The processor with storage of this kind.
    ///
    /// ```
    /// use ncforge_tune::{Machine, StorageKind};
    /// assert!(Machine::default().on(StorageKind::Object).request > 1e-2);
    /// ```
    pub fn on(self, storage: StorageKind) -> Machine {
        let (request, in_flight, bandwidth) = match storage {
            StorageKind::Local => {
                let d = Machine::default();
                (d.request, d.in_flight, d.bandwidth)
            }
            StorageKind::Nfs => (1e-3, 4.0, 500e6),
            StorageKind::Object => (25e-3, 16.0, 800e6),
        };
        Machine { request, in_flight, bandwidth, ..self }
    }
}

/// The rates that `ncforge tune calibrate` measured.
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
        let fail = |e: std::io::Error| Error::io(Op::Write, path.display().to_string(), e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::Internal(e.to_string()))?;
        OutputFile::write_scratch(path, text.as_bytes())
    }
}

impl Machine {
    /// The machine that the user calibrated, else the default.
    pub fn of_user() -> Machine {
        Calibration::load().map_or_else(Machine::default, |c| c.machine)
    }

    /// Whether all rates and times are numbers that a machine may have.
    fn is_sane(&self) -> bool {
        let times =
            [self.request, self.read, self.index, self.chunk, self.wake, self.row, self.line, self.find];
        let rates =
            [self.bandwidth, self.deliver, self.keep, self.decoder, self.timed, self.threads, self.in_flight];
        (0.0..=1.0).contains(&self.gain)
            && times.iter().all(|t| t.is_finite() && *t >= 0.0)
            && rates.iter().all(|r| r.is_finite() && *r > 0.0)
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
