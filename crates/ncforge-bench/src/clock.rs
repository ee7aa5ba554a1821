//! The machine's clock, and what a process has used so far.

use serde::{Deserialize, Serialize};

/// Seconds of the monotonic clock, which is the same for all processes of a machine: their times can be set against one another.
pub fn now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: memory for the time; the clock exists on every system that this is compiled for.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn rusage() -> libc::rusage {
    // SAFETY: all bit patterns of the structure are valid; the call fills it.
    unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    }
}

fn seconds(t: libc::timeval) -> f64 {
    t.tv_sec as f64 + t.tv_usec as f64 * 1e-6
}

/// Processor seconds of the process, user and system, and its largest resident memory in bytes.
pub fn usage() -> (f64, u64) {
    let u = rusage();
    (seconds(u.ru_utime) + seconds(u.ru_stime), u.ru_maxrss.max(0) as u64 * 1024)
}

/// Processor seconds of the process: user, and system.
pub fn processor() -> (f64, f64) {
    let u = rusage();
    (seconds(u.ru_utime), seconds(u.ru_stime))
}

/// The resources that a process has used so far, or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Processor seconds of the program.
    pub user: f64,
    /// Processor seconds of the system for it.
    pub system: f64,
    /// Times that it gave the processor away, waiting for something.
    pub waited: u64,
    /// Times that the processor was taken from it.
    pub forced: u64,
    /// Pages that it touched first, or again, and that were in memory.
    pub faults: u64,
    /// Pages that had to be fetched from storage.
    pub fetched: u64,
    /// System calls that read, and the bytes that they gave. (What is mapped into memory is read by none.)
    pub read_calls: u64,
    /// See `read_calls`.
    pub read_bytes: u64,
    /// System calls that wrote, and the bytes that they took.
    pub write_calls: u64,
    /// See `write_calls`.
    pub write_bytes: u64,
    /// Bytes that the process has caused to be written to storage, so far as the system knows already.
    pub to_storage: u64,
    /// Bytes that this reading itself took in one call, which the next one will find counted.
    #[serde(skip)]
    own_bytes: u64,
}

/// The counters of `/proc/self/io`: numbers and bytes of system calls that read and wrote, bytes written to storage; and the bytes of this
/// reading, which they do not count yet.
fn calls() -> Option<([u64; 5], u64)> {
    use std::io::Read;
    let mut buffer = [0u8; 512];
    let len = std::fs::File::open("/proc/self/io").ok()?.read(&mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..len]).ok()?;
    let number = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    let mut all = [0; 5];
    let names = ["syscr:", "rchar:", "syscw:", "wchar:", "write_bytes:"];
    for (slot, name) in all.iter_mut().zip(names) {
        *slot = number(name)?;
    }
    Some((all, len as u64))
}

impl Used {
    /// The resources used so far.
    pub fn now() -> Self {
        let u = rusage();
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        let (counts, own_bytes) = calls().unwrap_or_default();
        let [read_calls, read_bytes, write_calls, write_bytes, to_storage] = counts;
        Used {
            read_calls,
            read_bytes,
            write_calls,
            write_bytes,
            to_storage,
            own_bytes,
            user: seconds(u.ru_utime),
            system: seconds(u.ru_stime),
            waited: count(u.ru_nvcsw),
            forced: count(u.ru_nivcsw),
            faults: count(u.ru_minflt),
            fetched: count(u.ru_majflt),
        }
    }

    /// Adds what was used between two readings.
    pub fn add(&mut self, before: &Used, after: &Used) {
        self.user += after.user - before.user;
        self.system += after.system - before.system;
        self.waited += after.waited.saturating_sub(before.waited);
        self.forced += after.forced.saturating_sub(before.forced);
        self.faults += after.faults.saturating_sub(before.faults);
        self.fetched += after.fetched.saturating_sub(before.fetched);
        // The first reading is in the second.
        let own = u64::from(before.own_bytes > 0);
        self.read_calls += after.read_calls.saturating_sub(before.read_calls + own);
        self.read_bytes += after.read_bytes.saturating_sub(before.read_bytes + before.own_bytes);
        self.write_calls += after.write_calls.saturating_sub(before.write_calls);
        self.write_bytes += after.write_bytes.saturating_sub(before.write_bytes);
        self.to_storage += after.to_storage.saturating_sub(before.to_storage);
    }

    /// The resources of several processes.
    pub fn sum<'u>(all: impl Iterator<Item = &'u Used>) -> Used {
        all.fold(Used::default(), |mut sum, used| {
            sum.add(&Used::default(), used);
            sum
        })
    }
}

/// Lets the largest resident memory begin anew at what is resident now, where the system can.
pub fn forget_peak() {
    // 5 is that counter alone. Elsewhere than on Linux there is no such file, and the peak is that of the process.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident memory of the process in bytes, since the counter began.
pub fn peak() -> u64 {
    let counted = || {
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    counted().unwrap_or_else(|| usage().1)
}

/// Bytes that the process has fetched from storage so far, where the system counts them.
pub fn storage_read() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|l| l.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_and_use_go_forward() {
        let (t, (cpu, _)) = (super::now(), super::usage());
        let sum: u64 = (0..1_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && super::now() > t && super::usage().0 >= cpu);
    }

    #[test]
    fn calls_are_counted_without_the_readings() {
        use std::io::{Read, Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        let mut buffer = [0u8; 3000];
        if super::calls().is_none() {
            return;
        }
        // Other tests of this process read and write meanwhile: the least of some tries is this thread's own.
        let mut least = [u64::MAX; 4];
        for _ in 0..50 {
            let before = super::Used::now();
            file.write_all(&buffer).unwrap();
            file.rewind().unwrap();
            file.read_exact(&mut buffer).unwrap();
            let mut used = super::Used::default();
            used.add(&before, &super::Used::now());
            file.rewind().unwrap();
            let found = [used.read_calls, used.read_bytes, used.write_calls, used.write_bytes];
            least = std::array::from_fn(|i| least[i].min(found[i]));
        }
        assert_eq!(least, [1, 3000, 1, 3000]);
    }

    #[test]
    fn the_peak_begins_anew() {
        let buffer = std::hint::black_box(vec![1u8; 256 << 20]);
        let with = super::peak();
        drop(buffer);
        super::forget_peak();
        let without = super::peak();
        assert!(with >= 256 << 20, "{with}");
        assert!(without < with || !std::path::Path::new("/proc/self/clear_refs").exists(), "{without}");
        let mut used = super::Used::default();
        used.add(&super::Used::default(), &super::Used::now());
        assert!(used.faults > 0);
    }
}
