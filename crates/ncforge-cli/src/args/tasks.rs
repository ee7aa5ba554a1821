//! What `ncforge --help` shows first: the commands by what people come for, with an example of each task.

use std::fmt::Write;

/// A task in words, what one types for it, and the commands that belong to it.
struct Task {
    title: &'static str,
    example: &'static str,
    commands: &'static [&'static str],
}

const TASKS: [Task; 9] = [
    Task {
        title: "Look at files",
        example: "ncforge doctor sst.nc",
        commands: &["info", "dump", "doctor", "compare", "digest"],
    },
    Task {
        title: "Make files fast and small",
        example: "ncforge rechunk sst.nc fast.nc -4 --for series",
        commands: &["copy", "rechunk", "tune"],
    },
    Task {
        title: "Put tiles of a model together",
        example: "ncforge combine ocean_0000.nc -o ocean.nc",
        commands: &["combine", "split"],
    },
    Task {
        title: "Join files along time",
        example: "ncforge concat day_*.nc -o year.nc",
        commands: &["concat", "series"],
    },
    Task {
        title: "Read files through Zarr",
        example: "ncforge refs tas_1.nc tas_2.nc -o tas.json",
        commands: &["refs"],
    },
    Task {
        title: "Keep classic files in compressed blocks",
        example: "ncforge zip obs.nc obs.ncz",
        commands: &["zip", "unzip", "compact", "verify"],
    },
    Task {
        title: "Programs that you cannot change",
        example: "ncforge run ncks -v sst in.nc out.nc",
        commands: &["run", "netcdf"],
    },
    Task { title: "Measure", example: "ncforge bench access sst.nc fast.nc", commands: &["bench", "report"] },
    Task {
        title: "Type what you know",
        example: "ncforge nccopy -4 -d1 -s in.nc out.nc",
        commands: &["nccopy", "ncrcat", "mppnccombine", "nocscombine", "rebuild_nemo"],
    },
];
const SHELL: [&str; 3] = ["completions", "man", "help"];

/// The template of the main help: clap's own list of commands would be one list of twenty.
pub(super) const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";

/// The commands by task; what each does is in its declaration.
pub(super) fn listed(declaration: &clap::Command) -> String {
    let about = |name: &str| match declaration.find_subcommand(name).and_then(clap::Command::get_about) {
        Some(text) => text.to_string(),
        None => "Tell the options of a command".to_owned(),
    };
    let names = |name: &'static str| {
        let aliases =
            declaration.find_subcommand(name).into_iter().flat_map(clap::Command::get_visible_aliases);
        std::iter::once(name).chain(aliases).collect::<Vec<_>>().join(", ")
    };
    let mut out = String::new();
    // Writing to a String cannot fail.
    for task in &TASKS {
        let _ = writeln!(out, "{}:  {}", task.title, task.example);
        for name in task.commands {
            let _ = writeln!(out, "  {:<14}{}", names(name), about(name));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "Shell:  ncforge completions bash");
    for name in SHELL {
        let _ = writeln!(out, "  {name:<14}{}", about(name));
    }
    out.push_str("\nncforge COMMAND --help tells a command's own options. Those of every command:");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_belongs_to_one_task() {
        let declaration = super::super::declaration();
        let mut listed: Vec<&str> = TASKS.iter().flat_map(|t| t.commands).copied().chain(SHELL).collect();
        listed.retain(|n| *n != "help");
        listed.sort_unstable();
        let mut declared: Vec<&str> = declaration.get_subcommands().map(clap::Command::get_name).collect();
        declared.sort_unstable();
        assert_eq!(listed, declared);
    }

    #[test]
    fn examples_parse() {
        for task in &TASKS {
            let words: Vec<std::ffi::OsString> = task.example.split(' ').map(Into::into).collect();
            assert!(super::super::parse(&words).is_ok(), "{}", task.example);
        }
    }

    #[test]
    fn lines_fit_eighty_columns() {
        for line in listed(&super::super::declaration()).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
