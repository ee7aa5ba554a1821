//! Requirements on the layout of files that others publish: `doctor` checks them, `copy` meets them.

pub(crate) mod cmip7;
pub(crate) mod virtual_stores;

use ncforge_tune::words;

/// Sets of requirements on the layout of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The file layout that CMIP7 asks for.
    Cmip7,
    /// The layout with which references to chunks join files into one Zarr array.
    Virtual,
}

words!(Profile:
    (Profile::Cmip7, "cmip7", [], "The file layout that CMIP7 asks for"),
    (Profile::Virtual, "virtual", [], "Files that references to chunks join into one array (VirtualiZarr, kerchunk)"),
);
