//! `ncforge info --requests`: what reading files from an object store takes.

use ncforge_ops::traffic::{Cost, Requests, requests};
use ncforge_ops::words::bytes;
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
            Ok(found) if args.json => documents.push(json!(found)),
            Ok(found) => {
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
    if args.json {
        document::print("info-requests", &json!({ "files": documents }), cx.printer);
    }
    Ok(worst)
}

/// A table: a line for opening, and for each variable one for its index and each read.
fn lines(found: &Requests) -> Vec<String> {
    let mut out = vec![format!("{}: {}", found.file, bytes(found.bytes))];
    let mut line = |what: &str, read: &str, cost: &Cost| {
        let (n, rounds) = (cost.requests, cost.rounds);
        out.push(format!("  {what:<28} {read:<7} {n:>9} {rounds:>7} {:>12}", bytes(cost.bytes)));
    };
    line("open", "", &found.open);
    for v in &found.variables {
        let reads = [("index", Some(v.index)), ("map", v.map), ("series", v.series), ("all", Some(v.all))];
        let mut name = v.name.as_str();
        for (read, cost) in reads {
            if let Some(cost) = cost.filter(|c| read != "index" || c.requests > 0) {
                line(std::mem::take(&mut name), read, &cost);
            }
        }
    }
    out.insert(1, format!("  {:<28} {:<7} {:>9} {:>7} {:>12}", "", "", "requests", "rounds", "bytes"));
    if found.others > 0 {
        out.push(format!("  and {} smaller variables", found.others));
    }
    out
}
