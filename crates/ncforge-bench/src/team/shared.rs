//! Processes of one machine that meet in a mapped file: barriers, exchange, and word of a failure.
//!
//! The file holds a few atomic numbers (arrivals and generation of the barrier, the rank that failed), the message of
//! a failure, and a slot for each rank. A rank that waits checks for the others for a few microseconds, then sleeps in the
//! kernel (`futex`), so that more ranks than processors do not starve one another.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use memmap2::MmapMut;

use super::Team;
use crate::error::{Error, Result};

/// The environment variable with the place of a process: `RANK/SIZE/PATH`.
pub(super) const VARIABLE: &str = "NCFORGE_BENCH_TEAM";

// Places of the numbers and texts in the file.
const ARRIVED: usize = 0;
const GENERATION: usize = 64;
/// The rank that failed, plus one; 0 while all is well.
const FAILED: usize = 128;
/// Raised once the failure's message is complete.
const COMPLETE: usize = 132;
const CODE: usize = 136;
const MESSAGE_LEN: usize = 140;
const MESSAGE: usize = 192;
const MESSAGE_MOST: usize = 3904;
const SLOTS: usize = 4096;
/// Bytes of one rank's slot; longer messages go in several rounds.
const SLOT: usize = 128 << 10;
/// The head of a slot: the length of the whole message.
const HEAD: usize = 8;
/// Checks of the generation before sleeping.
const SPINS: u32 = 400;
/// The time that a sleeper sleeps before it checks whether somebody failed.
const NAP: Duration = Duration::from_millis(50);

/// A rank of a team of processes on one machine.
#[derive(Debug)]
pub struct SharedTeam {
    rank: usize,
    size: usize,
    map: MmapMut,
}

impl SharedTeam {
    /// Bytes of the file for `size` ranks.
    pub(super) fn file_len(size: usize) -> u64 {
        (SLOTS + size * SLOT) as u64
    }

    /// The team that the process was started in by [`super::launch`]; `None` when it was not.
    ///
    /// # Errors
    /// When the variable is damaged.
    pub fn from_environment() -> Result<Option<Self>> {
        let Ok(text) = std::env::var(VARIABLE) else { return Ok(None) };
        let bad =
            || Error::Team(format!("the environment variable {VARIABLE} is for ncforge's own processes"));
        let mut parts = text.splitn(3, '/');
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (rank, size) = (number().ok_or_else(bad)?, number().ok_or_else(bad)?);
        let path = parts.next().filter(|_| rank < size).ok_or_else(bad)?;
        Self::join(Path::new(path), rank, size).map(Some)
    }

    /// Joins the team whose file this is.
    ///
    /// # Errors
    /// When the file is not there or too short.
    pub fn join(path: &Path, rank: usize, size: usize) -> Result<Self> {
        let io = |op, e| Error::io(op, path, e);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| io("open", e))?;
        // SAFETY: the file belongs to the team, which shares it by atomics and barriers only; nobody cuts it short.
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(|e| io("map", e))?;
        if (map.len() as u64) < Self::file_len(size) || size == 0 || rank >= size {
            return Err(Error::Team(format!("`{}` is not the file of a team of {size}", path.display())));
        }
        Ok(SharedTeam { rank, size, map })
    }

    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is one of the constants above: aligned, inside the map, and used as an atomic only.
        unsafe { AtomicU32::from_ptr(self.map.as_ptr().add(at).cast_mut().cast()) }
    }

    /// Bytes of the map at a place, copied.
    fn copy_out(&self, at: usize, out: &mut [u8]) {
        assert!(at + out.len() <= self.map.len());
        // SAFETY: inside the map; a barrier (or COMPLETE) lies between who writes here and who reads.
        unsafe { std::ptr::copy_nonoverlapping(self.map.as_ptr().add(at), out.as_mut_ptr(), out.len()) };
    }

    fn copy_in(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.map.len());
        // SAFETY: inside the map, which was mapped for writing; the place belongs to this rank until the next barrier.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.map.as_ptr().cast_mut().add(at), bytes.len());
        }
    }

    /// The failure of another rank, if there is one.
    fn failure(&self) -> Result<()> {
        let failed = self.number(FAILED).load(Ordering::Acquire);
        if failed == 0 {
            return Ok(());
        }
        // The message follows within microseconds.
        for _ in 0..1000 {
            if self.number(COMPLETE).load(Ordering::Acquire) != 0 {
                break;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let len = (self.number(MESSAGE_LEN).load(Ordering::Acquire) as usize).min(MESSAGE_MOST);
        let mut text = vec![0; len];
        self.copy_out(MESSAGE, &mut text);
        let rank = failed as usize - 1;
        Err(Error::Rank {
            rank,
            message: String::from_utf8_lossy(&text).into_owned(),
            code: self.number(CODE).load(Ordering::Acquire) as u8,
            reported_here: rank == self.rank,
        })
    }

    /// Says that a rank failed; the first one counts.
    pub(super) fn fail_as(&self, rank: usize, code: u8, message: &str) {
        let mine = rank as u32 + 1;
        if self.number(FAILED).compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return;
        }
        let bytes = &message.as_bytes()[..message.len().min(MESSAGE_MOST)];
        self.copy_in(MESSAGE, bytes);
        self.number(MESSAGE_LEN).store(bytes.len() as u32, Ordering::Release);
        self.number(CODE).store(u32::from(code), Ordering::Release);
        self.number(COMPLETE).store(1, Ordering::Release);
        wake(self.number(GENERATION));
    }
}

impl Team for SharedTeam {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn kind(&self) -> String {
        "built-in processes".to_owned()
    }

    fn barrier(&self) -> Result<()> {
        self.failure()?;
        let generation = self.number(GENERATION);
        let before = generation.load(Ordering::Acquire);
        if self.number(ARRIVED).fetch_add(1, Ordering::AcqRel) + 1 == self.size as u32 {
            self.number(ARRIVED).store(0, Ordering::Release);
            generation.fetch_add(1, Ordering::AcqRel);
            wake(generation);
            return Ok(());
        }
        let mut checks = 0;
        while generation.load(Ordering::Acquire) == before {
            let failure = self.failure();
            // All have come after all: what happened since is for the next barrier. A rank that learned of a failure here
            // may have left already, and its leaving must not hide from the others who reports it to the user.
            if generation.load(Ordering::Acquire) != before {
                break;
            }
            failure?;
            checks += 1;
            if checks < SPINS { std::hint::spin_loop() } else { sleep_on(generation, before) }
        }
        Ok(())
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut all: Vec<Vec<u8>> = vec![Vec::new(); self.size];
        let slot = |rank: usize| SLOTS + rank * SLOT;
        let most = SLOT - HEAD;
        let mut round = 0;
        loop {
            let part = mine.get(round * most..).unwrap_or_default();
            let part = &part[..part.len().min(most)];
            self.copy_in(slot(self.rank), &(mine.len() as u64).to_ne_bytes());
            self.copy_in(slot(self.rank) + HEAD, part);
            self.barrier()?;
            let mut more = false;
            for (rank, bytes) in all.iter_mut().enumerate() {
                let mut head = [0; HEAD];
                self.copy_out(slot(rank), &mut head);
                let len = u64::from_ne_bytes(head) as usize;
                let mut part = vec![0; (len - bytes.len()).min(most)];
                self.copy_out(slot(rank) + HEAD, &mut part);
                bytes.extend_from_slice(&part);
                more |= bytes.len() < len;
            }
            // Nobody writes the next round before all have read this one.
            self.barrier()?;
            if !more {
                return Ok(all);
            }
            round += 1;
        }
    }

    fn failed(&self) -> Result<()> {
        self.failure()
    }

    fn fail(&self, error: &Error) {
        self.fail_as(self.rank, error.exit_code(), &error.to_string());
    }
}

#[cfg(target_os = "linux")]
fn sleep_on(number: &AtomicU32, value: u32) {
    let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP.subsec_nanos().into() };
    // SAFETY: the number is a valid, aligned word for the length of the call; a wrong wake-up does no harm.
    unsafe {
        libc::syscall(libc::SYS_futex, number.as_ptr(), libc::FUTEX_WAIT, value, &raw const nap);
    }
}

#[cfg(target_os = "linux")]
fn wake(number: &AtomicU32) {
    // SAFETY: as above.
    unsafe {
        libc::syscall(libc::SYS_futex, number.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

#[cfg(not(target_os = "linux"))]
fn sleep_on(_number: &AtomicU32, _value: u32) {
    std::thread::sleep(Duration::from_micros(50));
}

#[cfg(not(target_os = "linux"))]
fn wake(_number: &AtomicU32) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a function on every rank, on threads: the memory is shared in the same way.
    fn on_team<T: Send>(size: usize, f: impl Fn(&SharedTeam) -> T + Sync) -> Vec<T> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(SharedTeam::file_len(size)).unwrap();
        let team: Vec<_> = (0..size).map(|r| SharedTeam::join(file.path(), r, size).unwrap()).collect();
        std::thread::scope(|s| {
            let ranks: Vec<_> = team.iter().map(|t| s.spawn(|| f(t))).collect();
            ranks.into_iter().map(|r| r.join().unwrap()).collect()
        })
    }

    #[test]
    fn nobody_passes_a_barrier_early() {
        let counter = AtomicU32::new(0);
        on_team(4, |team| {
            for round in 1..200 {
                counter.fetch_add(1, Ordering::SeqCst);
                team.barrier().unwrap();
                assert_eq!(counter.load(Ordering::SeqCst), round * 4);
                team.barrier().unwrap();
            }
        });
    }

    #[test]
    fn messages_of_any_length_reach_everybody() {
        let got = on_team(3, |team| {
            let mine = vec![team.rank() as u8; [0, 10, 3 * SLOT + 7][team.rank()]];
            team.all_gather(&mine).unwrap()
        });
        for all in got {
            assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [0, 10, 3 * SLOT + 7]);
            assert!(all[2].iter().all(|&b| b == 2));
        }
    }

    #[test]
    fn a_failure_reaches_who_waits() {
        let got = on_team(3, |team| {
            if team.rank() == 1 {
                team.fail(&Error::Unreadable("no such luck".into()));
                return None;
            }
            team.barrier().err().map(|e| (e.to_string(), e.exit_code(), e.is_reported_elsewhere()))
        });
        let failure = Some(("rank 1: no such luck".to_owned(), 4, true));
        assert_eq!(got, [failure.clone(), None, failure]);
    }
}
