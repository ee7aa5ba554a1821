//! zlib streams inflated two at a time by one thread, in turn.
//!
//! Decoding a Huffman code waits for the code before it: its length says where the next one begins. Chunks are independent of each
//! other, so the processor decodes symbols of one while those of the other wait ([`kernel`]). Everything that happens once for a block,
//! and the last bytes of input and output, is plain Rust ([`stream`]).
//!
//! What is unusual (damage, a dictionary, reserved symbols, a processor without BMI2) is left to libdeflate, which inflates
//! it again: it alone decides what an error is.

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod stream;
#[cfg(target_arch = "x86_64")]
mod tables;

use crate::padded::PaddedInput;

#[cfg(target_arch = "x86_64")]
use stream::{State, Stream};
#[cfg(target_arch = "x86_64")]
use tables::Tables;

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// Tables for two streams.
    static TABLES: std::cell::RefCell<[Box<Tables>; 2]> = std::cell::RefCell::default();
}

/// Inflates zlib streams, two at a time into two buffers of one length, and calls `done` with the number and the bytes of each that fills
/// its buffer, in the order in which they end, while `done` returns true. It returns early at a stream that libdeflate must check: the
/// caller inflates those for which `done` was not called.
pub(crate) fn inflate_in_turn(
    streams: &[PaddedInput<'_>],
    buffers: [&mut [u8]; 2],
    done: impl FnMut(usize, &[u8]) -> bool,
) {
    #[cfg(target_arch = "x86_64")]
    if streams.len() > 1 && std::arch::is_x86_feature_detected!("bmi2") {
        TABLES.with(|cell| {
            if let Ok(mut tables) = cell.try_borrow_mut() {
                // The caller knows which streams are done.
                let _ = in_turn(streams, buffers, &mut tables, done);
            }
        });
        return;
    }
    let _ = (streams, buffers, done);
}

/// `None` where it ended early.
#[cfg(target_arch = "x86_64")]
fn in_turn<'a>(
    streams: &[PaddedInput<'a>],
    buffers: [&'a mut [u8]; 2],
    tables: &'a mut [Box<Tables>; 2],
    mut done: impl FnMut(usize, &[u8]) -> bool,
) -> Option<()> {
    let mut waiting = streams.iter().enumerate();
    let ([buffer_a, buffer_b], [tables_a, tables_b]) = (buffers, tables);
    let ((i, first), (j, second)) = (waiting.next()?, waiting.next()?);
    let mut lanes = [
        Some((i, Stream::new(*first, buffer_a, tables_a)?)),
        Some((j, Stream::new(*second, buffer_b, tables_b)?)),
    ];
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
            if stream.state == State::Codes {
                *lane = Some((i, stream));
                continue;
            }
            let (buffer, tables) = stream.finish()?;
            if !done(i, buffer) {
                return None;
            }
            *lane = match waiting.next() {
                Some((i, next)) => Some((i, Stream::new(*next, buffer, tables)?)),
                None => None,
            };
        }
    }
    Some(())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
