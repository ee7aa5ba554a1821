//! `ncforge bench records`

use ncforge_bench::driver::Driver;
use ncforge_bench::report::results_table;
use ncforge_bench::result::{Results, Section};
use ncforge_bench::workload::records::{Setup, Stored, network, station};

use super::steps::Steps;
use super::{libraries, output, with_card};
use crate::args::{RecordsArgs, RecordsPart};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Record chunks of the one file's netCDF-4 variants.
const STATION_CHUNKS: [u64; 3] = [1, 64, 1024];
/// Records in a chunk of stations. (With one record a chunk, the network would have 80 million chunks.)
const NETWORK_CHUNKS: [u64; 2] = [1024, 8192];

/// Exit code 3 when two files gave different values.
pub(super) fn run(args: &RecordsArgs, cx: &Context<'_>) -> Result {
    let libraries = libraries(&args.peers.library)?;
    let libraries: Vec<&dyn Driver> = libraries.iter().map(AsRef::as_ref).collect();
    let setup = Setup {
        repetitions: args.repetitions.get(),
        seed: args.seed,
        threads: cx.threads(),
        memory: cx.memory(),
        folder: args.place.folder.clone(),
    };
    let steps = Steps::of("records", cx);
    let mut progress = |step: &str| steps.tell(step);
    let mut sections = Vec::new();
    if args.only != Some(RecordsPart::Network) {
        let stored = stored(args, &STATION_CHUNKS)?;
        let options = station::Options {
            records: args.records.get(),
            variables: args.variables.get(),
            reads: args.reads.get(),
            picked: args.picked.get(),
            setup: setup.clone(),
            ..station::Options::default()
        };
        sections.push(station::run(&libraries, &stored, &options, &mut progress)?);
    }
    if args.only != Some(RecordsPart::Station) {
        let years = args.years.get();
        let whole = (years as u64 * 1461).div_ceil(4);
        let chunks: Vec<u64> = NETWORK_CHUNKS.into_iter().filter(|&c| c < whole).chain([whole]).collect();
        let stored = stored(args, &chunks)?;
        let options = network::Options {
            stations: args.stations.get(),
            years,
            setup: setup.clone(),
            ..network::Options::default()
        };
        sections.push(network::run(&libraries, &stored, &options, &mut progress)?);
    }
    steps.finish();
    let wrong = sections.iter().any(Section::is_wrong);
    let results = with_card(Results::of(sections), args.place.folder.as_deref(), &libraries);
    output::put(&args.output, results, &results_table, cx)?;
    Ok(if wrong { Exit::Differences } else { Exit::Ok })
}

/// Plain classic first, then every block size with every codec, then every chunk with every codec.
fn stored(args: &RecordsArgs, usual: &[u64]) -> std::result::Result<Vec<Stored>, Failure> {
    let mut all = vec![Stored::Classic];
    for &codec in &args.codecs {
        for block in &args.blocks {
            let text = format!("zipped:{}:{codec}", block.0);
            let usage = |e: String| Failure::usage(e, "such as --blocks 16K,64K --codecs zstd,lz4,deflate=6");
            all.push(text.parse().map_err(usage)?);
        }
    }
    for &codec in &args.nc4_codecs {
        for &chunk in args.chunks.as_deref().unwrap_or(usual) {
            let text = format!("nc4:{chunk}:{codec}");
            all.push(text.parse().map_err(|e: String| Failure::usage(e, "such as --chunks 1,64,1024"))?);
        }
    }
    Ok(all)
}
