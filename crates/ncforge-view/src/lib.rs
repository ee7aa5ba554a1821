//! Pages and drawings of netCDF files: chunks with the reads on them, a map of the file's bytes, sizes of chunks, and what
//! a copy would bring. A page is one text that needs no network and no script, for light and dark, screens and printers.
//!
//! The drawn data are [`ncforge_ops::doctor::Anatomy`]; nothing here opens a file.
//!
//! ```
//! use ncforge::Engine;
//! use ncforge_ops::doctor::{DoctorOptions, anatomy};
//! use ncforge_view::info_page;
//! # use ncforge::{Dimension, DatasetMut, CreateOptions, Format, Hyperslab, Schema, Variable};
//! # use ncforge::model::{Atomic, DimId};
//! # let path = std::env::temp_dir().join(format!("ncforge-view-{}.nc", std::process::id()));
//! # let mut schema = Schema::new(Format::Cdf2);
//! # schema.dims.push(Dimension::new("x", 300, false));
//! # schema.vars.push(Variable::new("v<b>", Atomic::Short, vec![DimId(0)]));
//! # DatasetMut::create(&path, schema, CreateOptions::default())?.close()?;
//! let (_, file) = anatomy(&path, &DoctorOptions::default(), &Engine::global())?;
//! let page = info_page(std::slice::from_ref(&file));
//! assert!(page.starts_with("<!DOCTYPE html>") && page.contains("v&lt;b&gt;") && !page.contains("v<b>"));
//! assert!(ncforge_view::info_fragment(&file).starts_with("<div"), "for a notebook");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod chunks;
mod doctor;
mod fragment;
mod page;
mod reads;
mod svg;
mod variable;

pub use doctor::doctor_page;
pub use fragment::{doctor_fragment, info_fragment};
pub use page::{STYLE, frame, info_page};
pub use svg::{At, Paint, Side, Svg, short};
