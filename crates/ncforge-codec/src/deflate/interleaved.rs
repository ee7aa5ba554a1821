//! zlib streams inflated two at a time by one thread, in turn.
//!
//! Decoding a Huffman code waits for the code before it: its length says where the next one begins. Chunks are independent of each
//! other, so the processor decodes symbols of one while those of the other wait ([`kernel`]). Everything that happens once for a block,
//! and the last bytes of input and output, is plain Rust ([`stream`]).
//!
//! Unusual input (damage, a dictionary, reserved symbols) and processors without BMI2 are left to libdeflate, which inflates the stream
//! again: it alone decides what an error is.

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(not(target_arch = "x86_64"))]
#[path = "interleaved/no_kernel.rs"]
mod kernel;
mod stream;
mod tables;

use std::cell::RefCell;

use crate::padded::PaddedInput;
use crate::scratch::{grow, with_own};

pub(super) use stream::{Input, Point};

use stream::Stream;
use tables::Tables;

/// Bytes behind the wanted ones of a segment: the fast loop ends this many before its buffer does.
const SLACK: usize = kernel::OUTPUT;

/// Tables for two streams, and buffers for two segments.
#[derive(Default)]
struct Own {
    tables: [Box<Tables>; 2],
    buffers: [Vec<u8>; 2],
}

thread_local! {
    static OWN: RefCell<Own> = RefCell::default();
}

/// Inflates zlib streams, two at a time into two buffers of one length, and calls `done` with the number and the bytes of each that fills
/// its buffer, in the order in which they end, while `done` returns true. It returns early at a stream that libdeflate must check: the
/// caller inflates those for which `done` was not called.
pub(crate) fn inflate_in_turn(
    streams: &[PaddedInput<'_>],
    buffers: [&mut [u8]; 2],
    done: impl FnMut(usize, &[u8]) -> bool,
) {
    if streams.len() > 1 && kernel::is_available() {
        let inputs: Vec<_> = streams.iter().map(|&s| Input::Whole(s)).collect();
        let want = buffers[0].len();
        // The caller knows which streams are done.
        let _ = with_own(&OWN, |own| in_turn(&inputs, want, buffers, &mut own.tables, done));
    }
}

/// Inflates parts of streams of `want` bytes each, two at a time, and gives `done` the number and the bytes of each. Returns whether it could.
pub(super) fn inflate_parts(inputs: &[Input<'_>], want: usize, mut done: impl FnMut(usize, &[u8])) -> bool {
    with_own(&OWN, |Own { tables, buffers }| {
        if buffers.iter_mut().any(|b| grow(b, want + SLACK).is_err()) {
            return false;
        }
        let parts = buffers.each_mut().map(|b| &mut b[..want + SLACK]);
        let run = in_turn(inputs, want, parts, tables, |i, bytes| {
            done(i, bytes);
            true
        });
        buffers.iter_mut().filter(|b| b.capacity() > LARGEST).for_each(|b| *b = Vec::new());
        run.is_some()
    })
}

/// Buffers of more bytes are freed after use.
const LARGEST: usize = 1 << 20;

/// `None` where it ended early.
fn in_turn<'a>(
    inputs: &[Input<'a>],
    want: usize,
    buffers: [&'a mut [u8]; 2],
    tables: &'a mut [Box<Tables>; 2],
    mut done: impl FnMut(usize, &[u8]) -> bool,
) -> Option<()> {
    let mut waiting = inputs.iter().enumerate();
    let mut free = buffers.into_iter().zip(tables.iter_mut());
    let mut open = |(buffer, tables): (&'a mut [u8], &'a mut Tables)| {
        let Some((i, &input)) = waiting.next() else { return Some(None) };
        Some(Some((i, Stream::open(input, want, buffer, tables)?)))
    };
    let mut next = || open(free.next().map(|(b, t)| (b, &mut **t))?);
    let mut lanes = [next()?, next()?];
    while let [a, b] = &mut lanes
        && (a.is_some() || b.is_some())
    {
        match (&mut *a, &mut *b) {
            (Some((_, a)), Some((_, b))) => kernel::run_two(a, b)?,
            (Some((_, only)), None) | (None, Some((_, only))) => kernel::run_one(only)?,
            (None, None) => {}
        }
        for lane in [a, b] {
            let Some((i, mut stream)) = lane.take() else { continue };
            stream.symbol()?;
            if !stream.is_done() {
                *lane = Some((i, stream));
                continue;
            }
            let (buffer, tables) = stream.finish()?;
            if !done(i, &buffer[..want]) {
                return None;
            }
            *lane = open((buffer, tables))?;
        }
    }
    Some(())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
