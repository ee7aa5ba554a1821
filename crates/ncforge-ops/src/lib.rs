//! Work on whole netCDF files, each piece of it on the [engine](ncforge::Engine) of the crate `ncforge`.
//!
//! * [`alike`] – many files that are read as one: what they have in common;
//! * [`copy`] – any container into any container: other format, other chunks, other codec, in bounded memory;
//! * [`combine`] – tiles, one a process, into one whole file;
//! * [`compare`] – whether two files say the same, and where they first differ;
//! * [`choosing`] – chunk shapes for the variables of a dataset, from how they will be read;
//! * [`digest`] – digests of what files say, not of how it is stored;
//! * [`describe`] – the header as CDL, how everything is stored, and both as JSON;
//! * [`sampling`] – how well and how fast a variable is coded, from small parts of it;
//! * [`doctor`] – what is slow in a file, for whom, by how much, and the command that fixes it;
//! * [`select`] – subsets: indices along dimensions, by number, by values of coordinates, by dates;
//! * [`split`] – a whole file into tiles;
//! * [`zip`] – classic files into compressed blocks and back, compacting those;
//! * [`verify`] – every stored value of a file read, and what cannot be;
//! * [`profile`] – requirements on the layout of files that others publish;
//! * [`progress`] – how long work tells what it has done, and hears that it shall stop;
//! * [`refs`] – references to the chunks of files, for readers of Zarr;
//! * [`request`] – what a user asks of an operation, checked in one place for the command and for Python.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod alike;
mod boxes;
mod calendar;
pub mod choosing;
pub mod combine;
pub mod compare;
mod conversion;
pub mod copy;
pub mod describe;
pub mod digest;
pub mod doctor;
mod endings;
mod intact;
mod packed;
mod points;
pub mod profile;
pub mod progress;
pub mod refs;
pub mod request;
pub mod sampling;
pub mod select;
mod series;
pub mod split;
pub mod traffic;
mod unlike;
pub mod verify;
mod written;
pub mod zip;
