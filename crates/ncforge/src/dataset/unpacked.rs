//! Reads of a dataset that is being written, with results in new memory or that of the caller.

use super::DatasetMut;
use crate::buffer::Buffer;
use crate::codec::unpack::{Missing, Unpacking};
use crate::error::{Error, Result};
use crate::model::VarId;
use crate::select::{Hyperslab, Picks};

impl DatasetMut {
    /// Reads back a selection of numbers and unpacks them, see [`super::Dataset::read_unpacked_new`].
    ///
    /// # Errors
    /// As there.
    pub fn read_unpacked_new(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        rules: &Unpacking,
    ) -> Result<(Buffer, Option<Buffer>)> {
        let stored = self.read(var, slab)?;
        let stored = stored.bytes().ok_or_else(|| no_fixed_size(self, var))?;
        let count = stored.len() / rules.stored_size();
        let (mut out, mut mask) =
            (Buffer::try_zeroed(count * rules.result_size())?, Buffer::try_zeroed(count)?);
        let any = rules.unpack(stored, &mut out, Some(&mut mask))?;
        Ok((out, (any && rules.becomes == Missing::Marked).then_some(mask)))
    }

    /// Reads back picked positions of a variable of a fixed-size type into memory of the caller.
    ///
    /// # Errors
    /// [`Error::Length`] for memory of another size; what [`DatasetMut::read_picks`] gives.
    pub fn read_picks_bytes(&mut self, var: VarId, picks: &Picks, out: &mut [u8]) -> Result<()> {
        let values = self.read_picks(var, picks)?;
        let bytes = values.bytes().ok_or_else(|| no_fixed_size(self, var))?;
        if bytes.len() != out.len() {
            return Err(Error::Length("the destination does not fit the selection".into()));
        }
        out.copy_from_slice(bytes);
        Ok(())
    }
}

fn no_fixed_size(dataset: &DatasetMut, var: VarId) -> Error {
    Error::wrong_kind(dataset.schema().var_path(var), "has values of no fixed size")
}
