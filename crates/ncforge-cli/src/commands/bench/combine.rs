//! `ncforge bench combine`

use ncforge_bench::driver::Driver;
use ncforge_bench::report::results_table;
use ncforge_bench::result::Results;
use ncforge_bench::workload::combine::{Options, Tool, run as run_combine};

use super::steps::Steps;
use super::{libraries, output, with_card};
use crate::args::{BenchCombineArgs, CombinePreset, ToolArg};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Exit code 3 when an output had other values than the field.
pub(super) fn run(args: &BenchCombineArgs, cx: &Context<'_>) -> Result {
    let libraries = libraries(&args.peers.library)?;
    let libraries: Vec<&dyn Driver> = libraries.iter().map(AsRef::as_ref).collect();
    let options = options(args, cx)?;
    let steps = Steps::of("combine", cx);
    let section = run_combine(&libraries, &options, &mut |step| steps.tell(step))?;
    steps.finish();
    let wrong = section.is_wrong();
    let results = with_card(Results::of(vec![section]), args.place.folder.as_deref(), &libraries);
    output::put(&args.output, results, &results_table, cx)?;
    Ok(if wrong { Exit::Differences } else { Exit::Ok })
}

/// The preset, and what was said besides.
fn options(args: &BenchCombineArgs, cx: &Context<'_>) -> std::result::Result<Options, Failure> {
    let mut options = match args.preset {
        CombinePreset::Usual => Options::default(),
        CombinePreset::Orca025 => Options::orca025(),
    };
    if let Some(shape) = &args.shape {
        options.shape = <[u64; 4]>::try_from(shape.as_slice())
            .map_err(|_| Failure::usage("--shape takes four lengths", "as --shape 4,32,1440,1440"))?;
    }
    if let Some(tiles) = args.tiles {
        options.tiles = (tiles.0, tiles.1);
    }
    match args.land.as_deref() {
        None => {}
        Some(&[part]) => (options.land, options.floor) = (part, part),
        Some(&[surface, floor]) => (options.land, options.floor) = (surface, floor),
        Some(_) => return Err(Failure::usage("--land takes one part or two", "as --land 0.34,0.85")),
    }
    match args.chunks.as_deref() {
        None => {}
        Some(&[y, x]) => options.chunks = (y, x),
        Some(_) => return Err(Failure::usage("--chunks takes two lengths", "as --chunks 480,480")),
    }
    for tool in &args.tool {
        match tool {
            ToolArg::Find => options.tools.extend(Tool::installed()),
            ToolArg::One(tool) => options.tools.push(tool.clone()),
        }
    }
    options.repetitions = args.repetitions.get();
    options.threads = cx.threads();
    options.memory = cx.memory();
    options.folder.clone_from(&args.place.folder);
    Ok(options)
}
