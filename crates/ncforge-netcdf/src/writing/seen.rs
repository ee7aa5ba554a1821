//! Which elements of a chunk were written.

/// One bit for each element.
pub(super) struct Seen {
    bits: Vec<u64>,
    /// Elements that were written.
    count: u64,
}

impl Seen {
    pub(super) fn none(elements: usize) -> Self {
        Self { bits: vec![0; elements.div_ceil(64)], count: 0 }
    }

    /// Everything, which counts `count` elements: those that the dataset has.
    pub(super) fn all(elements: usize, count: u64) -> Self {
        Self { bits: vec![u64::MAX; elements.div_ceil(64)], count }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Notes that a run was written.
    pub(super) fn add(&mut self, first: usize, len: usize) {
        let (mut at, end) = (first, first + len);
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let n = (64 - bit).min(end - at);
            let mask = if n == 64 { u64::MAX } else { ((1 << n) - 1) << bit };
            self.count += u64::from((mask & !self.bits[word]).count_ones());
            self.bits[word] |= mask;
            at += n;
        }
    }

    /// Copies the elements that were not written from another array.
    pub(super) fn fill_rest(&self, data: &mut [u8], from: &[u8], size: usize) {
        let elements = data.len() / size;
        for (word, &bits) in self.bits.iter().enumerate().filter(|(_, bits)| **bits != u64::MAX) {
            for bit in (0..64).filter(|bit| bits >> bit & 1 == 0) {
                let e = word * 64 + bit;
                if e < elements {
                    data[e * size..][..size].copy_from_slice(&from[e * size..][..size]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_count_once() {
        let mut seen = Seen::none(200);
        seen.add(3, 130);
        seen.add(100, 64);
        seen.add(199, 1);
        assert_eq!(seen.count(), 162);
        let mut data = vec![1; 400];
        seen.fill_rest(&mut data, &[2; 400], 2);
        let want: Vec<u8> =
            (0..200).flat_map(|e| if (3..164).contains(&e) || e == 199 { [1; 2] } else { [2; 2] }).collect();
        assert_eq!(data, want);
        seen.add(0, 200);
        assert_eq!(seen.count(), 200);
    }
}
