//! Copies a dataset into any format, chunk shape and compression, in bounded memory.
//!
//! The output says what the source says: groups, dimensions, types, variables, attributes and values, in the
//! same order. Only the storage changes, and (if asked for) one line in front of `history`.
//!
//! Guarantees:
//! * the memory budget holds whatever the size of the source, and however source and output are cut: see
//!   [`plan`];
//! * the output appears under its name only when it is whole and durable. Until then it lies in the same folder as
//!   `.NAME.ncforge-partial`, with a journal `.NAME.ncforge-journal` from which an interrupted copy can
//!   [resume](CopyOptions::resume);
//! * source and output may be the same file (if it may be overwritten);
//! * the bytes of the output do not depend on the number of threads, nor on interruptions.
//!
//! ```no_run
//! use std::path::Path;
//! use ncforge::{Format, Engine};
//! use ncforge_ops::copy::{Chunks, Codec, CopyOptions, copy};
//! use ncforge_ops::progress::Silent;
//!
//! let options = CopyOptions {
//!     format: Some(Format::Netcdf4),
//!     chunks: Chunks::Auto,
//!     codec: Codec::Deflate,
//!     verify: true,
//!     ..CopyOptions::default()
//! };
//! let report = copy(Path::new("in.nc"), Path::new("out.nc"), &options, &Engine::global(), &Silent)?;
//! println!("{} -> {} bytes", report.input_bytes, report.output_bytes);
//! # Ok::<(), ncforge::Error>(())
//! ```

pub(crate) mod cf;
mod coded;
mod complete;
mod elsewhere;
mod engine;
mod fitted;
mod hidden;
mod history;
pub(crate) mod identity;
mod journal;
mod lasting;
mod numbering;
mod options;
mod output;
mod parts;
mod plan;
mod planned;
mod quantized;
mod reads;
mod request;
mod run;
mod schema;
mod spec;
mod spill;
mod storage;
mod targets;
#[cfg(test)]
mod tests;
mod upload;
mod verify;

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::digest;
use crate::points;
use crate::progress::Progress;
use ncforge::model::Dimension;
use ncforge::store::{OutputFile, OutputOptions, ReadStore, remote};
use ncforge::{Dataset, Engine, Error, Result, Stale};

pub use ncforge::store::partial_path;

use self::identity::{Identity, hash_of};
use self::journal::{Header, Journal, Step, VERSION};
use self::planned::Memory;
use self::storage::Chosen;

pub use cf::with_companions;
pub use elsewhere::{Elsewhere, EncodedChunks, Encoder, GroupId};
pub(crate) use engine::engine_below;
pub(crate) use hidden::hidden;
pub use history::history_line;
pub(crate) use lasting::Lasting;
pub use options::{Chunks, Codec, CopyOptions, Names, Switches};
pub use parts::{CodecName, CodingRequest, RunRequest};
pub(crate) use plan::part_of;
pub use plan::plan;
pub use planned::{Plan, Totals, VarPlan};
pub use reads::ChosenChunks;
pub use request::{ChunkChoice, CopyRequest};
pub(crate) use spec::Lengths;
pub use spec::{ChunkSpec, FilterSpec, VarChunks};
pub use targets::targets_in;

/// The report of a copy.
#[derive(Clone, Debug, Serialize)]
pub struct CopyReport {
    /// The source.
    pub input: String,
    /// The output.
    pub output: String,
    /// The source's format, as `ncdump -k` calls it.
    pub source_format: &'static str,
    /// The output's.
    pub format: &'static str,
    /// Bytes of the source file.
    pub input_bytes: u64,
    /// Bytes of the output file.
    pub output_bytes: u64,
    /// Variables in the output.
    pub variables: usize,
    /// Bytes of values copied (by this run and by those it went on from).
    pub values_bytes: u64,
    /// Variables whose chunks were moved without decoding.
    pub raw_variables: usize,
    /// Variables that went through a temporary file.
    pub spilled_variables: usize,
    /// Whether the output was read back and found to be the same.
    pub verified: bool,
    /// The [digest](crate::digest) of the output, if it was asked for.
    pub digest: Option<String>,
    /// Steps that an earlier, interrupted run had done already.
    pub resumed_steps: u64,
    /// Whether there was nothing left to do: an earlier run had finished the output.
    pub was_complete: bool,
    /// Seconds that it took.
    pub seconds: f64,
    /// Chunks that were chosen, and reads that take longer with them.
    pub chosen: Vec<ChosenChunks>,
    /// Notes for the user: objects that were left out.
    pub notes: Vec<String>,
    /// The dimensions of the output.
    #[serde(skip)]
    pub(crate) dims: Vec<Dimension>,
}

/// Copies `input` to `output`. Threads and memory are those of `engine`. Either may be a URL; an output is then made in
/// the folder for temporary files and uploaded.
pub fn copy(
    input: &Path,
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<CopyReport> {
    if let Some(url) = remote::url_of(output) {
        return upload::copy_to(input, url, options, engine, progress);
    }
    let source = Dataset::open_with(input, &engine_below(engine)?)?;
    copy_of(&source, output, options, engine, progress, Lasting::Durable, None)
}

/// As [`copy`], with chunks that are encoded elsewhere. The output is equal to the byte.
pub fn copy_with(
    input: &Path,
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
    elsewhere: &dyn Elsewhere,
) -> Result<CopyReport> {
    let source = Dataset::open_with(input, &engine_below(engine)?)?;
    copy_of(&source, output, options, engine, progress, Lasting::Durable, Some(elsewhere))
}

/// Copies any source to `output`. The source reads with an engine of [`engine_below`]; threads and memory of the
/// whole are those of `engine`.
pub(crate) fn copy_of(
    source: &Dataset,
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
    lasting: Lasting,
    elsewhere: Option<&dyn Elsewhere>,
) -> Result<CopyReport> {
    let begun = Instant::now();
    let options = &options.clone().for_output(output)?;
    let memory = Memory::of(engine.memory());
    let small = source.engine().clone();
    let identity = Identity::of_all(&source.ids()?);
    let source = &plan::as_copied(source, options)?;
    let mut plan = plan::plan_with(source, options, engine, &Chosen::default())?;
    for work in plan.work.iter().filter(|w| w.moved.values) {
        plan::check_readable(source, work.moved.from)?;
    }
    let mut report = report_of(&plan, output, &identity);
    if options.resume && complete::is_complete(output, &plan, options, source, memory, progress)? {
        // A program may have ended when the output had its name, and the journal was still there.
        OutputFile::clear(output);
        report.was_complete = true;
        report.verified = options.verify;
        report.notes.extend(about_points(output, options, &small)?);
        report.digest = digest_of(output, options, &small, progress)?;
        report.output_bytes = Identity::of(output)?.len();
        report.seconds = begun.elapsed().as_secs_f64();
        return Ok(report);
    }

    let (overwrite, resume) = (options.overwrite, options.resume);
    let mut claim =
        OutputFile::begin(output, OutputOptions { overwrite, resume, ..OutputOptions::default() })?;
    let header_of = |plan: &Plan, history: &Option<String>| Header {
        journal: VERSION,
        source: identity.clone(),
        // Other space behind the header puts the same values at other places.
        plan: plan.identity() ^ options.header_room.map_or(0, |n| hash_of(&n.to_le_bytes())),
        history: history.clone(),
        chosen: plan.chosen.clone(),
    };
    let mut header = header_of(&plan, &options.history);
    let mut done = Vec::new();
    if let Some((old, steps)) = earlier(&mut claim)? {
        if old.history != header.history || old.chosen != header.chosen {
            // The output began its life with the first run's line, shapes and codecs; its bytes must stay as they
            // would have been.
            let options = CopyOptions { history: old.history.clone(), ..options.clone() };
            plan = plan::plan_with(source, &options, engine, &old.chosen)?;
            header = header_of(&plan, &options.history);
            report = report_of(&plan, output, &identity);
        }
        check_same(&claim, &old, &header, &steps)?;
        done = steps;
    }
    report.resumed_steps = done.len() as u64;
    if let Some(elsewhere) = elsewhere {
        elsewhere::announce(source, &plan, elsewhere, &identity)?;
    }
    let verified = run::run(
        run::Task {
            source,
            plan: &plan,
            engine: &small,
            memory,
            progress,
            header,
            checkpoint: options.checkpoint,
            lasting,
            header_room: options.header_room,
            zipped: options.zipped,
            elsewhere,
        },
        &mut claim,
        done,
    )
    .and_then(|()| match options.verify {
        true => verify::verify(source, &plan, &claim, &small, memory, progress),
        false => Ok(()),
    })
    .and_then(|()| about_points(claim.partial(), options, &small))
    .and_then(|notes| Ok((notes, digest_of(claim.partial(), options, &small, progress)?)));
    match verified {
        Ok((notes, digest)) => {
            report.notes.extend(notes);
            report.digest = digest;
        }
        // A full disk or a signal is no reason to begin anew: what is done stays, if anything is.
        Err(e @ (Error::Interrupted(_) | Error::Io { .. })) => {
            let is_begun = matches!(e, Error::Interrupted(_)) || claim.was_there() || is_noted(&mut claim);
            claim.keep(is_begun);
            return Err(e);
        }
        Err(e) => {
            claim.abandon();
            return Err(e);
        }
    }
    report.output_bytes = claim.store().len();
    claim.commit(lasting == Lasting::Durable)?;
    report.verified = options.verify;
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// The digest of an output, if it was asked for.
fn digest_of(
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<Option<String>> {
    match options.switches.digest {
        true => digest::digest(output, engine, progress).map(|report| Some(report.digest)),
        false => Ok(None),
    }
}

/// Notes on chunks that got no access points, if all were to get some.
fn about_points(output: &Path, options: &CopyOptions, engine: &Engine) -> Result<Vec<String>> {
    match options.switches.add_access_points {
        true => points::lacking(&Dataset::open_with(output, engine)?),
        false => Ok(Vec::new()),
    }
}

/// Whether the journal says that something is done.
fn is_noted(claim: &mut OutputFile) -> bool {
    let journal = claim.journal().ok().and_then(Journal::read);
    journal.is_some_and(|(_, steps)| !steps.is_empty())
}

fn report_of(plan: &Plan, output: &Path, identity: &Identity) -> CopyReport {
    let routes = |name: &str| plan.variables.iter().filter(|v| v.route == name).count();
    CopyReport {
        input: plan.input.clone(),
        output: output.display().to_string(),
        source_format: plan.source_format,
        format: plan.format,
        input_bytes: identity.len(),
        output_bytes: 0,
        variables: plan.variables.len(),
        values_bytes: plan.work.iter().map(planned::VarWork::bytes).fold(0, u64::saturating_add),
        raw_variables: routes("raw"),
        spilled_variables: routes("spill"),
        verified: false,
        digest: None,
        resumed_steps: 0,
        was_complete: false,
        seconds: 0.0,
        chosen: plan.variables.iter().filter_map(|v| v.reads.clone()).collect(),
        notes: plan.notes.clone(),
        dims: plan.schema.dims.clone(),
    }
}

/// The header and the finished steps of an interrupted run.
fn earlier(claim: &mut OutputFile) -> Result<Option<(Header, Vec<Step>)>> {
    if !claim.was_there() {
        return Ok(None);
    }
    Ok(Journal::read(claim.journal()?))
}

/// Whether this run would go on where the interrupted one was.
fn check_same(claim: &OutputFile, old: &Header, new: &Header, done: &[Step]) -> Result<()> {
    let partial = claim.partial().display().to_string();
    if old.source != new.source {
        return Err(Error::CannotResume { partial, why: Stale::Source });
    }
    if old.plan != new.plan {
        return Err(Error::CannotResume { partial, why: Stale::Options });
    }
    if done.iter().any(|step| step.bytes > claim.store().len()) {
        return Err(Error::CannotResume { partial, why: Stale::Short });
    }
    Ok(())
}
