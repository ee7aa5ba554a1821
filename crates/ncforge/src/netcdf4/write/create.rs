//! Creation of a file from a schema.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::define::check_schema;
use super::facts::FileFacts;
use super::heap::HeapWriter;
use super::image::Builder;
use super::options::CreateOptions;
use super::redefine;
use super::space::{Extent, FileSpace};
use super::state::{PlaceState, VarState};
use super::writer::Netcdf4Writer;
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::hdf5::emit::{Assembly, SUPERBLOCK_SIZE};
use crate::model::{Format, Schema, VarId};
use crate::select::ChunkGrid;
use crate::store::WriteStore;

/// The largest number of chunks for which space is reserved in front; a larger chunk index is placed after the data.
const RESERVED_CHUNKS: u64 = 8 << 20;

/// Largest multiple to which data are aligned.
const MOST_ALIGNED: u64 = 1 << 40;

/// Creates a file with the given schema in an empty store. Nothing is readable before the first
/// [`ContainerMut::sync`].
///
/// Present lengths of unlimited dimensions are taken from the schema (the front block is sized for them).
/// `_NCProperties` says that ncforge created the file.
///
/// ```
/// use std::sync::Arc;
/// use ncforge::model::{Atomic, DimId, Dimension, Format, Variable};
/// use ncforge::store::{MemoryStore, ReadStore, WriteStore};
/// use ncforge::raw::{Container, ContainerMut, netcdf4};
/// use ncforge::Schema;
///
/// let mut schema = Schema::new(Format::Netcdf4);
/// schema.dims.push(Dimension::new("x", 4, false));
/// schema.vars.push(Variable::new("t", Atomic::Short, vec![DimId(0)]));
/// let store: Arc<dyn WriteStore> = Arc::new(MemoryStore::new("a.nc", Vec::new()));
/// let mut file = netcdf4::create(Arc::clone(&store), schema, &netcdf4::CreateOptions::default())?;
/// file.sync()?;
/// assert!(store.len() > 48);
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn create(
    store: Arc<dyn WriteStore>,
    mut schema: Schema,
    options: &CreateOptions,
) -> Result<Box<dyn ContainerMut>> {
    if !matches!(schema.format, Format::Netcdf4 | Format::Netcdf4Classic) {
        return Err(Error::bad_option(
            "format",
            format!("a netCDF-4 file of format {}", schema.format.kind()),
        ));
    }
    if let Some(a) = options.alignment.filter(|a| !(1..=MOST_ALIGNED).contains(&a.multiple)) {
        let what = format!("data cannot be aligned to multiples of {} bytes", a.multiple);
        return Err(Error::BadOption { option: "alignment", what });
    }
    check_schema(&schema)?;
    if !options.keep_names {
        schema.check_names(&HashSet::new())?;
    }
    schema.provenance = Some(format!("version=2,ncforge={}", env!("CARGO_PKG_VERSION")));
    store.set_len(0)?;
    let vars = schema.var_ids().map(|v| VarState::new(&schema, v)).collect::<Result<Vec<_>>>()?;
    let facts = FileFacts::default();
    let size = front_size(&schema, &vars, &facts)?.checked_add(options.spare);
    let size = size.and_then(|r| r.checked_next_multiple_of(8));
    let size = size.filter(|&r| r < i64::MAX as u64 / 2);
    let size = size.ok_or_else(|| Error::TooLarge("the metadata is too large".into()))?;
    let front = Extent { offset: SUPERBLOCK_SIZE, len: size };
    let mut writer = Netcdf4Writer {
        space: FileSpace::new(front.end()),
        alignment: options.alignment,
        reserved: 0,
        read_store: store.clone(),
        store,
        schema,
        vars,
        facts,
        heap: HeapWriter::new(Vec::new()),
        front: Some(front),
        current: None,
        reclaim: false,
        dirty: true,
        touched: BTreeSet::new(),
        grown: BTreeSet::new(),
        unsettled: BTreeSet::new(),
        standing: None,
        is_steady: false,
    };
    let (states, schema) = (std::mem::take(&mut writer.vars), writer.schema.clone());
    for (id, state) in states.into_iter().enumerate() {
        let state = redefine::complete(&mut writer, &schema, VarId(id), state)?;
        writer.vars.push(state);
    }
    Ok(Box::new(writer))
}

/// The size of the metadata when every chunk of the present shapes has been written.
fn front_size(schema: &Schema, vars: &[VarState], facts: &FileFacts) -> Result<u64> {
    let planned: Vec<u64> = schema
        .var_ids()
        .zip(vars)
        .map(|(id, state)| match &state.place {
            PlaceState::Chunked { chunk, .. } => {
                let n = ChunkGrid::new(&schema.shape(id), chunk).len();
                if n > RESERVED_CHUNKS { 0 } else { n }
            }
            _ => 0,
        })
        .collect();
    let (image, _) = Builder { schema, vars, facts, planned: Some(&planned) }.build()?;
    Ok(Assembly::new(image)?.size())
}
