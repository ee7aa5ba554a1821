//! One map of a variable, whatever the file's format: where it is warmest.
//!
//! ```text
//! cargo run --release -p ncforge --example read_map -- data/sst30e_netcdf.nc sst 6
//! ```

use ncforge::{Dataset, Hyperslab};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(name), Some(step)) = (args.next(), args.next(), args.next()) else {
        return Err(
            "usage: read_map FILE VARIABLE STEP (the variable is of type float: time, latitude, longitude)"
                .into(),
        );
    };
    let data = Dataset::open(&path)?;
    let var = data.var(&name)?;
    let shape = data.schema().shape(var);
    let [_, rows, columns] = shape[..] else {
        return Err(format!("`{name}` has {} dimensions, not three", shape.len()).into());
    };

    // Only the chunks that the map lies in are read and decoded; several at once, if there are several.
    let map: Vec<f32> = data.get(var, &Hyperslab::new(&[step.parse()?, 0, 0], &[1, rows, columns]))?;

    // The fill value, in the machine's byte order, marks missing values.
    let fill: [u8; 4] = data.schema().fill_value(var)[..].try_into()?;
    let measured = map.iter().enumerate().filter(|(_, value)| value.to_ne_bytes() != fill);
    let Some((at, warmest)) = measured.clone().max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
        println!("nothing was measured");
        return Ok(());
    };
    println!("{} of {} points have a value", measured.count(), map.len());
    println!("the largest is {warmest}, at row {} and column {}", at as u64 / columns, at as u64 % columns);
    Ok(())
}
