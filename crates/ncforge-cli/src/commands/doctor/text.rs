//! Findings for people: 80 columns, one group of variables after the other.

use ncforge_ops::doctor::{Finding, Fix, Folded, Group, Report, Severity, Slower, fold, rules as all_rules};
use ncforge_ops::words::{bytes, many};

use crate::printer::Printer;

const WIDTH: usize = 80;
/// Where messages begin: behind indent, code and severity.
const INDENT: usize = 18;
/// Names of variables that are listed, at most.
const NAMES: usize = 12;

/// One file.
pub(super) fn report(r: &Report, printer: &Printer) {
    if let Some(passes) = r.passes {
        let verdict =
            if passes { printer.good("passes") } else { printer.severity(Severity::Error, "fails") };
        printer.line(format!("{}: {verdict}", printer.heading(&r.file)));
    } else {
        printer.line(format!(
            "{}: {}, {}: {}",
            printer.heading(&r.file),
            r.format,
            many(r.variables as u64, "variable"),
            counts(&r.findings),
        ));
    }
    let groups = fold(&r.findings);
    for g in &groups {
        if !g.vars.is_empty() {
            heading(&g.vars, printer);
        }
        for (i, f) in g.findings.iter().enumerate() {
            folded(f, g.findings.get(i + 1), g, &[&r.file], printer);
        }
    }
    if r.findings.iter().filter(|f| f.fix.is_some()).count() > 1 {
        let mut all = Fix::default();
        r.findings.iter().filter_map(|f| f.fix.as_ref()).for_each(|m| all.and(m));
        printer.line("  all of it at once:");
        printer.line(format!("    {}", printer.command(all.command(&r.file))));
    }
    for note in &r.notes {
        wrapped("  note: ", 8, note, printer);
    }
    printer.detail(format!("{}: {} were read", r.file, bytes(r.bytes_read)));
}

/// What concerns several files.
pub(super) fn across(findings: &[Finding], files: usize, printer: &Printer) {
    printer.line(format!(
        "{}: {}",
        printer.heading(format!("across {}", many(files as u64, "file"))),
        counts(findings)
    ));
    for g in fold(findings) {
        heading(&g.vars, printer);
        for f in &g.findings {
            let files: Vec<&str> = f.worst.files.iter().take(3).map(String::as_str).collect();
            folded(f, None, &g, &files, printer);
        }
    }
}

/// The table of rules.
pub(super) fn rules(printer: &Printer) {
    for r in all_rules() {
        let severity = printer.severity(r.severity, format!("{:<7}", r.severity.to_string()));
        printer.line(format!("{} {severity}  {}", printer.heading(r.code), r.name));
        wrapped("               ", 15, r.about, printer);
        wrapped("               ", 15, &format!("fixed by: {}", r.mended_by), printer);
    }
}

fn counts(findings: &[Finding]) -> String {
    let words: Vec<String> = [Severity::Error, Severity::Warning, Severity::Info]
        .into_iter()
        .filter_map(|s| {
            let n = findings.iter().filter(|f| f.severity == s).count() as u64;
            let what = if s == Severity::Info { "remark".to_owned() } else { s.to_string() };
            (n > 0).then(|| many(n, &what))
        })
        .collect();
    if words.is_empty() { "nothing to fix".into() } else { words.join(", ") }
}

fn heading(vars: &[String], printer: &Printer) {
    let shown: Vec<&str> = vars.iter().take(NAMES).map(String::as_str).collect();
    let mut text = shown.join(", ");
    if vars.len() > NAMES {
        text += &format!(" and {} more", vars.len() - NAMES);
    }
    for line in lines(&text, WIDTH - 2) {
        printer.line(format!("  {}", printer.heading(line)));
    }
}

/// One finding. What it has in common with the next one of the group, that one tells.
fn folded(f: &Folded, next: Option<&Folded>, g: &Group, files: &[&str], printer: &Printer) {
    let rule = f.worst.rule;
    let mut message = f.worst.message.clone();
    if f.differ && g.vars.len() > 1 {
        message += &format!(" ({}; the others less)", f.worst.var.as_deref().unwrap_or_default());
    }
    let severity = printer.severity(f.worst.severity, format!("{:<7}", f.worst.severity.to_string()));
    let first = format!("    {} {severity} ", printer.heading(rule.code));
    wrapped(&first, INDENT, &message, printer);
    let pad = " ".repeat(INDENT);
    if let Some(cache) =
        f.worst.cache.as_ref().filter(|_| next.is_none_or(|n| n.worst.cache != f.worst.cache))
    {
        let text = format!("or, in netCDF-C, for the {}:", cache.read);
        wrapped(&pad, INDENT, &text, printer);
        printer.line(format!("{pad}{}", cache.call()));
    }
    if let Some(fix) = f.worst.fix.as_ref().filter(|_| next.is_none_or(|n| n.worst.fix != f.worst.fix)) {
        for file in files {
            printer.line(format!("{pad}{}", printer.command(fix.command(file))));
        }
        if let Some(words) = Slower::words(&f.worst.slower) {
            wrapped(&pad, INDENT, &words, printer);
        }
    }
}

/// A text whose first line begins with `first` (which may hold colours) and whose others are indented as far.
fn wrapped(first: &str, indent: usize, text: &str, printer: &Printer) {
    for (i, line) in lines(text, WIDTH - indent).into_iter().enumerate() {
        match i {
            0 => printer.line(format!("{first}{line}")),
            _ => printer.line(format!("{}{line}", " ".repeat(indent))),
        }
    }
}

/// Lines of at most `width` characters, cut at spaces.
fn lines(text: &str, width: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    for word in text.split_whitespace() {
        let line = out.last_mut().expect("there is one");
        let free = width.saturating_sub(line.chars().count());
        if line.is_empty() {
            line.push_str(word);
        } else if word.chars().count() < free {
            line.push(' ');
            line.push_str(word);
        } else {
            out.push(word.to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_their_width() {
        assert_eq!(lines("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(lines("", 6), [""]);
        assert_eq!(lines("longer than it", 4), ["longer", "than", "it"]);
    }
}
