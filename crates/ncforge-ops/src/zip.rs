//! Zipping: a classic file into compressed blocks that are read and written in place, and back.
//!
//! [`zip`] and [`unzip`] are each other's inverse to the byte. [`compact`] gives back space that updates left
//! behind, [`verify`](crate::verify) reads and checks everything. For *using* a zipped file nothing of this is needed: a
//! [`Dataset`] opens one like any other.
//!
//! ```
//! use ncforge::Engine;
//! use ncforge_ops::zip::{ZipOptions, zip, unzip};
//! use ncforge_ops::progress::Silent;
//!
//! # let dir = tempfile::tempdir()?;
//! # let (plain, zipped, back) = (dir.path().join("a.nc"), dir.path().join("a.ncz"), dir.path().join("b.nc"));
//! # std::fs::write(&plain, [b"CDF\x01".as_slice(), &[0; 28]].concat())?;
//! let engine = Engine::global();
//! zip(&plain, &zipped, &ZipOptions::default(), &engine, &Silent)?;
//! assert!(ncforge::Dataset::open(&zipped)?.schema().vars.is_empty());
//! unzip(&zipped, &back, false, &engine, &Silent)?;
//! assert_eq!(std::fs::read(&plain)?, std::fs::read(&back)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod request;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;

use crate::endings::{self, Told};
use crate::intact::check_whole;
use crate::progress::Progress;
use ncforge::raw::classic;
use ncforge::store::remote::shown_path;
use ncforge::store::zipped::{Options, ZippedStore};
use ncforge::store::{self, BlockStore, FileStore, OutputFile, OutputOptions, ReadStore, WriteStore};
use ncforge::{Buffer, Dataset, Engine, Error, Result};

pub use request::{UnzipRequest, ZipCodec, ZipRequest};

/// Bytes of the image that are moved at a time.
const WINDOW: u64 = 16 << 20;

/// How a file is zipped.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZipOptions {
    /// Block size, codec and level.
    pub zipped: Options,
    /// Whether an existing output may be replaced (at the end, in one step).
    pub overwrite: bool,
}

/// The report of zipping, unzipping or compacting.
#[derive(Clone, Debug, Serialize)]
pub struct ZipReport {
    /// The source.
    pub input: String,
    /// The output.
    pub output: String,
    /// Bytes of the source.
    pub input_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Bytes of the file as it is, or would be, unzipped.
    pub image_bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Remarks on the source.
    pub notes: Vec<String>,
}

/// The zipped file at a path, open for reading.
pub(crate) fn zipped_store(path: &Path, engine: &Engine) -> Result<ZippedStore> {
    let file = store::open(path)?;
    // A dataset tells what is wrong with files of other kinds; it opens nothing but headers.
    let data = Dataset::open_with(path, engine)?;
    if data.container().store().blocks().is_none() {
        let kind = data.schema().format.kind();
        return Err(Error::wrong_kind(shown_path(path), format!("is not zipped, it is a {kind} file")));
    }
    ZippedStore::open(file, engine.zipped_resources())
}

/// Runs `work` on a new output, which gets its name when all of it is on disk.
fn with_output(
    output: &Path,
    options: OutputOptions,
    work: impl FnOnce(Arc<FileStore>) -> Result<()>,
) -> Result<u64> {
    let claim = OutputFile::begin(output, options)?;
    work(claim.store().clone())?;
    let bytes = claim.store().len();
    claim.commit(true)?;
    Ok(bytes)
}

fn replacing(overwrite: bool) -> OutputOptions {
    OutputOptions { overwrite, ..OutputOptions::default() }
}

pub(crate) fn go_on(progress: &dyn Progress, what: &str) -> Result<()> {
    if progress.stop() { Err(Error::Interrupted(format!("{what}; nothing was written"))) } else { Ok(()) }
}

/// Zips a classic file. The image is the file to the byte.
pub fn zip(
    input: &Path,
    output: &Path,
    options: &ZipOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<ZipReport> {
    let begun = Instant::now();
    options.zipped.check()?;
    endings::check(output, &[Told::Zipped, Told::Netcdf])?;
    let data = Dataset::open_with(input, engine)?;
    let shown = shown_path(input);
    if data.container().store().blocks().is_some() {
        return Err(Error::wrong_kind(shown.to_string(), "is zipped already"));
    }
    if !data.schema().format.is_classic() {
        let kind = data.schema().format.kind();
        return Err(Error::wrong_kind(
            shown.to_string(),
            format!("is a {kind} file, and only classic ones can be zipped as they are"),
        ));
    }
    let source = store::open(input)?;
    let parts = classic::parts(&source)?;
    let len = source.len();
    progress.begin("zip", len);
    let output_bytes = with_output(output, replacing(options.overwrite), |file| {
        let zipped = ZippedStore::create(file, &options.zipped, engine.zipped_resources())?;
        zipped.describe(&parts);
        let mut buffer = Buffer::try_zeroed(len.min(WINDOW) as usize)?;
        let mut at = 0;
        while at < len {
            go_on(progress, "zipping")?;
            let part = &mut buffer[..(len - at).min(WINDOW) as usize];
            source.read_at(part, at)?;
            zipped.write_at(part, at)?;
            at += part.len() as u64;
            progress.advance(part.len() as u64);
        }
        zipped.sync()
    })?;
    let notes = check_whole(&data).err().map(|e| e.to_string()).into_iter().collect();
    Ok(ZipReport { notes, ..report(input, output, len, output_bytes, len, begun) })
}

/// Unzips a zipped file: the output is what was zipped, to the byte, with what was changed since.
pub fn unzip(
    input: &Path,
    output: &Path,
    overwrite: bool,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<ZipReport> {
    let begun = Instant::now();
    endings::check(output, &[Told::Netcdf])?;
    let zipped = zipped_store(input, engine)?;
    let len = zipped.len();
    let block = zipped.block_size() as usize;
    progress.begin("unzip", len);
    let output_bytes = with_output(output, replacing(overwrite), |file| {
        file.reserve(0, len)?;
        let mut buffer = Buffer::try_zeroed(len.min(WINDOW) as usize)?;
        let mut at = 0;
        while at < len {
            go_on(progress, "unzipping")?;
            let part = &mut buffer[..(len - at).min(WINDOW) as usize];
            {
                let blocks: Vec<Mutex<&mut [u8]>> = part.chunks_mut(block).map(Mutex::new).collect();
                engine.for_each(blocks.len(), |i| {
                    let mut own = blocks[i].lock().unwrap_or_else(PoisonError::into_inner);
                    zipped.read_at(&mut own, at + (i * block) as u64)
                })?;
            }
            file.write_at(part, at)?;
            at += part.len() as u64;
            progress.advance(part.len() as u64);
        }
        Ok(())
    })?;
    Ok(report(input, output, zipped.backing().len(), output_bytes, len, begun))
}

/// Rewrites a zipped file without the space that updates left unused: everything live, in order, in a new file
/// that takes the old one's place in one step. Nobody may have it open for writing meanwhile.
pub fn compact(path: &Path, engine: &Engine, progress: &dyn Progress) -> Result<ZipReport> {
    let begun = Instant::now();
    zipped_store(path, engine)?;
    // The writer's lock, so that nobody's updates are lost between reading and renaming.
    let file: Arc<dyn WriteStore> = Arc::new(FileStore::open_rw(path)?);
    let zipped = ZippedStore::open_rw(file, engine.zipped_resources())?;
    let (before, image) = (zipped.backing().len(), zipped.len());
    progress.begin("compact", zipped.survey()?.total.stored);
    let over_itself = OutputOptions { replaces_own: true, ..replacing(true) };
    let after = with_output(path, over_itself, |file| {
        zipped.compact_into(file, &mut |bytes| {
            go_on(progress, "compacting")?;
            progress.advance(bytes);
            Ok(())
        })
    })?;
    Ok(report(path, path, before, after, image, begun))
}

fn report(
    input: &Path,
    output: &Path,
    input_bytes: u64,
    output_bytes: u64,
    image_bytes: u64,
    begun: Instant,
) -> ZipReport {
    ZipReport {
        input: shown_path(input),
        output: shown_path(output),
        input_bytes,
        output_bytes,
        image_bytes,
        seconds: begun.elapsed().as_secs_f64(),
        notes: Vec::new(),
    }
}
