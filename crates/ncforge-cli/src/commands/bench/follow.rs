//! `ncforge bench follow`

use ncforge_bench::report::follow::follow_results;
use ncforge_bench::report::results_table;
use ncforge_bench::result::results_csv;
use ncforge_bench::team::{MpiTeam, SharedTeam, Team};
use ncforge_bench::workload::follow::{FollowOptions, plan, run as run_follow};
use ncforge_bench::workload::io::DriverAsk;

use super::{output, team};
use crate::args::FollowArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs this process' part, or starts the processes. Exit code 4 when a value was wrong.
pub(super) fn run(args: &FollowArgs, cx: &Context<'_>) -> Result {
    if let Some(team) = MpiTeam::from_environment()? {
        return as_rank(&team, args, cx);
    }
    if let Some(team) = SharedTeam::from_environment()? {
        return as_rank(&team, args, cx);
    }
    let processes = args.consumers.get().saturating_add(1);
    if args.dry_run {
        cx.printer.data(&plan(&options(args, cx), processes)?);
        return Ok(Exit::Ok);
    }
    team::start(processes, cx)
}

fn options(args: &FollowArgs, cx: &Context<'_>) -> FollowOptions {
    let folder = args.place.folder.clone().unwrap_or_else(std::env::temp_dir);
    FollowOptions {
        drivers: if args.driver.is_empty() { vec![DriverAsk::Ncforge] } else { args.driver.clone() },
        containers: args.container.clone(),
        records: args.records.get(),
        dtype: args.dtype,
        shape: args.record.lens.clone(),
        batch: args.batch.get(),
        interval: args.interval,
        poll: args.poll,
        repetitions: args.repetitions.get(),
        warmup: args.warmup,
        seed: args.seed,
        threads: cx.threads(),
        folder,
    }
}

fn as_rank(team: &dyn Team, args: &FollowArgs, cx: &Context<'_>) -> Result {
    let options = options(args, cx);
    if args.dry_run {
        if team.rank() == 0 {
            cx.printer.data(&plan(&options, team.size())?);
        }
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    let stop = || interrupt::requested();
    let report = match run_follow(team, &options, Some(&stop)) {
        Ok(report) => report,
        Err(e) if e.is_told_elsewhere() => return Ok(Exit::from_code(e.exit_code())),
        // Told while the team stands: a launcher ends the job once a rank has left it with an error.
        Err(e) => {
            let failure = Failure::from(e);
            cx.printer.failure(&failure);
            return Ok(failure.exit);
        }
    };
    let wrong: Vec<_> = report
        .cases
        .iter()
        .filter(|c| c.following.iter().any(|m| m.right == Some(false)))
        .map(|c| c.name.as_str())
        .collect();
    if team.rank() == 0 {
        output::put(&args.output, follow_results(&report), &results_table, &results_csv, cx)?;
        for name in &wrong {
            cx.printer.warn(format_args!("{name}: consumers read other values than were written"));
        }
    }
    Ok(if wrong.is_empty() { Exit::Ok } else { Exit::BadInput })
}
