//! The workload `io`: an array is written to a file, and read from it, in blocks, by one rank or many.
//!
//! It replaces NetCDF-Bench: its options mean the same here ([`IoOptions`]), with other drivers besides netCDF-C, any
//! geometry, values that show every slip, caches in a known state, repetitions in turn, and rates of the whole job: bytes
//! moved, divided by the time from the first rank's start to the last rank's end.
//!
//! ```
//! use ncforge_bench::team::Alone;
//! use ncforge_bench::workload::io::{CaseAsk, GeometryRequest, IoOptions, run};
//!
//! let dir = tempfile::tempdir()?;
//! let mut options = IoOptions::new(dir.path().join("t.nc"));
//! options.geometry = GeometryRequest { data: "4:10:20:5".parse().ok(), ..GeometryRequest::default() };
//! options.read = true;
//! let report = run(&Alone, &options, None)?;
//! assert_eq!(report.cases.len(), 1);
//! assert!(report.phases.iter().all(|p| p.verdict.as_ref().is_none_or(|v| v.wrong == 0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit;
mod buffer;
mod data;
mod files;
mod geometry;
mod kinds;
mod lengths;
mod names;
mod options;
mod phase;
mod places;
mod plan;
mod prepare;
mod recording;
mod resolving;
mod result;
mod run;
mod sample;

pub use audit::Audit;
pub use data::{Content, Mismatch, Verdict};
pub use geometry::Geometry;
pub use kinds::{StoredAs, type_named, type_names};
pub use lengths::{Lengths, written};
pub use options::{AccessKind, CacheAsk, CaseAsk, ChunkChoice, DriverAsk, IoOptions};
pub use plan::{Plan, plan};
pub(crate) use prepare::free_space;
pub use resolving::GeometryRequest;
pub use result::{CaseResult, IoReport, PhaseKind, PhaseResult, RankPhase, Span};
pub use run::run;
pub use sample::sample_type;
