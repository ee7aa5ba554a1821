//! Filter 5, nbit: only the significant bits of each number are stored, most significant first, without gaps.
//! Decoding only.
//!
//! Parameters: their number, whether the chunk is stored uncompressed, elements per chunk, then the type as a tree:
//! 1 number (size, byte order, precision, bit offset), 2 array (size, base), 3 compound (size, number of members,
//! then offset and type of each), 4 anything else (size; whole bytes).

use super::bits::{BitReader, OutOfBits};
use super::damaged;
use crate::error::Result;

const NAME: &str = "nbit";
/// No writer produces deeper types; the limit protects the stack from recursion.
const MAX_DEPTH: usize = 32;

/// The filter with its parsed parameters.
#[derive(Clone, Debug)]
pub struct Nbit {
    stored: bool,
    elements: usize,
    size: usize,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Number { size: usize, big_endian: bool, precision: usize, offset: usize },
    Array { count: usize, step: usize, base: Box<Node> },
    Compound { members: Vec<(usize, Node)> },
    Bytes { size: usize },
}

impl Nbit {
    /// Parses the parameters.
    pub fn new(params: &[u32]) -> Result<Self> {
        let bad = || damaged(NAME, "parameters that describe no type");
        let (&stored, &elements) = params.get(1).zip(params.get(2)).ok_or_else(bad)?;
        let mut rest = &params[3..];
        let (root, size) = if stored == 1 && rest.is_empty() {
            (Node::Bytes { size: 1 }, 1)
        } else {
            parse(&mut rest, 0).filter(|(_, size)| *size > 0).ok_or_else(bad)?
        };
        Ok(Self { stored: stored == 1, elements: elements as usize, size, root })
    }

    /// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
    pub fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let room = dst.len();
        let long = |n: usize| damaged(NAME, format!("{n} bytes where {room} belong"));
        if self.stored {
            dst.get_mut(..src.len()).ok_or_else(|| long(src.len()))?.copy_from_slice(src);
            return Ok(src.len());
        }
        let bytes = self.elements.checked_mul(self.size).ok_or_else(|| long(usize::MAX))?;
        let dst = dst.get_mut(..bytes).ok_or_else(|| long(bytes))?;
        dst.fill(0);
        let mut bits = BitReader::new(src);
        for element in dst.chunks_exact_mut(self.size) {
            self.root
                .decode(&mut bits, element)
                .map_err(|OutOfBits| damaged(NAME, "the chunk ends before its last element"))?;
        }
        Ok(bytes)
    }
}

/// A type and its size; `None` if the parameters end too early or are not valid.
fn parse(rest: &mut &[u32], depth: usize) -> Option<(Node, usize)> {
    let mut next = || {
        let (&first, after) = rest.split_first()?;
        *rest = after;
        Some(first as usize)
    };
    if depth > MAX_DEPTH {
        return None;
    }
    let (class, size) = (next()?, next()?);
    let node = match class {
        1 => {
            let (order, precision, offset) = (next()?, next()?, next()?);
            let fits = precision.checked_add(offset)? <= size.checked_mul(8)?;
            (fits && order <= 1).then_some(Node::Number {
                size,
                big_endian: order == 1,
                precision,
                offset,
            })?
        }
        2 => {
            let (base, step) = parse(rest, depth + 1)?;
            // An array of any other type is stored as plain bytes.
            if let Node::Bytes { .. } = base {
                Node::Bytes { size }
            } else {
                let count = size.checked_div(step)?;
                Node::Array { count, step, base: Box::new(base) }
            }
        }
        3 => {
            let count = next()?;
            let mut members = Vec::new();
            for _ in 0..count {
                let (&offset, after) = rest.split_first()?;
                *rest = after;
                let (member, len) = parse(rest, depth + 1)?;
                if (offset as usize).checked_add(len)? > size {
                    return None;
                }
                members.push((offset as usize, member));
            }
            Node::Compound { members }
        }
        4 => Node::Bytes { size },
        _ => return None,
    };
    Some((node, size))
}

impl Node {
    /// Decodes one value into `out`, which holds zeros and is at least as long as the value.
    fn decode(&self, bits: &mut BitReader<'_>, out: &mut [u8]) -> Result<(), OutOfBits> {
        match self {
            Node::Number { size, big_endian, precision, offset } => {
                // From the highest significant bit down, one byte at a time.
                let mut top = offset + precision;
                while top > *offset {
                    let byte = (top - 1) / 8;
                    let low = (byte * 8).max(*offset);
                    let value = bits.read((top - low) as u32)? as u8;
                    let at = if *big_endian { size - 1 - byte } else { byte };
                    out[at] = value << (low % 8);
                    top = low;
                }
            }
            Node::Array { count, step, base } => {
                for i in 0..*count {
                    base.decode(bits, &mut out[i * step..(i + 1) * step])?;
                }
            }
            Node::Compound { members } => {
                for (offset, member) in members {
                    member.decode(bits, &mut out[*offset..])?;
                }
            }
            Node::Bytes { size } => {
                for b in &mut out[..*size] {
                    *b = bits.read(8)? as u8;
                }
            }
        }
        Ok(())
    }
}
