//! `ncforge info --requests`: what reading files from an object store takes.

use ncforge_ops::traffic::{Cost, Reads, Requests, requests};
use ncforge_tune::words::bytes;
use serde_json::json;

use super::{Context, document};
use crate::args::InfoArgs;
use crate::exit::{Exit, Failure, Result};

/// Shows one file after the other. With several, all are tried; the first failure gives the exit code.
pub(crate) fn run(args: &InfoArgs, cx: &Context<'_>) -> Result {
    let mut worst = Exit::Ok;
    let mut documents = Vec::new();
    for (i, path) in args.files.iter().enumerate() {
        match requests(path) {
            Ok(found) => {
                documents.push(json!(found));
                if args.written.takes_stdout() {
                    continue;
                }
                if i > 0 {
                    cx.printer.line("");
                }
                lines(&found).into_iter().for_each(|line| cx.printer.line(line));
            }
            Err(e) => {
                let failure = Failure::from(e);
                documents.push(document::failed(path, &failure));
                cx.printer.failure(&failure);
                worst = if worst == Exit::Ok { failure.exit } else { worst };
            }
        }
    }
    document::put("info-requests", &json!({ "files": documents }), &args.written, cx.printer)?;
    Ok(worst)
}

/// A table: a line for opening, and for each variable one for its index and each read; now, and after the copy.
fn lines(found: &Requests) -> Vec<String> {
    let after = found.open_after.is_some();
    let columns = |three: [&str; 3]| format!("{:>9} {:>7} {:>12}", three[0], three[1], three[2]);
    let mut out = vec![format!("{}: {}", found.file, bytes(found.bytes))];
    if after {
        let (now, then) = (format!("{:>30}", "now"), "after `ncforge copy --storage object`");
        out.push(format!("  {:<28} {:<7} {now}   {then}", "", ""));
    }
    let heads = columns(["requests", "rounds", "bytes"]);
    let again = if after { heads.as_str() } else { "" };
    out.push(format!("  {:<28} {:<7} {heads}   {again}", "", "").trim_end().to_owned());
    let mut line = |what: &str, read: &str, now: &Cost, then: Option<Cost>| {
        let figures = |c: &Cost| columns([&c.requests.to_string(), &c.rounds.to_string(), &bytes(c.bytes)]);
        let then = then.as_ref().map(figures).unwrap_or_default();
        out.push(format!("  {what:<28} {read:<7} {}   {then}", figures(now)).trim_end().to_owned());
    };
    line("open", "", &found.open, found.open_after);
    for v in &found.variables {
        let of = |what: fn(&Reads) -> Option<Cost>| {
            (what(&v.reads), v.after.as_ref().and_then(|a| what(&a.reads)))
        };
        let index = (Some(v.index), v.after.as_ref().map(|_| Cost::default()));
        let reads = [
            ("index", index),
            ("map", of(|r| r.map)),
            ("series", of(|r| r.series)),
            ("all", of(|r| Some(r.all))),
        ];
        let mut name = v.name.as_str();
        for (read, (now, then)) in reads {
            if let Some(now) = now.filter(|c| read != "index" || c.requests > 0) {
                line(std::mem::take(&mut name), read, &now, then);
            }
        }
    }
    if found.others > 0 {
        out.push(format!("  and {} smaller variables", found.others));
    }
    out.extend(found.notes.iter().map(|note| format!("  {note}")));
    out
}
