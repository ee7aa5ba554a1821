//! What drivers are asked to do, and what came out.

pub mod access;
pub mod chunks;
pub mod combine;
pub mod io;
pub mod records;
