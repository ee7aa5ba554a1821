//! The command line, declared apart from what it does. One file a sub-command; help, manual pages and shell
//! completions all come from these declarations.

mod at_file;
mod bench;
mod combine;
mod compare;
mod concat;
mod copy;
mod digest;
mod doctor;
mod dump;
mod global;
mod info;
mod nccopy;
mod ncrcat;
mod netcdf;
mod old;
mod refs;
mod report;
mod series;
mod shared;
mod shell;
mod split;
mod tasks;
mod tune;
mod words;
mod zip;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use at_file::{expanded, name_empty};
pub(crate) use bench::{
    AccessArgs, BenchArgs, BenchCombineArgs, BenchCompareArgs, BenchDoctorArgs, ChunksBenchArgs,
    CombinePreset, ConvertArgs, IoArgs, OutputArgs, OutputForm, PatternArg, PublishedArgs, RecordsArgs,
    RecordsPart, RerunArgs, SwitchArg, ToolArg, Workload,
};
pub(crate) use combine::CombineArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use concat::{ConcatArgs, JoinArgs};
pub(crate) use copy::CopyArgs;
pub(crate) use digest::DigestArgs;
pub(crate) use doctor::{DoctorArgs, FailOn};
pub(crate) use dump::DumpArgs;
pub(crate) use global::{ColorWhen, GlobalArgs, HEADING, ProgressKind};
pub(crate) use info::InfoArgs;
pub(crate) use nccopy::NccopyArgs;
pub(crate) use ncrcat::NcrcatArgs;
pub(crate) use netcdf::{EnableArgs, Netcdf, NetcdfArgs, ProgramArgs, StatusArgs};
pub(crate) use old::OldArgs;
pub(crate) use refs::RefsArgs;
pub(crate) use report::ReportArgs;
pub(crate) use series::SeriesArgs;
pub(crate) use shared::{CodecArgs, Digits, FormatArgs, List, OnlyArgs, RunArgs, WrittenArgs};
pub(crate) use shell::{CompletionsArgs, ManArgs};
pub(crate) use split::SplitArgs;
pub(crate) use tune::{CalibrateArgs, ChoosingArgs, Tune, TuneArgs, TuneChunksArgs};
pub(crate) use words::word;
pub(crate) use zip::{CompactArgs, UnzipArgs, VerifyArgs, ZipArgs};

use crate::exit::{Exit, Failure};
use crate::stderr::to_stderr;

/// Fast netCDF: look at files, copy them into the shape you need, compare them.
///
/// Reads and writes netCDF classic (CDF-1, CDF-2, CDF-5) and netCDF-4 files, on all cores, in bounded memory.
#[derive(Debug, Parser)]
#[command(name = "ncforge", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Options that every command takes; they may come before or behind the command's name.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Whether the command has the option `--resume`.
    #[arg(skip)]
    pub(crate) can_resume: bool,
    /// The paths that its arguments are.
    #[arg(skip)]
    pub(crate) named: Vec<PathBuf>,
}

const AFTER_HELP: &str = "\
Environment:
  NCFORGE_THREADS, NCFORGE_MEMORY   as --threads and --memory, where those are not given
  NCFORGE_MACHINE                   the file with this machine's rates (ncforge tune calibrate)
  NO_COLOR                          no colours

Exit codes:
  0 done   1 the operation failed   2 usage, or the output exists   3 differences or problems found
  4 input unreadable or damaged   5 interrupted, go on with --resume
  130 ended by Ctrl-C   143 ended by SIGTERM   126, 127 `run`: no program to execute";

/// The sub-commands. `about` is the line in the list of commands; the paragraphs in `--help` are those of the arguments' type,
/// which a doc comment here would take away.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(about = "Copy a file into another format, chunk shape or compression")]
    #[command(override_usage = "ncforge copy [OPTIONS] <IN>... <OUT>")]
    Copy(Box<CopyArgs>),
    #[command(about = "Copy a file into the chunk shapes that your reads need")]
    #[command(override_usage = "ncforge rechunk [OPTIONS] <IN>... <OUT>")]
    #[command(long_about = copy::RECHUNK, after_long_help = copy::RECHUNK_AFTER, mut_arg("reads", |a| a.display_order(0)))]
    Rechunk(Box<CopyArgs>),
    #[command(about = "Put the tiles of a model's processes together into one file")]
    Combine(Box<CombineArgs>),
    #[command(about = "Join files one behind the other, along time or another dimension")]
    #[command(override_usage = "ncforge concat [OPTIONS] <FILE>... --output <OUT>")]
    #[command(long_about = concat::ABOUT, after_long_help = concat::AFTER)]
    #[command(mut_arg("paths", |a| a.value_name("FILE").help(concat::FILES)))]
    Concat(Box<ConcatArgs>),
    #[command(about = "Make one file for each variable from files of all variables")]
    #[command(override_usage = "ncforge series [OPTIONS] <FILE>... --output <DIR>")]
    #[command(long_about = series::ABOUT, after_long_help = series::AFTER)]
    #[command(mut_arg("paths", |a| a.value_name("FILE").help(concat::FILES)))]
    Series(Box<SeriesArgs>),
    #[command(about = "Split a file into tiles as models write them")]
    Split(Box<SplitArgs>),
    #[command(about = "Make references to chunks, for readers of Zarr")]
    Refs(RefsArgs),
    #[command(about = "Show what is in a file and how it is stored")]
    Info(InfoArgs),
    #[command(about = "Print a file and its values as `ncdump` does", alias = "ncdump")]
    Dump(DumpArgs),
    #[command(about = "Compare two files: structure and every value", visible_alias = "diff")]
    Compare(CompareArgs),
    #[command(about = "Print digests of what files say, however it is stored")]
    Digest(DigestArgs),
    #[command(about = "Say what is slow in files, and which command fixes it")]
    Doctor(Box<DoctorArgs>),
    #[command(about = "Zip a classic file into compressed blocks, to be used in place")]
    Zip(ZipArgs),
    #[command(about = "Unzip a zipped file, to the byte")]
    Unzip(UnzipArgs),
    #[command(about = "Rewrite a zipped file without unused space")]
    Compact(CompactArgs),
    #[command(about = "Read everything in zipped files and check it")]
    Verify(VerifyArgs),
    #[command(about = "Choose chunk shapes; measure the machine they are for")]
    Tune(TuneArgs),
    #[command(about = "Measure how fast files are read and written")]
    Bench(BenchArgs),
    #[command(about = "Make a page of saved benchmark results")]
    Report(ReportArgs),
    #[command(about = "Run a program that uses netCDF-C, with ncforge under it")]
    Run(ProgramArgs),
    #[command(about = "Let netCDF-C load ncforge by itself; say what is served")]
    Netcdf(NetcdfArgs),
    #[command(about = "Combine with the options of `mppnccombine` (FMS)")]
    Mppnccombine(OldArgs),
    #[command(about = "Combine with the options of `nocscombine` (NEMO)")]
    Nocscombine(OldArgs),
    #[command(about = "Combine with the options, or the namelist, of `rebuild_nemo`")]
    #[command(name = "rebuild_nemo")]
    RebuildNemo(OldArgs),
    #[command(about = "Copy with the options of netCDF's `nccopy`")]
    Nccopy(Box<NccopyArgs>),
    #[command(about = "Join files with the options of NCO's `ncrcat`")]
    #[command(mut_arg("threads", ncrcat::threads))]
    Ncrcat(Box<NcrcatArgs>),
    #[command(about = "Print a completion script for a shell")]
    Completions(CompletionsArgs),
    #[command(about = "Print or write the manual pages")]
    Man(ManArgs),
}

impl Command {
    /// The names of a command that takes any number of input files, and how many of them, from the first, are input files.
    pub(crate) fn files(&mut self) -> Option<(&mut Vec<PathBuf>, usize)> {
        let all = match self {
            Command::Copy(a) | Command::Rechunk(a) => {
                let inputs = a.paths.len().saturating_sub(1);
                return Some((&mut a.paths, inputs));
            }
            Command::Concat(a) => &mut a.copy.paths,
            Command::Series(a) => &mut a.copy.paths,
            Command::Refs(a) => &mut a.files,
            Command::Info(a) => &mut a.files,
            Command::Digest(a) => &mut a.files,
            Command::Doctor(a) => &mut a.files,
            Command::Verify(a) => &mut a.files,
            Command::Bench(BenchArgs { workload: Workload::Access(a) }) => &mut a.files,
            _ => return None,
        };
        let inputs = all.len();
        Some((all, inputs))
    }

    /// What the command writes besides its text, if that is declared as for most commands.
    pub(crate) fn written(&self) -> Option<&WrittenArgs> {
        match self {
            Command::Copy(a) | Command::Rechunk(a) => Some(&a.written),
            Command::Combine(a) => Some(&a.written),
            Command::Concat(a) => Some(&a.copy.written),
            Command::Series(a) => Some(&a.copy.written),
            Command::Split(a) => Some(&a.written),
            Command::Refs(a) => Some(&a.written),
            Command::Info(a) => Some(&a.written),
            Command::Compare(a) => Some(&a.written),
            Command::Digest(a) => Some(&a.written),
            Command::Doctor(a) => Some(&a.written),
            Command::Zip(a) => Some(&a.written),
            Command::Unzip(a) => Some(&a.written),
            Command::Compact(a) => Some(&a.written),
            Command::Verify(a) => Some(&a.written),
            Command::Bench(a) => match &a.workload {
                Workload::Compare(a) => Some(&a.written),
                Workload::Doctor(a) => Some(&a.written),
                _ => None,
            },
            Command::Tune(a) => match &a.what {
                Tune::Chunks(a) => Some(&a.written),
                Tune::Calibrate(a) => Some(&a.written),
            },
            _ => None,
        }
    }

    /// The options of every command that come behind the command's name.
    fn global(&self) -> GlobalArgs {
        match self {
            Command::Copy(a) | Command::Rechunk(a) => a.global.clone(),
            Command::Combine(a) => a.global.clone(),
            Command::Concat(a) => a.copy.global.clone(),
            Command::Series(a) => a.copy.global.clone(),
            Command::Split(a) => a.global.clone(),
            Command::Refs(a) => a.global.clone(),
            Command::Info(a) => a.global.clone(),
            Command::Compare(a) => a.global.clone(),
            Command::Digest(a) => a.global.clone(),
            Command::Doctor(a) => a.global.clone(),
            Command::Zip(a) => a.global.clone(),
            Command::Unzip(a) => a.global.clone(),
            Command::Compact(a) => a.global.clone(),
            Command::Verify(a) => a.global.clone(),
            Command::Bench(a) => match &a.workload {
                Workload::Access(a) => a.global.clone(),
                Workload::Chunks(a) => a.global.clone(),
                Workload::Io(a) => a.global.clone(),
                Workload::Records(a) => a.global.clone(),
                Workload::Combine(a) => a.global.clone(),
                Workload::Compare(a) => a.global.clone(),
                Workload::Rerun(a) => a.global.clone(),
                Workload::Convert(a) => a.global.clone(),
                Workload::Published(a) => a.global.clone(),
                Workload::Doctor(a) => a.global.clone(),
            },
            Command::Report(a) => a.global.clone(),
            Command::Tune(a) => match &a.what {
                Tune::Chunks(a) => a.global.clone(),
                Tune::Calibrate(a) => a.global.clone(),
            },
            Command::Dump(a) => a.global.clone(),
            Command::Nccopy(a) => a.global(),
            Command::Ncrcat(a) => a.global(),
            Command::Netcdf(a) => match &a.what {
                Netcdf::Enable(a) | Netcdf::Disable(a) => a.global.clone(),
                Netcdf::Status(a) => a.global.clone(),
            },
            Command::Run(a) => a.global.clone(),
            Command::Completions(_)
            | Command::Man(_)
            | Command::Mppnccombine(_)
            | Command::Nocscombine(_)
            | Command::RebuildNemo(_) => GlobalArgs::default(),
        }
    }
}

/// `nccopy …` becomes `ncforge nccopy …` when the command is called by that name (through a link); the same for the
/// other tools whose options it takes.
pub(crate) fn under_its_name(mut argv: Vec<OsString>) -> Vec<OsString> {
    let called = argv.first().and_then(|a| Path::new(a).file_stem()).and_then(|s| s.to_str());
    if let Some(name) = old::NAMES.into_iter().find(|n| called == Some(*n)) {
        argv[0] = "ncforge".into();
        argv.insert(1, name.into());
    }
    argv
}

/// The arguments, or the exit code when there is nothing left to do: help and version were asked for, or the
/// command line is wrong (reported on stderr, exit code 2).
pub(crate) fn parse(argv: &[OsString]) -> Result<Cli, Exit> {
    let mut declared = declaration();
    let matched = declared.try_get_matches_from_mut(argv).and_then(|m| {
        // By its declaration: what was matched refuses the name of an option that the command lacks in debug builds only.
        let command = m.subcommand_name().and_then(|name| declared.find_subcommand(name));
        let can_resume = command.is_some_and(|c| c.get_arguments().any(|a| a.get_id() == "resume"));
        Ok(Cli { can_resume, named: named(&m), ..Cli::from_arg_matches(&m)? })
    });
    match matched {
        Ok(mut cli) => {
            cli.global = cli.global.overridden_by(&cli.command.global());
            Ok(cli)
        }
        Err(e) if e.use_stderr() => {
            let text = e.render().to_string();
            // clap's last line points to some help; the hint that every failure has names the command's own.
            let text = text.split_once("\nFor more information, try").map_or(&*text, |(text, _)| text);
            let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
            to_stderr(format_args!("ncforge: {text}\nhint: {}\n", help_for(argv)));
            Err(Exit::Usage)
        }
        Err(e) => {
            match e.print().and_then(|()| std::io::stdout().flush()) {
                // A reader that has gone has seen enough.
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                    let lost = Failure::lost_output(&e);
                    to_stderr(format_args!("ncforge: {}\nhint: {}\n", lost.message, lost.hint));
                    Err(lost.exit)
                }
                _ => Err(Exit::Ok),
            }
        }
    }
}

/// The paths among the arguments of the command, and of what it has below it.
fn named(matches: &ArgMatches) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut at = matches.subcommand();
    while let Some((_, m)) = at {
        let paths = m.ids().filter_map(|id| m.try_get_many::<PathBuf>(id.as_str()).ok().flatten());
        all.extend(paths.flatten().cloned());
        at = m.subcommand();
    }
    all
}

/// The explanation of a wrong command line: the help of the command that it names.
fn help_for(argv: &[OsString]) -> String {
    let mut at = &Cli::command();
    let mut name = "ncforge".to_owned();
    for word in argv.iter().skip(1).filter_map(|w| w.to_str()) {
        if let Some(below) = at.find_subcommand(word) {
            at = below;
            name = format!("{name} {word}");
        }
    }
    let lists = if at.has_subcommands() { "lists the commands" } else { "lists all options, with examples" };
    format!("`{name} --help` {lists}")
}

/// The whole command line as it is declared.
pub(crate) fn declared() -> clap::Command {
    let plain = Cli::command();
    let listed = tasks::listed(&plain);
    let plain = plain.mut_subcommands(|command| match DROP_IN.contains(&command.get_name()) {
        true => without_short_options(command),
        false => command,
    });
    plain.help_template(tasks::TEMPLATE).before_help(listed)
}

/// Commands whose own options are those of another tool, letter by letter.
const DROP_IN: [&str; 3] = ["dump", "nccopy", "ncrcat"];

/// A command in which the options of every command have no letters.
fn without_short_options(command: clap::Command) -> clap::Command {
    let is_general = |a: &clap::Arg| a.get_help_heading() == Some(HEADING);
    command.mut_args(|a| if is_general(&a) { a.short(None) } else { a })
}

/// The same as clap sees it: the help of a command shows its own options, and where those of every command are told.
pub(crate) fn declaration() -> clap::Command {
    declared().mut_subcommands(without_general_options)
}

/// The line for the options that every command has.
const GENERAL: &str =
    "`ncforge --help` tells the options of every command: threads, memory, progress, colours, URLs.";

fn without_general_options(command: clap::Command) -> clap::Command {
    let is_general = |a: &clap::Arg| a.get_help_heading() == Some(HEADING);
    let has = command.get_arguments().any(is_general);
    let after = command.get_after_long_help().map(ToString::to_string);
    let command = command
        .mut_args(|a| if is_general(&a) { a.hide(true) } else { a })
        .mut_subcommands(without_general_options);
    match has {
        true => command
            .after_help(GENERAL)
            .after_long_help(after.map_or_else(|| GENERAL.to_owned(), |text| format!("{text}\n\n{GENERAL}"))),
        false => command,
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use ncforge_ops::request::Size;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn the_declaration_is_consistent() {
        declaration().debug_assert();
    }

    #[test]
    fn global_options_stand_on_either_side() {
        let cli = parse(&words("ncforge -v -j 3 info a.nc -v --memory 1G")).expect("parses");
        assert_eq!(cli.global.verbose, 2);
        assert_eq!(cli.global.threads.map(usize::from), Some(3));
        assert_eq!(cli.global.memory, Some(Size(1 << 30)));
    }

    #[test]
    fn options_of_a_program_that_is_run_are_its_own() {
        let cli = parse(&words("ncforge -v run -j 3 --memory=1G ./w -j 5 --memory 2G -v")).expect("parses");
        assert_eq!((cli.global.verbose, cli.global.threads.map(usize::from)), (1, Some(3)));
        assert_eq!(cli.global.memory, Some(Size(1 << 30)));
        let Command::Run(program) = cli.command else { panic!("another command") };
        assert_eq!(program.command, words("./w -j 5 --memory 2G -v"));
    }

    #[test]
    fn called_as_nccopy() {
        let argv = under_its_name(words("/usr/local/bin/nccopy -d 1 a b"));
        assert!(matches!(parse(&argv).expect("parses").command, Command::Nccopy(_)));
    }

    #[test]
    fn other_names_of_commands() {
        let named = |line: &str| parse(&words(line)).expect("parses").command;
        assert!(matches!(named("ncforge ncdump -v sst a.nc"), Command::Dump(_)));
        assert!(matches!(named("ncforge diff a.nc b.nc"), Command::Compare(_)));
        assert!(matches!(named("ncforge rechunk a.nc b.nc --for series"), Command::Rechunk(_)));
    }

    #[test]
    fn every_help_has_an_example_and_says_more_than_the_list() {
        fn look(command: &clap::Command, name: &str) {
            let after = command.get_after_long_help().or_else(|| command.get_after_help());
            let after = after.map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Example"), "{name} has no example");
            for below in command.get_subcommands() {
                look(below, &format!("{name} {}", below.get_name()));
            }
        }
        for command in declaration().get_subcommands() {
            // The front-ends for other tools read their words, `--help` among them, by themselves.
            if !old::NAMES.contains(&command.get_name()) {
                look(command, command.get_name());
            }
        }
        let long = |name: &str| {
            let declared = declaration();
            declared.find_subcommand(name).and_then(clap::Command::get_long_about).map(ToString::to_string)
        };
        // The paragraphs of the arguments' types; a doc comment on the variant would hide them.
        assert!(long("compare").is_some_and(|t| t.contains("Exit code 0: the same")));
        assert!(long("copy").is_some_and(|t| t.contains("Memory stays within the budget")));
    }

    #[test]
    fn options_of_every_command_are_told_once() {
        let mut declared = declaration();
        let copy = declared.find_subcommand_mut("copy").expect("a command").render_long_help().to_string();
        assert!(!copy.contains("--storage-option") && copy.contains(GENERAL), "{copy}");
        let bench = declared.find_subcommand_mut("bench").and_then(|b| b.find_subcommand_mut("access"));
        assert!(!bench.expect("a command").render_help().to_string().contains("--storage-option"));
        assert!(declared.render_long_help().to_string().contains("--storage-option"));
        // Those of a command are never among them, wherever they are declared.
        let general = GlobalArgs::augment_args(clap::Command::new("general"));
        let is_general = |a: &clap::Arg| general.get_arguments().any(|g| g.get_id() == a.get_id());
        for command in declared.get_subcommands() {
            for a in command.get_arguments().filter(|a| a.get_help_heading() == Some(HEADING)) {
                assert!(is_general(a), "{} {}", command.get_name(), a.get_id());
            }
        }
        assert_eq!(
            parse(&words("ncforge copy a b -j 3")).expect("parses").global.threads.map(usize::from),
            Some(3)
        );
    }

    #[test]
    fn only_the_agreed_short_options_exist() {
        let agreed = "34567OovqjnhsV";
        // Those of drop-in commands are the originals'.
        for sub in declaration().get_subcommands().filter(|c| !DROP_IN.contains(&c.get_name())) {
            for short in sub.get_arguments().filter_map(clap::Arg::get_short) {
                assert!(agreed.contains(short), "-{short} of {}", sub.get_name());
            }
        }
    }
}
