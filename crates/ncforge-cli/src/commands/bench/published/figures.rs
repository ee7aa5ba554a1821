//! The published figures, and the rows that they belong to.

use ncforge_bench::result::{PublishedFigure, Row, Section};
use ncforge_bench::stats::distinct;

use super::steps::Step;

/// Reads of `unidata-2013`: chunk lengths (0: a classic file), megabytes of cache, microseconds of a slab and of a series.
const AR5: &str = include_str!("ar5.csv");

/// Bytes of the cache that was too small.
const SMALL: &str = "1048576";

/// Sets the published figures of a step next to those of its rows, and says in words how ours stand.
pub(super) fn publish(step: &Step, section: &mut Section) {
    let detail = section.detail.clone();
    let find = |row: &Row| match step.name {
        "chunks" => slab_or_series(row),
        "cliff" => cliff(row),
        "convert" => converted(row),
        "combine" => combined(row),
        "io" | "ranks" => blocks(row),
        _ if section.workload == "records-station" => station(row),
        _ => network(row, &detail["options"]),
    };
    let figures: Vec<Option<PublishedFigure>> = section.rows.iter().map(find).collect();
    for (row, figure) in section.rows.iter_mut().zip(figures) {
        row.published = figure;
    }
    let mut words = Vec::new();
    if step.name == "cliff" {
        words.extend(cliffs(section));
    }
    if step.name == "records" {
        words.extend(sizes(section));
    }
    words.extend(summary(section));
    words.append(&mut section.words);
    section.words = words;
}

/// The gain over published figures, from the row where it is least to the row where it is most, for ncforge.
fn summary(section: &Section) -> Option<String> {
    let own = |r: &&Row| r.engine == "ncforge" || r.facts.get("engine").is_some_and(|e| e == "ncforge");
    let mut ratios: Vec<(f64, &Row)> =
        section.rows.iter().filter(own).filter_map(|r| Some((r.published.as_ref()?.ratio(), r))).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (ratios.first()?, ratios.last()?);
    let times = |r: f64| if r < 10.0 { format!("{r:.1}") } else { format!("{r:.0}") };
    Some(format!(
        "ncforge here against the published figures: {} to {} times as good in {} ({}, {}; {}, {})",
        times(least.0),
        times(most.0),
        if ratios.len() == 1 { "one row".to_owned() } else { format!("{} rows", ratios.len()) },
        least.1.case,
        least.1.label(),
        most.1.case,
        most.1.label()
    ))
}

fn fact<'r>(row: &'r Row, name: &str) -> &'r str {
    row.facts.get(name).map_or("", String::as_str)
}

fn median(row: &Row) -> Option<f64> {
    row.summary().map(|s| s.median)
}

/// A figure: of seconds fewer are better, of all else more.
fn figure(source: String, value: f64, ours: f64, unit: &str) -> PublishedFigure {
    PublishedFigure { source, value, ours, unit: unit.to_owned(), more_is_better: !unit.starts_with("s") }
}

fn seconds(row: &Row, source: &str, value: f64) -> Option<PublishedFigure> {
    let ours = median(row)?;
    Some(figure(source.to_owned(), value, ours, "s"))
}

/// `unidata-2013`: a slab or a series from a chunk shape, with a cache.
fn slab_or_series(row: &Row) -> Option<PublishedFigure> {
    let shape = fact(row, "chunk_shape");
    let cache = fact(row, "chunk_cache_bytes").parse::<u64>().ok()? >> 20;
    let line = AR5.lines().skip(1).find_map(|line| {
        let f: Vec<&str> = line.split(',').collect();
        let same = match shape {
            "classic" => f[..4] == ["0"; 4],
            _ => f[..3].join(":") == shape && f[3] == cache.to_string(),
        };
        same.then_some(f)
    })?;
    let us: f64 = line[if row.phase == "series" { 5 } else { 4 }].parse().ok()?;
    seconds(row, "Unidata, AR-5 sweeps, netCDF-4.1", us * 1e-6)
}

/// `unidata-2013`, its first table: a slab from chunks of 33 MB, deflated, by the cache. (A series of the first run, which loads
/// the cache, was published too; it is as slow everywhere.)
fn cliff(row: &Row) -> Option<PublishedFigure> {
    if row.phase != "slab" || fact(row, "chunk_shape") == "classic" {
        return None;
    }
    let (us, which) = match fact(row, "chunk_cache") {
        "default" => (3568.0, "cache grown when opening (4.1)"),
        _ if fact(row, "chunk_cache_bytes") == SMALL => (850_607.0, "default cache of 1 MB (4.0)"),
        _ => (3562.0, "cache of 65 MB"),
    };
    seconds(row, &format!("Unidata, {which}"), us * 1e-6)
}

/// The slowdown of every library by the small cache; published: 239 times.
fn cliffs(section: &Section) -> Vec<String> {
    let slab = |who: &(&str, &str), fits: &dyn Fn(&str) -> bool| {
        let own = |r: &&Row| r.phase == "slab" && (r.engine.as_str(), r.version.as_str()) == *who;
        let chunked = section.rows.iter().filter(own).filter(|r| fact(r, "chunk_shape") != "classic");
        chunked.filter(|r| fits(fact(r, "chunk_cache_bytes"))).find_map(median)
    };
    let engines = distinct(section.rows.iter().map(|r| (r.engine.as_str(), r.version.as_str())));
    let sentence = |who: &(&str, &str)| {
        let small = slab(who, &|bytes| bytes == SMALL)?;
        let large = slab(who, &|bytes| !bytes.is_empty() && bytes != SMALL)?;
        let unasked = slab(who, &str::is_empty)?;
        let time = ncforge_bench::report::seconds;
        Some(format!(
            "{} {}: with 1 MB for decoded chunks, too little for one of 33.5 MB, a slab takes {:.0} times as long as with 65 MB ({} and {}; published: 239 times); with what it takes unasked, {}",
            who.0,
            who.1,
            small / large.max(1e-12),
            time(small),
            time(large),
            time(unasked)
        ))
    };
    engines.iter().filter_map(sentence).collect()
}

/// `cray-1993`: 10 million floats on a Cray Y-MP, in millions of floats a second.
fn converted(row: &Row) -> Option<PublishedFigure> {
    let floats = fact(row, "floats").parse::<f64>().ok().filter(|&n| n >= 10e6)?;
    let (value, which) = match fact(row, "format") {
        "raw" => (1.4, "raw, 64-bit words"),
        "stream" => (0.14, "xdr_vector to a stream"),
        "memory" => (0.16, "xdr_vector to memory, then raw"),
        _ => (1.3, "CRAY2IEG, then raw"),
    };
    let ours = floats / median(row)?.max(1e-12) / 1e6;
    Some(figure(format!("Cray Y-MP, 1993: {which}"), value, ours, "Mfloats/s"))
}

/// `nocscombine`: 731 MB of output in 343.563 s by netCDF 3.6.2, the same values deflated in 85.188 s by 4.0. Their amount of values is not
/// ours, so rates are compared.
fn combined(row: &Row) -> Option<PublishedFigure> {
    let (time, which) = match row.phase.as_str() {
        "plain" => (343.563, "netCDF 3.6.2, classic"),
        "deflate" | "recode" => (85.188, "netCDF 4.0-release, deflated"),
        "inflate" => (323.539, "netCDF 4.0-release, classic"),
        _ => return None,
    };
    (row.engine != "cat" && row.case != "cat").then_some(())?;
    Some(figure(format!("nocscombine on HECToR, table 9: {which}"), 731.0 / time, row.rate()? / 1e6, "MB/s"))
}

/// `netcdf-bench`: the example output of NetCDF-Bench, one rank, 40 MB.
fn blocks(row: &Row) -> Option<PublishedFigure> {
    let same =
        row.phase == "write" && fact(row, "ranks") == "1" && fact(row, "data_shape") == "100:100:100:10";
    if !same {
        return None;
    }
    Some(figure(
        "NetCDF-Bench's example output, one rank, calls alone".to_owned(),
        200.617_363_815_2,
        row.rate()? / 1_048_576.0,
        "MiB/s",
    ))
}

/// `compressed-netcdf`, the one file: user and system seconds for 1,000 records at random, and in sequence.
fn station(row: &Row) -> Option<PublishedFigure> {
    let (which, random, sequential) = match (fact(row, "format"), fact(row, "block")) {
        ("classic", _) => ("uncompressed", 0.380 + 0.276, 0.336 + 0.037),
        ("zipped", "4096") => ("blocks of 4k", 1.303 + 0.351, 0.407 + 0.038),
        ("zipped", "8192") => ("blocks of 8k", 1.933 + 0.171, 0.382 + 0.034),
        ("zipped", "16384") => ("blocks of 16k", 3.079 + 0.157, 0.407 + 0.035),
        ("zipped", "32768") => ("blocks of 32k", 5.261 + 0.227, 0.393 + 0.045),
        _ => return None,
    };
    let value = match row.phase.as_str() {
        "random" => random,
        "sequential" => sequential,
        _ => return None,
    };
    seconds(row, &format!("compressed netCDF, {which}, user + system"), value)
}

/// `compressed-netcdf`, the network of 622 stations: elapsed seconds for each station, of which not as many need to be here.
fn network(row: &Row, options: &serde_json::Value) -> Option<PublishedFigure> {
    let which = match fact(row, "format") {
        "classic" => 0,
        "zipped" => 1,
        _ => return None,
    };
    let clock = |h: f64, m: f64, s: f64| h * 3600.0 + m * 60.0 + s;
    let (value, of) = match row.phase.as_str() {
        "create empty" => ([14.77, 20.94], "stations"),
        "fill" => ([clock(1.0, 10.0, 59.72), clock(1.0, 16.0, 38.89)], "stations"),
        "update" => ([clock(0.0, 13.0, 0.43), clock(0.0, 15.0, 7.76)], "stations"),
        "read" => ([17.12, 15.99], "read"),
        _ => return None,
    };
    let theirs = if of == "read" { 5.0 } else { 622.0 };
    let ours = options[of].as_f64().filter(|&n| n > 0.0)?;
    let form = ["uncompressed", "compressed"][which];
    Some(figure(
        format!("co-operative stations of New York, {form}"),
        value[which] / theirs,
        median(row)? / ours,
        "s a station",
    ))
}

/// `compressed-netcdf`: how much smaller compressed files are.
fn sizes(section: &Section) -> Option<String> {
    let stored = |format: &str| {
        section.rows.iter().filter(|r| fact(r, "format") == format).filter_map(|r| r.stored).min()
    };
    let (plain, zipped) = (stored("classic")?, stored("zipped")?);
    let ours = plain as f64 / zipped.max(1) as f64;
    Some(if section.workload == "records-station" {
        format!(
            "zipped files are {ours:.2} times smaller than plain classic ones, at the best; published: {:.2} times with blocks of 4k, {:.2} with 32k (other data)",
            2_869_468.0 / 301_813.0,
            2_869_468.0 / 237_229.0
        )
    } else {
        format!(
            "zipped files are {ours:.2} times smaller than plain classic ones, at the best; published: {:.2} times (236,963 and 31,063 kB; other data)",
            236_963.0 / 31_063.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge_bench::result::Measurement;

    fn row(case: &str, phase: &str, facts: &[(&str, &str)], seconds: f64, bytes: u64) -> Row {
        let mut row = Row::new(case, phase, bytes);
        row.measurements = vec![Measurement::of(seconds)];
        facts.iter().fold(row, |r, (n, v)| r.with(n, v))
    }

    #[test]
    fn figures_belong_to_the_rows_that_they_belong_to() {
        let facts = [("chunk_shape", "256:64:256"), ("chunk_cache_bytes", "33554432"), ("engine", "ncforge")];
        let f = slab_or_series(&row("x", "slab", &facts, 69.5e-6, 0)).unwrap();
        assert!((f.value - 139e-6).abs() < 1e-12 && (f.ratio() - 2.0).abs() < 1e-9, "{f:?}");
        let f = slab_or_series(&row("x", "series", &facts, 0.035_278, 0)).unwrap();
        assert!((f.ratio() - 1.0).abs() < 1e-9);
        let classic = [("chunk_shape", "classic"), ("chunk_cache_bytes", "1048576")];
        let f = slab_or_series(&row("x", "slab", &classic, 1.0, 0)).unwrap();
        assert!((f.value - 240e-6).abs() < 1e-12);

        let small = [("chunk_shape", "256:128:256"), ("chunk_cache_bytes", SMALL)];
        let slow = row("netCDF-C", "slab", &small, 0.1, 0);
        assert!((cliff(&slow).unwrap().ratio() - 8.506_07).abs() < 1e-6);
        assert!(cliff(&row("x", "slab", &classic, 0.1, 0)).is_none());
        let others = [("68000000", 0.001), ("", 0.002)].map(|(bytes, s)| {
            row("netCDF-C", "slab", &[("chunk_shape", "256:128:256"), ("chunk_cache_bytes", bytes)], s, 0)
        });
        let rows = std::iter::once(slow).chain(others).collect();
        let words = cliffs(&Section { rows, ..Section::default() });
        assert!(
            words.len() == 1 && words[0].contains("takes 100 times") && words[0].contains("2.00 ms"),
            "{words:?}"
        );

        let f = converted(&row("stream", "write", &[("floats", "10000000"), ("format", "stream")], 1.0, 0));
        assert_eq!(f.map(|f| (f.value, f.ours)), Some((0.14, 10.0)));
        let f = combined(&row("ncforge", "plain", &[], 1.0, 731_000_000)).unwrap();
        assert!((f.ratio() - 343.563).abs() < 1e-6);
        let same = [("ranks", "1"), ("data_shape", "100:100:100:10")];
        assert!(blocks(&row("ncforge", "write", &same, 0.02, 40_000_000)).is_some());
        assert!(blocks(&row("ncforge", "read", &same, 0.02, 40_000_000)).is_none());
        let f = station(&row("x", "random", &[("format", "zipped"), ("block", "16384")], 0.1, 0)).unwrap();
        assert!((f.value - 3.236).abs() < 1e-9);
        let options = serde_json::json!({"stations": 10, "read": 5});
        let f = network(&row("x", "fill", &[("format", "classic")], 1.0, 0), &options).unwrap();
        assert!((f.ours - 0.1).abs() < 1e-9 && (f.value - 4259.72 / 622.0).abs() < 1e-9);
    }

    #[test]
    fn all_published_chunk_shapes_are_there() {
        assert_eq!(AR5.lines().count(), 1 + 46 + 135);
        assert!(AR5.lines().skip(1).all(|l| l.split(',').filter(|n| n.parse::<u64>().is_ok()).count() == 6));
    }
}
