//! NC4: where things lie in the file.

use super::Examined;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use ncforge::model::DimId;
use ncforge_tune::words::{bytes, count, many, shape, times};

pub(super) const RULES: &[Rule] = rules!(Always:
    ("NC401", "record-interleave", Warning, "copy --format netcdf4 --chunks auto",
        "A classic file holds its records one after the other, each with a piece of every variable: reading \
         one variable walks through all of them."),
    ("NC402", "scattered-metadata", Warning, "copy",
        "What opening needs lies in many places of the file; each is a request on slow storage."),
    ("NC403", "large-index", Info, "copy --chunks",
        "The index of a variable's chunks has more than 512 nodes, which a reader fetches one by one."),
    ("NC404", "unlimited-unused", Info, "copy --vars",
        "An unlimited dimension has no element, or no variable that uses it."),
    ("NC405", "header-without-room", Info, "copy",
        "The data of a classic file begin right behind the header: adding an attribute or a variable moves \
         all of them."),
);

/// Records (and bytes of them all) below which interleaving costs little.
const RECORDS: u64 = 64;
const RECORD_BYTES: u64 = 1 << 20;
/// Structures closer than this come in one request.
const NEAR: u64 = 64 << 10;
/// The least number of places that count as scattered.
const PLACES: usize = 8;
/// Nodes of an index that are many.
const NODES: u64 = 512;
/// Chunks that a node of an index holds, on average, in files of netCDF-C.
const PER_NODE: u64 = 56;
/// An attribute of usual length fits in this.
const SPARE_BYTES: u64 = 256;
/// Moving fewer bytes than this is quick.
const LITTLE: u64 = 1 << 20;

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    scattered(x, out);
    no_room(x, out);
    unlimited(x, out);
    interleaved(x, out);
    index(x, out);
}

/// NC401.
fn interleaved(x: &Examined<'_>, out: &mut Vec<Finding>) {
    if x.facts.zipped {
        // Blocks hold the records of one variable, one after the other.
        return;
    }
    let stride = |v: &super::facts::VarFacts| v.layout.runs().and_then(|runs| runs.stride);
    let neighbours = x.facts.vars.iter().filter_map(stride).count() as u64;
    for v in &x.facts.vars {
        let Some(stride) = stride(v) else { continue };
        let n = v.axes.first().map_or(0, |a| a.len);
        let each = v.bytes / n.max(1);
        let walked = n.saturating_mul(stride);
        if n < RECORDS || walked < RECORD_BYTES || each.saturating_mul(2) > stride {
            continue;
        }
        let message = format!(
            "{} of {} hold {} each: reading its {} walks through {} in {} of {} ({})",
            many(n, "record"),
            bytes(stride),
            many(neighbours, "variable"),
            bytes(v.bytes),
            bytes(walked),
            many(n, "step"),
            bytes(each),
            times(walked as f64 / v.bytes.max(1) as f64),
        );
        out.push(
            Finding::new(rule(RULES, "NC401"), Some(&v.path), message)
                .weighing(walked as f64 / v.bytes.max(1) as f64)
                .fixed_by(Fix::all_chunks().in_netcdf4(true)),
        );
    }
}

/// Runs of structures that are fetched together, and the bytes of the structures.
fn runs(mut spans: Vec<(u64, u64)>) -> (usize, u64, u64) {
    spans.sort_unstable();
    let (mut places, mut total, mut end) = (0, 0u64, None::<u64>);
    for (at, len) in spans {
        let stop = at.saturating_add(len);
        match end {
            Some(e) if at <= e.saturating_add(NEAR) => {
                total += stop.saturating_sub(e.max(at));
                end = Some(e.max(stop));
            }
            _ => {
                places += 1;
                total += len;
                end = Some(stop);
            }
        }
    }
    (places, total, end.unwrap_or(0))
}

/// NC402.
fn scattered(x: &Examined<'_>, out: &mut Vec<Finding>) {
    let mut spans = x.facts.metadata.clone();
    spans.extend(x.facts.vars.iter().filter_map(|v| v.index.as_ref()).flat_map(|i| i.nodes.iter().copied()));
    let (places, total, end) = runs(spans);
    if places < PLACES {
        return;
    }
    let message = format!(
        "{} of metadata lie in {} spread over {}: {} to open the file and find all chunks; in front they would be one",
        bytes(x.facts.dataset.container().metadata_and_indexes().unwrap_or(total)),
        many(places as u64, "place"),
        bytes(end),
        many(places as u64, "request"),
    );
    out.push(
        Finding::new(rule(RULES, "NC402"), None, message).weighing(places as f64).fixed_by(Fix::plain()),
    );
}

/// NC403.
fn index(x: &Examined<'_>, out: &mut Vec<Finding>) {
    for v in &x.facts.vars {
        if v.chunk.is_none() {
            continue;
        }
        let (nodes, about) = match &v.index {
            Some(i) => (i.nodes.len() as u64, ""),
            None => (v.chunks_possible() / PER_NODE, "about "),
        };
        let Some(choice) = v.choice.as_ref().filter(|_| nodes > NODES) else { continue };
        let chunks = v.chunks_of(&choice.chunks);
        if chunks.saturating_mul(2) > v.chunks_stored() {
            continue;
        }
        let message = format!(
            "the index of its {} has {about}{} nodes; with chunks of {} it would be {}",
            many(v.chunks_stored(), "chunk"),
            count(nodes),
            shape(&choice.chunks),
            many(chunks, "chunk"),
        );
        out.push(
            Finding::new(rule(RULES, "NC403"), Some(&v.path), message)
                .weighing(nodes as f64)
                .fixed_by(Fix::chunks(&v.path, &choice.chunks)),
        );
    }
}

/// NC404.
fn unlimited(x: &Examined<'_>, out: &mut Vec<Finding>) {
    let schema = x.facts.schema();
    for (i, dim) in schema.dims.iter().enumerate().filter(|(_, d)| d.unlimited) {
        let users: Vec<String> = (schema.var_ids())
            .filter(|&v| schema.var(v).dims.contains(&DimId(i)))
            .map(|v| schema.var_path(v))
            .collect();
        let message = match (users.len() as u64, dim.len) {
            (0, _) => format!("the unlimited dimension `{}` is used by no variable", dim.name),
            (n, 0) => format!(
                "the unlimited dimension `{}` has no element, so {} {} nothing",
                dim.name,
                many(n, "variable"),
                if n == 1 { "holds" } else { "hold" }
            ),
            _ => continue,
        };
        let finding = Finding::new(rule(RULES, "NC404"), None, message);
        let all: Vec<String> = schema.var_ids().map(|v| schema.var_path(v)).collect();
        out.push(match users.is_empty() && !all.is_empty() {
            true => finding.fixed_by(Fix::only(all)),
            false => finding,
        });
    }
}

/// NC405.
fn no_room(x: &Examined<'_>, out: &mut Vec<Finding>) {
    if !x.facts.schema().format.is_classic() {
        return;
    }
    let Some(header) = x.facts.dataset.container().metadata_bytes() else { return };
    let begin = x.facts.vars.iter().filter_map(|v| v.layout.runs()).map(|runs| runs.begin).min();
    let Some(begin) = begin else { return };
    let (spare, data) =
        (begin.saturating_sub(header), x.facts.dataset.container().store().len().saturating_sub(begin));
    if spare >= SPARE_BYTES || data < LITTLE {
        return;
    }
    let message = format!(
        "{} are free behind the header: one more attribute, dimension or variable moves {}",
        bytes(spare),
        bytes(data)
    );
    out.push(Finding::new(rule(RULES, "NC405"), None, message).weighing(data as f64).fixed_by(Fix::plain()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_that_are_near_come_together() {
        assert_eq!(runs(vec![]), (0, 0, 0));
        assert_eq!(runs(vec![(0, 10), (5, 10), (20, 5)]), (1, 20, 25));
        assert_eq!(runs(vec![(1 << 20, 10), (0, 10)]), (2, 20, (1 << 20) + 10));
    }
}
