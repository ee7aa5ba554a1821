//! Processors for which there are no loops: streams are decoded symbol by symbol.

use super::stream::Stream;

/// Bytes that the loops may write too much.
pub(super) const OUTPUT: usize = 0;

pub(super) fn is_available() -> bool {
    false
}

pub(super) fn run_two(_: &mut Stream<'_>, _: &mut Stream<'_>) -> Option<()> {
    Some(())
}

pub(super) fn run_one(_: &mut Stream<'_>) -> Option<()> {
    Some(())
}
