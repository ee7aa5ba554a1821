//! One row for each repetition and phase, with every circumstance: for programs.

use crate::report::finished;
use crate::stats::{Summary, percentile};
use crate::workload::io::{AccessKind, IoReport, PhaseKind, SCHEMA, format_name, type_name, written};

const HEAD: &str = "schema,run_id,case,rep,phase,engine,format,access,ranks,nodes,ppn,dims,data_shape,block_shape,\
chunk_shape,dtype,codec,level,shuffle,unlimited,fill,pattern,cache_label,cache_pct,bytes_logical,bytes_stored,\
bytes_from_storage,t_open_s,t_define_s,t_io_s,t_sync_s,t_close_s,t_total_s,rate_io_MiBps,rate_total_MiBps,\
rank_t_min_s,rank_t_median_s,rank_t_max_s,lat_p50_s,lat_p99_s,cpu_s,rss_MiB,psi_cpu,psi_io,verify,flags";

const MIB: f64 = 1_048_576.0;

/// The report as CSV. Defining is part of opening (libraries do not let the two be told apart), so `t_define_s` is
/// empty; what is not known is empty too.
pub fn io_csv(report: &IoReport) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let _ = w.write_record(HEAD.split(','));
    let o = &report.options;
    let g = &report.geometry;
    for p in &report.phases {
        let case = &report.cases[p.case];
        let maybe = |v: Option<f64>| v.map_or_else(String::new, |v| format!("{v:.9}"));
        let whole = |v: Option<u64>| v.map_or_else(String::new, |v| v.to_string());
        let chunks = case.audit.as_ref().and_then(|a| a.chunks.clone()).or_else(|| case.chunks.clone());
        let times: Vec<f64> =
            p.ranks.iter().map(|r| r.open.seconds() + r.io_seconds() + r.close.seconds()).collect();
        let ranks = Summary::of(&times);
        let mut calls: Vec<f64> = p.ranks.iter().flat_map(|r| &r.calls).map(|&s| f64::from(s)).collect();
        calls.sort_by(f64::total_cmp);
        let mut flags: Vec<&str> = Vec::new();
        flags.extend(p.disturbed.then_some("disturbed"));
        flags.extend(
            (p.kind == PhaseKind::Read && p.cache.label.ends_with("unverified")).then_some("cache-unproven"),
        );
        let cells = vec![
            SCHEMA.to_string(),
            report.time.to_string(),
            case.name.clone(),
            p.repetition.to_string(),
            p.kind.name().to_owned(),
            format!("{} {}", case.driver, case.version),
            format_name::of(o.format).to_owned(),
            match case.ask.access {
                AccessKind::Independent => "ind",
                AccessKind::Collective => "coll",
                AccessKind::File => "file",
            }
            .to_owned(),
            g.ranks().to_string(),
            g.nodes.to_string(),
            g.ppn.to_string(),
            g.names.join(":"),
            written(&g.data),
            written(&g.block),
            chunks.map_or_else(String::new, |c| written(&c)),
            type_name::of(o.dtype).to_owned(),
            if case.ask.deflate > 0 { "deflate" } else { "none" }.to_owned(),
            case.ask.deflate.to_string(),
            u8::from(case.ask.shuffle).to_string(),
            u8::from(o.unlimited).to_string(),
            u8::from(o.fill).to_string(),
            "blocks".to_owned(),
            p.cache.label.clone(),
            p.cache.percent.map_or_else(String::new, |v| format!("{v:.2}")),
            p.bytes.to_string(),
            p.stored.to_string(),
            whole(p.from_storage),
            maybe(Some(p.open)),
            String::new(),
            maybe(Some(p.io)),
            maybe(p.sync),
            maybe(Some(p.close)),
            maybe(Some(p.total())),
            format!("{:.3}", p.rate_io() / MIB),
            format!("{:.3}", p.rate_total() / MIB),
            maybe(ranks.map(|s| s.min)),
            maybe(ranks.map(|s| s.median)),
            maybe(ranks.map(|s| s.max)),
            maybe(percentile(&calls, 0.5)),
            maybe(percentile(&calls, 0.99)),
            maybe(Some(p.ranks.iter().map(|r| r.cpu).sum())),
            format!("{:.1}", p.ranks.iter().map(|r| r.peak_memory).max().unwrap_or(0) as f64 / MIB),
            maybe(p.noise.psi_cpu),
            maybe(p.noise.psi_io),
            match &p.verdict {
                None => "",
                Some(v) if v.wrong == 0 => "ok",
                Some(_) => "wrong",
            }
            .to_owned(),
            flags.join("+"),
        ];
        let _ = w.write_record(&cells);
    }
    finished(w)
}
