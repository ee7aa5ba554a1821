//! `ncforge bench io -L ranks=1,2,4`: the same with more and more ranks.

use ncforge_bench::report::{over_ranks, results_table, seconds};
use ncforge_bench::result::Results;
use ncforge_bench::workload::io::plan;

use super::io_options::{as_there, options, warmup};
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

/// Says what would be done with each number of ranks, and in all.
fn tell(args: &IoArgs, numbers: &[usize], cx: &Context<'_>) -> Result {
    let others: Vec<String> = args.sweep.iter().filter(|s| !s.starts_with("ranks=")).cloned().collect();
    let options = options(args, &others, cx)?;
    let (mut text, mut cells, mut time) = (String::new(), 0, 0.0);
    for &ranks in numbers {
        let plan = plan(&options, ranks as u64)?;
        cells += plan.cells;
        time += plan.seconds;
        text += &plan.text;
        text.push('\n');
    }
    text += &format!("in all   {} numbers of ranks, {cells} cells, about {}\n", numbers.len(), seconds(time));
    cx.printer.data(&text);
    Ok(Exit::Ok)
}

/// Runs the program again and again: in every round once for each number, so that a disturbance hits all of them. The first run
/// that fails ends it.
pub(super) fn run(args: &IoArgs, numbers: &[usize], cx: &Context<'_>) -> Result {
    if args.dry_run {
        return tell(args, numbers, cx);
    }
    let words: Vec<String> = cx.argv.iter().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    let words = without_values(&without_sweep(&again::without_outputs(&words)), &PER_RUN);
    let rounds = args.reps.map_or(if as_there(args) { 1 } else { 5 }, usize::from);
    let warmup = warmup(args, rounds);
    let mut found: Vec<Vec<Results>> = numbers.iter().map(|_| Vec::new()).collect();
    for round in 0..warmup + rounds {
        cx.printer.detail(format_args!("round {} of {}", round + 1, warmup + rounds));
        for turn in 0..numbers.len() {
            // Another one is first in every round.
            let which = (turn + round) % numbers.len();
            let mut words = words.clone();
            words.extend(["--reps=1", "--ranks"].map(str::to_owned));
            words.push(numbers[which].to_string());
            let (exit, results) = again::run(&words, false, cx)?;
            if exit != Exit::Ok {
                return Ok(exit);
            }
            if round >= warmup {
                found[which].extend(results);
            }
        }
    }
    if let Some(results) = over_ranks(numbers.iter().copied().zip(found).collect()) {
        let arguments = cx.public(&cx.argv[1..]);
        let results = Results { arguments, ..results };
        output::put(&args.reports, results, &results_table, cx)?;
    }
    Ok(Exit::Ok)
}

/// Options that hold for all rounds, not for one run.
const PER_RUN: [&str; 1] = ["--reps"];

/// The words without these options and their values, behind a blank or an equals sign.
fn without_values(words: &[String], names: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if names.contains(&word.as_str()) {
            words.next();
        } else if !names.iter().any(|n| word.strip_prefix(n).is_some_and(|rest| rest.starts_with('='))) {
            out.push(word.clone());
        }
    }
    out
}

/// The words without the sweep over ranks, however it is written: `-L ranks=…`, `-Lranks=…`, `--sweep=ranks=…`.
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

#[cfg(test)]
mod tests {
    use super::{PER_RUN, without_values};

    #[test]
    fn options_of_all_rounds_are_left_out() {
        let words: Vec<String> =
            "bench io --reps 3 -w --reps=1 --repsx -r".split(' ').map(str::to_owned).collect();
        assert_eq!(without_values(&words, &PER_RUN).join(" "), "bench io -w --repsx -r");
    }
}
