//! Numbers as they are meant: unpacked, with one value in place of all that are missing.

use crate::codec::numbers::{OutOfRange, convert};
use crate::codec::unpack::{Missing, Scaling, Unpacking, Width};
use crate::error::{Error, Result};
use crate::layout::Convert;
use crate::model::{Atomic, Number, Schema, Variable};

/// What the attributes of a variable of numbers say of these: which are missing, and what packs the others (CF conventions, 2.5.1 and 8.1;
/// netCDF User Guide, appendix A).
#[derive(Clone, Debug, PartialEq)]
pub struct Packing(pub(crate) Unpacking);

impl Packing {
    /// Those of a variable; `None` if it does not hold numbers. The error says what cannot be unpacked.
    pub fn of(schema: &Schema, var: &Variable) -> Result<Option<Self>, String> {
        let Some(kind) = schema.number_of(var.dtype) else { return Ok(None) };
        let stored = if is_unsigned(schema, var) { unsigned(kind) } else { kind };
        let scaling = scaling(schema, var, kind)?;
        Ok(Some(Packing(Unpacking { stored, scaling, ..missing(schema, var, kind) })))
    }

    /// Whether a scale or an offset packs the numbers.
    pub fn is_packed(&self) -> bool {
        self.0.scaling.is_some()
    }

    /// Whether the same stored numbers mean the same, and the same ones are missing; what lies outside of a valid range is not asked.
    pub fn is_same(&self, other: &Packing) -> bool {
        let (own, theirs) = (&self.0, &other.0);
        (own.stored, &own.missing, own.scaling) == (theirs.stored, &theirs.missing, theirs.scaling)
    }

    /// The type of the unpacked numbers, which is that of NumPy.
    pub fn kind(&self) -> Atomic {
        match self.0.scaling.map(|s| s.width) {
            None => self.0.stored,
            Some(Width::Single) => Atomic::Float,
            Some(Width::Widened | Width::Double) => Atomic::Double,
        }
    }
}

/// Which numbers of a variable are missing, in its type.
pub(crate) fn missing(schema: &Schema, var: &Variable, kind: Atomic) -> Unpacking {
    let numbers = |name: &str| -> Vec<Vec<u8>> {
        let all = var.attr(name).and_then(|a| schema.exact_elements(a, kind)).unwrap_or_default();
        all.chunks_exact(kind.size()).map(<[u8]>::to_vec).collect()
    };
    let range = numbers("valid_range");
    let limit = |i: usize, name: &str| {
        let of_range = range.get(i).filter(|_| range.len() == 2).cloned();
        of_range.or_else(|| numbers(name).into_iter().next())
    };
    Unpacking {
        stored: kind,
        missing: schema.missing_elements(var),
        low: limit(0, "valid_min"),
        high: limit(1, "valid_max"),
        becomes: Missing::Marked,
        scaling: None,
    }
}

/// Whether numbers of a signed type are unsigned ones.
pub(crate) fn is_unsigned(schema: &Schema, var: &Variable) -> bool {
    schema.number_of(var.dtype).is_some_and(|kind| kind != unsigned(kind))
        && var.attr("_Unsigned").and_then(|a| a.as_text()).is_some_and(|t| t.eq_ignore_ascii_case("true"))
}

/// The unsigned type of the same size.
fn unsigned(kind: Atomic) -> Atomic {
    match kind {
        Atomic::Byte => Atomic::UByte,
        Atomic::Short => Atomic::UShort,
        Atomic::Int => Atomic::UInt,
        Atomic::Int64 => Atomic::UInt64,
        other => other,
    }
}

/// What packs the numbers of a variable, in the types of NumPy.
fn scaling(schema: &Schema, var: &Variable, stored: Atomic) -> Result<Option<Scaling>, String> {
    let number = |name: &str| -> Result<Option<(Atomic, f64)>, String> {
        let Some(attr) = var.attr(name) else { return Ok(None) };
        let kind = schema.number_of(attr.dtype).filter(|_| attr.len(schema) == 1);
        let value = kind.zip(attr.values.bytes()).and_then(|(k, b)| Some((k, Number::read(k, b)?.to_f64())));
        value.map(Some).ok_or_else(|| format!("a variable whose `{name}` is not one number"))
    };
    let (factor, offset) = (number("scale_factor")?, number("add_offset")?);
    if factor.is_none() && offset.is_none() {
        return Ok(None);
    }
    let is_wide = |n: Option<(Atomic, f64)>| n.is_some_and(|(kind, _)| kind != Atomic::Float);
    let holds =
        matches!(stored, Atomic::Byte | Atomic::UByte | Atomic::Short | Atomic::UShort | Atomic::Float);
    let width = match (holds && !is_wide(factor), is_wide(offset)) {
        (true, false) => Width::Single,
        (true, true) if factor.is_some() => Width::Widened,
        _ => Width::Double,
    };
    Ok(Some(Scaling { width, factor: factor.map(|f| f.1), offset: offset.map(|o| o.1) }))
}

/// The conversion of stored numbers into the numbers that they mean.
#[derive(Debug)]
pub struct Unpacked {
    packing: Packing,
    /// A factor and a summand for other units.
    units: Option<(f64, f64)>,
    to: Atomic,
    fill: Vec<u8>,
    /// The variable and the file, for messages.
    name: String,
    file: String,
}

impl Unpacked {
    /// A conversion into numbers of type `to`, `fill` in place of missing ones. `name` and `file` are for messages.
    pub fn new(packing: Packing, to: Atomic, fill: Vec<u8>, name: &str, file: &str) -> Self {
        Self { packing, units: None, to, fill, name: name.to_owned(), file: file.to_owned() }
    }

    /// Numbers that are `what` in the type of the result.
    fn error(&self, what: std::fmt::Arguments<'_>) -> Error {
        let path = format!("{}: {}", self.file, self.name);
        Error::Unsupported { path, what: format!("unpacking {what} {}", self.to.cdl_name()) }
    }

    /// The same, with a factor and a summand for other units.
    pub(crate) fn in_units(self, units: Option<(f64, f64)>) -> Self {
        Self { units, ..self }
    }
}

impl Convert for Unpacked {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let Packing(rules) = &self.packing;
        let n = from.len() / rules.stored_size();
        let (mut numbers, mut mask) = (vec![0; n * rules.result_size()], vec![0u8; n]);
        rules.unpack(from, &mut numbers, Some(&mut mask))?;
        let mut kind = self.packing.kind();
        for (one, _) in numbers.chunks_exact_mut(kind.size()).zip(&mask).filter(|(_, missing)| **missing != 0)
        {
            one.fill(0);
        }
        if let Some((factor, summand)) = self.units {
            let mut wide = vec![0; n * size_of::<f64>()];
            convert(kind, &numbers, Atomic::Double, &mut wide, OutOfRange::Nearest);
            for one in wide.chunks_exact_mut(size_of::<f64>()) {
                let number = Number::read_f64(Atomic::Double, one) * factor + summand;
                one.copy_from_slice(&number.to_ne_bytes());
            }
            (numbers, kind) = (wide, Atomic::Double);
        }
        let mut outside = convert(kind, &numbers, self.to, to, OutOfRange::Nearest);
        if is_float(kind) && !is_float(self.to) {
            // Fractions are lost, too.
            let mut back = vec![0; numbers.len()];
            convert(self.to, to, kind, &mut back, OutOfRange::Nearest);
            let differs = |(a, b): &(&[u8], &[u8])| Number::read_f64(kind, a) != Number::read_f64(kind, b);
            outside =
                numbers.chunks_exact(kind.size()).zip(back.chunks_exact(kind.size())).filter(differs).count()
                    as u64;
        }
        if outside > 0 {
            return Err(self.error(format_args!("{outside} of {n} numbers that are no numbers of type")));
        }
        let mut taken = 0;
        for (one, missing) in to.chunks_exact_mut(self.to.size()).zip(&mask) {
            match *missing {
                0 => taken += usize::from(*one == self.fill[..]),
                _ => one.copy_from_slice(&self.fill),
            }
        }
        match taken {
            0 => Ok(()),
            _ => Err(self.error(format_args!("{taken} of {n} numbers that mean a missing one of type"))),
        }
    }
}

fn is_float(kind: Atomic) -> bool {
    matches!(kind, Atomic::Float | Atomic::Double)
}
