//! The machine's clock, and what a process has used so far.

/// Seconds of the monotonic clock, which is the same for all processes of a machine: their times can be set against one another.
pub fn now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the time; the clock exists on every system that this is compiled for.
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

/// Bytes that the process has fetched from storage so far, where the system tells.
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
}
