//! Disturbances: other work of the machine during a measurement.
//!
//! Three witnesses that need no privilege: processor time that neither this job nor idleness took, and time stolen by the
//! host of a virtual machine (`/proc/stat`); and pressure-stall information, the share of time in which somebody waited for a processor
//! or for storage (`/proc/pressure`).

use serde::{Deserialize, Serialize};

/// The disturbances between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Share of all processor time that others used, 0 to 1, where the stretch was long enough.
    pub others: Option<f64>,
    /// Share of all processor time that the host of the virtual machine took.
    pub steal: Option<f64>,
    /// Share of the time in which some process waited for a processor.
    pub psi_cpu: Option<f64>,
    /// Share of the time in which some process waited for storage.
    pub psi_io: Option<f64>,
}

/// The share of the processors that other work may use.
const OTHERS: f64 = 0.10;
/// The share that the host may take.
const STEAL: f64 = 0.02;
/// The share of the time in which some process may wait for a processor, in stretches that are too short for the counters above.
const WAITING: f64 = 0.35;
/// The counters of processor time go in steps of 10 ms.
const LONG_ENOUGH: f64 = 0.25;

impl Noise {
    /// Whether numbers measured meanwhile are to be doubted. `crowded`: the job itself has more ranks than there are
    /// processors, so that waiting says nothing about others.
    pub fn is_disturbing(&self, crowded: bool) -> bool {
        let short = self.others.is_none() && !crowded && self.psi_cpu.is_some_and(|s| s > WAITING);
        self.others.is_some_and(|s| s > OTHERS) || self.steal.is_some_and(|s| s > STEAL) || short
    }
}

/// The counters at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    ticks: Option<Ticks>,
    psi_cpu: Option<u64>,
    psi_io: Option<u64>,
    at: f64,
}

impl Snapshot {
    /// Reads the counters now.
    pub fn now() -> Self {
        Snapshot { ticks: ticks(), psi_cpu: pressure("cpu"), psi_io: pressure("io"), at: crate::clock::now() }
    }

    /// The disturbances since this snapshot, of which `ours` processor seconds were the job's own.
    pub fn since(&self, ours: f64) -> Noise {
        let now = Snapshot::now();
        let wall = now.at - self.at;
        let share =
            |a: Option<u64>, b: Option<u64>| Some((b?.saturating_sub(a?) as f64 * 1e-6 / wall).min(1.0));
        let mut noise = Noise {
            psi_cpu: share(self.psi_cpu, now.psi_cpu),
            psi_io: share(self.psi_io, now.psi_io),
            ..Noise::default()
        };
        if let (Some(a), Some(b)) = (self.ticks, now.ticks)
            && wall >= LONG_ENOUGH
            && b.all > a.all
        {
            let all = (b.all - a.all) as f64;
            // Of all processors: this process may be bound to some of them.
            let tick = wall * b.processors as f64 / all;
            let used = (b.used.saturating_sub(a.used)) as f64;
            noise.others = Some((used - ours / tick).max(0.0) / all);
            noise.steal = Some(b.stolen.saturating_sub(a.stolen) as f64 / all);
        }
        noise
    }
}

/// Time of all processors of the machine, in ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    used: u64,
    stolen: u64,
    all: u64,
    processors: usize,
}

fn ticks() -> Option<Ticks> {
    ticks_of(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// `cpu user nice system idle iowait irq softirq steal …`, then `cpu0 …` and so on for each.
fn ticks_of(text: &str) -> Option<Ticks> {
    let numbers: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).take(8).collect();
    let [user, nice, system, idle, wait, irq, soft, steal] = numbers.try_into().ok()?;
    let used = user + nice + system + irq + soft;
    let processors = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count().max(1);
    Some(Ticks { used, stolen: steal, all: used + steal + idle + wait, processors })
}

/// Microseconds in which somebody waited, since the machine started.
fn pressure(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
    text.lines().find(|l| l.starts_with("some"))?.rsplit_once("total=")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_shares() {
        let before = Snapshot::now();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let n = before.since(0.0);
        for share in [n.others, n.steal, n.psi_cpu, n.psi_io].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&share), "{n:?}");
        }
    }

    #[test]
    fn ticks_are_those_of_all_processors() {
        let text =
            "cpu  10 1 4 80 3 1 1 5 0 0\ncpu0 5 0 2 40 1 0 0 2 0 0\ncpu1 5 1 2 40 2 1 1 3 0 0\nintr 7\n";
        let t = ticks_of(text).unwrap();
        assert_eq!((t.used, t.stolen, t.all, t.processors), (17, 5, 105, 2));
    }

    #[test]
    fn what_disturbs() {
        assert!(!Noise::default().is_disturbing(false));
        assert!(Noise { others: Some(0.3), ..Noise::default() }.is_disturbing(true));
        assert!(Noise { psi_cpu: Some(0.5), ..Noise::default() }.is_disturbing(false));
        assert!(!Noise { psi_cpu: Some(0.5), ..Noise::default() }.is_disturbing(true));
        assert!(!Noise { psi_cpu: Some(0.5), others: Some(0.01), ..Noise::default() }.is_disturbing(false));
    }
}
