//! Which runs of the program belong to which publication.

use std::path::Path;

use ncforge_tune::vocabulary::did_you_mean;

use crate::exit::{Failure, Result};

/// One run of the program that belongs to a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The publication: "unidata-2013".
    pub(crate) publication: &'static str,
    /// A short name: "chunks".
    pub(crate) name: &'static str,
    /// The subject of the step.
    pub(crate) about: &'static str,
    /// The words of the command line, without the program's name and without where results go.
    pub(crate) words: Vec<String>,
}

/// Lengths of the chunks of `unidata-2013` along time, latitude and longitude, in its order: all combinations of them.
const LENGTHS: [&[u64]; 3] = [&[1, 10, 256, 1024, 1560], &[16, 64, 128], &[32, 128, 256]];

fn all_shapes() -> String {
    let [times, lats, lons] = LENGTHS;
    let shapes = times
        .iter()
        .flat_map(|t| lats.iter().flat_map(move |y| lons.iter().map(move |x| format!("{t},{y},{x}"))));
    shapes.collect::<Vec<_>>().join(";")
}

/// A few of them: thin, long, both, and the worst of theirs.
const FEW_SHAPES: &str = "1,16,32;1,128,256;10,64,128;256,64,256;1024,16,32;1560,128,256";

/// The runs, in the order of the publications. `quick`: few shapes, few repetitions, parts of the data sets; else what was
/// published. `libraries`: builds of netCDF-C to compare with. Files go to `folder`.
pub(crate) fn steps(quick: bool, libraries: &[String], folder: &Path, threads: Option<usize>) -> Vec<Step> {
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
    let sweep = |shapes: String, rest| {
        format!("bench chunks --array precip --array-bytes 256M --shapes {shapes} --deflate 0 {rest}")
    };
    vec![
        step(
            "unidata-2013",
            "chunks",
            "chunk shapes, all slabs and some series",
            &sweep(
                if quick { FEW_SHAPES.to_owned() } else { all_shapes() },
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

/// The steps that are named: by their publication, or by a name.
pub(crate) fn only(steps: Vec<Step>, wanted: &[String]) -> Result<Vec<Step>, Failure> {
    let is = |step: &Step, name: &String| step.publication == name || step.name == name;
    if let Some(name) = wanted.iter().find(|name| !steps.iter().any(|s| is(s, name))) {
        let known: Vec<String> = steps.iter().map(|s| format!("{} ({})", s.publication, s.name)).collect();
        let hint = "`ncforge bench published --dry-run` lists them";
        let names: Vec<&str> = steps.iter().flat_map(|s| [s.publication, s.name]).collect();
        let meant = did_you_mean(name, &names);
        let message = format!("there is no publication `{name}`{meant}: {}", known.join(", "));
        return Err(Failure::usage(message, hint));
    }
    let all = wanted.is_empty();
    Ok(steps.into_iter().filter(|s| all || wanted.iter().any(|name| is(s, name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_published_shapes_are_measured() {
        let found = steps(false, &["netcdf-c".into()], Path::new("/tmp"), None);
        assert_eq!((found.len(), found[0].publication), (7, "unidata-2013"));
        let shapes = all_shapes();
        assert_eq!(shapes.split(';').count(), 45);
        assert!(
            shapes.starts_with("1,16,32;1,16,128;1,16,256;1,64,32;") && shapes.ends_with(";1560,128,256")
        );
        assert!(FEW_SHAPES.split(';').all(|few| shapes.split(';').any(|s| s == few)));
        assert_eq!(only(found, &["cliff".into()]).ok().map(|s| s.len()), Some(1));
    }
}
