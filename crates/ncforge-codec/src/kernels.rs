//! The byte kernels: reversing byte order, shuffling bytes into planes and back.
//!
//! The inner loops are plain safe Rust that the compiler vectorises. On x86-64 each is compiled twice, for the
//! baseline and for AVX2, and the better one is chosen at run time; on aarch64 NEON is the baseline, and the two that
//! the compiler does not vectorise well are written by hand (`neon`). Values are moved as integers, so NaN payloads are
//! preserved.
//!
//! Their rates compared with a plain copy, and the reasons against AVX-512: docs/notes/0018-byte-kernels.md.

/// Defines a function whose body is compiled for the baseline and for AVX2; the call picks one.
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $ty),*) {
            #[inline(always)]
            fn body($($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) {
                    body($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the line above made sure that the processor has AVX2.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*);
        }
    };
}

mod bitshuffle;
#[cfg(target_arch = "aarch64")]
mod neon;
mod order;
mod rows;
mod shuffle;
mod swap;

pub use bitshuffle::{bitshuffle, bitunshuffle};
pub use order::{order_copy, order_in_place};
pub use rows::{Row, order_copy_rows};
pub use shuffle::{shuffle, unshuffle, unshuffle_into};
pub use swap::{swap_copy, swap_in_place};
