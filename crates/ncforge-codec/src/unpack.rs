//! Unpacking of stored numbers: missing values, scale and offset (CF conventions, 2.5.1 and 8.1).
//!
//! Everything is done in one pass over blocks that fit into the first-level cache. The results are bit for bit those of
//! NumPy: each step is rounded to the type that it has there, and no steps are fused.

use crate::error::{Error, Result};
use crate::types::Atomic;

/// Elements of a block: they fit into the first-level cache together with their results.
const BLOCK: usize = 1024;

/// The types of the steps from stored numbers to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Multiplied and added to as `f32`.
    Single,
    /// Multiplied as `f32`, added to as `f64`.
    Widened,
    /// Multiplied and added to as `f64`.
    Double,
}

impl Width {
    /// Bytes of a result.
    pub fn size(self) -> usize {
        if self == Width::Single { 4 } else { 8 }
    }
}

/// Results are `stored * factor + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The types of the intermediate results.
    pub width: Width,
    /// `None`: no multiplication.
    pub factor: Option<f64>,
    /// `None`: no addition.
    pub offset: Option<f64>,
}

/// The results for missing elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Missing values are marked in the mask; the result is the stored number, converted to the result's type if necessary, but not scaled.
    Marked,
    /// Missing values become NaN. Only with a scaling.
    Nan,
}

/// The rules for unpacking stored numbers. Values of the stored type are its bytes in native order.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpacking {
    /// The type that the stored bytes are read as; unsigned for bytes with an attribute that says so.
    pub stored: Atomic,
    /// Numbers that mark missing elements. A NaN matches every NaN.
    pub missing: Vec<Vec<u8>>,
    /// The smallest that is not missing.
    pub low: Option<Vec<u8>>,
    /// The largest that is not missing.
    pub high: Option<Vec<u8>>,
    /// The results for missing elements.
    pub becomes: Missing,
    /// `None`: results are the stored numbers.
    pub scaling: Option<Scaling>,
}

impl Unpacking {
    /// Bytes of a stored number.
    pub fn stored_size(&self) -> usize {
        self.stored.size()
    }

    /// Bytes of a result.
    pub fn result_size(&self) -> usize {
        self.scaling.map_or(self.stored.size(), |s| s.width.size())
    }

    /// Checks the rules.
    ///
    /// # Errors
    /// [`Error::BadType`] for values of another size than the type's, for text, and for NaN where results are integers.
    pub fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadType(what.into()));
        if self.stored == Atomic::Char {
            return bad("text is not unpacked");
        }
        let values = self.missing.iter().chain(&self.low).chain(&self.high);
        if values.into_iter().any(|v| v.len() != self.stored.size()) {
            return bad("a missing value, or a limit, is of another type than the variable");
        }
        if self.becomes == Missing::Nan && self.scaling.is_none() {
            return bad("missing values become NaN in floats only");
        }
        Ok(())
    }

    /// Unpacks all of `stored` into `out`, which has the length of the results, and sets elements of `mask` to 1 for missing
    /// elements (others are not changed). Returns whether any is missing.
    ///
    /// ```
    /// use ncforge_codec::unpack::{Missing, Scaling, Unpacking, Width};
    /// use ncforge_codec::Atomic;
    /// let rules = Unpacking {
    ///     stored: Atomic::Short,
    ///     missing: vec![(-9i16).to_ne_bytes().to_vec()],
    ///     low: None,
    ///     high: None,
    ///     becomes: Missing::Nan,
    ///     scaling: Some(Scaling { width: Width::Single, factor: Some(0.5), offset: Some(10.0) }),
    /// };
    /// let stored: Vec<u8> = [1i16, -9, 4].iter().flat_map(|v| v.to_ne_bytes()).collect();
    /// let mut out = [0u8; 12];
    /// assert!(rules.unpack(&stored, &mut out, None)?);
    /// let out: Vec<f32> = out.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
    /// assert_eq!((out[0], out[1].is_nan(), out[2]), (10.5, true, 12.0));
    /// # Ok::<(), ncforge_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Unpacking::check`], and [`Error::Length`] for memory of other lengths.
    pub fn unpack(&self, stored: &[u8], out: &mut [u8], mask: Option<&mut [u8]>) -> Result<bool> {
        self.check()?;
        let count = stored.len() / self.stored_size();
        if count * self.stored_size() != stored.len()
            || count * self.result_size() != out.len()
            || mask.as_ref().is_some_and(|m| m.len() != count)
        {
            return Err(Error::Length("memory of other lengths than the values to unpack".into()));
        }
        let Some(scaling) = self.scaling else {
            out.copy_from_slice(stored);
            return Ok(self.of_type(stored, None, mask));
        };
        Ok(self.of_type(stored, Some((scaling, out)), mask))
    }

    /// The part of [`Unpacking::unpack`] that is needed where results are the stored numbers: it finds missing elements.
    ///
    /// # Errors
    /// As [`Unpacking::unpack`], and [`Error::Length`] if there is a scaling.
    pub fn find(&self, stored: &[u8], mask: Option<&mut [u8]>) -> Result<bool> {
        self.check()?;
        let count = stored.len() / self.stored_size();
        let fits =
            count * self.stored_size() == stored.len() && mask.as_ref().is_none_or(|m| m.len() == count);
        if self.scaling.is_some() || !fits {
            return Err(Error::Length("memory of other lengths than the values to check".into()));
        }
        Ok(self.of_type(stored, None, mask))
    }

    fn of_type(&self, stored: &[u8], out: Option<(Scaling, &mut [u8])>, mask: Option<&mut [u8]>) -> bool {
        match self.stored {
            Atomic::Byte | Atomic::Char => self.run::<i8>(stored, out, mask),
            Atomic::UByte => self.run::<u8>(stored, out, mask),
            Atomic::Short => self.run::<i16>(stored, out, mask),
            Atomic::UShort => self.run::<u16>(stored, out, mask),
            Atomic::Int => self.run::<i32>(stored, out, mask),
            Atomic::UInt => self.run::<u32>(stored, out, mask),
            Atomic::Int64 => self.run::<i64>(stored, out, mask),
            Atomic::UInt64 => self.run::<u64>(stored, out, mask),
            Atomic::Float => self.run::<f32>(stored, out, mask),
            Atomic::Double => self.run::<f64>(stored, out, mask),
        }
    }

    fn run<T: Number>(
        &self,
        stored: &[u8],
        mut out: Option<(Scaling, &mut [u8])>,
        mut mask: Option<&mut [u8]>,
    ) -> bool {
        let tests = Tests::<T>::new(self);
        let size = self.result_size();
        let mut found = [0u8; BLOCK];
        let mut any = false;
        for (i, stored) in stored.chunks(T::SIZE * BLOCK).enumerate() {
            let found = &mut found[..stored.len() / T::SIZE];
            let here = tests.find(stored, found);
            any |= here;
            if let Some((scaling, out)) = &mut out {
                let out = &mut out[i * BLOCK * size..][..found.len() * size];
                scale::<T>(*scaling, stored, out);
                if here {
                    put_missing::<T>(scaling.width, self.becomes, stored, found, out);
                }
            }
            if let (true, Some(mask)) = (here, mask.as_deref_mut()) {
                mask[i * BLOCK..][..found.len()].copy_from_slice(found);
            }
        }
        any
    }
}

/// The tests for missing elements.
struct Tests<T> {
    values: Vec<T>,
    nan: bool,
    low: Option<T>,
    high: Option<T>,
}

impl<T: Number> Tests<T> {
    fn new(rules: &Unpacking) -> Self {
        let all = rules.missing.iter().map(|b| T::of(b));
        let (nans, values): (Vec<T>, Vec<T>) = all.partition(|v| v.is_nan());
        let limit = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(T::of);
        Self { values, nan: !nans.is_empty(), low: limit(&rules.low), high: limit(&rules.high) }
    }

    /// Sets `found` to 1 for every missing element, else 0; returns whether there is one. Each test is a pass of its own:
    /// there are almost always one or two, and each compares whole registers.
    fn find(&self, stored: &[u8], found: &mut [u8]) -> bool {
        found.fill(0);
        for &value in &self.values {
            mark(stored, found, |v: T| v == value);
        }
        if self.nan {
            mark(stored, found, T::is_nan);
        }
        if let Some(low) = self.low {
            mark(stored, found, |v: T| v < low);
        }
        if let Some(high) = self.high {
            mark(stored, found, |v: T| v > high);
        }
        found.iter().fold(0, |any, f| any | f) != 0
    }
}

fn mark<T: Number>(stored: &[u8], found: &mut [u8], test: impl Fn(T) -> bool) {
    for (bytes, found) in stored.chunks_exact(T::SIZE).zip(found) {
        *found |= u8::from(test(T::of(bytes)));
    }
}

fn scale<T: Number>(scaling: Scaling, stored: &[u8], out: &mut [u8]) {
    let (f, o) = (scaling.factor, scaling.offset);
    match scaling.width {
        Width::Single => {
            let (f, o) = (f.map(|f| f as f32), o.map(|o| o as f32));
            match (f, o) {
                (Some(f), Some(o)) => each(stored, out, |v: T| v.single() * f + o),
                (Some(f), None) => each(stored, out, |v: T| v.single() * f),
                (None, Some(o)) => each(stored, out, |v: T| v.single() + o),
                (None, None) => each(stored, out, |v: T| v.single()),
            }
        }
        Width::Widened => {
            let f = f.map(|f| f as f32);
            match (f, o) {
                (Some(f), Some(o)) => each(stored, out, |v: T| f64::from(v.single() * f) + o),
                (Some(f), None) => each(stored, out, |v: T| f64::from(v.single() * f)),
                (None, Some(o)) => each(stored, out, |v: T| f64::from(v.single()) + o),
                (None, None) => each(stored, out, |v: T| f64::from(v.single())),
            }
        }
        Width::Double => match (f, o) {
            (Some(f), Some(o)) => each(stored, out, |v: T| v.double() * f + o),
            (Some(f), None) => each(stored, out, |v: T| v.double() * f),
            (None, Some(o)) => each(stored, out, |v: T| v.double() + o),
            (None, None) => each(stored, out, |v: T| v.double()),
        },
    }
}

fn each<T: Number, R: Number>(stored: &[u8], out: &mut [u8], of: impl Fn(T) -> R) {
    for (bytes, out) in stored.chunks_exact(T::SIZE).zip(out.chunks_exact_mut(R::SIZE)) {
        of(T::of(bytes)).put(out);
    }
}

/// Sets the results for elements that are missing.
fn put_missing<T: Number>(width: Width, becomes: Missing, stored: &[u8], found: &[u8], out: &mut [u8]) {
    let size = width.size();
    for (i, _) in found.iter().enumerate().filter(|(_, f)| **f != 0) {
        let value = T::of(&stored[i * T::SIZE..][..T::SIZE]);
        let out = &mut out[i * size..][..size];
        match (becomes, width) {
            (Missing::Nan, Width::Single) => f32::NAN.put(out),
            (Missing::Nan, _) => f64::NAN.put(out),
            (Missing::Marked, Width::Single) => value.single().put(out),
            (Missing::Marked, _) => value.double().put(out),
        }
    }
}

/// A number of one of the stored types.
trait Number: Copy + PartialOrd {
    const SIZE: usize;
    fn of(bytes: &[u8]) -> Self;
    fn put(self, out: &mut [u8]);
    fn single(self) -> f32;
    fn double(self) -> f64;
    fn is_nan(self) -> bool;
}

macro_rules! number {
    ($($t:ty, $nan:expr);*) => { $(
        #[allow(clippy::cast_lossless, reason = "written once for all types")]
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn of(bytes: &[u8]) -> Self {
                <$t>::from_ne_bytes(bytes.try_into().expect("a number has its size"))
            }
            #[inline]
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline]
            fn single(self) -> f32 {
                self as f32
            }
            #[inline]
            fn double(self) -> f64 {
                self as f64
            }
            #[inline]
            fn is_nan(self) -> bool {
                let nan: fn(Self) -> bool = $nan;
                nan(self)
            }
        }
    )* };
}

number!(i8, |_| false; u8, |_| false; i16, |_| false; u16, |_| false; i32, |_| false; u32, |_| false; i64, |_| false;
    u64, |_| false; f32, f32::is_nan; f64, f64::is_nan);

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(stored: Atomic, scaling: Option<Scaling>, becomes: Missing) -> Unpacking {
        Unpacking { stored, missing: Vec::new(), low: None, high: None, becomes, scaling }
    }

    fn bytes<const N: usize>(values: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        values.into_iter().flatten().collect()
    }

    fn doubles(bytes: &[u8]) -> Vec<f64> {
        bytes.chunks(8).map(f64::of).collect()
    }

    #[test]
    fn every_step_is_rounded_to_its_type() {
        let scaled = |width| Some(Scaling { width, factor: Some(0.01f32.into()), offset: Some(273.15) });
        let stored = bytes((0..3000i16).map(i16::to_ne_bytes));
        for width in [Width::Widened, Width::Double] {
            let rules = rules(Atomic::Short, scaled(width), Missing::Marked);
            let mut out = vec![0; 3000 * 8];
            assert!(!rules.unpack(&stored, &mut out, None).unwrap());
            for (i, v) in doubles(&out).into_iter().enumerate() {
                let want = match width {
                    Width::Widened => f64::from(i as f32 * 0.01) + 273.15,
                    _ => i as f64 * f64::from(0.01f32) + 273.15,
                };
                assert_eq!(v.to_bits(), want.to_bits());
            }
        }
        let rules = rules(Atomic::Short, scaled(Width::Single), Missing::Marked);
        let mut out = vec![0; 3000 * 4];
        rules.unpack(&stored, &mut out, None).unwrap();
        for (i, v) in out.chunks(4).map(f32::of).enumerate() {
            assert_eq!(v.to_bits(), (i as f32 * 0.01 + 273.15f32).to_bits());
        }
    }

    #[test]
    fn missing_elements_are_marked_and_not_scaled() {
        // Over more than one block, in the last block only.
        let mut values: Vec<f64> = (0..2500).map(f64::from).collect();
        values[2400] = f64::NAN;
        let stored = bytes(values.iter().map(|v| v.to_ne_bytes()));
        let scaling = Some(Scaling { width: Width::Double, factor: Some(2.0), offset: None });
        let mut rules = rules(Atomic::Double, scaling, Missing::Marked);
        rules.missing = vec![f64::NAN.to_ne_bytes().to_vec(), 2100f64.to_ne_bytes().to_vec()];
        rules.high = Some(2490f64.to_ne_bytes().to_vec());
        let (mut out, mut mask) = (vec![0; stored.len()], vec![0; 2500]);
        assert!(rules.unpack(&stored, &mut out, Some(&mut mask)).unwrap());
        let found: Vec<usize> = (0..2500).filter(|&i| mask[i] != 0).collect();
        let mut want = vec![2100, 2400];
        want.extend(2491..2500);
        assert_eq!(found, want);
        let out = doubles(&out);
        assert_eq!((out[2099], out[2100], out[2491]), (4198.0, 2100.0, 2491.0));
        assert!(out[2400].is_nan());
    }

    #[test]
    fn without_scaling_the_numbers_stay() {
        let stored = bytes([1i32, -7, 3].map(i32::to_ne_bytes));
        let mut rules = rules(Atomic::Int, None, Missing::Marked);
        rules.low = Some(0i32.to_ne_bytes().to_vec());
        let (mut out, mut mask) = (vec![0; 12], vec![0; 3]);
        assert!(rules.unpack(&stored, &mut out, Some(&mut mask)).unwrap());
        assert_eq!((out, mask), (stored, vec![0, 1, 0]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut wrong = rules(Atomic::Int, None, Missing::Nan);
        assert!(wrong.check().is_err(), "NaN among integers");
        wrong.becomes = Missing::Marked;
        wrong.missing.push(vec![0; 2]);
        assert!(wrong.check().is_err(), "a missing value of another type");
        wrong.missing.clear();
        assert!(wrong.unpack(&[0; 8], &mut [0; 4], None).is_err(), "an output that is too short");
        assert!(wrong.unpack(&[0; 7], &mut [0; 7], None).is_err(), "no whole number of values");
        assert!(rules(Atomic::Char, None, Missing::Marked).check().is_err(), "text");
    }
}
