//! Values as numbers of Rust, without conversion: a variable of type `float` is read as `f32` and nothing else.

use bytemuck::Pod;

use super::{Dataset, DatasetMut};
use crate::buffer;
use crate::error::{Error, Result};
use crate::model::{Atomic, DType, Schema, VarId};
use crate::select::Hyperslab;

/// A number type of Rust that is the memory form of an atomic type of netCDF. Sealed by what [`Atomic`] has.
pub trait Element: Pod + sealed::Sealed {
    /// The types whose values this holds, the usual one first: `u8` is for `ubyte` and for `char`.
    const KINDS: &'static [Atomic];
}

mod sealed {
    /// Only the types below.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($number:ident: $($kind:ident),+;)+) => {$(
        impl sealed::Sealed for $number {}
        impl Element for $number {
            const KINDS: &'static [Atomic] = &[$(Atomic::$kind),+];
        }
    )+};
}

elements! {
    i8: Byte;
    u8: UByte, Char;
    i16: Short;
    u16: UShort;
    i32: Int;
    u32: UInt;
    i64: Int64;
    u64: UInt64;
    f32: Float;
    f64: Double;
}

/// Whether a variable's values are of this number type.
fn check<T: Element>(schema: &Schema, var: VarId) -> Result<()> {
    let dtype = schema.var(var).dtype;
    if matches!(dtype, DType::Atomic(kind) if T::KINDS.contains(&kind)) {
        return Ok(());
    }
    Err(Error::BadType(format!(
        "`{}` is of type {}, whose values are no {}",
        schema.var_path(var),
        schema.type_name(dtype),
        std::any::type_name::<T>()
    )))
}

/// Elements of a selection, as memory counts them.
fn count(slab: &Hyperslab) -> Result<usize> {
    usize::try_from(slab.len())
        .map_err(|_| Error::TooLarge(format!("a selection of {} elements does not fit memory", slab.len())))
}

impl Dataset {
    /// Reads a selection of a variable as numbers, row-major. The variable must be of the type's own kind ([`Element`]):
    /// nothing is converted, scaled or masked.
    ///
    /// ```
    /// use ncforge::{Dataset, Hyperslab};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sst30e_netcdf.nc");
    /// let data = Dataset::open(path)?;
    /// let sst = data.var("sst")?;
    /// let january: Vec<f32> = data.get(sst, &Hyperslab::new(&[0, 0, 0], &[1, 91, 181]))?;
    /// assert_eq!(january.len(), 91 * 181);
    /// assert!(data.get::<f64>(sst, &Hyperslab::new(&[0, 0, 0], &[1, 1, 1])).is_err());
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type, or a selection outside the variable; what [`Dataset::read_bytes`] gives.
    pub fn get<T: Element>(&self, var: VarId, slab: &Hyperslab) -> Result<Vec<T>> {
        check::<T>(self.schema(), var)?;
        slab.check(&self.schema().shape(var), &self.schema().var_path(var))?;
        let mut out = buffer::filled(T::zeroed(), count(slab)?)?;
        self.read_bytes(var, slab, bytemuck::cast_slice_mut(&mut out))?;
        Ok(out)
    }

    /// Reads a selection as numbers into memory of the caller, which must have exactly the selection's length; see
    /// [`Dataset::get`].
    ///
    /// # Errors
    /// As of [`Dataset::get`], and [`Error::Invalid`] for memory of another length.
    pub fn get_into<T: Element>(&self, var: VarId, slab: &Hyperslab, out: &mut [T]) -> Result<()> {
        check::<T>(self.schema(), var)?;
        self.read_bytes(var, slab, bytemuck::cast_slice_mut(out))
    }
}

impl DatasetMut {
    /// Writes a selection from numbers, row-major; see [`Dataset::get`] for which types fit, and
    /// [`DatasetMut::write`] for writing past the end of an unlimited dimension.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type, or for values that are more or fewer than the selection has places.
    pub fn put<T: Element>(&mut self, var: VarId, slab: &Hyperslab, values: &[T]) -> Result<()> {
        check::<T>(self.schema(), var)?;
        self.write_bytes(var, slab, bytemuck::cast_slice(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::CreateOptions;
    use crate::model::{DimId, Dimension, Format, Variable};

    #[test]
    fn numbers_come_back_and_other_types_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n.nc");
        let mut schema = Schema::new(Format::Cdf5);
        schema.dims.push(Dimension::new("x", 3, false));
        for (name, kind) in [("f", Atomic::Float), ("u", Atomic::UInt64), ("c", Atomic::Char)] {
            schema.vars.push(Variable::new(name, kind, vec![DimId(0)]));
        }
        let all = Hyperslab::all(&[3]);
        let mut new = DatasetMut::create(&path, schema, CreateOptions::default()).unwrap();
        new.put(VarId(0), &all, &[1.5f32, f32::MIN, 0.0]).unwrap();
        new.put(VarId(1), &all, &[1u64, u64::MAX, 0]).unwrap();
        new.put(VarId(2), &all, b"abc").unwrap();
        let wrong = new.put(VarId(0), &all, &[1.0f64; 3]).unwrap_err().to_string();
        assert_eq!(wrong, "`f` is of type float, whose values are no f64");
        assert!(new.put(VarId(0), &all, &[1.0f32; 2]).is_err(), "too few values");
        new.close().unwrap();

        let data = Dataset::open(&path).unwrap();
        assert_eq!(data.get::<f32>(VarId(0), &all).unwrap(), [1.5, f32::MIN, 0.0]);
        assert_eq!(data.get::<u8>(VarId(2), &all).unwrap(), b"abc");
        let mut one = [0u64];
        data.get_into(VarId(1), &Hyperslab::new(&[1], &[1]), &mut one).unwrap();
        assert_eq!(one, [u64::MAX]);
        assert!(data.get_into(VarId(1), &all, &mut one).is_err(), "memory that is too short");
        // A selection of absurd size is refused before memory is asked for.
        assert!(data.get::<f32>(VarId(0), &Hyperslab::new(&[0], &[1 << 60])).is_err());
    }
}
