//! What was measured, in the terms that all workloads share, and what follows from it.

use std::path::Path;

use ncforge::codec::describe;
use ncforge::tune::Pattern;

use super::LikeOptions;
use super::layout::{Layout, Part};
use super::measure::Found;
use crate::report::bytes;
use crate::result::{Row, Section};
use crate::stats::ratio_of_medians;

fn list(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join(":")
}

pub(super) fn section(
    file: &Path,
    part: &Part,
    layouts: &[Layout],
    reads: &[Pattern],
    found: &[Found],
    options: &LikeOptions,
) -> Section {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let title = format!(
        "Like `{name}`: `{}`, {} of {}, for {}",
        part.name.trim_start_matches('/'),
        bytes(part.values.len() as u64),
        list(&part.shape),
        options.reads
    );
    let mut section = Section::new("like", title);
    section.rows = found.iter().map(|f| row(part, layouts, reads, f, options)).collect();
    ceilings(&mut section);
    section.words = words(&name, part, layouts, reads, &section);
    for layout in layouts {
        let filters: Vec<String> = layout.filters.iter().map(describe).collect();
        section.notes.push(format!(
            "{}: {}, {}, {}",
            layout.name,
            layout.format.kind(),
            layout.chunks.as_ref().map_or_else(|| "no chunks".to_owned(), |c| format!("chunks {}", list(c))),
            if filters.is_empty() { "no filters".to_owned() } else { filters.join(" + ") }
        ));
    }
    if part.shape != part.whole {
        section.notes.push(format!(
            "{} of the variable's {} was taken (--array-bytes)",
            list(&part.shape),
            list(&part.whole)
        ));
    }
    section.notes.push("reads: one at a random place, the first in a file just opened, opening it not included; written files are closed, and the time until they are on disk is apart".to_owned());
    let all: Vec<Vec<_>> = found.iter().map(|f| f.measurements.clone()).collect();
    section.notes.extend(options.rounds.notes(&all));
    section
}

fn row(part: &Part, layouts: &[Layout], reads: &[Pattern], f: &Found, options: &LikeOptions) -> Row {
    let read = f.read.map(|r| &reads[r]);
    let size = part.dtype.size() as u64;
    let moved = read.map_or(part.values.len() as u64, |p| p.counts.iter().product::<u64>() * size);
    let engine = f.engine.rsplit('/').next().unwrap_or_default();
    let layout = f.layout.map(|i| &layouts[i]);
    let case = layout.map_or_else(|| engine.to_owned(), |l| format!("{}, {engine}", l.name));
    let mut row = Row::new(case, read.map_or("write", |p| p.name.as_str()), moved)
        .with("engine", engine)
        .with("data_shape", list(&part.shape))
        .with("dims", part.dims.iter().map(|d| d.0.as_str()).collect::<Vec<_>>().join(":"))
        .with("pattern", read.map_or("write", |p| p.name.as_str()));
    if let Some(l) = layout {
        row = row.with("layout", l.name).with("format", l.format.kind());
        row = row.with("chunk_shape", l.chunks.as_ref().map_or_else(|| "none".to_owned(), |c| list(c)));
        let filters: Vec<String> = l.filters.iter().map(describe).collect();
        row = row.with("codec", if filters.is_empty() { "none".to_owned() } else { filters.join("+") });
    }
    if read.is_some() {
        row = row.with("cache", if options.cold { "cold" } else { "warm" });
    }
    row.engine.clone_from(&f.engine);
    row.version.clone_from(&f.version);
    row.stored = Some(f.stored);
    row.measurements.clone_from(&f.measurements);
    row
}

/// Writing against plain system calls.
fn ceilings(section: &mut Section) {
    let raw = section.rows.iter().find(|r| r.engine == "raw").and_then(Row::rate);
    let Some(raw) = raw else { return };
    for row in section.rows.iter_mut().filter(|r| r.phase == "write" && r.engine != "raw") {
        row.of_ceiling = row.rate().map(|r| r / raw);
    }
}

/// How the chosen chunks stand against those that are there, by ncforge; and ncforge against the libraries.
fn words(name: &str, part: &Part, layouts: &[Layout], reads: &[Pattern], section: &Section) -> Vec<String> {
    let mut out = Vec::new();
    let of = |layout: &str, engine: &str, phase: &str| {
        section.rows.iter().find(|r| {
            r.phase == phase && r.engine == engine && r.facts.get("layout").is_some_and(|l| l == layout)
        })
    };
    let mut weighted = (0.0, 0.0);
    if let Some(chosen) = layouts.get(1) {
        let mut told = Vec::new();
        for p in reads {
            let (Some(now), Some(then)) =
                (of(layouts[0].name, "ncforge", &p.name), of(chosen.name, "ncforge", &p.name))
            else {
                continue;
            };
            let Some((ratio, interval)) = ratio_of_medians(&now.seconds(), &then.seconds()) else { continue };
            let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
            told.push(format!("{} {ratio:.2}×{sure}", p.name));
            weighted = (weighted.0 + p.weight, weighted.1 + p.weight * ratio.max(1e-9).ln());
        }
        let chunks = list(chosen.chunks.as_deref().unwrap_or_default());
        let mean = (weighted.1 / f64::max(weighted.0, 1e-9)).exp();
        let advice = if mean > 1.1 {
            format!(
                "; to store it so: ncforge copy {name} new.nc --chunks {}",
                spec(part, chosen.chunks.as_deref().unwrap_or_default())
            )
        } else {
            "; on the whole that is little, or worse: leave it as it is".to_owned()
        };
        out.push(format!("by ncforge, with chunks {chunks} instead: {} as fast{advice}", told.join(", ")));
    } else {
        out.push("the chunks are those that ncforge would choose for these reads".to_owned());
    }
    for layout in layouts {
        for phase in std::iter::once("write").chain(reads.iter().map(|p| p.name.as_str())) {
            let Some(ours) = of(layout.name, "ncforge", phase) else { continue };
            let others = section.rows.iter().filter(|r| {
                r.phase == phase
                    && r.engine != "ncforge"
                    && r.facts.get("layout").is_some_and(|l| l == layout.name)
            });
            for other in others {
                let Some((ratio, interval)) = ratio_of_medians(&other.seconds(), &ours.seconds()) else {
                    continue;
                };
                let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
                out.push(format!(
                    "{}, {phase}: ncforge is {ratio:.2}×{sure} as fast as {} {}",
                    layout.name,
                    other.facts.get("engine").map_or("", String::as_str),
                    other.version
                ));
            }
        }
    }
    out
}

/// Chunks as `--chunks` takes them: lengths of dimensions by name.
fn spec(part: &Part, chunks: &[u64]) -> String {
    let dims: Vec<String> =
        part.dims.iter().zip(chunks).map(|((name, _), n)| format!("{name}/{n}")).collect();
    dims.join(",")
}
