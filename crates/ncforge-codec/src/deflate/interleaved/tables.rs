//! Tables that decode a symbol with its extra bits in one look-up, or two for long codes.
//!
//! An entry has in its lowest byte how many bits it takes: of a literal those of the code, of a length or distance also the extra bits;
//! the next four bits are then those of the code alone. The upper half is the literal, or the base to which the extra bits are added.

use super::super::symbols::{
    DISTANCE_BASE, DISTANCE_EXTRA, DISTANCES, END, LENGTH_BASE, LENGTH_EXTRA, LITLEN,
};

/// Bits of the first look-up of literals and lengths.
pub(super) const LITLEN_BITS: u32 = 11;
/// [`LITLEN_BITS`] for distances.
pub(super) const DISTANCE_BITS: u32 = 8;
/// The longest code of the format.
const LONGEST: usize = 15;

/// The entry is a literal.
pub(super) const LITERAL: u32 = 1 << 31;
/// It is neither a literal, nor a length, nor a distance, but one of the next two, or reserved.
pub(super) const EXCEPTION: u32 = 1 << 15;
pub(super) const BLOCK_END: u32 = 1 << 14;
/// The code is longer: the upper half says where the table for it begins, four bits from bit 8 on how many bits select an entry of it.
pub(super) const SUBTABLE: u32 = 1 << 13;

/// Tables of one block.
pub(super) struct Tables {
    // Sizes are those of the largest tables that 288 and 32 codes of up to 15 bits need (2,342 and 402).
    pub(super) litlen: [u32; 2400],
    pub(super) distance: [u32; 480],
}

impl Default for Box<Tables> {
    fn default() -> Self {
        Box::new(Tables { litlen: [0; 2400], distance: [0; 480] })
    }
}

impl Tables {
    /// Makes them from code lengths. `None` for codes that are not complete, but a single code of one bit, and no code at all.
    pub(super) fn make(&mut self, litlen: &[u8], distances: &[u8]) -> Option<()> {
        build(litlen, LITLEN_BITS, &mut self.litlen, litlen_entry)?;
        build(distances, DISTANCE_BITS, &mut self.distance, distance_entry)
    }
}

fn litlen_entry(symbol: usize, bits: u32) -> u32 {
    match symbol {
        END => EXCEPTION | BLOCK_END | bits,
        0..END => LITERAL | (symbol as u32) << 16 | bits,
        LITLEN.. => EXCEPTION | bits,
        _ => with_extra(u32::from(LENGTH_BASE[symbol - 257]), u32::from(LENGTH_EXTRA[symbol - 257]), bits),
    }
}

fn distance_entry(symbol: usize, bits: u32) -> u32 {
    match symbol {
        DISTANCES.. => EXCEPTION | bits,
        _ => with_extra(u32::from(DISTANCE_BASE[symbol]), u32::from(DISTANCE_EXTRA[symbol]), bits),
    }
}

fn with_extra(base: u32, extra: u32, bits: u32) -> u32 {
    base << 16 | bits << 8 | (bits + extra)
}

/// Fills a table: codes of up to `root` bits in its first 2^root entries, longer ones in tables behind them. Codes are read
/// from their first bit on, which is the lowest of an index.
pub(super) fn build(
    lengths: &[u8],
    root: u32,
    table: &mut [u32],
    entry: impl Fn(usize, u32) -> u32,
) -> Option<()> {
    let mut count = [0usize; LONGEST + 1];
    for &n in lengths {
        count[usize::from(n)] += 1;
    }
    let used: usize = (1..=LONGEST).map(|n| count[n] << (LONGEST - n)).sum();
    let main = 1usize << root;
    if used != 1 << LONGEST {
        let single = used == 1 << (LONGEST - 1) && count[1] == 1;
        let symbol = lengths.iter().position(|&n| n == 1).filter(|_| single);
        if used > 0 && symbol.is_none() {
            return None;
        }
        table[..main].fill(entry(symbol.unwrap_or(0), 1));
        return Some(());
    }
    let mut next = [0usize; LONGEST + 1];
    for n in 1..LONGEST {
        next[n + 1] = next[n] + count[n];
    }
    let mut sorted = [0u16; 288];
    for (symbol, &n) in lengths.iter().enumerate().filter(|(_, n)| **n > 0) {
        let place = &mut next[usize::from(n)];
        sorted[*place] = symbol as u16;
        *place += 1;
    }
    let mut symbols = sorted.iter().map(|&s| usize::from(s));
    // The code, its first bit lowest, and how many entries are filled.
    let (mut code, mut filled) = (0usize, 1usize);
    for bits in 1..=root {
        if filled < 1 << bits {
            table.copy_within(..filled, filled);
            filled *= 2;
        }
        for _ in 0..count[bits as usize] {
            table[code] = entry(symbols.next()?, bits);
            code = following(code, bits);
        }
    }
    let (mut start, mut end, mut prefix) = (main, main, usize::MAX);
    for bits in root + 1..=LONGEST as u32 {
        for k in 0..count[bits as usize] {
            if code % main != prefix {
                prefix = code % main;
                start = end;
                // The bits that the longest code with this prefix needs.
                let mut select = bits - root;
                let mut left = count[bits as usize] - k;
                while left < 1 << select && root + select < LONGEST as u32 {
                    select += 1;
                    left = 2 * left + count[(root + select) as usize];
                }
                end = start + (1 << select);
                *table.get_mut(prefix)? = (start as u32) << 16 | EXCEPTION | SUBTABLE | select << 8 | root;
            }
            let symbol = entry(symbols.next()?, bits - root);
            for at in (start + (code >> root)..end).step_by(1 << (bits - root)) {
                *table.get_mut(at)? = symbol;
            }
            code = following(code, bits);
        }
    }
    Some(())
}

/// The code after this one of the same length, or of the next length if it is the last: bits are counted from the lowest.
fn following(code: usize, bits: u32) -> usize {
    let mut bit = 1usize << (bits - 1);
    let mut code = code;
    while bit > 0 && code & bit != 0 {
        code &= !bit;
        bit >>= 1;
    }
    code | bit
}
