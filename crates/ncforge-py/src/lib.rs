//! The extension module `ncforge._core`: the Rust library as plain calls that exchange numbers, bytes and
//! lists. The interface for Python programs (`Dataset`, `Variable`, NumPy types, indexing) is `python/ncforge/`.
//!
//! Guarantees: the interpreter is released around all input and output; every failure is one of
//! `ncforge.errors`; no panic crosses into Python (it becomes `ncforge.InternalError`).
// Arguments come from Python by value: that is how they are converted.
#![allow(clippy::needless_pass_by_value)]

mod alike;
mod arguments;
mod attributes;
mod bench;
mod choosing;
mod combine;
mod command;
mod concat;
mod contents;
mod define;
mod describe;
mod doctor;
mod encoder;
mod engine;
mod errors;
mod file;
mod memory;
mod ops;
mod picks;
mod progress;
mod refs;
mod remote;
mod request;
mod series;
mod state;
mod store;
mod unpacking;
mod values;
mod whole;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<file::File>()?;
    module.add_class::<contents::Contents>()?;
    module.add_function(wrap_pyfunction!(whole::make_file, module)?)?;
    module.add_function(wrap_pyfunction!(whole::write_whole, module)?)?;
    module.add_function(wrap_pyfunction!(memory::load_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(engine::engine_stats, module)?)?;
    module.add_function(wrap_pyfunction!(engine::clear_cache, module)?)?;
    module.add("ATTRIBUTES", alike::attribute_classes())?;
    module.add_function(wrap_pyfunction!(alike::look_at, module)?)?;
    module.add_function(wrap_pyfunction!(alike::glob_urls, module)?)?;
    module.add_function(wrap_pyfunction!(remote::set_remote_options, module)?)?;
    module.add_function(wrap_pyfunction!(remote::shown, module)?)?;
    module.add_function(wrap_pyfunction!(alike::equal_in_all, module)?)?;
    module.add_function(wrap_pyfunction!(alike::same_calendar, module)?)?;
    module.add_function(wrap_pyfunction!(ops::copy, module)?)?;
    module.add_function(wrap_pyfunction!(ops::plan_copy, module)?)?;
    module.add_function(wrap_pyfunction!(ops::compare, module)?)?;
    module.add_function(wrap_pyfunction!(ops::split, module)?)?;
    module.add_function(wrap_pyfunction!(ops::zip, module)?)?;
    module.add_function(wrap_pyfunction!(ops::unzip, module)?)?;
    module.add_function(wrap_pyfunction!(ops::compact, module)?)?;
    module.add_function(wrap_pyfunction!(ops::verify, module)?)?;
    module.add_function(wrap_pyfunction!(ops::digest, module)?)?;
    module.add_function(wrap_pyfunction!(ops::tune_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(ops::info_cdl, module)?)?;
    module.add_function(wrap_pyfunction!(ops::info_json, module)?)?;
    module.add_function(wrap_pyfunction!(ops::draw_info, module)?)?;
    module.add_function(wrap_pyfunction!(refs::references, module)?)?;
    module.add_function(wrap_pyfunction!(refs::reference_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(refs::file_arrays, module)?)?;
    module.add_class::<encoder::Encoder>()?;
    module.add_function(wrap_pyfunction!(combine::combine, module)?)?;
    module.add_function(wrap_pyfunction!(combine::plan_combine, module)?)?;
    module.add_function(wrap_pyfunction!(concat::concat, module)?)?;
    module.add_function(wrap_pyfunction!(concat::join, module)?)?;
    module.add_function(wrap_pyfunction!(concat::plan_concat, module)?)?;
    module.add_function(wrap_pyfunction!(series::series, module)?)?;
    module.add_function(wrap_pyfunction!(series::plan_series, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor_across, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor_text, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::draw_doctor, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor_rules, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_access, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(unpacking::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(choosing::blocks, module)?)?;
    module.add_function(wrap_pyfunction!(errors::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(command::main, module)?)?;
    Ok(())
}
