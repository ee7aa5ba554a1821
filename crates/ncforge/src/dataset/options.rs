//! Options of new files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::container::Container;
use crate::engine::Engine;
use crate::error::Result;
use crate::netcdf4::Alignment;
use crate::store::{Locking, RemoteOptions, zipped};

/// Options of a new file.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Replace a file that has this name.
    pub overwrite: bool,
    /// The engine to write with; the process' own when `None`.
    pub engine: Option<Engine>,
    /// Fill what nobody writes (classic formats; netCDF-4 does not need to).
    pub fill: bool,
    /// Bytes kept free behind the header, so that it can grow without moving data; the format's default when
    /// `None`.
    pub header_room: Option<u64>,
    /// Leave the unfinished file under its [temporary name](crate::store::partial_path) when this is dropped before
    /// [`DatasetMut::close`], to be resumed. [`DatasetMut::sync`] does not give it its name then.
    ///
    /// [`DatasetMut::close`]: super::DatasetMut::close
    /// [`DatasetMut::sync`]: super::DatasetMut::sync
    pub keep_partial: bool,
    /// Wait at [`DatasetMut::sync`] and [`DatasetMut::close`] until the file is on disk ([`Durability`](crate::store::Durability)). A new file
    /// that takes the place of an old one is always waited for.
    ///
    /// [`DatasetMut::close`]: super::DatasetMut::close
    /// [`DatasetMut::sync`]: super::DatasetMut::sync
    pub durable: bool,
    /// Make a zipped file: a classic one in compressed blocks. [`DatasetMut::create`] does so with default
    /// options, too, if the path ends in `.ncz`. A description that is not classic gets the first classic version
    /// that can hold it.
    ///
    /// [`DatasetMut::create`]: super::DatasetMut::create
    pub zipped: Option<zipped::Options>,
    /// The alignment of data of variables in a netCDF-4 file; other formats have no such choice.
    pub alignment: Option<Alignment>,
    /// Whether the file is locked against other writers.
    pub locking: Locking,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            overwrite: false,
            engine: None,
            fill: true,
            header_room: None,
            keep_partial: false,
            durable: false,
            zipped: None,
            alignment: None,
            locking: Locking::default(),
        }
    }
}

/// Options for opening a file for updates in place.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// The engine to write with; the process' own when `None`.
    pub engine: Option<Engine>,
    /// Whether the file is locked against other writers.
    pub locking: Locking,
    /// Wait at [`DatasetMut::sync`] and [`DatasetMut::close`] until the changes are on disk ([`Durability`](crate::store::Durability)). Zipped
    /// files, whose commits are made for that, always wait.
    ///
    /// [`DatasetMut::close`]: super::DatasetMut::close
    /// [`DatasetMut::sync`]: super::DatasetMut::sync
    pub durable: bool,
}

/// Whether files that are opened without [`OpenOptions::follow`](super::OpenOptions::follow) may lead to others.
static FOLLOW: AtomicBool = AtomicBool::new(true);

/// Says whether files may lead to others from now on, where [`OpenOptions::follow`](super::OpenOptions::follow) is `None`; they may at first.
/// For programs that read files of people who must not see the other files of the machine.
pub fn set_follow(follow: bool) {
    FOLLOW.store(follow, Ordering::Relaxed);
}

/// Whether and how a file leads to others.
#[derive(Clone, Debug)]
pub(super) struct Leads {
    pub(super) follow: bool,
    /// Access to URLs; the process' options when `None`.
    pub(super) remote: Option<RemoteOptions>,
    /// Opens another file, or a URL.
    pub(super) open: OpenOther,
}

/// Opens the file at a path.
pub(super) type OpenOther = fn(&Path, &Engine, &Leads) -> Result<Box<dyn Container>>;

impl Leads {
    /// `follow`: what was asked for; `None`: what [`set_follow`] says.
    pub(super) fn new(follow: Option<bool>, remote: Option<RemoteOptions>, open: OpenOther) -> Self {
        Self { follow: follow.unwrap_or_else(|| FOLLOW.load(Ordering::Relaxed)), remote, open }
    }
}
