//! Measurements that others have published, made again: which runs belong to them, and which figures stand beside ours.
//!
//! | name | what was measured | where it was published |
//! |---|---|---|
//! | `unidata-2013` | reads from 45 chunk shapes; a cache too small for one chunk | Unidata developers' blog, posts on AR-5 |
//! | `cray-1993` | 10 million floats to disk, raw and portable, on a Cray Y-MP | netcdfgroup, 1993 |
//! | `nocscombine` | tiles of NEMO to one file, by several builds of netCDF | NOCSCOMBINE on HECToR, table 9 |
//! | `netcdf-bench` | blocks of an array by one or many ranks | NetCDF-Bench, example output |
//! | `compressed-netcdf` | records of stations in compressed files | a patched netCDF, "Some performance numbers" |
//!
//! Those machines are gone: a ratio of seconds says what became of the whole, processor, disk and library. Where the amount of work
//! differs from theirs, rates or seconds for each unit of work are compared, and the unit says so.

mod figures;

use std::path::Path;

use crate::error::{Error, Result};
use crate::result::{Results, Section};

pub use figures::publish;

/// One run of the program that belongs to a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The publication: "unidata-2013".
    pub publication: &'static str,
    /// A short name: "chunks".
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The words of the command line, without the program's name and without where results go.
    pub words: Vec<String>,
}

/// Chunk shapes of `unidata-2013`, in its order.
const SHAPES: &str = "1,16,32;1,16,128;1,16,256;1,64,32;1,64,128;1,64,256;1,128,32;1,128,128;1,128,256;\
10,16,32;10,16,128;10,16,256;10,64,32;10,64,128;10,64,256;10,128,32;10,128,128;10,128,256;\
256,16,32;256,16,128;256,16,256;256,64,32;256,64,128;256,64,256;256,128,32;256,128,128;256,128,256;\
1024,16,32;1024,16,128;1024,16,256;1024,64,32;1024,64,128;1024,64,256;1024,128,32;1024,128,128;1024,128,256;\
1560,16,32;1560,16,128;1560,16,256;1560,64,32;1560,64,128;1560,64,256;1560,128,32;1560,128,128;1560,128,256";
/// A few of them: thin, long, both, and the worst of theirs.
const FEW_SHAPES: &str = "1,16,32;1,128,256;10,64,128;256,64,256;1024,16,32;1560,128,256";

/// The runs, in the order of the publications. `quick`: few shapes, few repetitions, parts of the data sets; else what was
/// published. `libraries`: builds of netCDF-C to compare with. Files go to `folder`.
///
/// ```
/// use std::path::Path;
/// let steps = ncforge_bench::published::steps(true, &["find".into()], Path::new("/tmp"), None);
/// assert_eq!(steps.len(), 7);
/// assert_eq!(steps[0].publication, "unidata-2013");
/// ```
pub fn steps(quick: bool, libraries: &[String], folder: &Path, threads: Option<usize>) -> Vec<Step> {
    let step = |publication, name, about, words: &str, drivers: bool| {
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        if matches!(name, "io" | "ranks") {
            let file = folder.join("ncforge-published-io.nc");
            words.push(format!("--testfile={}", file.display()));
            words.push(format!("--driver={}", if drivers { "ncforge,raw" } else { "ncforge" }));
        } else {
            words.push(format!("--folder={}", folder.display()));
        }
        words.extend(libraries.iter().map(|l| format!("--library={l}")));
        words.extend(threads.map(|n| format!("--threads={n}")));
        Step { publication, name, about, words }
    };
    let pick = |few: &'static str, all: &'static str| if quick { few } else { all };
    let sweep = |shapes, rest| {
        format!("bench chunks --array precip --array-bytes 256M --shapes {shapes} --deflate 0 {rest}")
    };
    vec![
        step(
            "unidata-2013",
            "chunks",
            "chunk shapes, all slabs and some series",
            &sweep(
                pick(FEW_SHAPES, SHAPES),
                pick(
                    "--caches 1M,32M --repetitions 1 --cell-seconds 1",
                    "--caches 1M,32M --repetitions 1 --cell-seconds 4",
                ),
            ),
            false,
        ),
        step(
            "unidata-2013",
            "cliff",
            "the cliff at a cache too small for one chunk",
            pick(
                "bench chunks --array precip --array-bytes 256M --shapes 256,128,256 --deflate 1 --shuffle off --series 1 --caches 1M,68000000,default --repetitions 1 --cell-seconds 4",
                "bench chunks --array precip --array-bytes 256M --shapes 256,128,256 --deflate 1 --shuffle off --series 1 --caches 1M,68000000,default --repetitions 3 --cell-seconds 20",
            ),
            false,
        ),
        step(
            "cray-1993",
            "convert",
            "floats to disk in a portable format",
            pick("bench convert --quick", "bench convert"),
            false,
        ),
        step(
            "nocscombine",
            "combine",
            "tiles to one file",
            pick(
                "bench combine --shape 2,24,960,960 --repetitions 2",
                "bench combine --preset orca025 --tool find",
            ),
            false,
        ),
        step(
            "netcdf-bench",
            "io",
            "blocks of an array, by one rank",
            pick(
                "bench io -w -r -O -d 100:100:100:10 --reps 3 --cache warm,cold",
                "bench io -w -r -O -d 100:100:100:10 --reps 9 --cache warm,cold",
            ),
            true,
        ),
        step(
            "netcdf-bench",
            "ranks",
            "blocks of an array by more and more ranks, a file for each",
            pick(
                "bench io -w -r -O -d 100:200:100:10 -t file --reps 3 -L ranks=1,2",
                "bench io -w -r -O -d 100:400:100:10 -t file --reps 9 -L ranks=1,2,4",
            ),
            true,
        ),
        step(
            "compressed-netcdf",
            "records",
            "records of stations in compressed files",
            pick(
                "bench records --blocks 4K,8K,16K,32K,64K --codecs deflate,zstd --chunks 1024 --repetitions 3 --stations 20",
                "bench records --blocks 4K,8K,16K,32K,64K --codecs deflate,zstd --chunks 1024,8192",
            ),
            false,
        ),
    ]
}

/// Keeps the steps that are named: by their publication, or by a name.
///
/// # Errors
/// [`Error::Invalid`] for a name that no step has.
pub fn only(steps: Vec<Step>, wanted: &[String]) -> Result<Vec<Step>> {
    if wanted.is_empty() {
        return Ok(steps);
    }
    for name in wanted {
        if !steps.iter().any(|s| s.publication == name || s.name == name) {
            let known: Vec<String> =
                steps.iter().map(|s| format!("{} ({})", s.publication, s.name)).collect();
            return Err(Error::Invalid(format!("there is no publication `{name}`: {}", known.join(", "))));
        }
    }
    Ok(steps.into_iter().filter(|s| wanted.iter().any(|w| s.publication == w || s.name == w)).collect())
}

/// What a step gave, as sections with the published figures beside ours.
pub fn sections(step: &Step, results: Results) -> Vec<Section> {
    let line: Vec<String> = step.words.iter().map(|w| ncforge_ops::words::quoted(w)).collect();
    results
        .sections
        .into_iter()
        .map(|mut section| {
            // Two steps may have the same array: what each is about tells them apart.
            section.title = format!("{}: {}. {}", step.publication, step.about, section.title);
            publish(step, &mut section);
            section.notes.push(format!("made by: ncforge {}", line.join(" ")));
            section
        })
        .collect()
}

/// A step that could not be done, as a section that says so.
pub fn failed(step: &Step, why: &str) -> Section {
    let mut section = Section::new(step.name, format!("{}: {}: not measured", step.publication, step.about));
    section.words.push(format!("NOT MEASURED: {why}"));
    section
}

/// All sections as one document, with how ours stands against theirs in words first.
pub fn joined(sections: Vec<Section>, arguments: Vec<String>, folder: &Path) -> Results {
    let environment = crate::environment::Environment::capture_for(folder);
    Results { arguments, environment, ..Results::of(sections) }
}
