//! Findings for people: 80 columns, files and variables with the same findings together.

use std::borrow::Cow;

use super::finding::{Finding, Folded, Group, fold};
use super::fix::{Commands, Fix};
use super::{Report, Severity};
use ncforge_tune::Slower;
use ncforge_tune::words::{bytes, count, many};

const WIDTH: usize = 80;
/// The column of messages: behind indent, code and severity.
const INDENT: usize = 18;
/// Names of variables and files that are listed, at most.
const NAMES: usize = 12;

/// The style of the parts of a text. By default: plain, and without what only some readers need.
pub trait Style: Commands {
    /// A heading.
    fn heading(&self, text: &str) -> String {
        text.to_owned()
    }
    /// A text in the colour of a severity; `None`: of something good.
    fn severity(&self, severity: Option<Severity>, text: &str) -> String {
        let _ = severity;
        text.to_owned()
    }
    /// A command that the reader may type.
    fn command(&self, text: &str) -> String {
        text.to_owned()
    }
    /// Whether calls of netCDF-C, and how much was read, are listed.
    fn detailed(&self) -> bool {
        false
    }
}

/// The reports of one or several files.
pub fn text(reports: &[Report], style: &dyn Style) -> String {
    let mut out = Text { lines: Vec::new(), style };
    for (i, alike) in groups(reports).iter().enumerate() {
        if i > 0 && alike[0].passes.is_none() {
            out.line("");
        }
        out.files(alike);
    }
    out.finish()
}

/// Findings across several files.
pub fn text_across(findings: &[Finding], files: usize, style: &dyn Style) -> String {
    let mut out = Text { lines: Vec::new(), style };
    out.line(format!(
        "{}: {}",
        style.heading(&format!("across {}", many(files as u64, "file"))),
        counts(findings)
    ));
    for g in fold(findings) {
        out.names(&g.vars);
        for f in &g.findings {
            out.finding(f, &g, None);
            if let Some(fix) = &f.worst.fix {
                out.commands(INDENT, fix, &f.worst.files);
                out.slower(&f.worst.slower);
            }
        }
    }
    out.finish()
}

/// The table of rules.
pub fn text_rules(style: &dyn Style) -> String {
    let mut out = Text { lines: Vec::new(), style };
    for r in super::rules() {
        let severity = style.severity(Some(r.severity), &format!("{:<7}", r.severity.to_string()));
        out.line(format!("{} {severity}  {}", style.heading(r.code), r.name));
        out.wrapped("               ", 15, r.about);
        out.wrapped("               ", 15, &format!("fixed by: {}", r.fixed_by));
    }
    out.finish()
}

/// Files with the same findings and the same fix, in the order in which they first appear. A file with nothing to fix under a
/// profile has its own verdict.
fn groups(reports: &[Report]) -> Vec<Vec<&Report>> {
    let mut out: Vec<(String, Vec<&Report>)> = Vec::new();
    for r in reports {
        let key = key(r);
        match out.iter_mut().find(|(k, _)| *k == key) {
            Some((_, list)) => list.push(r),
            None => out.push((key, vec![r])),
        }
    }
    out.into_iter().map(|g| g.1).collect()
}

/// The key of files that are reported together: all but figures.
fn key(r: &Report) -> String {
    let found: Vec<_> = r.findings.iter().map(|f| (f.rule.code, f.severity, &f.var)).collect();
    let notes: Vec<String> = r.notes.iter().map(|n| n.replace(&r.file, "")).collect();
    let options = r.fix().map(|fix| fix.options());
    let own = if r.passes == Some(true) { r.file.as_str() } else { "" };
    format!("{:?}", (&r.format, r.variables, r.passes, found, options, notes, own))
}

struct Text<'a> {
    lines: Vec<String>,
    style: &'a dyn Style,
}

impl Text<'_> {
    fn finish(self) -> String {
        self.lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    /// Files that are alike.
    fn files(&mut self, files: &[&Report]) {
        // Figures are those of the file that is worst.
        let weight = |r: &Report| r.findings.iter().map(|f| f.cost).fold(0.0, f64::max);
        let Some(worst) = files.iter().copied().max_by(|a, b| weight(a).total_cmp(&weight(b))) else {
            return;
        };
        self.titles(files);
        let groups = fold(&worst.findings);
        let fixes: Vec<&Fix> =
            groups.iter().flat_map(|g| &g.findings).filter_map(|f| f.worst.fix.as_ref()).collect();
        let several = fixes.iter().any(|fix| *fix != fixes[0]);
        let one_file = files.len() == 1;
        for g in &groups {
            self.names(&g.vars);
            for (i, f) in g.findings.iter().enumerate() {
                self.finding(f, g, g.findings.get(i + 1));
                let next = g.findings.get(i + 1).and_then(|n| n.worst.fix.as_ref());
                if let Some(fix) = f.worst.fix.as_ref().filter(|fix| next != Some(fix)) {
                    if one_file {
                        self.commands(INDENT, fix, &[&worst.file]);
                    }
                    self.slower(&f.worst.slower);
                }
            }
        }
        let names: Vec<&str> = files.iter().map(|r| r.file.as_str()).collect();
        match worst.fix() {
            Some(all) if !one_file => {
                self.line("  all of it in all files:");
                self.commands(4, &all, &names);
            }
            Some(all) if several => {
                self.line("  all of it at once:");
                self.commands(4, &all, &names);
            }
            _ => {}
        }
        let differ =
            |r: &&Report| r.findings.iter().zip(&worst.findings).any(|(a, b)| a.message != b.message);
        if files.iter().any(differ) {
            self.wrapped("  note: ", 8, &format!("figures are those of {}; the others differ", worst.file));
        }
        for note in &worst.notes {
            self.wrapped("  note: ", 8, note);
        }
        if self.style.detailed() {
            for r in files {
                self.line(format!("  {}: {} were read", r.file, bytes(r.bytes_read)));
            }
        }
    }

    /// The commands that fix something.
    fn commands<S: AsRef<str>>(&mut self, indent: usize, fix: &Fix, files: &[S]) {
        for command in fix.commands(files, self.style) {
            let command = self.style.command(&command);
            self.line(format!("{}{command}", " ".repeat(indent)));
        }
    }

    /// The names of files, and how many findings each has.
    fn titles(&mut self, files: &[&Report]) {
        let first = files[0];
        if let Some(passes) = first.passes {
            let verdict = match passes {
                true => self.style.severity(None, "passes"),
                false => self.style.severity(Some(Severity::Error), "fails"),
            };
            for r in files {
                self.line(format!("{}: {verdict}", self.style.heading(&r.file)));
            }
            return;
        }
        let what = format!(
            "{}, {}: {}",
            first.format,
            many(first.variables as u64, "variable"),
            counts(&first.findings)
        );
        if let [one] = files {
            self.line(format!("{}: {what}", self.style.heading(&one.file)));
            return;
        }
        let title = self.style.heading(&many(files.len() as u64, "file"));
        self.line(format!("{title}, each {what}"));
        let names: Vec<String> = files.iter().map(|r| r.file.clone()).collect();
        self.names(&names);
    }

    fn names(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let mut text = names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
        if names.len() > NAMES {
            text += &format!(" and {} more", count((names.len() - NAMES) as u64));
        }
        for line in lines(&text, WIDTH - 2) {
            let line = self.style.heading(&line);
            self.line(format!("  {line}"));
        }
    }

    /// One finding; what it has in common with the next one comes there.
    fn finding(&mut self, f: &Folded, g: &Group, next: Option<&Folded>) {
        let mut message = Cow::from(&f.worst.message);
        if f.differ && g.vars.len() > 1 {
            let var = f.worst.var.as_deref().unwrap_or_default();
            message = match f.worst.weight > 0.0 {
                true => format!("{message} (`{var}`, the worst of them)"),
                false => format!("{message} (`{var}`; the others differ in this)"),
            }
            .into();
        }
        let severity = f.worst.severity;
        let word = self.style.severity(Some(severity), &format!("{:<7}", severity.to_string()));
        let first = format!("    {} {word} ", self.style.heading(f.worst.rule.code));
        self.wrapped(&first, INDENT, &message);
        let cache = f.worst.cache.as_ref().filter(|_| self.style.detailed());
        if let Some(cache) = cache.filter(|_| next.is_none_or(|n| n.worst.cache != f.worst.cache)) {
            let pad = " ".repeat(INDENT);
            self.wrapped(&pad, INDENT, &format!("or, in netCDF-C, for the {}:", cache.read));
            self.line(format!("{pad}{}", cache.call()));
        }
    }

    fn slower(&mut self, slower: &[Slower]) {
        if let Some(words) = Slower::words(slower) {
            self.wrapped(&" ".repeat(INDENT), INDENT, &words);
        }
    }

    /// A text whose first line begins with `first` (which may hold colours) and whose others are indented as far.
    fn wrapped(&mut self, first: &str, indent: usize, text: &str) {
        for (i, line) in lines(text, WIDTH - indent).into_iter().enumerate() {
            match i {
                0 => self.line(format!("{first}{line}")),
                _ => self.line(format!("{}{line}", " ".repeat(indent))),
            }
        }
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
