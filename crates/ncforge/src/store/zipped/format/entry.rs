//! An entry: where a block or an index page is stored, and how.

/// Space is allocated in slots of this many bytes.
pub(in super::super) const SLOT: u64 = 512;
/// Bytes of an entry.
pub(in super::super) const ENTRY: usize = 16;

/// The stored form of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) enum Kind {
    /// Nothing is stored: zeros.
    #[default]
    Zero,
    /// A repetition of eight bytes, which are stored in the entry.
    Pattern([u8; 8]),
    /// Uncompressed.
    Raw,
    /// A zlib stream.
    Deflate,
    /// A Zstandard frame.
    Zstd,
    /// An LZ4 block.
    Lz4,
    /// Not a block but an index page.
    Page,
}

/// The place of a block or an index page, and its form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Entry {
    pub(in super::super) kind: Kind,
    /// The first slot.
    pub(in super::super) slot: u64,
    /// Bytes stored.
    pub(in super::super) len: u32,
    /// Elements of this many bytes were split into planes before they were compressed; 0: they were not.
    pub(in super::super) width: u16,
    /// CRC-32C of the stored bytes; of the pattern for one.
    pub(in super::super) crc: u32,
}

impl Entry {
    /// Slots that it takes.
    pub(in super::super) fn slots(&self) -> u64 {
        u64::from(self.len).div_ceil(SLOT)
    }

    /// First slot and number of slots, if anything is stored outside the entry.
    pub(in super::super) fn extent(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::Zero | Kind::Pattern(_) => None,
            _ => Some((self.slot, self.slots())),
        }
    }

    /// Byte offset in the file.
    pub(in super::super) fn offset(&self) -> u64 {
        self.slot * SLOT
    }

    pub(in super::super) fn put(&self, out: &mut Vec<u8>) {
        if let Kind::Pattern(pattern) = self.kind {
            out.extend_from_slice(&pattern);
        } else {
            out.extend_from_slice(&self.slot.to_le_bytes()[..6]);
            out.extend_from_slice(&self.width.to_le_bytes());
        }
        out.push(match self.kind {
            Kind::Zero => 0,
            Kind::Pattern(_) => 1,
            Kind::Raw => 2,
            Kind::Deflate => 3,
            Kind::Zstd => 4,
            Kind::Lz4 => 5,
            Kind::Page => 15,
        });
        out.extend_from_slice(&self.len.to_le_bytes()[..3]);
        out.extend_from_slice(&self.crc.to_le_bytes());
    }

    /// The error is a sentence.
    pub(in super::super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let Some(b) = bytes.first_chunk::<ENTRY>() else { return Err("an entry is cut short".into()) };
        let slot = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]);
        let width = u16::from_le_bytes([b[6], b[7]]);
        let len = u32::from_le_bytes([b[9], b[10], b[11], 0]);
        let crc = u32::from_le_bytes([b[12], b[13], b[14], b[15]]);
        let kind = match b[8] {
            0 if b.iter().all(|&x| x == 0) => return Ok(Self::default()),
            1 => {
                let pattern = [b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]];
                if crc32c::crc32c(&pattern) != crc || len != 0 {
                    return Err("the pattern of an entry does not match its checksum".into());
                }
                return Ok(Entry { kind: Kind::Pattern(pattern), crc, ..Self::default() });
            }
            2 => Kind::Raw,
            3 => Kind::Deflate,
            4 => Kind::Zstd,
            5 => Kind::Lz4,
            15 => Kind::Page,
            other => return Err(format!("an entry of the unknown kind {other}")),
        };
        if len == 0 {
            return Err("an entry of no bytes".into());
        }
        Ok(Entry { kind, slot, len, width, crc })
    }
}
