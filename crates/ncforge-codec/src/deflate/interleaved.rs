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
mod stream;
mod tables;

use std::cell::RefCell;

use stream::{State, Stream};
use tables::Tables;

use crate::padded::PaddedInput;

thread_local! {
    /// Tables for two streams.
    static TABLES: RefCell<[Box<Tables>; 2]> = RefCell::default();
}

/// Inflates zlib streams, two at a time in two rooms of one length, and hands on the number and the bytes of each that fills its room,
/// in the order in which they end, while `done` is true. It ends early at a stream that libdeflate must look at: those that were not handed
/// on are left.
pub(crate) fn inflate_in_turn(
    streams: &[PaddedInput<'_>],
    rooms: [&mut [u8]; 2],
    done: impl FnMut(usize, &[u8]) -> bool,
) {
    #[cfg(target_arch = "x86_64")]
    if streams.len() > 1 && std::arch::is_x86_feature_detected!("bmi2") {
        TABLES.with(|cell| {
            if let Ok(mut tables) = cell.try_borrow_mut() {
                // What is left is the caller's.
                let _ = in_turn(streams, rooms, &mut tables, done);
            }
        });
        return;
    }
    let _ = (streams, rooms, done);
}

/// `None` where it ended early.
#[cfg(target_arch = "x86_64")]
fn in_turn<'a>(
    streams: &[PaddedInput<'a>],
    rooms: [&'a mut [u8]; 2],
    tables: &'a mut [Box<Tables>; 2],
    mut done: impl FnMut(usize, &[u8]) -> bool,
) -> Option<()> {
    let mut waiting = streams.iter().enumerate();
    let ([room_a, room_b], [tables_a, tables_b]) = (rooms, tables);
    let ((i, first), (j, second)) = (waiting.next()?, waiting.next()?);
    let mut lanes = [
        Some((i, Stream::new(*first, room_a, tables_a)?)),
        Some((j, Stream::new(*second, room_b, tables_b)?)),
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
            let (room, tables) = stream.finish()?;
            if !done(i, room) {
                return None;
            }
            *lane = match waiting.next() {
                Some((i, next)) => Some((i, Stream::new(*next, room, tables)?)),
                None => None,
            };
        }
    }
    Some(())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
