//! Which chunk shape a variable should have for the reads that are coming, and what each will cost.
//!
//! ```text
//! cargo run --release -p ncforge-tune --example choose_chunks -- data/navy_winds.nc UWND series=3,map=1
//! ```

use ncforge::Dataset;
use ncforge_tune::{Access, Coding, Machine, Request, axes_of, choose};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(name)) = (args.next(), args.next()) else {
        return Err("usage: choose_chunks FILE VARIABLE [READS]".into());
    };
    let reads = args.next().unwrap_or_else(|| "series,map,full".into());

    let data = Dataset::open(&path)?;
    let schema = data.schema();
    let var = data.var(&name)?;
    // Latitude, longitude, time: recognised by the attributes of the coordinate variables.
    let axes = axes_of(schema, var);
    let dims: Vec<&str> = axes.iter().map(|axis| &axis.name[..]).collect();
    let machine = Machine::of_user();
    let element = schema.memory_size(schema.var(var).dtype) as u64;
    let request = Request {
        accesses: Access::parse(&reads, &dims)?,
        ..Request::new(&axes, element, Coding::deflate(4), &machine)
    };
    let choice = choose(&request)?;

    println!("chunks of {:?}, {} bytes each", choice.chunks, choice.bytes);
    for read in &choice.predictions {
        let times = read.chosen.seconds / read.best.seconds;
        println!(
            "{}: {:.1} chunks a read, {times:.2} times the cost of its own best",
            read.pattern.name, read.chosen.chunks
        );
    }
    Ok(())
}
