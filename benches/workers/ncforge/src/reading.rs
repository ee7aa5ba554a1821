//! Reads: a whole variable, and sequences of hyperslabs.

use std::path::Path;

use ncforge::{Dataset, Hyperslab};

use crate::answer::{Answer, Clock, checksum, combine, hex, unreadable};
use crate::fields::Fields;
use crate::worker::Worker;
use ncforge_bench::{Error, Result};

impl Worker {
    /// `read`: open, all of `var`, close.
    pub(crate) fn read(&mut self, request: &Fields<'_>) -> Result<Answer> {
        let (path, name) = (request.text("path")?, request.text("var")?);
        let clock = Clock::start();
        let data = Dataset::open_with(path, &self.engine)?;
        let values = data.read_all(data.var(name)?)?;
        drop(data);
        let answer = clock.stop();
        let bytes = values.bytes().unwrap_or_default();
        let checksum = if request.flag("check") { hex(checksum(bytes)) } else { None };
        Ok(Answer { bytes: bytes.len() as u64, checksum, ..answer })
    }

    /// `slabs`: open, one read after the other into one warm buffer, close. `slabs` is a file of 64-bit
    /// numbers: per read the start, then the count, slowest dimension first. It ends early after `limit`
    /// seconds or `reads` reads.
    pub(crate) fn slabs(&mut self, request: &Fields<'_>) -> Result<Answer> {
        let (path, name) = (request.text("path")?, request.text("var")?);
        let (limit, most) = (request.number("limit", f64::INFINITY)?, request.number("reads", usize::MAX)?);
        let (shape, size) = self.shape_and_size(path, name)?;
        let mut slabs = load_slabs(Path::new(request.text("slabs")?), shape.len())?;
        slabs.truncate(most);
        let longest = slabs.iter().map(|s| s.len() as usize * size).max().unwrap_or(0);
        self.warm_up(longest);
        let (mut bytes, mut done, mut sums) = (0, 0, Vec::new());
        let clock = Clock::start();
        let data = Dataset::open_with(path, &self.engine)?;
        let var = data.var(name)?;
        for slab in &slabs {
            let length = slab.len() as usize * size;
            data.read_bytes(var, slab, &mut self.warm[..length])?;
            if request.flag("check") {
                sums.push(checksum(&self.warm[..length]));
            }
            bytes += length as u64;
            done += 1;
            if limit.is_finite() && clock.wall.elapsed().as_secs_f64() > limit {
                break;
            }
        }
        drop(data);
        let answer = clock.stop();
        let checksum = if request.flag("check") { hex(combine(sums)) } else { None };
        Ok(Answer { reads: done, bytes, checksum, ..answer })
    }

    /// A variable's shape, and the bytes of one of its values.
    fn shape_and_size(&self, path: &str, name: &str) -> Result<(Vec<u64>, usize)> {
        let data = Dataset::open_with(path, &self.engine)?;
        let (schema, var) = (data.schema(), data.var(name)?);
        let size = schema.fixed_size(schema.var(var).dtype);
        let size = size.ok_or_else(|| Error::Invalid(format!("values of `{name}` have no fixed size")))?;
        Ok((schema.shape(var), size))
    }
}

fn load_slabs(path: &Path, rank: usize) -> Result<Vec<Hyperslab>> {
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, e))?;
    let (words, _) = bytes.as_chunks::<8>();
    let numbers: Vec<u64> = words.iter().map(|w| u64::from_le_bytes(*w)).collect();
    let slab = |row: &[u64]| Hyperslab::new(&row[..rank], &row[rank..]);
    Ok(numbers.chunks_exact(2 * rank.max(1)).map(slab).collect())
}
