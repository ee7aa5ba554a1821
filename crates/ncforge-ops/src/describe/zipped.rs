//! How a zipped file is stored: blocks, what they save, what is wasted.

use serde::Serialize;

use ncforge::raw::VarLayout;
use ncforge::store::ReadStore;
use ncforge::store::zipped::ZippedStore;
use ncforge_tune::words;

/// The blocks of a zipped file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZippedStorage {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// How new blocks are compressed.
    pub codec: String,
    /// Number of the last commit.
    pub commit: u64,
    /// Bytes of the file as it would be unzipped.
    pub image_bytes: u64,
    /// Bytes of the file as it is.
    pub file_bytes: u64,
    /// Blocks that take space.
    pub blocks: u64,
    /// Blocks of one value over and over, which take none.
    pub constant_blocks: u64,
    /// Bytes stored for blocks.
    pub stored_bytes: u64,
    /// Bytes for the map, the pages of the index, and roots.
    pub index_bytes: u64,
    /// Bytes of the file that nothing uses; compacting gives them back.
    pub wasted_bytes: u64,
    /// Bytes of the unzipped file for each of this one.
    pub ratio: f64,
    /// The reason why the index could not be counted, if so.
    pub trouble: Option<String>,
}

impl ZippedStorage {
    /// The storage in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "zipped: {} blocks of {} and {} of one value each, {}; unzipped {}, ratio {:.2}",
            self.blocks,
            words::bytes(self.block_bytes),
            self.constant_blocks,
            self.codec,
            words::bytes(self.image_bytes),
            self.ratio
        )];
        notes.push(format!(
            "zipped: index {}, wasted {}, commit {}",
            words::bytes(self.index_bytes),
            words::bytes(self.wasted_bytes),
            self.commit
        ));
        notes.extend(self.trouble.iter().map(|t| format!("zipped: {t}")));
        notes
    }
}

/// Counts a zipped file.
pub(super) fn of_store(store: &ZippedStore) -> ZippedStorage {
    let surveyed = store.survey();
    let trouble = surveyed.as_ref().err().map(ToString::to_string);
    let survey = surveyed.unwrap_or_default();
    let (file, image) = (store.backing().len(), store.len());
    ZippedStorage {
        block_bytes: store.block_size(),
        codec: store.codec().describe(),
        commit: store.commit_number(),
        image_bytes: image,
        file_bytes: file,
        blocks: survey.total.blocks,
        constant_blocks: survey.total.constant,
        stored_bytes: survey.total.stored,
        index_bytes: survey.index + 4 * 512,
        wasted_bytes: survey.wasted,
        ratio: if file > 0 { image as f64 / file as f64 } else { 0.0 },
        trouble,
    }
}

/// Bytes stored of one variable of a zipped file; of blocks that it shares with others, its share.
pub(super) fn stored_of(store: &ZippedStore, layout: &VarLayout) -> ncforge::Result<Option<u64>> {
    let Some(runs) = layout.runs() else { return Ok(Some(0)) };
    match runs.stride {
        None => store.stored_for(runs.begin, runs.end()).map(Some),
        Some(0) => Ok(Some(0)),
        Some(stride) => store.stored_for_records(runs.begin, runs.each, stride, runs.number).map(Some),
    }
}
