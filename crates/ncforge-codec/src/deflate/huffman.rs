//! Length-limited Huffman codes (RFC 1951 §3.2.2).

/// A code: for each symbol its bits, reversed as deflate wants them, and their number (0: not used).
pub(super) struct Code<const N: usize> {
    pub(super) bits: [u16; N],
    pub(super) lens: [u8; N],
}

impl<const N: usize> Code<N> {
    /// The code for these frequencies, no symbol longer than `limit` bits. At least two symbols get a code, as
    /// some old decoders want complete codes.
    pub(super) fn new(freqs: &[u32; N], limit: usize) -> Self {
        let lens = lengths(freqs, limit);
        Self { bits: canonical(&lens), lens }
    }

    /// Bits that symbols of these frequencies take.
    pub(super) fn cost(&self, freqs: &[u32; N]) -> u64 {
        freqs.iter().zip(&self.lens).map(|(&f, &l)| u64::from(f) * u64::from(l)).sum()
    }
}

/// Code lengths of minimal total cost, then brought under the limit.
fn lengths<const N: usize>(freqs: &[u32; N], limit: usize) -> [u8; N] {
    let mut lens = [0; N];
    // Frequency and symbol in one number: one sort orders both.
    let mut order = [0u64; N];
    let mut used = 0;
    for (s, &f) in freqs.iter().enumerate() {
        if f > 0 {
            order[used] = u64::from(f) << 16 | s as u64;
            used += 1;
        }
    }
    if used < 2 {
        let only = if used == 1 { (order[0] & 0xFFFF) as usize } else { 0 };
        lens[only] = 1;
        lens[usize::from(only == 0)] = 1;
        return lens;
    }
    let order = &mut order[..used];
    order.sort_unstable();

    // Two queues: leaves by rising weight, and inner nodes, which are created by rising weight.
    let nodes = 2 * used - 1;
    let mut weight = vec![0u64; nodes];
    let mut parent = vec![0u32; nodes];
    for (w, o) in weight.iter_mut().zip(order.iter()) {
        *w = o >> 16;
    }
    let (mut leaf, mut inner) = (0, used);
    for next in used..nodes {
        for _ in 0..2 {
            let take_leaf = leaf < used && (inner >= next || weight[leaf] <= weight[inner]);
            let child = if take_leaf { &mut leaf } else { &mut inner };
            weight[next] += weight[*child];
            parent[*child] = next as u32;
            *child += 1;
        }
    }
    let mut depth = vec![0u32; nodes];
    let mut count = [0usize; 64];
    for i in (0..nodes - 1).rev() {
        depth[i] = depth[parent[i] as usize] + 1;
        if i < used {
            count[(depth[i] as usize).min(limit)] += 1;
        }
    }
    // Cutting long codes overfills the code space (units of 2^-limit). Making one code of full length the sibling of a
    // shorter one, which moves down one level, frees exactly one unit: the code stays complete.
    let mut space: usize = (1..=limit).map(|l| count[l] << (limit - l)).sum();
    while space > 1 << limit {
        let l =
            (1..limit).rev().find(|&l| count[l] > 0).expect("a code of two symbols or more fits its limit");
        count[l] -= 1;
        count[l + 1] += 2;
        count[limit] -= 1;
        space -= 1;
    }
    // The rarest symbols get the longest codes.
    let mut rarest = order.iter();
    for l in (1..=limit).rev() {
        for o in rarest.by_ref().take(count[l]) {
            lens[(o & 0xFFFF) as usize] = l as u8;
        }
    }
    lens
}

/// The canonical code of these lengths, each code's bits reversed.
fn canonical<const N: usize>(lens: &[u8; N]) -> [u16; N] {
    let mut next = [0u16; 17];
    let mut count = [0u16; 17];
    for &l in lens {
        count[l as usize] += 1;
    }
    count[0] = 0;
    for l in 1..17 {
        next[l] = (next[l - 1] + count[l - 1]) << 1;
    }
    let mut bits = [0; N];
    for (b, &l) in bits.iter_mut().zip(lens) {
        if l > 0 {
            *b = next[l as usize].reverse_bits() >> (16 - l);
            next[l as usize] += 1;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_complete_and_within_their_limit() {
        // Fibonacci frequencies make the deepest tree there is.
        let mut freqs = [0u32; 40];
        let (mut a, mut b) = (1u32, 1u32);
        for f in &mut freqs {
            *f = a;
            (a, b) = (b, a.saturating_add(b));
        }
        for limit in [7, 9, 15] {
            let code = Code::new(&freqs, limit);
            let space: u32 = code.lens.iter().map(|&l| 1 << (limit - usize::from(l))).sum();
            assert!(code.lens.iter().all(|&l| l > 0 && usize::from(l) <= limit));
            assert_eq!(space, 1 << limit);
        }
    }

    #[test]
    fn one_symbol_still_makes_a_code_of_two() {
        for s in [0, 1, 5] {
            let mut freqs = [0u32; 8];
            freqs[s] = 9;
            let code = Code::new(&freqs, 15);
            assert_eq!(code.lens[s], 1);
            assert_eq!(code.lens.iter().filter(|&&l| l == 1).count(), 2);
        }
    }
}
