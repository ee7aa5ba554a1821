//! For tools that move bytes themselves: where the bytes of a variable lie, chunk indexes, encoded chunks in and out,
//! requests to stores. Whole-file operations (`ncforge-ops`) are built on it. Programs that read and write values need
//! none of it.

pub use crate::codec::{Element, Order, SwapField};
pub use crate::container::{
    Container, ContainerMut, Records, Remark, Said, VarGroup, own_remarks, put_attribute, remarks,
};
pub use crate::engine::{
    Part, PartialRequests, RawChunk, Region, Rows, Writer, fetch, overlap, policy, read_chunks, with_stop,
};
pub use crate::layout::{
    Absent, ArrayPart, Cell, Cells, ChunkIndex, ChunkRecord, Chunks, Convert, Holder, Kept, NotFollowed,
    OpenPart, PartAxis, PartIndex, PartSource, Parts, Place, Runs, SourceName, Stretch, Stretches, VarLayout,
    few,
};
pub use crate::select::{ChunkGrid, Row, coordinates, sharing, unravel};
pub use crate::view::{Packing, Ranges, Span, Unpacked, View};

/// Classic files as their format defines them.
pub mod classic {
    pub use crate::classic::{
        CommonHeader, CreateOptions, ValuePlace, create, detect, open, open_mut, parts, version_needed,
    };
}

/// NetCDF-4 files as HDF5 and netCDF's conventions define them.
pub mod netcdf4 {
    pub use crate::netcdf4::{Alignment, CreateOptions, create, detect, is_hidden, open, open_mut};
}
