//! `ncforge bench io -L ranks=1,2,4`: the same with more and more ranks.

use ncforge_bench::report::results_table;
use ncforge_bench::result::{over_ranks, results_csv};

use super::{again, output};
use crate::args::IoArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// The numbers of ranks that are asked for, if they are varied.
pub(super) fn asked(args: &IoArgs) -> Result<Option<Vec<usize>>, Failure> {
    let Some(list) = args.sweep.iter().find_map(|s| s.strip_prefix("ranks=")) else { return Ok(None) };
    let numbers: Option<Vec<usize>> = list.split(',').map(|n| n.parse().ok().filter(|&n| n > 0)).collect();
    let hint = "as -L ranks=1,2,4; nodes and ranks on each (-n, -p) follow from it";
    let Some(numbers) = numbers else {
        return Err(Failure::usage(format!("-L ranks: `{list}` is no list of numbers"), hint));
    };
    if args.ranks.is_some() || args.nodes.is_some() || args.ppn.is_some() {
        return Err(Failure::usage("-L ranks and a number of ranks exclude one another", hint));
    }
    Ok(Some(numbers))
}

/// Runs the program once for each number. The first one that fails ends it.
pub(super) fn run(args: &IoArgs, numbers: &[usize], cx: &Context<'_>) -> Result {
    let words: Vec<String> = cx.argv.iter().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    let words = without_sweep(&again::without_outputs(&words));
    let mut runs = Vec::new();
    for &n in numbers {
        cx.printer.note(format_args!("ranks: {n}"));
        let mut words = words.clone();
        words.extend(["--ranks".to_owned(), n.to_string()]);
        let (exit, results) = again::run(&words, args.dry_run)?;
        if exit != Exit::Ok {
            return Ok(exit);
        }
        runs.extend(results.map(|r| (n, r)));
    }
    if let Some(results) = over_ranks(runs) {
        let arguments = cx.argv.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
        let results = ncforge_bench::result::Results { arguments, ..results };
        output::put(&args.reports, results, &results_table, &results_csv, cx)?;
    }
    Ok(Exit::Ok)
}

/// Without the sweep over ranks, however it is written: `-L ranks=…`, `-Lranks=…`, `--sweep=ranks=…`.
fn without_sweep(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        if word.starts_with("ranks=") && out.last().is_some_and(|l| l == "-L" || l == "--sweep") {
            out.pop();
        } else if !["-Lranks=", "-L=ranks=", "--sweep=ranks="].iter().any(|p| word.starts_with(p)) {
            out.push(word.clone());
        }
    }
    out
}
