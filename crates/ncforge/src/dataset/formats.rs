//! The one place that knows all formats.

use std::path::Path;
use std::sync::Arc;

use super::CreateOptions;
use super::aggregation::{self, Base};
use super::detect::{Family, family};
use super::options::Leads;
use crate::container::{Container, ContainerMut};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Definition, Format, Names, Schema};
use crate::store::lock::Kind;
use crate::store::neighbours::NeighbourStore;
use crate::store::zipped::ZippedStore;
use crate::store::{FileStore, Locking, ReadStore, RemoteOptions, WriteStore, remote};
use crate::{classic, netcdf4};

/// Bytes of one request at least for a zipped file in a store with latency: its reader follows one small structure after the other.
const ZIPPED_PAGE: u64 = 1 << 20;

/// Opens a store for reading, with its aggregation variables as the arrays that they mean.
pub(super) fn open(store: Arc<dyn ReadStore>, engine: &Engine, leads: &Leads) -> Result<Box<dyn Container>> {
    let base = Base::of(&*store);
    Ok(aggregation::view(open_stored(store, engine, leads)?, base, engine, leads))
}

/// Opens the file at a path, or the object of a URL, to which another file leads.
pub(super) fn open_path(path: &Path, engine: &Engine, leads: &Leads) -> Result<Box<dyn Container>> {
    if let Some(url) = remote::url_of(path) {
        let options = leads.remote.clone().unwrap_or_else(RemoteOptions::of_process);
        return open(remote::open(url, &options)?, engine, leads);
    }
    FileStore::whole_state(
        || FileStore::open(path).map(Arc::new),
        |store| open(store.clone(), engine, leads),
        |container| container.schema().format.is_classic(),
    )
}

/// Opens a store for reading, with the variables that it has.
pub(super) fn open_stored(
    store: Arc<dyn ReadStore>,
    engine: &Engine,
    leads: &Leads,
) -> Result<Box<dyn Container>> {
    let family = family(&*store)?;
    let page = if matches!(family, Family::Zipped) { ZIPPED_PAGE } else { 1 };
    let store = NeighbourStore::over(store, page, engine.fetch_memory());
    match family {
        Family::Zipped => classic::open(Arc::new(ZippedStore::open(store, engine.zipped_resources())?)),
        Family::Classic => classic::open(store),
        Family::Netcdf4 => netcdf4::open_as(store, leads.follow),
    }
}

/// Opens a store for updates in place.
pub(super) fn open_mut(store: Arc<dyn WriteStore>, engine: &Engine) -> Result<Box<dyn ContainerMut>> {
    match family(&*store)? {
        Family::Zipped => {
            classic::open_mut(Arc::new(ZippedStore::open_rw(store, engine.zipped_resources())?))
        }
        Family::Classic => classic::open_mut(store),
        Family::Netcdf4 => netcdf4::open_mut(store),
    }
}

/// Opens a file for updates in place, and locks it against other writers.
pub(super) fn open_locked(
    file: &Arc<FileStore>,
    engine: &Engine,
    locking: Locking,
) -> Result<Box<dyn ContainerMut>> {
    if let Family::Zipped = family(&**file)? {
        let zipped = ZippedStore::open_locked(file.clone(), engine.zipped_resources(), locking)?;
        return classic::open_mut(Arc::new(zipped));
    }
    file.lock(Kind::Exclusive, locking.or_environment())?;
    open_mut(file.clone(), engine)
}

/// Makes a new dataset in an empty store.
pub(super) fn create(
    store: Arc<dyn WriteStore>,
    schema: Schema,
    options: &CreateOptions,
    engine: &Engine,
) -> Result<Box<dyn ContainerMut>> {
    let store: Arc<dyn WriteStore> = match &options.zipped {
        Some(zipped) => Arc::new(ZippedStore::create(store, zipped, engine.zipped_resources())?),
        None => store,
    };
    if schema.format.is_classic() || options.zipped.is_some() {
        let options = classic::CreateOptions { header_room: options.header_room, fill: options.fill };
        return classic::create(store, schema, &options);
    }
    let options = netcdf4::CreateOptions {
        spare: options.header_room.unwrap_or_default(),
        alignment: options.alignment,
        keep_names: false,
    };
    netcdf4::create(store, schema, &options)
}

/// An error if no file of this format can hold what was just defined in a description, or changed, whatever else is defined
/// later.
pub(super) fn check_changed(schema: &Schema, names: &Names, format: Format, new: Definition) -> Result<()> {
    new.check_unique(schema, names)?;
    new.check_fill(schema)?;
    match format {
        Format::Cdf1 | Format::Cdf2 | Format::Cdf5 => classic::check_new(schema, format, new),
        Format::Netcdf4 | Format::Netcdf4Classic => netcdf4::write::check_new(schema, names, new),
    }
}
