//! The page of `doctor`: what was found, the commands, and what they bring.

use maud::{Markup, html};
use ncforge_ops::doctor::{Anatomy, Commands, Fix, Report, Severity, Slower, fold};
use ncforge_tune::words::many;

use crate::page::{drawn, page, summary, variable_id};
use crate::{bytes, reads, variable};

/// A page about what is slow in files, each with what was found and taken apart, and the commands of a front.
pub fn doctor_page(files: &[(Report, Anatomy)], front: &dyn Commands) -> String {
    let title = match files {
        [(one, _)] => format!("What is slow in {}", one.file),
        _ => format!("What is slow in {}", many(files.len() as u64, "file")),
    };
    let body = html! {
        @for (i, (report, file)) in files.iter().enumerate() { (section(report, file, front, Some(i), files.len() > 1)) }
    };
    page(&title, &body)
}

/// All about a file, the `number`th of a page. `titled`: under its name.
pub(crate) fn section(
    report: &Report,
    file: &Anatomy,
    front: &dyn Commands,
    number: Option<usize>,
    titled: bool,
) -> Markup {
    let changed: Vec<usize> =
        drawn(file).into_iter().filter(|&i| file.variables[i].better.is_some()).collect();
    html! {
        section id=[number.map(|n| format!("file-{n}"))] {
            @if titled { h2 { (report.file) } }
            p { (summary(file)) "." }
            div.summary {
                h2 { "What was found" }
                @if report.findings.is_empty() { p { "Nothing to fix." } }
                @else { (findings(report, front)) }
                @if let Some(all) = report.fix() {
                    p { "All of it at once:" }
                    (commands(&all, report, front))
                }
                @for note in &report.notes { p.note { "Note: " (note) } }
            }
            @if !changed.is_empty() {
                h2 { "What a copy brings" }
                @for &i in &changed {
                    h3 { code { (file.variables[i].path) } }
                    (reads::before_after(&file.variables[i]))
                }
            }
            h2 { "How it is stored" }
            (bytes::map(file))
            @for i in drawn(file) { (variable::section(&file.variables[i], variable_id(number, i))) }
        }
    }
}

/// The commands that fix something.
fn commands(fix: &Fix, report: &Report, front: &dyn Commands) -> Markup {
    html! { @for command in fix.commands(&[&report.file], front) { pre { code { (command) } } } }
}

fn findings(report: &Report, front: &dyn Commands) -> Markup {
    let folded = fold(&report.findings);
    html! {
        div.scroll tabindex="0" {
            table.findings {
                thead { tr { th scope="col" { "rule" } th scope="col" { "for" } th scope="col" { "what, and how to repair it" } } }
                tbody {
                    @for group in &folded {
                        @for one in &group.findings {
                            tr {
                                td { span class=(severity(one.worst.severity)) { (one.worst.rule.code) } }
                                td { (names(&group.vars)) }
                                td {
                                    (one.worst.message)
                                    @if let Some(fix) = &one.worst.fix { (commands(fix, report, front)) }
                                    @if let Some(words) = Slower::words(&one.worst.slower) { p.note { (words) } }
                                    @if let Some(cache) = &one.worst.cache { p.note { "or, in netCDF-C, for the " (cache.read) ":" } pre { code { (cache.call()) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn names(vars: &[String]) -> Markup {
    const SHOWN: usize = 3;
    html! {
        @if vars.is_empty() { "the file" }
        @for (i, v) in vars.iter().take(SHOWN).enumerate() { @if i > 0 { ", " } code { (v) } }
        @if vars.len() > SHOWN { " and " (vars.len() - SHOWN) " more" }
    }
}

fn severity(s: Severity) -> &'static str {
    match s {
        Severity::Error => "severity error",
        Severity::Warning => "severity warning",
        Severity::Info => "severity info",
    }
}
