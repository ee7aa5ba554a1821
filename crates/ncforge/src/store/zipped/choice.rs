//! Chooses how the elements of a tree's blocks are split into planes, by trials on some of its first blocks.

use super::Codec;
use super::block;
use super::format::TreeHead;
use crate::error::Result;

/// Blocks that are tried if there are many, and if there are few: a trial must be cheap compared with its benefit.
const TRIED: (usize, usize) = (3, 1);
/// The number of blocks from which they count as many.
const MANY: usize = 8;
/// Bytes of a block that are tried; more if records are large.
const SAMPLE: usize = 8 << 10;

/// The samples of blocks that are neither all zero nor repetitions.
pub(super) fn samples<'a>(head: &TreeHead, blocks: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let n = if blocks.len() >= MANY { TRIED.0 } else { TRIED.1.min(blocks.len()) };
    let len = SAMPLE.max(head.stride as usize * 64);
    let part = |block: &'a [u8]| {
        let unit = (head.stride.max(u32::from(head.width)).max(8)) as usize;
        let from = block.len().saturating_sub(len) / 2 / unit * unit;
        let sample = &block[from..block.len().min(from + len)];
        // The end of the last block is padding.
        if sample.iter().all(|&b| b == 0) { block } else { sample }
    };
    // From the beginning, the middle and the end of the bytes.
    (0..n).map(|i| part(blocks[if n == 1 { 0 } else { i * (blocks.len() - 1) / (n - 1) }])).collect()
}

/// The ways, by the number under which a tree remembers its own (0: none chosen yet).
const WAYS: [Way; 6] = [Way::Plain, Way::Width, Way::Stride, Way::Bytes(2), Way::Bytes(4), Way::Bytes(8)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    /// Elements, as described by the writer of the image.
    Width,
    /// Records, as described by the writer of the image.
    Stride,
    /// A guess.
    Bytes(u16),
}

impl Way {
    /// Bytes of the elements that are split; `None` if the way is not applicable.
    fn width(self, head: &TreeHead, block: usize) -> Option<u16> {
        match self {
            Way::Plain => Some(1),
            Way::Width => (head.width > 1).then_some(head.width),
            // Fewer than eight records in a block gain nothing.
            Way::Stride => {
                let stride = u16::try_from(head.stride).ok()?;
                (stride > 1 && stride != head.width && usize::from(stride) <= block / 8).then_some(stride)
            }
            Way::Bytes(n) => (head.width == 0 && head.stride == 0).then_some(n),
        }
    }
}

/// The width of the elements into which a tree's blocks are split; 1 before the choice.
pub(super) fn width(head: &TreeHead, block: usize) -> u16 {
    let way = usize::from(head.choice).checked_sub(1).and_then(|i| WAYS.get(i));
    way.and_then(|w| w.width(head, block)).unwrap_or(1)
}

/// The number of the way with the smallest blocks. Ways other than plain must save 2 %, because they take time.
pub(super) fn choose(head: &TreeHead, samples: &[&[u8]], codec: Codec) -> Result<u8> {
    let block = samples.first().map_or(0, |s| s.len());
    let mut best = (0, u64::MAX);
    for (i, way) in WAYS.iter().enumerate() {
        let Some(width) = way.width(head, block) else { continue };
        let mut size = 0;
        for sample in samples {
            size += u64::from(block::encode(sample, width, codec)?.entry.len);
        }
        let size = if *way == Way::Plain { size * 98 / 100 } else { size };
        if size < best.1 {
            best = (i as u8 + 1, size);
        }
    }
    Ok(best.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(head: TreeHead, bytes: &[u8]) -> u16 {
        let choice = choose(&head, &[bytes], Codec::Zstd(1)).unwrap();
        width(&TreeHead { choice, ..head }, bytes.len())
    }

    #[test]
    fn smooth_numbers_are_split_and_text_is_not() {
        let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 16) as f32 * 1e-7;
        let wave = |i: u32| 280.0 + 10.0 * (i as f32 / 50.0).sin() + noise(i);
        let floats: Vec<u8> = (0..4096u32).flat_map(|i| wave(i).to_be_bytes()).collect();
        let known = TreeHead { width: 4, ..TreeHead::default() };
        assert_eq!(chosen(known, &floats), 4);
        assert_eq!(chosen(TreeHead::default(), &floats), 4);
        let text = "temperature at two metres above the ground, daily; ".repeat(200);
        assert_eq!(chosen(known, &text.as_bytes()[..8192]), 1);
    }

    #[test]
    fn records_are_split_as_wholes() {
        let column =
            |r: u32, c: u32| (c as f32 * 100.0 + (r as f32 / (5.0 + c as f32)).sin() * 3.0).to_be_bytes();
        let records: Vec<u8> = (0..1024u32).flat_map(|r| (0..16).flat_map(move |c| column(r, c))).collect();
        assert_eq!(chosen(TreeHead { width: 4, stride: 64, ..TreeHead::default() }, &records), 64);
    }
}
