//! Eight planes for aarch64, by hand.
//!
//! NEON is part of every aarch64 processor that the standard library supports, so nothing is chosen at run time. For
//! numbers of two and four bytes the compiler translates the plain loops into the best instructions: interleaving loads
//! and stores (`ld2`, `ld4`, `st2`, `st4`) and `rev16`, `rev32`, `rev64`. There is no such load or store for eight
//! streams of bytes; after zipping planes to pairs, the ones for four streams of pairs can be used.

use std::arch::aarch64::{
    uint8x16_t, uint16x8x4_t, vld1q_u8, vld4q_u16, vreinterpretq_u8_u16, vreinterpretq_u16_u8, vst1q_u8,
    vst4q_u16, vuzp1q_u8, vuzp2q_u8, vzip1q_u8, vzip2q_u8,
};

/// Elements done at once.
const LANES: usize = 16;

fn load(bytes: &[u8; LANES]) -> uint8x16_t {
    // SAFETY: the array has the 16 bytes that are read.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

fn store(bytes: &mut [u8; LANES], v: uint8x16_t) {
    // SAFETY: the array has the 16 bytes that are written.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), v) }
}

fn load_pairs(bytes: &[[u8; 8]; LANES / 2]) -> uint16x8x4_t {
    // SAFETY: the array has the 64 bytes that are read; the instruction asks for no alignment.
    unsafe { vld4q_u16(bytes.as_ptr().cast()) }
}

fn store_pairs(bytes: &mut [[u8; 8]; LANES / 2], v: uint16x8x4_t) {
    // SAFETY: the array has the 64 bytes that are written; the instruction asks for no alignment.
    unsafe { vst4q_u16(bytes.as_mut_ptr().cast(), v) }
}

/// Joins eight planes of equal length into the elements at the front of `dst`; returns how many it joined, all but the
/// last few.
pub(super) fn join8(planes: [&[u8]; 8], dst: &mut [[u8; 8]]) -> usize {
    let (blocks, _) = dst.as_chunks_mut::<LANES>();
    let planes = planes.map(|p| &p.as_chunks::<LANES>().0[..blocks.len()]);
    for (i, block) in blocks.iter_mut().enumerate() {
        let p = planes.map(|p| load(&p[i]));
        // SAFETY: every aarch64 processor has NEON.
        let (low, high) = unsafe {
            let zip = |a, b| (vreinterpretq_u16_u8(vzip1q_u8(a, b)), vreinterpretq_u16_u8(vzip2q_u8(a, b)));
            let [ab, cd, ef, gh] = [zip(p[0], p[1]), zip(p[2], p[3]), zip(p[4], p[5]), zip(p[6], p[7])];
            (uint16x8x4_t(ab.0, cd.0, ef.0, gh.0), uint16x8x4_t(ab.1, cd.1, ef.1, gh.1))
        };
        let (first, second) = block.split_at_mut(LANES / 2);
        store_pairs(first.try_into().expect("half a block"), low);
        store_pairs(second.try_into().expect("half a block"), high);
    }
    blocks.len() * LANES
}

/// Splits elements into eight planes of the same length; returns how many it split, all but the last few.
pub(super) fn split8(elements: &[[u8; 8]], planes: &mut [&mut [u8]; 8]) -> usize {
    let (blocks, _) = elements.as_chunks::<LANES>();
    for (i, block) in blocks.iter().enumerate() {
        let (first, second) = block.split_at(LANES / 2);
        let low = load_pairs(first.try_into().expect("half a block"));
        let high = load_pairs(second.try_into().expect("half a block"));
        // SAFETY: every aarch64 processor has NEON.
        let split = unsafe {
            let unzip = |a, b| {
                let (a, b) = (vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b));
                [vuzp1q_u8(a, b), vuzp2q_u8(a, b)]
            };
            [unzip(low.0, high.0), unzip(low.1, high.1), unzip(low.2, high.2), unzip(low.3, high.3)]
        };
        for (plane, v) in planes.iter_mut().zip(split.as_flattened()) {
            store(&mut plane.as_chunks_mut::<LANES>().0[i], *v);
        }
    }
    blocks.len() * LANES
}
