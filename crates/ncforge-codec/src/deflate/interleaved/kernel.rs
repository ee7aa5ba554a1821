//! The loops: as long as a step can neither leave the input nor the output, it checks nothing but distances.
//!
//! A step is up to three literals, or up to two and a match. With two streams, the processor runs the step of one while the look-ups
//! of the other are on their way; three need more registers than there are, and were slower (docs/notes/0025-fresh-processes.md).

use super::stream::{State, Stream};
use super::tables::{DISTANCE_BITS, EXCEPTION, LITERAL, LITLEN_BITS, SUBTABLE};

/// A step reads less than this many bytes: three words that begin at most 7 bytes after each other.
const INPUT: usize = 24;
/// A step writes less than this many bytes: three literals, the longest match, and what a copy writes too much.
pub(super) const OUTPUT: usize = 3 + 258 + 40;

/// A stream while it is in registers. Its pointers are into the slices of a [`Stream`] that is borrowed as long.
#[derive(Clone, Copy)]
struct Lane {
    src: *const u8,
    /// Steps may begin before this place, …
    src_end: *const u8,
    dst: *mut u8,
    /// … and before this one.
    dst_end: *mut u8,
    dst_begin: *const u8,
    bits: u64,
    /// Its lowest byte is the number of bits.
    left: u32,
    /// The entry of the next literal or length.
    entry: u32,
    litlen: *const u32,
    distance: *const u32,
}

/// The end of a step.
#[derive(PartialEq, Eq)]
enum Step {
    Done,
    /// The symbol is not for this loop, and not taken.
    Other,
    Damaged,
}

impl Lane {
    /// `None` if no step is allowed.
    fn of(stream: &mut Stream<'_>) -> Option<Self> {
        let src_end = stream.src.len().checked_sub(INPUT)?;
        let dst_end = stream.dst.len().checked_sub(OUTPUT)?;
        if stream.state != State::Codes || stream.at >= src_end || stream.out >= dst_end {
            return None;
        }
        let (src, dst) = (stream.src.as_ptr(), stream.dst.as_mut_ptr());
        // SAFETY: all four places are inside the slices: `at` and `out` are smaller than the ends, and those than the lengths.
        let mut lane = unsafe {
            Lane {
                src: src.add(stream.at),
                src_end: src.add(src_end),
                dst: dst.add(stream.out),
                dst_end: dst.add(dst_end),
                dst_begin: dst,
                bits: stream.bits,
                left: stream.left,
                entry: 0,
                litlen: stream.tables.litlen.as_ptr(),
                distance: stream.tables.distance.as_ptr(),
            }
        };
        // SAFETY: a step is allowed.
        unsafe { lane.refill() };
        Some(lane)
    }

    /// The stream is as far as this.
    fn back(self, stream: &mut Stream<'_>) {
        stream.at = self.src as usize - stream.src.as_ptr() as usize;
        stream.out = self.dst as usize - stream.dst.as_ptr() as usize;
        stream.bits = self.bits;
        stream.left = self.left & 0xFF;
    }

    #[inline(always)]
    fn may_step(&self) -> bool {
        self.src < self.src_end && self.dst < self.dst_end
    }

    /// Has at least 56 bits, and the next entry.
    ///
    /// # Safety
    /// Eight bytes can be read.
    #[inline(always)]
    unsafe fn refill(&mut self) {
        // SAFETY: as for us.
        let word = unsafe { self.src.cast::<u64>().read_unaligned() };
        self.bits |= u64::from_le(word) << (self.left & 63);
        // SAFETY: at most seven bytes on.
        self.src = unsafe { self.src.add(7 - (self.left >> 3 & 7) as usize) };
        self.left |= 56;
        self.next();
    }

    #[inline(always)]
    fn next(&mut self) {
        // SAFETY: the main table has that many entries.
        self.entry = unsafe { *self.litlen.add((self.bits & ((1 << LITLEN_BITS) - 1)) as usize) };
    }

    /// Takes the bits of an entry.
    #[inline(always)]
    fn take(&mut self, entry: u32) {
        self.bits >>= entry & 63;
        // Bits above the lowest byte do not matter.
        self.left = self.left.wrapping_sub(entry);
    }

    /// Takes an entry; its base plus its extra bits.
    #[inline(always)]
    fn number(&mut self, entry: u32) -> usize {
        let bits = self.bits & !(u64::MAX << (entry & 63));
        self.take(entry);
        (entry >> 16) as usize + (bits >> (entry >> 8 & 15)) as usize
    }

    /// # Safety
    /// A byte can be written.
    #[inline(always)]
    unsafe fn literal(&mut self) {
        // SAFETY: as for us.
        unsafe {
            self.dst.write((self.entry >> 16) as u8);
            self.dst = self.dst.add(1);
        }
        self.take(self.entry);
    }

    /// # Safety
    /// [`Lane::may_step`].
    #[inline(always)]
    unsafe fn step(&mut self) -> Step {
        // SAFETY: a step reads at most `INPUT` and writes at most `OUTPUT` bytes: of input there are at most three calls of `refill`; of
        // output three literals, or two and a match. Entries of tables are inside them, as `build` made them. A distance is at most the
        // number of bytes that are decoded.
        unsafe {
            if self.entry & LITERAL != 0 {
                self.literal();
                self.next();
                if self.entry & LITERAL != 0 {
                    self.literal();
                    self.next();
                    if self.entry & LITERAL != 0 {
                        self.literal();
                        self.refill();
                        return Step::Done;
                    }
                }
                self.refill();
            }
            if self.entry & EXCEPTION != 0 {
                if self.entry & SUBTABLE == 0 {
                    return Step::Other;
                }
                let select = self.bits >> LITLEN_BITS & ((1 << (self.entry >> 8 & 15)) - 1);
                let entry = *self.litlen.add((self.entry >> 16) as usize + select as usize);
                if entry & EXCEPTION != 0 {
                    return Step::Other;
                }
                self.take(LITLEN_BITS);
                self.entry = entry;
                if entry & LITERAL != 0 {
                    self.literal();
                    self.refill();
                    return Step::Done;
                }
            }
            let length = self.number(self.entry);
            let mut entry = *self.distance.add((self.bits & ((1 << DISTANCE_BITS) - 1)) as usize);
            if entry & EXCEPTION != 0 {
                if entry & SUBTABLE == 0 {
                    return Step::Damaged;
                }
                self.take(DISTANCE_BITS);
                let select = self.bits & ((1 << (entry >> 8 & 15)) - 1);
                entry = *self.distance.add((entry >> 16) as usize + select as usize);
                if entry & EXCEPTION != 0 {
                    return Step::Damaged;
                }
            }
            let distance = self.number(entry);
            if distance > self.dst as usize - self.dst_begin as usize {
                return Step::Damaged;
            }
            self.refill();
            let to = self.dst;
            self.dst = to.add(length);
            repeat(to, distance, length);
        }
        Step::Done
    }
}

/// Copies eight bytes.
///
/// # Safety
/// They can be read and written.
#[inline(always)]
unsafe fn word(from: *const u8, to: *mut u8) {
    // SAFETY: as for us.
    unsafe { to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()) };
}

/// Repeats what is `distance` bytes before.
///
/// # Safety
/// `distance` bytes before `to` can be read, and `length + 40` after it written, of which those behind `length` mean nothing.
#[inline(always)]
unsafe fn repeat(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: whole words are copied: up to 40 bytes first, then 32 at a time while some are missing.
    unsafe {
        let end = to.add(length);
        let (mut from, mut to) = (to.cast_const().sub(distance), to);
        if distance >= 8 {
            for i in 0..5 {
                word(from.add(8 * i), to.add(8 * i));
            }
            (from, to) = (from.add(40), to.add(40));
            while to < end {
                for i in 0..4 {
                    word(from.add(8 * i), to.add(8 * i));
                }
                (from, to) = (from.add(32), to.add(32));
            }
        } else if distance == 1 {
            let bytes = [*from; 32];
            while to < end {
                to.cast::<[u8; 32]>().write_unaligned(bytes);
                to = to.add(32);
            }
        } else {
            // The first `distance` bytes of each word are right.
            while to < end {
                word(from, to);
                (from, to) = (from.add(distance), to.add(distance));
            }
        }
    }
}

/// Whether the processor runs the loops; without them streams are decoded symbol by symbol.
pub(super) fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("bmi2")
}

/// Goes on with both streams until one of them has a symbol that is not for this loop. `None` for damage.
pub(super) fn run_two(a: &mut Stream<'_>, b: &mut Stream<'_>) -> Option<()> {
    let (mut first, mut second) = match (Lane::of(a), Lane::of(b)) {
        (Some(first), Some(second)) => (first, second),
        // One is near its end: the other goes on alone.
        (Some(_), None) => return run_one(a),
        (None, _) => return run_one(b),
    };
    if !is_available() {
        return Some(());
    }
    // SAFETY: the processor has BMI2.
    let damaged = unsafe { two(&mut first, &mut second) };
    first.back(a);
    second.back(b);
    (!damaged).then_some(())
}

/// Decodes a single stream.
pub(super) fn run_one(stream: &mut Stream<'_>) -> Option<()> {
    let Some(mut lane) = Lane::of(stream).filter(|_| is_available()) else { return Some(()) };
    // SAFETY: as above.
    let damaged = unsafe { one(&mut lane) };
    lane.back(stream);
    (!damaged).then_some(())
}

/// Whether one is damaged.
#[target_feature(enable = "bmi2")]
fn two(first: &mut Lane, second: &mut Lane) -> bool {
    let (mut a, mut b) = (*first, *second);
    let mut step = Step::Done;
    while step == Step::Done && a.may_step() && b.may_step() {
        // SAFETY: both may.
        step = unsafe { a.step() };
        if step == Step::Done {
            // SAFETY: as above.
            step = unsafe { b.step() };
        }
    }
    (*first, *second) = (a, b);
    step == Step::Damaged
}

#[target_feature(enable = "bmi2")]
fn one(lane: &mut Lane) -> bool {
    let mut a = *lane;
    let mut step = Step::Done;
    while step == Step::Done && a.may_step() {
        // SAFETY: it may.
        step = unsafe { a.step() };
    }
    *lane = a;
    step == Step::Damaged
}
