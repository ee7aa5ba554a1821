//! Parsing in rounds: how the metadata of a file in a store with latency is brought into memory.
//!
//! Parsers run on a *deferred* file (`Source::deferred`), in which a read of absent bytes fails and is
//! recorded. When all parsers that can run have run, what they lack is fetched in one round of requests, and those that
//! lacked something run again. So the number of rounds is that of the longest chain of structures that point to each
//! other, however many objects a file has.
//!
//! Nothing depends on it: what these rounds do not bring (because memory is bounded, or because a damaged file leads
//! nowhere) is read when it is needed.

use super::file::File;
use super::source::Outcome;
use crate::error::Result;

/// Rounds after which the rest is read one by one. Each round follows every chain by one structure at least; metadata of
/// real files is less than ten deep.
const MAX_ROUNDS: usize = 64;

impl File {
    /// Fetches what `parse` reads for each of the items, and for each of those that it returns. Does nothing where
    /// requests cost nothing. `parse` may run several times on one item; errors of the file are ignored, since whoever
    /// uses what was fetched will meet them again.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn fetch_for<I>(
        &self,
        first: Vec<I>,
        mut parse: impl FnMut(&File, &I) -> Result<Vec<I>>,
    ) -> Result<()> {
        if !self.source.has_latency() {
            return Ok(());
        }
        let file = self.deferred();
        let (mut ready, mut blocked) = (first, Vec::new());
        for _ in 0..MAX_ROUNDS {
            while let Some(item) = ready.pop() {
                let found = parse(&file, &item);
                match file.source.outcome() {
                    Outcome::Complete => ready.extend(found.unwrap_or_default()),
                    Outcome::Absent => blocked.push(item),
                    Outcome::TooLong => {}
                }
            }
            if blocked.is_empty() || !file.source.fetch_absent()? {
                break;
            }
            std::mem::swap(&mut ready, &mut blocked);
        }
        Ok(())
    }
}
