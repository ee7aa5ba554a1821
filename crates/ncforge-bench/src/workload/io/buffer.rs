//! Memory for values, from the beginning of a page on.
//!
//! Where a copy's destination stands a few bytes behind its source in their pages, as memory of `malloc` does to a file that is
//! read from its beginning, some processors copy at a third of their speed. The measured limit of the machine must not depend on
//! that, so all drivers get memory that begins with a page.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

#[derive(Default)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    first: usize,
    len: usize,
}

impl Buffer {
    /// Makes it so long; what it held may be lost.
    pub(super) fn resize(&mut self, len: usize) {
        if self.memory.len() < len + PAGE {
            self.memory = vec![0; len + PAGE];
            self.first = self.memory.as_ptr().align_offset(PAGE);
        }
        self.len = len;
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.first..self.first + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..self.first + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_page_however_long_it_gets() {
        let mut buffer = Buffer::default();
        assert!(buffer.is_empty());
        for len in [1, 5000, 4096, 1 << 20, 3] {
            buffer.resize(len);
            buffer.fill(7);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr() as usize % PAGE, 0);
        }
    }
}
