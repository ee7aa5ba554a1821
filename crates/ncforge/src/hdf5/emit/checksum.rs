//! The checksum of HDF5 metadata: Bob Jenkins' lookup3 hash, initial value 0
//! (HDF5 File Format Specification, "Checksums"; <http://burtleburtle.net/bob/hash/doobs.html>).

/// The checksum of a block of metadata.
pub fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xDEAD_BEEF_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |part: &[u8], i: usize| {
        let mut w = [0; 4];
        for (to, from) in w.iter_mut().zip(part.iter().skip(4 * i)) {
            *to = *from;
        }
        u32::from_le_bytes(w)
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest, 0));
        b = b.wrapping_add(word(rest, 1));
        c = c.wrapping_add(word(rest, 2));
        (a, b, c) = mix(a, b, c);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 1));
    c = c.wrapping_add(word(rest, 2));
    finish(a, b, c)
}

fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    (a, b, c)
}

fn finish(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    /// The first 44 bytes of an empty netCDF-4 file's superblock, as netcdf-c 4.10 wrote it, and its checksum.
    #[test]
    fn checksum_of_a_superblock() {
        let mut sb = vec![0x89, b'H', b'D', b'F', b'\r', b'\n', 0x1A, b'\n', 2, 8, 8, 0];
        sb.extend([0u8; 8]);
        sb.extend([0xFF; 8]);
        sb.extend(0x3494u64.to_le_bytes());
        sb.extend(0x30u64.to_le_bytes());
        assert_eq!(sb.len(), 44);
        assert_eq!(lookup3(&sb), 0x5117_32DC);
        assert_eq!(lookup3(b""), 0xDEAD_BEEF);
    }
}
