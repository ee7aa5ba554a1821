//! The three versions of the classic format, and the widths in which they differ.

use crate::error::{Error, Limit};
use crate::model::Format;

/// A version of the classic format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// CDF-1: 32-bit counts and offsets.
    V1,
    /// CDF-2: 64-bit offsets.
    V2,
    /// CDF-5: 64-bit counts and offsets, five more types.
    V5,
}

impl Version {
    /// All versions, in rising order of capabilities.
    pub(super) const ALL: [Version; 3] = [Version::V1, Version::V2, Version::V5];

    /// The version that the fourth byte of a file names.
    pub(super) fn from_byte(byte: u8) -> Option<Version> {
        Self::ALL.into_iter().find(|v| v.byte() == byte)
    }

    /// The version of a format, if it is a classic one.
    pub(super) fn of(format: Format) -> Option<Version> {
        Self::ALL.into_iter().find(|v| v.format() == format)
    }

    /// The error of what files of this version do not have.
    pub(super) fn cannot(self, what: impl Into<String>) -> Error {
        Error::Limit { format: self.name(), limit: Limit::Classic, what: what.into() }
    }

    /// The fourth byte of a file.
    pub(super) const fn byte(self) -> u8 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V5 => 5,
        }
    }

    pub(super) const fn format(self) -> Format {
        match self {
            Version::V1 => Format::Cdf1,
            Version::V2 => Format::Cdf2,
            Version::V5 => Format::Cdf5,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Version::V1 => "CDF-1",
            Version::V2 => "CDF-2",
            Version::V5 => "CDF-5",
        }
    }

    /// Bytes of a count: record count, list and name lengths, dimension lengths and ids, variable sizes.
    pub(super) const fn count_bytes(self) -> u64 {
        match self {
            Version::V1 | Version::V2 => 4,
            Version::V5 => 8,
        }
    }

    /// Bytes of a variable's `begin`.
    pub(super) const fn offset_bytes(self) -> u64 {
        match self {
            Version::V1 => 4,
            Version::V2 | Version::V5 => 8,
        }
    }

    /// The largest padded size of a variable (of one record of a record variable) that is not the last one.
    pub(super) const fn max_var_size(self) -> u64 {
        match self {
            Version::V1 => (1 << 31) - 4,
            Version::V2 => (1 << 32) - 4,
            Version::V5 => (1 << 63) - 4,
        }
    }

    /// The largest length of a fixed dimension that a writer may define.
    pub(super) const fn max_dim_len(self) -> u64 {
        match self {
            Version::V1 => (1 << 31) - 4,
            Version::V2 => (1 << 32) - 4,
            Version::V5 => (1 << 63) - 4,
        }
    }

    /// The largest record count; the one above means "not known" (streaming).
    pub(super) const fn max_records(self) -> u64 {
        match self {
            Version::V1 | Version::V2 => u32::MAX as u64 - 1,
            Version::V5 => i64::MAX as u64,
        }
    }

    /// The largest `begin`.
    pub(super) const fn max_offset(self) -> u64 {
        match self {
            Version::V1 => i32::MAX as u64,
            Version::V2 | Version::V5 => i64::MAX as u64,
        }
    }
}
