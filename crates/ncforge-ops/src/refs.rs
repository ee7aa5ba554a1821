//! References to chunks: a Zarr view of netCDF files, whose chunks are ranges of bytes of those files.
//!
//! The document is version 1 of kerchunk's reference specification with metadata of Zarr version 2 inside. Readers
//! (`fsspec`'s file system `reference`, zarr-python, VirtualiZarr) need neither ncforge nor an HDF5 library. Several files
//! are [joined](crate::combine::join) along one dimension: what that says of them holds, and the layouts of its variables say where chunks lie.
//!
//! Guarantees: a reader gets the values that ncforge reads, bit for bit. Variables that ranges of bytes cannot express (strings of variable
//! length, filters that `numcodecs` lacks, chunk grids that do not fit together) are stored in the document itself if they are small, and
//! left out or refused otherwise, with the name of the variable and the reason. Files
//! that do not go together are an error that names the file and what differs.
//!
//! | part | about |
//! |---|---|
//! | `model`, `options` | references, and how they are made |
//! | `make` | the steps, from files to references |
//! | `source` | the file, or the [join](crate::combine::join) of several, and what is selected of it |
//! | `gather` | its groups and variables |
//! | `kinds`, `attributes`, `codecs` | types, attributes and filters in Zarr's terms |
//! | `parts` | the box of a variable that each file holds |
//! | `ranges` | the bytes of each part |
//! | `pieces` | the chunk grid that all parts share, and the range of bytes of each chunk |
//! | `inline` | values in the document itself |
//! | `build` | one array for each variable |
//! | `document` | the JSON text |
//! | `archive` | a netCDF file with aggregation variables instead |
//! | `write` | the file, of either format |
//!
//! ```
//! use ncforge::Engine;
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable, VarId};
//! use ncforge::{CreateOptions, DatasetMut, Hyperslab};
//! use ncforge_ops::progress::Silent;
//! use ncforge_ops::refs::{RefsOptions, references};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("a.nc");
//! let mut schema = Schema::new(Format::Cdf2);
//! schema.dims.push(Dimension::new("x", 3, false));
//! schema.vars.push(Variable::new("v", Atomic::Int, vec![DimId(0)]));
//! let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
//! new.write_bytes(VarId(0), &Hyperslab::all(&[3]), &[0; 12])?;
//! new.close()?;
//!
//! let options = RefsOptions { inline: 0, base: Some("s3://bucket".into()), ..RefsOptions::default() };
//! let made = references(&[&path], &options, &Engine::global(), &Silent)?;
//! assert!(made.json().contains("\"v/0\":[\"s3://bucket/a.nc\","));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod attributes;
mod build;
mod codecs;
mod document;
mod gather;
mod inline;
mod kinds;
mod make;
mod model;
mod options;
mod parts;
mod pieces;
mod ranges;
mod request;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use make::{references, references_of};
pub use model::{Array, Chunk, LeftOut, RefGroup, References, RefsReport};
pub use options::{Fills, RefsFormat, RefsOptions};
pub use request::RefsRequest;
pub use write::write_references;
