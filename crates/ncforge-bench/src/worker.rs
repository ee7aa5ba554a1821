//! A process that carries out timed tasks on request: ncforge's side of `benches/`.
//!
//! Every library under comparison runs in a process of its own, so that no two copies of HDF5, and no two states
//! of memory, meet. All of these processes speak one protocol. A request is one line of `key=value` fields
//! separated by tabs, one of which is `do=TASK`; the answer is one line of JSON:
//!
//! * `{"wall": s, "cpu": s, "reads": n, "bytes": n, "checksum": "…"}`: seconds of wall time, processor seconds of
//!   the whole process (user and system, all threads), how many reads or repetitions were timed, the bytes that
//!   were moved, and with `check=1` a checksum of the values;
//! * `{"error": "…"}`.
//!
//! What comes before the clock starts (loading the values to be written, touching memory that shall be warm) and
//! after it stops (checksums, releasing results) is not timed. A request with `check=1` is for its checksum; its
//! times may contain the work of it.
//!
//! Threads and memory come from the environment (`NCFORGE_THREADS`, `NCFORGE_MEMORY`) of the process.

mod fields;
mod inflate;
mod opening;
mod reading;
mod writing;

use std::io::{BufRead, Write};
use std::time::Instant;

use ncforge::Buffer;
use ncforge::engine::{Engine, EngineOptions};
use serde::Serialize;

pub use fields::Fields;

use crate::error::{Error, Result};

/// What a task took and did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Answer {
    /// Seconds of wall time.
    pub wall: f64,
    /// Processor seconds of all threads, user and system.
    pub cpu: f64,
    /// Timed reads or repetitions.
    pub reads: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Checksum of the values, base 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The share of a file that is in the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident: Option<f64>,
}

/// The state of the process between requests.
#[derive(Debug)]
pub struct Worker {
    engine: Engine,
    /// The source that was loaded last, and its values.
    source: Option<(String, Vec<u8>)>,
    /// Memory that stays mapped, for reads into warm memory.
    warm: Buffer,
}

impl Worker {
    /// A worker with an engine as the environment says.
    pub fn new() -> Result<Self> {
        let engine = Engine::new(EngineOptions::default())?;
        Ok(Self { engine, source: None, warm: Buffer::zeroed(0) })
    }

    /// Answers requests until the input ends.
    pub fn serve(&mut self, input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
        for line in input.lines() {
            let reply = self.reply(&line?);
            serde_json::to_writer(&mut output, &reply)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        Ok(())
    }

    /// Sees to it that `bytes` of warm memory are there, every page of them touched.
    fn warm_up(&mut self, bytes: usize) {
        if self.warm.len() < bytes {
            self.warm = Buffer::zeroed(bytes);
            self.warm.fill(1);
        }
    }

    fn reply(&mut self, line: &str) -> serde_json::Value {
        let answer = Fields::parse(line).and_then(|request| match request.text("do")? {
            "hello" => Ok(serde_json::json!({"name": "ncforge", "version": env!("CARGO_PKG_VERSION")})),
            _ => self.task(&request).map(|answer| serde_json::json!(answer)),
        });
        answer.unwrap_or_else(|e| serde_json::json!({"error": e.to_string()}))
    }

    fn task(&mut self, request: &Fields<'_>) -> Result<Answer> {
        // Nothing decoded for an earlier request may answer this one.
        self.engine.clear_cache();
        match request.text("do")? {
            "read" => self.read(request),
            "slabs" => self.slabs(request),
            "write" => self.write(request),
            "open" => self.open(request),
            "inflate" => inflate::inflate(&self.engine, request),
            "evict" => {
                let path = std::path::Path::new(request.text("path")?);
                crate::cache::evict(path)?;
                Ok(Answer { resident: Some(crate::cache::resident(path)?), ..Answer::default() })
            }
            other => Err(Error::Invalid(format!("no task `{other}`"))),
        }
    }
}

/// Both clocks, running.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: processor_seconds() }
    }

    /// What has passed.
    fn stop(&self) -> Answer {
        let wall = self.wall.elapsed().as_secs_f64();
        Answer { wall, cpu: processor_seconds() - self.cpu, reads: 1, ..Answer::default() }
    }
}

/// Processor time of this process so far, all threads together.
fn processor_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// The checksum of the protocol: the sum of all little-endian 64-bit words `w[i]`, each times `2 i + 1`, modulo
/// 2^64; missing bytes of the last word are zero. Quick in every language, and no two words may change places.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut sum = 0u64;
    for (i, word) in words.iter().chain([&last]).enumerate() {
        sum = sum.wrapping_add(u64::from_le_bytes(*word).wrapping_mul(2 * i as u64 + 1));
    }
    sum
}

/// Several checksums in one, by the same rule.
fn combine(sums: impl IntoIterator<Item = u64>) -> u64 {
    let weighted = sums.into_iter().enumerate().map(|(i, sum)| sum.wrapping_mul(2 * i as u64 + 1));
    weighted.fold(0, u64::wrapping_add)
}

fn hex(sum: u64) -> Option<String> {
    Some(format!("{sum:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_protocol() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 1 + 2 * 3);
        assert_eq!(combine([5, 7]), 5 + 21);
    }

    #[test]
    fn a_failed_request_is_answered_and_the_next_served() {
        let mut out = Vec::new();
        let requests = "do=read\tpath=/no/such/file\tvar=v\nnonsense\ndo=hello\n";
        Worker::new().unwrap().serve(requests.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("{\"error\":") && lines[1].starts_with("{\"error\":"));
        assert!(lines[2].contains("\"name\":\"ncforge\""));
    }

    #[test]
    fn what_is_written_is_read_back_in_every_way() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let values: Vec<u8> = (0..4 * 6 * 5 * 4u32).map(|i| (i * 7 % 251) as u8).collect();
        std::fs::write(at("raw"), &values).unwrap();
        let slabs: Vec<u8> = [0u64, 0, 0, 6, 5, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
        std::fs::write(at("slabs"), slabs).unwrap();
        let mut worker = Worker::new().unwrap();
        let mut ask = |line: String| worker.task(&Fields::parse(&line).unwrap()).unwrap();
        for durable in [0, 1] {
            for storage in
                ["format=cdf5", "format=netcdf4", "format=netcdf4\tchunks=4,5,2\tdeflate=1\tshuffle=1"]
            {
                let path = at("new.nc");
                let source = at("raw");
                ask(format!(
                    "do=write\tpath={path}\tvar=v\tsource={source}\ttype=f4\tshape=6,5,4\tdurable={durable}\t{storage}"
                ));
                let whole = ask(format!("do=read\tpath={path}\tvar=v\tcheck=1"));
                assert_eq!(whole.checksum, hex(checksum(&values)), "{storage}");
                let warm = ask(format!("do=read\tpath={path}\tvar=v\tcheck=1\tmemory=warm"));
                assert_eq!(warm.checksum, whole.checksum);
                let slabs = ask(format!("do=slabs\tpath={path}\tvar=v\tcheck=1\tslabs={}", at("slabs")));
                assert_eq!((slabs.checksum, slabs.reads, slabs.bytes), (whole.checksum, 1, 480));
                assert_eq!(ask(format!("do=open\tpath={path}")).reads, 1);
                if storage.contains("deflate") {
                    assert_eq!(ask(format!("do=inflate\tpath={path}\tvar=v\tthreads=2")).bytes, 4 * 4 * 40);
                }
            }
        }
    }
}
