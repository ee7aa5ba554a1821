//! The reference of all commands as two documents of Markdown, made from the declaration: docs/reference/command.md and bench-command.md.
//! Options that several commands have are described once.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use crate::args::HEADING as EVERYWHERE;

/// The heading of options that several commands have.
const SEVERAL: &str = "Options of several commands";

/// An option as one types it, and its meaning.
type Described = (String, String);

/// The command that has a document of its own: it is nearly as long as that of all others.
const APART: &str = "bench";

/// The document of all commands but [`APART`], or of that one. `root` is built ([`Command::build`]).
pub(super) fn markdown(root: &Command, apart: bool) -> String {
    let (title, option, other) = match apart {
        false => ("Command reference", "", "[`ncforge bench`](bench-command.md) has a page of its own."),
        true => ("Reference of `ncforge bench`", " bench", "[All other commands](command.md) have one page."),
    };
    let mut out = format!(
        "# {title}\n\n\
         Made by `ncforge man --markdown{option}` from the declaration of the command line, which `--help`, the manual pages and the\n\
         completions are made from, too. {other} [The command](../command.md) has the contracts: streams, exit codes, files, environment.\n\n",
    );
    // Writing to a String cannot fail.
    if !apart {
        let _ = writeln!(out, "## Options of every command\n");
        list(
            &mut out,
            root.get_arguments().filter(|a| a.get_help_heading() == Some(EVERYWHERE)).map(described),
        );
    }
    let commands =
        || root.get_subcommands().filter(|c| c.get_name() != "help" && (c.get_name() == APART) == apart);
    let mut number = BTreeMap::new();
    commands().for_each(|command| count(command, &mut number));
    let several: Vec<Described> = number
        .into_iter()
        .filter(|(option, n)| *n > 1 && option.0.starts_with("`-"))
        .map(|(o, _)| o)
        .collect();
    let _ = writeln!(out, "## {SEVERAL}\n");
    list(&mut out, several.iter().cloned());
    for sub in commands() {
        section(&mut out, sub, "ncforge", 2, &several);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Counts the commands that have each option.
fn count(command: &Command, number: &mut BTreeMap<Described, usize>) {
    own(command).for_each(|arg| *number.entry(described(arg)).or_default() += 1);
    command.get_subcommands().filter(|c| c.get_name() != "help").for_each(|sub| count(sub, number));
}

/// A command with what is below it. `several`: options that are described elsewhere.
fn section(out: &mut String, command: &Command, above: &str, level: usize, several: &[Described]) {
    let name = format!("{above} {}", command.get_name());
    let _ = writeln!(out, "{} {name}\n", "#".repeat(level));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = writeln!(out, "{}\n", escaped(&about.to_string()));
    }
    let aliases: Vec<String> = command.get_visible_aliases().map(|a| format!("`{above} {a}`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(out, "Another name: {}.\n", aliases.join(", "));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let usage: Vec<String> = usage.lines().map(|l| full_name(l.trim(), command.get_name(), &name)).collect();
    let _ = writeln!(out, "```text\n{}\n```\n", usage.join("\n"));
    let is_elsewhere = |arg: &&Arg| several.contains(&described(arg));
    let mut headings: Vec<&str> = Vec::new();
    for arg in own(command).filter(|arg| !is_elsewhere(arg)) {
        if !headings.contains(&heading(arg)) {
            headings.push(heading(arg));
        }
    }
    for wanted in headings {
        if wanted != "Options" {
            let _ = writeln!(out, "{wanted}:\n");
        }
        list(out, own(command).filter(|arg| heading(arg) == wanted && !is_elsewhere(arg)).map(described));
    }
    let elsewhere: Vec<String> = own(command).filter(is_elsewhere).map(short).collect();
    if !elsewhere.is_empty() {
        let _ =
            writeln!(out, "Of [several commands](#options-of-several-commands): {}.\n", elsewhere.join(", "));
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        let _ = writeln!(out, "```text\n{}\n```\n", after.to_string().trim_end());
    }
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(out, sub, &name, (level + 1).min(4), several);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help" && a.get_id() != "version")
}

/// The options that a command alone has, or shares with some. The long description of `rechunk` says whose options it takes.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    shown(command).filter(|arg| command.get_name() != "rechunk" && heading(arg) != EVERYWHERE)
}

fn heading(arg: &Arg) -> &str {
    arg.get_help_heading().unwrap_or("Options")
}

/// Usage begins with the whole name, however much of it clap has put there.
fn full_name(line: &str, own: &str, whole: &str) -> String {
    match line.find(own) {
        Some(at) => format!("{whole}{}", &line[at + own.len()..]),
        None => format!("{whole} {line}"),
    }
}

fn list(out: &mut String, options: impl Iterator<Item = Described>) {
    for (option, meaning) in options {
        let _ = writeln!(out, "* {option}: {meaning}");
    }
    out.push('\n');
}

fn described(arg: &Arg) -> Described {
    (spelling(arg), meaning(arg))
}

/// The name of an option.
fn short(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("`--{long}`"),
        (None, Some(short)) => format!("`-{short}`"),
        (None, None) => format!("`{}`", arg.get_id()),
    }
}

/// The option as one types it.
fn spelling(arg: &Arg) -> String {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let names = arg.get_value_names().unwrap_or_default();
    let value = match names {
        [] => arg.get_id().as_str().to_uppercase(),
        names => names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    let several = arg.get_num_args().is_some_and(|n| n.max_values() > 1);
    let dots = if several || matches!(arg.get_action(), ArgAction::Append) && arg.is_positional() {
        "…"
    } else {
        ""
    };
    if arg.is_positional() {
        return format!("`{value}{dots}`");
    }
    let long = arg.get_long().map(|l| format!("--{l}"));
    let short = arg.get_short().map(|s| format!("-{s}"));
    let spelled: Vec<String> = short.into_iter().chain(long).collect();
    let optional = arg.get_num_args().is_some_and(|n| n.min_values() == 0);
    let value = match (takes, optional) {
        (false, _) => String::new(),
        (true, true) => format!("[={value}]"),
        (true, false) => format!(" {value}{dots}"),
    };
    format!("`{}{value}`", spelled.join("`, `"))
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = escaped(&help.split_whitespace().collect::<Vec<_>>().join(" "));
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|v| !v.is_hide_set()).collect();
    if takes && !values.is_empty() && !arg.is_hide_possible_values_set() {
        let each = values.iter().map(|v| match v.get_help() {
            Some(help) => format!("`{}`: {}", v.get_name(), escaped(&help.to_string())),
            None => format!("`{}`", v.get_name()),
        });
        let _ = write!(
            text,
            "{}{}",
            if text.is_empty() { "" } else { ". " },
            each.collect::<Vec<_>>().join("; ")
        );
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().map(|d| d.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(text, " [default: {}]", escaped(&defaults.join(" ")));
    }
    text
}

/// Text that Markdown leaves as it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    for c in text.chars() {
        match c {
            '`' => code = !code,
            '*' | '<' | '_' | '[' if !code => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
