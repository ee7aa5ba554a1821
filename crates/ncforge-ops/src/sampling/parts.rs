//! Parts of a variable's values as they are, to be encoded with several chains of filters.

use super::places::{LARGE, Limit, beginning, cut, decoded, part_shape, sampled_box};
use super::{BOXES, FEW};
use ncforge::model::{Values, VarId, shape};
use ncforge::{Dataset, Hyperslab, Result};
use ncforge_tune::coding::SIZES;

/// Parts of values that are compared with several chains of filters: at least this many (in many small ones, repeats that lie farther
/// apart are not seen).
const FEWEST: u64 = 2;

/// Bytes that samples for codecs may still read and decode, of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    /// A budget of `left` bytes.
    pub(crate) fn of(left: u64) -> Self {
        Budget { left }
    }

    /// The budget for one of `n` variables that come yet, alike for each.
    pub(crate) fn share(self, n: u64) -> u64 {
        self.left / n.max(1)
    }

    /// Subtracts bytes that were read.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// The parts of a variable that are taken to compare chains of filters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartLimits {
    /// Bytes of all parts: a quarter of the variable, between these bounds.
    pub(crate) values: (u64, u64),
    /// Bytes that are read and decoded for them, about.
    pub(crate) read: u64,
    /// Bytes that are read and decoded for each part.
    pub(crate) each: u64,
}

impl PartLimits {
    /// To choose a codec (`copy --codec auto`), reading and decoding at most about `read` bytes.
    pub(crate) fn of_codecs(read: u64) -> Self {
        PartLimits { values: (128 << 10, 2 << 20), read, each: read / FEW }
    }
}

/// Parts all over the variable as a file cut in chunks of lengths `chunk` would store them (but parts of longer chunks
/// only), and the bytes that were read and decoded for them. None where nothing can be read within the limits, as with
/// [`sample`].
pub(crate) fn parts_of(
    dataset: &Dataset,
    var: VarId,
    chunk: &[u64],
    limits: PartLimits,
) -> Result<(Vec<Vec<u8>>, u64)> {
    let layout = dataset.layout(var)?;
    let mut parts = Vec::new();
    let mut budget = limits.read;
    if layout.element.heap || layout.shape.is_empty() || layout.shape.contains(&0) {
        return Ok((parts, 0));
    }
    let element = layout.element.size;
    let whole: Vec<u64> = layout.shape.iter().zip(chunk).map(|(&n, &c)| c.clamp(1, n)).collect();
    let all = shape::bytes(&layout.shape, element as u64);
    let values = (all / 4).clamp(limits.values.0, limits.values.1);
    let wanted = part_shape(&whole, element as u64, SIZES[LARGE].min(values / FEWEST));
    let size = wanted.iter().product::<u64>() * element as u64;
    let number = (values / size.max(1)).clamp(FEWEST, 8 * BOXES);
    for i in 0..number {
        let most = budget.min(limits.each);
        let start: Vec<u64> = (0..wanted.len())
            .map(|d| beginning(i, d, layout.shape[d], whole[d]).min(layout.shape[d] - wanted[d]))
            .collect();
        let aligned = Hyperslab::new(&start, &wanted);
        let slab = match decoded(&layout, &aligned) <= most {
            true => Some(aligned),
            false => sampled_box(&layout, i, Limit { encoded: most, read: most }),
        };
        let Some(slab) = slab else { break };
        budget = budget.saturating_sub(decoded(&layout, &slab));
        let Values::Fixed(bytes) = dataset.read(var, &slab)? else { break };
        let shape = part_shape(&slab.count, element as u64, size.max(SIZES[0]));
        parts.push(cut(&bytes, &slab.count, &vec![0; shape.len()], &shape, element));
    }
    Ok((parts, limits.read - budget))
}
