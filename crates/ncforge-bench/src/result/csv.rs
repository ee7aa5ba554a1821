//! One row for each repetition and phase, with every circumstance: for programs.

use std::collections::BTreeSet;

use super::{Measurement, Results, Row, SCHEMA};

/// The names of the columns, with units.
pub const CSV_HEAD: &str = "schema,run_id,case,rep,phase,engine,format,access,ranks,nodes,ppn,dims,data_shape,block_shape,\
chunk_shape,dtype,codec,level,shuffle,unlimited,fill,pattern,cache_label,cache_pct,bytes_logical,bytes_stored,\
bytes_from_storage,t_open_s,t_define_s,t_io_s,t_sync_s,t_close_s,t_total_s,rate_io_MiBps,rate_total_MiBps,\
rank_t_min_s,rank_t_median_s,rank_t_max_s,lat_p50_s,lat_p99_s,cpu_s,rss_MiB,psi_cpu,psi_io,verify,flags,quantize,endian,ratio,rate_stored_MiBps,\
cpu_user_s,cpu_system_s,switches_waited,switches_forced,faults_memory,faults_storage,t_first_call_s,chunk_cache,\
calls_read,bytes_read,calls_written,bytes_written,bytes_to_storage";

const MIB: f64 = 1_048_576.0;

/// Everything as CSV. Defining is part of opening, and `t_define_s` of `t_open_s`; what is not known, or means nothing for a workload, is empty.
/// Facts of rows that have no column in [`CSV_HEAD`] have columns behind it, in the order of their names.
pub fn results_csv(results: &Results) -> String {
    let head: Vec<&str> = CSV_HEAD.split(',').collect();
    let rows = || results.sections.iter().flat_map(|s| s.rows.iter().map(move |r| (s, r)));
    let facts: BTreeSet<&str> = rows().flat_map(|(_, r)| r.facts.keys()).map(String::as_str).collect();
    let columns = || head.iter().copied().chain(facts.iter().copied().filter(|f| !head.contains(f)));
    let mut w = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and only text goes in.
    let _ = w.write_record(columns());
    for (section, row) in rows() {
        for m in &row.measurements {
            let _ = w.write_record(columns().map(|name| cell(name, results, &section.workload, row, m)));
        }
    }
    w.into_inner().map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
}

fn cell(name: &str, results: &Results, workload: &str, row: &Row, m: &Measurement) -> String {
    let seconds = |v: Option<f64>| v.map_or_else(String::new, |v| format!("{v:.9}"));
    let whole = |v: Option<u64>| v.map_or_else(String::new, |v| v.to_string());
    // The sum of those that are known; nothing where none is.
    let split = |names: &[&str]| {
        m.split.iter().filter(|s| names.contains(&s.0.as_str())).map(|s| s.1).reduce(|a, b| a + b)
    };
    let total = m.total();
    let bytes = row.bytes;
    let rate = |s: f64| {
        if bytes > 0 { format!("{:.3}", bytes as f64 / s.max(1e-12) / MIB) } else { String::new() }
    };
    match name {
        "schema" => SCHEMA.to_string(),
        "run_id" => results.time.to_string(),
        "case" => row.case.clone(),
        "rep" => m.rep.to_string(),
        "phase" => row.phase.clone(),
        "engine" => format!("{} {}", row.engine, row.version).trim_end().to_owned(),
        "cache_label" => m.cache.as_ref().map_or_else(String::new, |c| c.label.clone()),
        "cache_pct" => {
            m.cache.as_ref().and_then(|c| c.percent).map_or_else(String::new, |v| format!("{v:.2}"))
        }
        "bytes_logical" => bytes.to_string(),
        "bytes_stored" => whole(m.stored.or(row.stored)),
        "bytes_from_storage" => whole(m.from_storage),
        "t_open_s" => seconds(m.open),
        "t_define_s" => seconds(split(&["define", "enddef"])),
        "t_first_call_s" => seconds(split(&["first_call"])),
        "cpu_user_s" => seconds(m.used.map(|u| u.user)),
        "cpu_system_s" => seconds(m.used.map(|u| u.system)),
        "switches_waited" => whole(m.used.map(|u| u.waited)),
        "switches_forced" => whole(m.used.map(|u| u.forced)),
        "faults_memory" => whole(m.used.map(|u| u.faults)),
        "faults_storage" => whole(m.used.map(|u| u.fetched)),
        "calls_read" => whole(m.used.map(|u| u.read_calls)),
        "bytes_read" => whole(m.used.map(|u| u.read_bytes)),
        "calls_written" => whole(m.used.map(|u| u.write_calls)),
        "bytes_written" => whole(m.used.map(|u| u.write_bytes)),
        "bytes_to_storage" => whole(m.used.map(|u| u.to_storage)),
        "t_io_s" => seconds(Some(m.seconds)),
        "t_sync_s" => seconds(m.sync),
        "t_close_s" => seconds(m.close),
        "t_total_s" => seconds(Some(total)),
        "rate_io_MiBps" => rate(m.seconds),
        "rate_total_MiBps" => rate(total),
        "rate_stored_MiBps" => match m.stored.filter(|_| row.facts.contains_key("ratio")) {
            Some(stored) => format!("{:.3}", stored as f64 / total.max(1e-12) / MIB),
            None => String::new(),
        },
        "rank_t_min_s" => seconds(m.ranks.map(|r| r.0)),
        "rank_t_median_s" => seconds(m.ranks.map(|r| r.1)),
        "rank_t_max_s" => seconds(m.ranks.map(|r| r.2)),
        "lat_p50_s" => seconds(m.calls.map(|c| c.0)),
        "lat_p99_s" => seconds(m.calls.map(|c| c.1)),
        "cpu_s" => seconds(m.cpu),
        "rss_MiB" => m.memory.map_or_else(String::new, |b| format!("{:.1}", b as f64 / MIB)),
        "psi_cpu" => seconds(m.noise.psi_cpu),
        "psi_io" => seconds(m.noise.psi_io),
        "verify" => match m.right {
            None => "",
            Some(true) => "ok",
            Some(false) => "wrong",
        }
        .to_owned(),
        "flags" => flags(row, m).join("+"),
        "pattern" => row.facts.get(name).cloned().unwrap_or_else(|| workload.to_owned()),
        other => row.facts.get(other).cloned().unwrap_or_default(),
    }
}

fn flags(row: &Row, m: &Measurement) -> Vec<&'static str> {
    let mut flags = Vec::new();
    flags.extend(m.disturbed.then_some("disturbed"));
    let unproven = row.phase == "read" && m.cache.as_ref().is_some_and(|c| c.label.ends_with("unverified"));
    flags.extend(unproven.then_some("cache-unproven"));
    flags
}
