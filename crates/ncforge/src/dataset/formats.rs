//! The one place that knows all formats.

use std::sync::Arc;

use super::CreateOptions;
use super::detect::{Family, family};
use crate::container::{Container, ContainerMut};
use crate::error::Result;
use crate::model::Schema;
use crate::store::Store;
use crate::{classic, netcdf4};

/// Opens a store for reading.
pub(super) fn open(store: Arc<dyn Store>) -> Result<Box<dyn Container>> {
    match family(&*store)? {
        Family::Classic => classic::open(store),
        Family::Netcdf4 => netcdf4::open(store),
    }
}

/// Opens a store for updates in place.
pub(super) fn open_mut(store: Arc<dyn Store>) -> Result<Box<dyn ContainerMut>> {
    match family(&*store)? {
        Family::Classic => classic::open_mut(store),
        Family::Netcdf4 => netcdf4::open_mut(store),
    }
}

/// Makes a new dataset in an empty store.
pub(super) fn create(
    store: Arc<dyn Store>,
    schema: Schema,
    options: &CreateOptions,
) -> Result<Box<dyn ContainerMut>> {
    if schema.format.is_classic() {
        let options = classic::CreateOptions { header_room: options.header_room, fill: options.fill };
        return classic::create(store, schema, &options);
    }
    let options = netcdf4::CreateOptions { spare: options.header_room.unwrap_or_default() };
    netcdf4::create(store, schema, &options)
}
