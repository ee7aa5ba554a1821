//! A deflated netCDF-4 file, encoded by all cores, from slabs that arrive one after the other.
//!
//! ```text
//! cargo run --release -p ncforge --example write_parallel -- out.nc
//! ```

use ncforge::codec::filters;
use ncforge::model::{DimId, Storage};
use ncforge::{
    Atomic, Attribute, CreateOptions, Dataset, DatasetMut, Dimension, Format, Hyperslab, Schema, Variable,
};

const STEPS: u64 = 64;
const ROWS: u64 = 180;
const COLUMNS: u64 = 360;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: write_parallel OUT")?;

    let mut schema = Schema::new(Format::Netcdf4);
    for (name, len, unlimited) in [("time", 0, true), ("lat", ROWS, false), ("lon", COLUMNS, false)] {
        schema.dims.push(Dimension::new(name, len, unlimited));
    }
    let mut wave = Variable::new("wave", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]);
    let filters = vec![filters::shuffle(4), filters::deflate(4)];
    wave.storage = Storage::Chunked { chunks: vec![16, 45, 90], filters };
    wave.attrs.push(Attribute::text("units", "m"));
    schema.vars.push(wave);

    // The file gets its name when it is closed: a reader never sees half of it.
    let mut file =
        DatasetMut::create(&path, schema, CreateOptions { overwrite: true, ..CreateOptions::default() })?;
    let wave = file.schema().find_var("wave").ok_or("the variable was just defined")?;
    for step in 0..STEPS {
        // Writing behind the end of an unlimited dimension makes it longer. Chunks are encoded by all cores as soon as
        // they are whole.
        file.put(wave, &Hyperslab::new(&[step, 0, 0], &[1, ROWS, COLUMNS]), &map(step))?;
    }
    file.close()?;

    // A series through all steps touches four chunks, not 64 maps.
    let back = Dataset::open(&path)?;
    let series: Vec<f32> = back.get(wave, &Hyperslab::new(&[0, 90, 180], &[STEPS, 1, 1]))?;
    let written: Vec<f32> = (0..STEPS).map(|step| map(step)[(90 * COLUMNS + 180) as usize]).collect();
    assert_eq!(series, written);
    println!("{} bytes of values in {} bytes", STEPS * ROWS * COLUMNS * 4, std::fs::metadata(&path)?.len());
    Ok(())
}

/// A swell that travels east.
fn map(step: u64) -> Vec<f32> {
    let at = |i: u64| (i / COLUMNS, i % COLUMNS);
    (0..ROWS * COLUMNS)
        .map(at)
        .map(|(row, column)| ((column + step) as f32 / 9.0).sin() * (row as f32 / 57.3).sin())
        .collect()
}
