//! Reading and writing with conversion, through the engine, in buffers of bounded size.

use super::blocks::blocks;
use super::{Converted, Imap, Sides, convert};
use crate::buffer::{self, Buffer};
use crate::dataset::typed::Element;
use crate::dataset::{Dataset, DatasetMut};
use crate::error::{Error, Result};
use crate::model::{Atomic, Schema, VarId, shape};
use crate::select::Hyperslab;

/// Most bytes of a buffer of stored values, and of one of converted ones.
const BUFFER: u64 = 8 << 20;
/// Elements that are widened in place through a buffer of their own.
const WIDENED: usize = 2048;

impl Dataset {
    /// Reads a selection as numbers of another type, row-major. Text is read as `u8` and as nothing else.
    ///
    /// ```
    /// use ncforge::{Dataset, Hyperslab};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sst30e_netcdf.nc");
    /// let data = Dataset::open(path)?;
    /// let sst = data.var("sst")?;
    /// let slab = Hyperslab::new(&[0, 0, 0], &[1, 91, 181]);
    /// let doubles = data.get_as::<f64>(sst, &slab)?.in_range()?;
    /// assert_eq!(doubles.len(), 91 * 181);
    /// // The fill value of floats does not fit two bytes: it is converted, and counted.
    /// assert!(data.get_as::<i16>(sst, &slab)?.out_of_range <= 91 * 181);
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TextNumber`]; [`Error::BadType`] for values that are no numbers; [`Error::Rank`] and [`Error::Selection`] for
    /// a selection outside the variable; what [`Dataset::read_bytes`] gives.
    pub fn get_as<T: Element>(&self, var: VarId, slab: &Hyperslab) -> Result<Converted<Vec<T>>> {
        let memory = memory_type::<T>(self.schema(), var);
        check(self.schema(), var, slab, memory, false)?;
        let mut out = buffer::filled(T::zeroed(), length(slab, size_of::<T>())?)?;
        let done = self.get_converted(var, slab, memory, bytemuck::cast_slice_mut(&mut out))?;
        let Converted { value: (), out_of_range, to, variable } = done;
        Ok(Converted { value: out, out_of_range, to, variable })
    }

    /// Reads a selection into memory of the caller, where its elements lie as `imap` says.
    ///
    /// # Errors
    /// As [`Dataset::get_as`]; [`Error::Length`] if memory is too short for it.
    pub fn get_mapped<T: Element>(
        &self,
        var: VarId,
        slab: &Hyperslab,
        imap: &Imap,
        out: &mut [T],
    ) -> Result<Converted<()>> {
        let memory = memory_type::<T>(self.schema(), var);
        self.get_converted_mapped(var, slab, memory, imap, bytemuck::cast_slice_mut(out))
    }

    /// Reads a selection as numbers of the type `memory`, into memory that has exactly its size: [`Dataset::get_as`] where
    /// the type is known at run time only.
    ///
    /// # Errors
    /// As [`Dataset::get_as`]; [`Error::Length`] for memory of another size.
    pub fn get_converted(
        &self,
        var: VarId,
        slab: &Hyperslab,
        memory: Atomic,
        out: &mut [u8],
    ) -> Result<Converted<()>> {
        let sides = check(self.schema(), var, slab, memory, false)?;
        read(self.schema(), var, slab, sides, out, &mut |s, out| self.read_bytes(var, s, out))
    }

    /// [`Dataset::get_mapped`] where the type is known at run time only.
    ///
    /// # Errors
    /// As there.
    pub fn get_converted_mapped(
        &self,
        var: VarId,
        slab: &Hyperslab,
        memory: Atomic,
        imap: &Imap,
        out: &mut [u8],
    ) -> Result<Converted<()>> {
        let sides = check(self.schema(), var, slab, memory, false)?;
        let mut to = Mapped { imap, memory: out };
        read_mapped(self.schema(), var, slab, sides, &mut to, &mut |s, out| self.read_bytes(var, s, out))
    }
}

impl DatasetMut {
    /// Reads back a selection as numbers of another type, see [`Dataset::get_converted`].
    ///
    /// # Errors
    /// As there.
    pub fn get_converted(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        memory: Atomic,
        out: &mut [u8],
    ) -> Result<Converted<()>> {
        let sides = check(self.schema(), var, slab, memory, false)?;
        let schema = self.schema().clone();
        read(&schema, var, slab, sides, out, &mut |s, out| self.read_bytes(var, s, out))
    }

    /// Writes a selection from numbers of another type, row-major. Values outside the range of the variable's type are
    /// written as the conversion makes them, and counted.
    ///
    /// ```
    /// use ncforge::{CreateOptions, DatasetMut, NewVariable, Hyperslab};
    /// use ncforge::model::{Atomic, Format, Schema};
    /// let dir = tempfile::tempdir()?;
    /// let mut new = DatasetMut::begin(dir.path().join("t.nc"), Format::Cdf1, CreateOptions::default())?;
    /// let x = new.dimension(Schema::ROOT, "x", Some(2))?;
    /// let v = new.variable(NewVariable::new("v", Atomic::Short, &[x]))?;
    /// let done = new.dataset()?.put_as(v, &Hyperslab::all(&[2]), &[1.5f64, 1e9])?;
    /// assert_eq!(done.in_range().unwrap_err().netcdf_code(), -60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Dataset::get_as`]; [`Error::Length`] for more or fewer values than the selection has.
    pub fn put_as<T: Element>(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        values: &[T],
    ) -> Result<Converted<()>> {
        let memory = memory_type::<T>(self.schema(), var);
        self.put_converted(var, slab, memory, bytemuck::cast_slice(values))
    }

    /// Writes a selection from memory where its elements lie as `imap` says.
    ///
    /// # Errors
    /// As [`DatasetMut::put_as`]; [`Error::Length`] if memory is too short for it.
    pub fn put_mapped<T: Element>(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        imap: &Imap,
        values: &[T],
    ) -> Result<Converted<()>> {
        let memory = memory_type::<T>(self.schema(), var);
        self.put_converted_mapped(var, slab, memory, imap, bytemuck::cast_slice(values))
    }

    /// [`DatasetMut::put_as`] where the type is known at run time only.
    ///
    /// # Errors
    /// As there.
    pub fn put_converted(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        memory: Atomic,
        values: &[u8],
    ) -> Result<Converted<()>> {
        let sides = check(self.schema(), var, slab, memory, true)?;
        let name = self.schema().var_path(var);
        check_length(&name, slab, memory, values.len())?;
        let converted =
            |out_of_range| Converted { value: (), out_of_range, to: sides.stored, variable: name };
        if sides.are_alike() {
            self.write_bytes(var, slab, values)?;
            return Ok(converted(0));
        }
        let mut out_of_range = 0;
        let mut stored = Buffer::zeroed(0);
        let mut done = 0;
        for block in blocks(slab, elements(sides), chunk_of(self.schema(), var).as_deref()) {
            let n = block.slab.len() as usize;
            resize(&mut stored, n * sides.stored.size());
            let part = &values[done..done + n * memory.size()];
            out_of_range += convert(memory, part, sides.stored, &mut stored, sides.bytes_alike);
            self.write_bytes(var, &block.slab, &stored)?;
            done += part.len();
        }
        Ok(converted(out_of_range))
    }

    /// [`DatasetMut::put_mapped`] where the type is known at run time only.
    ///
    /// # Errors
    /// As there.
    pub fn put_converted_mapped(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        memory: Atomic,
        imap: &Imap,
        values: &[u8],
    ) -> Result<Converted<()>> {
        let sides = check(self.schema(), var, slab, memory, true)?;
        let (name, size) = (self.schema().var_path(var), memory.size());
        imap.check(&name, &slab.count, values.len() / size)?;
        let mut out_of_range = 0;
        let (mut dense, mut stored) = (Buffer::zeroed(0), Buffer::zeroed(0));
        for block in blocks(slab, elements(sides), chunk_of(self.schema(), var).as_deref()) {
            let n = block.slab.len() as usize;
            resize(&mut dense, n * size);
            resize(&mut stored, n * sides.stored.size());
            imap.for_each(&block, |at, place| {
                dense[at * size..(at + 1) * size].copy_from_slice(&values[place * size..(place + 1) * size]);
            });
            out_of_range += convert(memory, &dense, sides.stored, &mut stored, sides.bytes_alike);
            self.write_bytes(var, &block.slab, &stored)?;
        }
        Ok(Converted { value: (), out_of_range, to: sides.stored, variable: name })
    }
}

/// Reads stored values of a selection into memory of their size.
type Read<'a> = &'a mut dyn FnMut(&Hyperslab, &mut [u8]) -> Result<()>;

fn read(
    schema: &Schema,
    var: VarId,
    slab: &Hyperslab,
    sides: Sides,
    out: &mut [u8],
    read: Read<'_>,
) -> Result<Converted<()>> {
    let name = schema.var_path(var);
    check_length(&name, slab, sides.memory, out.len())?;
    let (from, to) = (sides.stored.size(), sides.memory.size());
    let mut out_of_range = 0;
    if sides.are_alike() {
        read(slab, out)?;
    } else if from <= to {
        // All at once, which leaves chunks to as many threads as there are: stored values at the end of the memory.
        let front = out.len() - out.len() / to * from;
        read(slab, &mut out[front..])?;
        out_of_range = widen(sides, out, front);
    } else {
        let mut stored = Buffer::zeroed(0);
        let mut done = 0;
        for block in blocks(slab, elements(sides), chunk_of(schema, var).as_deref()) {
            let n = block.slab.len() as usize;
            resize(&mut stored, n * from);
            read(&block.slab, &mut stored)?;
            let part = &mut out[done..done + n * to];
            out_of_range += convert(sides.stored, &stored, sides.memory, part, sides.bytes_alike);
            done += n * to;
        }
    }
    Ok(Converted { value: (), out_of_range, to: sides.memory, variable: name })
}

/// Converts values that lie at the end of the memory of their results, from `front` on. No result is wider than its value
/// by more than what was in front of it, so none overwrites a value that is still to come.
fn widen(sides: Sides, out: &mut [u8], front: usize) -> u64 {
    let (from, to) = (sides.stored.size(), sides.memory.size());
    let count = out.len() / to;
    let mut buffer = [0u8; WIDENED * 8];
    let (mut i, mut out_of_range) = (0, 0);
    while i < count {
        let n = WIDENED.min(count - i);
        let stored = &mut buffer[..n * from];
        stored.copy_from_slice(&out[front + i * from..][..n * from]);
        let part = &mut out[i * to..(i + n) * to];
        out_of_range += convert(sides.stored, stored, sides.memory, part, sides.bytes_alike);
        i += n;
    }
    out_of_range
}

/// Memory where the elements of a selection lie in an order of their own.
struct Mapped<'a> {
    imap: &'a Imap,
    memory: &'a mut [u8],
}

fn read_mapped(
    schema: &Schema,
    var: VarId,
    slab: &Hyperslab,
    sides: Sides,
    to: &mut Mapped<'_>,
    read: Read<'_>,
) -> Result<Converted<()>> {
    let (name, size) = (schema.var_path(var), sides.memory.size());
    to.imap.check(&name, &slab.count, to.memory.len() / size)?;
    let mut out_of_range = 0;
    let (mut stored, mut dense) = (Buffer::zeroed(0), Buffer::zeroed(0));
    for block in blocks(slab, elements(sides), chunk_of(schema, var).as_deref()) {
        let n = block.slab.len() as usize;
        resize(&mut stored, n * sides.stored.size());
        resize(&mut dense, n * size);
        read(&block.slab, &mut stored)?;
        out_of_range += convert(sides.stored, &stored, sides.memory, &mut dense, sides.bytes_alike);
        to.imap.for_each(&block, |at, place| {
            to.memory[place * size..(place + 1) * size].copy_from_slice(&dense[at * size..(at + 1) * size]);
        });
    }
    Ok(Converted { value: (), out_of_range, to: sides.memory, variable: name })
}

/// The type in memory of a type of Rust: of `u8`, text for text.
fn memory_type<T: Element>(schema: &Schema, var: VarId) -> Atomic {
    let dtype = schema.vars.get(var.0).map(|v| v.dtype);
    let same = T::KINDS.iter().find(|&&kind| dtype == Some(kind.into()));
    same.copied().unwrap_or(T::KINDS[0])
}

/// The types on both sides, of a selection that lies inside its variable; where values are written, unlimited dimensions end
/// nowhere.
fn check(schema: &Schema, var: VarId, slab: &Hyperslab, memory: Atomic, writing: bool) -> Result<Sides> {
    let sides = Sides::of(schema, var, memory, writing)?;
    let length = |d: &crate::model::DimId| match schema.dim(*d) {
        dim if dim.unlimited && writing => u64::MAX,
        dim => dim.len,
    };
    let shape: Vec<u64> = schema.var(var).dims.iter().map(length).collect();
    slab.check(&shape, &schema.var_path(var))?;
    Ok(sides)
}

fn length(slab: &Hyperslab, size: usize) -> Result<usize> {
    let bytes = shape::checked(&slab.count, size as u64);
    let bytes = bytes.and_then(|n| usize::try_from(n).ok()).filter(|&n| isize::try_from(n).is_ok());
    let too_large = || Error::TooLarge(format!("a selection of {} elements does not fit memory", slab.len()));
    bytes.map(|n| n / size).ok_or_else(too_large)
}

fn check_length(name: &str, slab: &Hyperslab, memory: Atomic, bytes: usize) -> Result<()> {
    if length(slab, memory.size())?.checked_mul(memory.size()) == Some(bytes) {
        return Ok(());
    }
    let (count, size) = (slab.len(), memory.size());
    Err(Error::Length(format!("`{name}`: {bytes} bytes for a selection of {count} elements of {size} bytes")))
}

/// Elements of a block.
fn elements(sides: Sides) -> u64 {
    BUFFER / sides.stored.size().max(sides.memory.size()) as u64
}

fn chunk_of(schema: &Schema, var: VarId) -> Option<Vec<u64>> {
    schema.var(var).storage.chunks().map(<[u64]>::to_vec)
}

/// Gives a buffer its length; what it holds does not matter.
fn resize(buffer: &mut Buffer, len: usize) {
    if buffer.len() != len {
        *buffer = Buffer::zeroed(len);
    }
}
