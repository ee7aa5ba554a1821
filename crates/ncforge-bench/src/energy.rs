//! Energy that the machine's processors have used, where the system tells: RAPL's counters, which Linux shows below
//! `/sys/class/powercap`. Since 2020 only the superuser may read them on most systems; then nothing is told.
//!
//! A package's counter counts all that runs on it, whoever it belongs to. It starts anew after some minutes to hours of work, at a number that is told, too.

use std::path::{Path, PathBuf};

/// Where Linux shows the counters.
const FOLDER: &str = "/sys/class/powercap";

/// The counters of all processor packages at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    packages: Vec<Package>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    at: PathBuf,
    /// Microjoules.
    used: u64,
    /// After so many it starts anew.
    most: u64,
}

impl Energy {
    /// Now; `None` where nobody tells.
    pub fn now() -> Option<Self> {
        Self::in_folder(Path::new(FOLDER))
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        let entries = std::fs::read_dir(folder).ok()?;
        let mut packages: Vec<Package> = entries.flatten().filter_map(|e| Package::read(&e.path())).collect();
        packages.sort_by(|a, b| a.at.cmp(&b.at));
        (!packages.is_empty()).then_some(Energy { packages })
    }

    /// Joules from an earlier moment to this one, of all packages.
    pub fn since(&self, before: &Energy) -> Option<f64> {
        let of = |now: &Package| {
            let then = before.packages.iter().find(|p| p.at == now.at)?;
            let used = match now.used.checked_sub(then.used) {
                Some(used) => used,
                None => now.most.checked_sub(then.used)?.checked_add(now.used)?,
            };
            Some(used as f64 * 1e-6)
        };
        self.packages.iter().map(of).sum()
    }
}

impl Package {
    /// Of a folder of a package: those inside of it (`intel-rapl:0:0`: its cores, its memory) are parts of it, and the platform as a whole (`psys`) has it in it.
    fn read(at: &Path) -> Option<Self> {
        let zone = at.file_name()?.to_str()?.strip_prefix("intel-rapl:")?;
        let text = |name: &str| std::fs::read_to_string(at.join(name)).ok();
        if zone.contains(':') || !text("name")?.trim().starts_with("package") {
            return None;
        }
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        Some(Package { at: at.to_owned(), used: number("energy_uj")?, most: number("max_energy_range_uj")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(folder: &Path, name: &str, kind: &str, used: &str) {
        let zone = folder.join(name);
        std::fs::create_dir_all(&zone).unwrap();
        for (file, text) in [("name", kind), ("energy_uj", used), ("max_energy_range_uj", "1000000000\n")] {
            std::fs::write(zone.join(file), text).unwrap();
        }
    }

    #[test]
    fn packages_are_added_and_their_parts_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        assert_eq!(Energy::in_folder(folder), None);
        assert_eq!(Energy::in_folder(&folder.join("none")), None);
        zone(folder, "intel-rapl:0", "package-0\n", "5000000\n");
        zone(folder, "intel-rapl:1", "package-1\n", "999000000\n");
        zone(folder, "intel-rapl:0:0", "core\n", "1\n");
        zone(folder, "intel-rapl:2", "psys\n", "7\n");
        zone(folder, "intel-rapl-mmio:0", "package-0\n", "7\n");
        std::fs::create_dir(folder.join("intel-rapl")).unwrap();
        let before = Energy::in_folder(folder).unwrap();
        assert_eq!(before.packages.len(), 2);
        assert_eq!(before.since(&before), Some(0.0));
        // 2.5 J of the first one; the second starts anew: 1 J before, 0.5 J after.
        zone(folder, "intel-rapl:0", "package-0\n", "7500000\n");
        zone(folder, "intel-rapl:1", "package-1\n", "500000\n");
        let after = Energy::in_folder(folder).unwrap();
        assert!((after.since(&before).unwrap() - 4.0).abs() < 1e-9);
        // A counter that nobody may read is none.
        std::fs::write(folder.join("intel-rapl:1/energy_uj"), "").unwrap();
        assert_eq!(Energy::in_folder(folder).unwrap().packages.len(), 1);
        // What appears between two looks says nothing about the time between them.
        assert_eq!(before.since(&Energy::default()), None);
    }
}
