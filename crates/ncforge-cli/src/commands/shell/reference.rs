//! The reference of all commands as one document of Markdown, made from the declaration: docs/reference/command.md.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use crate::args::HEADING as EVERYWHERE;

/// The document. `root` is built ([`Command::build`]).
pub(super) fn markdown(root: &Command) -> String {
    let mut out = String::from(
        "# Command reference\n\n\
         Made by `ncforge man --markdown` from the declaration of the command line, which `--help`, the manual pages and the\n\
         completions are made from, too. [The command](../command.md) has the contracts: streams, exit codes, files, environment.\n\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(out, "## Options of every command\n");
    table(&mut out, root.get_arguments().filter(|a| a.get_help_heading() == Some(EVERYWHERE)));
    for sub in root.get_subcommands().filter(|c| c.get_name() != "help") {
        section(&mut out, sub, "ncforge", 2);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A command with what is below it.
fn section(out: &mut String, command: &Command, above: &str, level: usize) {
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
    let mut headings: Vec<&str> = Vec::new();
    // Its long description says whose options it takes.
    for arg in shown(command).filter(|_| command.get_name() != "rechunk") {
        let heading = heading(arg);
        if heading != EVERYWHERE && !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for wanted in headings {
        if wanted != "Options" {
            let _ = writeln!(out, "{wanted}:\n");
        }
        table(out, shown(command).filter(|a| heading(a) == wanted));
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        let _ = writeln!(out, "```text\n{}\n```\n", after.to_string().trim_end());
    }
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(out, sub, &name, (level + 1).min(4));
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help" && a.get_id() != "version")
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

fn table<'a>(out: &mut String, args: impl Iterator<Item = &'a Arg>) {
    let _ = writeln!(out, "| Option | Meaning |\n|---|---|");
    for arg in args {
        let _ = writeln!(out, "| {} | {} |", spelling(arg), meaning(arg));
    }
    out.push('\n');
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
    format!("`{}{}`", spelled.join("`, `"), value.replace('|', "\\|"))
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
            '|' => out.push('\\'),
            '*' | '<' | '_' | '[' if !code => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
