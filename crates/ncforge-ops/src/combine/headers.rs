//! Headers that many tiles have in common.
//!
//! Classic tiles of one shape have the same header but for a few numbers that tell their place. Parsing one takes several
//! times as long as all else that is done to open a file, and a thousand tiles have few different ones.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::compact_layout::CompactLayout;
use ncforge::model::{Schema, Values};
use ncforge::raw::classic::{self, CommonHeader};
use ncforge::store::ReadStore;
use ncforge::{Dataset, Result};

/// Headers that later ones are compared with, at most. Tiles of a lattice have at most 36 different ones: the
/// lengths differ by one, and halos are cut at edges.
const MOST_HEADERS: usize = 64;
/// Longer ones are parsed for every tile: this many bytes are read of each.
const LONGEST: u64 = 256 << 10;
/// Bytes of memory for a byte of a header: itself, and its description, of which there is one for every thread.
const MEMORY: u64 = 16;

/// The headers that are known.
#[derive(Debug, Default)]
pub(super) struct KnownHeaders(RwLock<Vec<Arc<KnownHeader>>>);

/// A header, of the first tile that had it.
#[derive(Debug)]
pub(super) struct KnownHeader {
    tile: usize,
    header: CommonHeader,
    compact: CompactLayout,
    schema: Schema,
    /// Descriptions in which values may be changed.
    spare: Mutex<Vec<Schema>>,
}

/// The differences of a tile from the first one with its header.
#[derive(Debug)]
pub(super) struct Differing(Vec<(classic::ValuePlace, Values)>);

impl Differing {
    /// Whether attributes of variables do.
    pub(super) fn of_vars(&self) -> bool {
        self.0.iter().any(|(place, _)| place.var.is_some())
    }
}

impl KnownHeaders {
    /// The header that a file has, and what it says otherwise; `None` if it has another.
    pub(super) fn known(&self, file: &dyn ReadStore) -> Result<Option<(Arc<KnownHeader>, Differing)>> {
        let headers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut first: Vec<u8> = Vec::new();
        for header in headers.iter().filter(|h| h.header.file_len() == file.len()) {
            if (first.len() as u64) < header.header.header_bytes() {
                first = file.read_vec(0, header.header.header_bytes())?;
            }
            if let Some(places) = header.header.differing(&first) {
                let differing = places.into_iter().map(|p| (p.clone(), p.values(&first))).collect();
                return Ok(Some((Arc::clone(header), Differing(differing))));
            }
        }
        Ok(None)
    }

    /// Remembers the header of an open tile, if it is a classic file; about the memory that it takes.
    pub(super) fn learn(
        &self,
        tile: usize,
        file: &dyn ReadStore,
        open: &Dataset,
        compact: &CompactLayout,
    ) -> u64 {
        let container = open.container();
        let plain = container.schema().format.is_classic() && container.store().blocks().is_none();
        if !plain || container.metadata_bytes().is_none_or(|n| n > LONGEST) || self.is_full() {
            return 0;
        }
        // It was parsed a moment ago; what is wrong now will be found when the tile is read.
        let Ok(header) = CommonHeader::of(file) else { return 0 };
        let bytes = header.header_bytes() * MEMORY;
        let header = KnownHeader {
            tile,
            header,
            compact: compact.elsewhere(Arc::clone(container.store())),
            schema: container.schema().clone(),
            spare: Mutex::default(),
        };
        let mut headers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if headers.len() >= MOST_HEADERS {
            return 0;
        }
        headers.push(Arc::new(header));
        bytes
    }

    fn is_full(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len() >= MOST_HEADERS
    }
}

impl KnownHeader {
    /// The tile that it was learned from.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// The places of the values of another tile with this header.
    pub(super) fn compact(&self, store: Arc<dyn ReadStore>) -> CompactLayout {
        self.compact.elsewhere(store)
    }

    /// Has the description of a tile that says something otherwise.
    pub(super) fn with_schema<T>(
        &self,
        differing: &Differing,
        use_it: impl FnOnce(&Schema) -> Result<T>,
    ) -> Result<T> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut schema = spare.unwrap_or_else(|| self.schema.clone());
        for (place, values) in &differing.0 {
            place.of_mut(&mut schema).values = values.clone();
        }
        let said = use_it(&schema)?;
        for (place, _) in &differing.0 {
            place.of_mut(&mut schema).values = place.of(&self.schema).values.clone();
        }
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(schema);
        Ok(said)
    }
}
