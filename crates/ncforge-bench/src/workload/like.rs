//! The workload `like`: somebody's own file, as it is stored and as it might be, for the reads that they do.
//!
//! Of one variable (as much of it as is wanted) the values are stored anew in the file's own format, chunks and filters, and in the chunks that
//! [`ncforge::tune`] chooses for the reads. Both are written and read by every driver that can; reads are at random places, the same for
//! all, each the first of a new session. What ncforge and another library read is compared, value by value, with what stands in the file.
//!
//! ```
//! use ncforge_bench::rounds::Rounds;
//! use ncforge_bench::workload::chunks::proof::Array;
//! use ncforge_bench::workload::like::{LikeOptions, run};
//!
//! let folder = tempfile::tempdir()?;
//! let file = Array::named("precip")?.write(folder.path(), 1 << 20)?;
//! let rounds = Rounds { repetitions: 2, warmup: 0, guard: false, seed: 1 };
//! let results = run(&[], &file, &LikeOptions { rounds, ..LikeOptions::default() }, &mut |_| Ok(()))?;
//! assert!(!results.sections[0].is_wrong());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod layout;
mod measure;
mod told;

use std::path::{Path, PathBuf};

use ncforge::Dataset;
use ncforge::tune::Machine;

use self::layout::{Layout, Part};
use crate::driver::{Driver, NcforgeDriver};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::result::Results;
use crate::rounds::Rounds;

/// What is measured.
#[derive(Clone, Debug)]
pub struct LikeOptions {
    /// The variable; the largest numeric one by default.
    pub var: Option<String>,
    /// The reads, as [`ncforge::tune::Access::parse`] reads them.
    pub reads: String,
    /// Bytes of a larger variable that are taken.
    pub most: u64,
    /// How often.
    pub rounds: Rounds,
    /// Bring files out of the page cache before every read.
    pub cold: bool,
    /// Threads of ncforge.
    pub threads: Option<usize>,
    /// Bytes of memory of ncforge.
    pub memory: Option<u64>,
    /// Where files are made; a temporary folder by default.
    pub folder: Option<PathBuf>,
    /// What choosing knows of the machine.
    pub machine: Machine,
}

impl Default for LikeOptions {
    fn default() -> Self {
        LikeOptions {
            var: None,
            reads: "series,map".to_owned(),
            most: 256 << 20,
            rounds: Rounds { repetitions: 9, ..Rounds::default() },
            cold: false,
            threads: None,
            memory: None,
            folder: None,
            machine: Machine::default(),
        }
    }
}

/// Measures the layout of `file`, and the one that is chosen for the reads, by ncforge and by `libraries`. `progress` is told what is done
/// next; its error ends the work.
///
/// # Errors
/// [`Error::Invalid`] when the variable has no values or the reads mean nothing for it; what reading and writing say.
pub fn run(
    libraries: &[&dyn Driver],
    file: &Path,
    options: &LikeOptions,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Results> {
    if options.rounds.repetitions == 0 || options.most == 0 {
        return Err(Error::Invalid("a measurement needs values and a repetition".into()));
    }
    let info = super::access::largest(file, options.var.as_deref())?;
    let dataset = Dataset::open(file)?;
    progress(&format!("reading `{}`", info.name))?;
    let part = Part::of(&dataset, &info, options.most)?;
    let layouts = Layout::both(&dataset, &part, options)?;
    let folder = super::folder(options.folder.as_deref())?;
    let own = NcforgeDriver::new(options.threads, options.memory);
    let reads = layout::reads(&dataset, &part, options)?;
    let found = measure::all(&own, libraries, &part, &layouts, &reads, options, folder.path(), progress)?;
    let section = told::section(file, &part, &layouts, &reads, &found, options);
    let environment = Environment::capture_for(folder.path());
    Ok(Results { environment, ..Results::of(vec![section]) })
}
