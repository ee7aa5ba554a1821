//! Examination of files: slow storage, the readers who suffer, by how much, why, and the command that fixes it.
//!
//! A linter for storage: every finding belongs to a [`Rule`] with a code, and carries figures and, where a copy can
//! help, that copy ([`Fix`]).
//!
//! | family | about |
//! |---|---|
//! | NC1 `shapes` | how chunks are cut, and what reads of them cost |
//! | NC2 `caches` | chunks and the caches of other readers |
//! | NC3 `codecs` | filters and bytes |
//! | NC4 `places` | where things lie in the file |
//! | NC5 `across` | what must agree between files |
//! | NC6 `attributes` | attributes that programs misunderstand |
//! | NC7 `cmip7` | the layout that CMIP7 asks for |
//! | NC8 `virtual_stores` | references to chunks |
//!
//! Only metadata is read, chunk indexes among them, and a few chunks: never more than 128 MiB of a file.
//!
//! ```
//! use ncforge::Engine;
//! use ncforge_ops::doctor::{DoctorOptions, examine, fold};
//! # use ncforge::{Dimension, DatasetMut, CreateOptions, Format, Hyperslab, Schema, Variable};
//! # use ncforge::model::{Atomic, DimId, Storage};
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("maps.nc");
//! # let mut schema = Schema::new(Format::Netcdf4);
//! # for (name, len, unlimited) in [("time", 400, true), ("lat", 40, false), ("lon", 80, false)] {
//! #     schema.dims.push(Dimension::new(name, len, unlimited));
//! # }
//! # let mut v = Variable::new("t2m", Atomic::Float, (0..3).map(DimId).collect());
//! # let filters = vec![ncforge::codec::filters::shuffle(4), ncforge::codec::filters::deflate(1)];
//! # v.storage = Storage::Chunked { chunks: vec![1, 40, 80], filters };
//! # schema.vars.push(v);
//! # let id = schema.find_var("t2m").unwrap();
//! # let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
//! # let values: Vec<u8> = (0..400 * 3200u32).flat_map(|i| ((i % 977) as f32).to_ne_bytes()).collect();
//! # new.write_bytes(id, &Hyperslab::all(&[400, 40, 80]), &values)?;
//! # new.close()?;
//! // A file of daily maps, each a chunk.
//! let report = examine(&path, &DoctorOptions::default(), &Engine::global())?;
//! let slow = report.findings.iter().find(|f| f.rule.code == "NC101").unwrap();
//! assert!(slow.message.starts_with("time is chunked by 1: a point series decodes 400 chunks, 4.88 MiB, to deliver"));
//! assert!(slow.fix.as_ref().unwrap().options()["chunks"].as_str().unwrap().starts_with("t2m:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod across;
mod advice;
mod after_fix;
mod anatomy;
mod attributes;
mod caches;
mod cmip7;
mod codecs;
mod described;
mod facts;
mod finding;
mod fix;
mod places;
mod report;
mod request;
mod rule;
mod rules;
mod sample;
mod saved;
mod shapes;
mod text;
mod virtual_stores;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::choosing::check_dimensions;
use ncforge::raw::{Remark, remarks};
use ncforge::store::remote::shown_path;
use ncforge::store::zipped::ZippedStore;
use ncforge::store::{self, RecordedStore};
use ncforge::{Dataset, Engine, Result};
use ncforge_tune::words::{bytes, many};
use ncforge_tune::{Access, Machine};

use self::described::Described;
use self::facts::Facts;

pub use crate::profile::Profile;
pub use anatomy::{Anatomy, Read, Run, StoredChunk, Use, VariableAnatomy, anatomy};
pub use finding::{Finding, Folded, Group, fold};
pub use fix::{Commands, Fix, Repair};
pub use ncforge_tune::{CacheAdvice, Slower};
pub use report::json;
pub use request::DoctorRequest;
pub use rule::{Rule, Severity, When};
pub use rules::{Codes, rules};
pub use text::{Style, text, text_across, text_rules};

/// The default cache of another reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReaderCache {
    /// The reader: `netCDF-C 4.9.0`.
    pub name: String,
    /// Bytes for each variable.
    pub size: u64,
    /// Slots of its table.
    pub slots: u64,
    /// Preemption.
    pub preemption: f64,
}

impl ReaderCache {
    /// The cache in words.
    fn says(&self) -> String {
        format!(
            "{} holds {} of decoded chunks for each variable, {} at most",
            self.name,
            bytes(self.size),
            many(self.slots, "chunk"),
        )
    }
}

impl Default for ReaderCache {
    /// The cache of netCDF-C since 4.9.3.
    fn default() -> Self {
        ReaderCache { name: "netCDF-C 4.9.3 and later".into(), size: 64 << 20, slots: 1000, preemption: 0.75 }
    }
}

/// The subjects of an examination, and its readers.
#[derive(Clone, Debug)]
pub struct DoctorOptions {
    /// The reads of the file.
    pub accesses: Vec<Access>,
    /// The machine that reads.
    pub machine: Machine,
    /// Only these rules; empty: all.
    pub select: Codes,
    /// Not these.
    pub ignore: Codes,
    /// Check the requirements of a profile, and nothing else.
    pub profile: Option<Profile>,
    /// The other reader's cache that chunks are held against.
    pub cache: ReaderCache,
    /// Whether to look at values.
    pub sample: bool,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        DoctorOptions {
            accesses: Access::usual(),
            machine: Machine::default(),
            select: Codes::default(),
            ignore: Codes::default(),
            profile: None,
            cache: ReaderCache::default(),
            sample: true,
        }
    }
}

impl DoctorOptions {
    fn wants(&self, rule: &Rule) -> bool {
        (self.select.is_empty() || self.select.has(rule)) && !self.ignore.has(rule)
    }
}

/// The report on a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub file: String,
    /// Its format, as `ncdump -k` calls it.
    pub format: String,
    /// The findings, in the order of the rules' codes.
    pub findings: Vec<Finding>,
    /// Under a profile: whether the file meets it.
    pub passes: Option<bool>,
    /// The cache that chunks were held against.
    pub cache: ReaderCache,
    /// Variables that were looked at.
    pub variables: usize,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Notes for the user on the examination.
    pub notes: Vec<String>,
}

impl Report {
    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|f| f.severity).max()
    }

    /// One copy that fixes all findings; `None` where no copy fixes any.
    pub fn fix(&self) -> Option<Fix> {
        let mut fixes = self.findings.iter().filter_map(|f| f.fix.as_ref());
        let mut all = fixes.next()?.clone();
        fixes.for_each(|fix| all.and(fix));
        Some(all)
    }
}

/// The input of the rules.
struct Examined<'a> {
    facts: &'a Facts,
    cache: &'a ReaderCache,
    machine: &'a Machine,
}

/// Looks at one file.
///
/// # Errors
/// As opening; [`Error::NotFound`](ncforge::Error::NotFound) for a dimension that the reads name and the file does not have. A variable whose layout or index is damaged is reported in [`Report::notes`].
pub fn examine(path: &Path, options: &DoctorOptions, engine: &Engine) -> Result<Report> {
    let facts = gather(path, options, engine)?;
    Ok(report(facts, options).0)
}

/// Looks at several files, and at what must agree between them. The reports come in the order of the files, each
/// with the error of the file if it could not be read; the findings are about all of them.
pub fn examine_across<P: AsRef<Path>>(
    paths: &[P],
    options: &DoctorOptions,
    engine: &Engine,
) -> (Vec<Result<Report>>, Vec<Finding>) {
    let mut all = Vec::new();
    let mut reports = Vec::new();
    for path in paths {
        match gather(path.as_ref(), options, engine) {
            Ok(facts) => {
                let (report, facts) = report(facts, options);
                reports.push(Ok(report));
                // Facts for comparisons are kept, and the file closed: there may be more files than may be open.
                all.push(Described::of(&facts, all.last()));
            }
            Err(e) => reports.push(Err(e)),
        }
    }
    let mut findings = Vec::new();
    across::check(&all, &mut findings);
    if options.profile == Some(Profile::Virtual) {
        virtual_stores::check_across(&all, &mut findings);
    }
    findings.retain(|f| options.wants(f.rule));
    (reports, findings)
}

fn gather(path: &Path, options: &DoctorOptions, engine: &Engine) -> Result<Facts> {
    let watched = Arc::new(RecordedStore::new(store::open(path)?));
    let dataset = Dataset::from_store(watched.clone(), engine)?;
    let zipped = ZippedStore::of(&**dataset.container().store()).is_some();
    check_dimensions(&options.accesses, dataset.schema(), &shown_path(path))?;
    let mut facts = Facts::gather(dataset, watched, zipped);
    if path.to_str().is_none() {
        let word = path.as_os_str().as_bytes().escape_ascii();
        facts.notes.push(format!("the name, which is not UTF-8, is $'{word}' in commands"));
    }
    // Values matter to these families only.
    let mut telling = [shapes::RULES, caches::RULES, codecs::RULES].into_iter().flatten();
    if options.sample && options.profile.is_none() && telling.any(|r| options.wants(r)) {
        sample::sample(&mut facts)?;
    }
    advice::choose(&mut facts, options);
    Ok(facts)
}

fn report(facts: Facts, options: &DoctorOptions) -> (Report, Facts) {
    let x = Examined { facts: &facts, cache: &options.cache, machine: &options.machine };
    let mut findings = Vec::new();
    match options.profile {
        Some(Profile::Cmip7) => cmip7::check(&x, &mut findings),
        Some(Profile::Virtual) => virtual_stores::check(&x, &mut findings),
        None => {
            shapes::check(&x, &mut findings);
            caches::check(&x, &mut findings);
            codecs::check(&x, &mut findings);
            places::check(&x, &mut findings);
        }
    }
    attributes::check(&x, &mut findings);
    findings.retain(|f| options.wants(f.rule));
    if options.profile.is_none() {
        after_fix::weigh(&x, options, &mut findings);
    }
    findings.sort_by_key(|f| f.rule.code);
    let mut notes = facts.notes.clone();
    notes.extend(remarks(facts.dataset.container()).iter().filter(|r| r.is_absence()).map(Remark::to_string));
    notes.extend(
        facts.dataset.schema().skipped.iter().map(|s| format!("`{}` was left out: {}", s.path, s.why)),
    );
    let report = Report {
        file: shown_path(facts.dataset.path()),
        format: facts.schema().format.kind().to_owned(),
        passes: options.profile.map(|_| findings.is_empty()),
        findings,
        cache: options.cache.clone(),
        variables: facts.vars.len(),
        bytes_read: facts.watched.bytes_read(),
        notes,
    };
    (report, facts)
}
