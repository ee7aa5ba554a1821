//! Chunks in memory that are newer than what the store holds of them.

use crate::model::VarId;

/// What a reader asks before it looks for a chunk in the store. All of a chunk is in memory, or nothing of it.
pub(super) trait Newer: Sync {
    /// Whether any chunk of a variable is in memory.
    fn has_some(&self, var: VarId) -> bool;

    /// The decoded bytes of a chunk as they will be stored, if they are newer than the store's.
    fn chunk(&self, var: VarId, at: &[u64]) -> Option<&[u8]>;
}
