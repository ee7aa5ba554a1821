//! Work on whole files, each piece of it on the [engine](crate::engine).
//!
//! * [`alike`] – many files that are read as one: what they have in common;
//! * [`copy`] – any container into any container: other format, other chunks, other codec, in bounded memory;
//! * [`combine`] – tiles, one a process, into one whole file;
//! * [`compare`] – whether two files say the same, and where they first differ;
//! * [`choosing`] – chunk shapes for the variables of a dataset, from how they will be read;
//! * [`describe`] – the header as CDL, how everything is stored, and both as JSON;
//! * [`sampling`] – how well and how fast a variable is coded, from small parts of it;
//! * [`doctor`] – what is slow in a file, for whom, by how much, and the command that mends it;
//! * [`split`] – a whole file into tiles;
//! * [`pack`] – classic files into compressed blocks and back, compacting and verifying those;
//! * [`progress`] – how long work tells what it has done, and hears that it shall stop.

pub mod alike;
mod boxes;
pub mod choosing;
pub mod combine;
pub mod compare;
pub mod copy;
pub mod describe;
pub mod doctor;
mod neighbours;
pub mod pack;
pub mod progress;
pub mod sampling;
mod source;
pub mod split;
mod written;
