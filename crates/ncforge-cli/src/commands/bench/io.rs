//! `ncforge bench io`

use std::path::PathBuf;

use ncforge_bench::report::io::{io_section, netcdf_bench_table};
use ncforge_bench::report::results_table;
use ncforge_bench::result::Results;
use ncforge_bench::team::{Alone, MpiJob, SharedTeam, Team};
use ncforge_bench::workload::io::{IoOptions, IoReport, plan, run};

use super::io_options::{as_there, options};
use super::steps::Steps;
use super::{output, ranks, team};
use crate::args::IoArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use ncforge::store::remote::shown_path;

/// Runs this process' part: alone, as a rank of a job, or as the one who starts the ranks.
pub(super) fn run_io(args: &IoArgs, cx: &Context<'_>) -> Result {
    let job = MpiJob::from_environment()?;
    if job.is_none()
        && let Some(numbers) = ranks::asked(args)?
    {
        return ranks::run(args, &numbers, cx);
    }
    let options = options(args, &args.sweep, cx)?;
    if let Some(team) = job {
        return as_rank(&team, args, &options, cx);
    }
    if let Some(team) = SharedTeam::from_environment()? {
        return as_rank(&team, args, &options, cx);
    }
    let asked = args.nodes.map_or(1, usize::from).saturating_mul(args.ppn.map_or(1, usize::from));
    let ranks = args.ranks.map_or(asked, usize::from);
    if args.dry_run {
        cx.printer.data(&plan(&options, ranks as u64)?.text);
        return Ok(Exit::Ok);
    }
    if ranks == 1 {
        return as_rank(&Alone, args, &options, cx);
    }
    // Misfits are reported once, before anything is started.
    plan(&options, ranks as u64)?;
    team::start(ranks, cx)
}

/// One rank of a team; rank 0 prints.
fn as_rank(team: &dyn Team, args: &IoArgs, options: &IoOptions, cx: &Context<'_>) -> Result {
    if args.dry_run {
        if team.rank() == 0 {
            cx.printer.data(&plan(options, team.size() as u64)?.text);
        }
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    // One of the ranks reports.
    let steps = (team.rank() == 0).then(|| Steps::of("io", cx));
    let stop = || interrupt::requested();
    let report = match run(team, options, Some(&stop)) {
        Ok(report) => report,
        Err(e) if e.is_reported_elsewhere() => return Ok(Exit::from_code(e.exit_code())),
        // Reported while the team stands: a launcher ends the job once a rank has left it with an error.
        Err(e) => {
            drop(steps);
            let failure = Failure::from(e);
            cx.printer.failure(&failure);
            return Ok(failure.exit);
        }
    };
    if let Some(steps) = steps {
        steps.finish();
    }
    let exit = if report.wrong().is_some() { Exit::BadInput } else { Exit::Ok };
    if team.rank() == 0 {
        print(args, &report, cx)?;
    }
    Ok(exit)
}

fn print(args: &IoArgs, report: &IoReport, cx: &Context<'_>) -> std::result::Result<(), Failure> {
    let results =
        Results { environment: report.environment.clone(), ..Results::of(vec![io_section(report)]) };
    let table = |r: &Results| if as_there(args) { as_netcdf_bench(args, report) } else { results_table(r) };
    output::put(&args.reports, results, &table, cx)?;
    if let Some(files) = named(&report.files) {
        cx.printer.note(format_args!("written, and left for runs with -r: {files}"));
    }
    if let Some((case, _, verdict)) = report.wrong() {
        cx.printer.warn(format_args!(
            "{} of {} values that {} read are wrong",
            verdict.wrong, verdict.checked, case.name
        ));
        for m in &verdict.first {
            let place: Vec<String> =
                report.geometry.names.iter().zip(&m.at).map(|(n, i)| format!("{n} {i}")).collect();
            cx.printer.warn(format_args!("at {}: {} instead of {}", place.join(", "), m.found, m.expected));
        }
    }
    Ok(())
}

/// The first files by name, and the number of the others.
fn named(files: &[PathBuf]) -> Option<String> {
    const MOST: usize = 6;
    let shown: Vec<String> = files.iter().take(MOST).map(shown_path).collect();
    let more = files.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!files.is_empty()).then(|| shown.join(", ") + &more)
}

/// NetCDF-Bench's table; where it only verifies, its verdicts follow.
fn as_netcdf_bench(args: &IoArgs, report: &IoReport) -> String {
    let mut text = netcdf_bench_table(report);
    if args.verify && !args.read {
        let word = if report.wrong().is_some() { "FAILED" } else { "PASSED" };
        (0..report.geometry.ranks()).for_each(|rank| text += &format!("TEST {word} [{rank}]\n"));
    }
    text
}
