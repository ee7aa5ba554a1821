//! Operations on files that the system can refuse.

use std::fmt;

/// An operation on a file. Its text goes between "cannot" and the file's name.
///
/// ```
/// use ncforge::Op;
/// assert_eq!(Op::ReadAt { len: 4096, offset: 128 }.to_string(), "read 4096 bytes at offset 128 of");
/// assert!(Op::ReadAt { len: 4096, offset: 128 }.reads() && !Op::Create.reads());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Opening a file for reading.
    Open,
    /// Opening a file that is changed.
    Update,
    /// Making a file.
    Create,
    /// Reading a file.
    Read,
    /// Reading a range of bytes.
    ReadAt {
        /// Bytes.
        len: u64,
        /// Place of the first one.
        offset: u64,
    },
    /// Reading a part of a variable.
    ReadPart {
        /// The variable and the part of it.
        place: String,
        /// The operation that was refused.
        op: Box<Op>,
    },
    /// Writing a file.
    Write,
    /// Writing a range of bytes.
    WriteAt {
        /// Bytes.
        len: u64,
        /// Place of the first one.
        offset: u64,
    },
    /// Making a file longer or shorter.
    SetLength(u64),
    /// Taking space on the disk.
    Reserve(u64),
    /// Listing a folder.
    List,
    /// Another operation, in words.
    Other(&'static str),
}

impl Op {
    /// Whether it opens or reads a file: what failed is the input.
    pub fn reads(&self) -> bool {
        matches!(self, Op::Open | Op::Update | Op::Read | Op::ReadAt { .. } | Op::ReadPart { .. })
    }

    /// Whether it writes values.
    pub fn writes(&self) -> bool {
        matches!(self, Op::Write | Op::WriteAt { .. })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Open => f.write_str("open"),
            Op::Update => f.write_str("open for writing"),
            Op::Create => f.write_str("create"),
            Op::Read => f.write_str("read"),
            Op::ReadAt { len, offset } => write!(f, "read {len} bytes at offset {offset} of"),
            Op::ReadPart { place, op } => write!(f, "read {place}: {op}"),
            Op::Write => f.write_str("write"),
            Op::WriteAt { len, offset } => write!(f, "write {len} bytes at offset {offset} of"),
            Op::SetLength(len) => write!(f, "set the length to {len} of"),
            Op::Reserve(len) => write!(f, "reserve {len} bytes for"),
            Op::List => f.write_str("list"),
            Op::Other(words) => f.write_str(words),
        }
    }
}
