//! The canonical form of a fragment (section 2.8.2): numbers of the type and the units of the aggregation variable, unpacked, with its
//! missing value.

mod units;

use std::sync::Arc;

use crate::codec::numbers::{OutOfRange, convert};
use crate::codec::unpack::{Missing, Scaling, Unpacking, Width};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Absent, Convert, Element, VarLayout};
use crate::model::{Atomic, DType, Endian, Number, Schema, VarId, Variable};
use crate::store::{MemoryStore, ReadStore};

use units::Units;

/// An aggregation variable, as its fragments have to fit it.
#[derive(Debug)]
pub(super) struct Target {
    /// The file, for messages.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) dtype: DType,
    dtype_name: String,
    kind: Option<Atomic>,
    pub(super) element: Element,
    pub(super) absent: Absent,
    rules: Rules,
    units: Units,
    is_unsigned: bool,
    /// A store without a byte, for what is in none.
    pub(super) nothing: Arc<dyn ReadStore>,
}

/// Which numbers of a variable are missing, in its type.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rules {
    missing: Vec<Vec<u8>>,
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
}

impl Rules {
    fn of(schema: &Schema, var: &Variable, kind: Atomic) -> Self {
        let numbers = |name: &str| -> Vec<Vec<u8>> {
            let all = var.attr(name).and_then(|a| schema.exact_elements(a, kind)).unwrap_or_default();
            all.chunks_exact(kind.size()).map(<[u8]>::to_vec).collect()
        };
        let range = numbers("valid_range");
        let limit = |i: usize, name: &str| {
            let of_range = range.get(i).filter(|_| range.len() == 2).cloned();
            of_range.or_else(|| numbers(name).into_iter().next())
        };
        Self {
            missing: schema.missing_elements(var),
            low: limit(0, "valid_min"),
            high: limit(1, "valid_max"),
        }
    }
}

impl Target {
    /// `stored`: the layout of the scalar that the file has.
    pub(super) fn of(schema: &Schema, id: VarId, stored: &VarLayout) -> Self {
        let var = schema.var(id);
        let kind = schema.number_of(var.dtype);
        let rules = kind.map(|kind| Rules::of(schema, var, kind)).unwrap_or_default();
        let (element, absent) = match kind {
            Some(kind) => {
                let fill = rules.missing.first().cloned().unwrap_or_else(|| kind.default_fill());
                (Element::atomic(kind, Endian::Native), Absent::As(fill))
            }
            None if stored.element.heap => (stored.element.clone(), stored.absent.clone()),
            None => {
                let fill = schema.fill_value(id);
                let fill =
                    if fill.len() == stored.element.size { fill } else { vec![0; stored.element.size] };
                (Element { order: crate::layout::Order::Keep, ..stored.element.clone() }, Absent::As(fill))
            }
        };
        Self {
            file: String::new(),
            name: stored.name.clone(),
            dtype: var.dtype,
            dtype_name: schema.type_name(var.dtype).to_owned(),
            kind,
            element,
            absent,
            rules,
            units: Units::of(var),
            is_unsigned: is_unsigned(schema, var),
            nothing: Arc::new(MemoryStore::new(stored.name.clone(), Vec::new())),
        }
    }

    /// The same, for messages that name the file.
    pub(super) fn in_file(self, file: &dyn Container) -> Self {
        Self { file: file.store().name().to_owned(), ..self }
    }

    pub(super) fn damaged(&self, what: &str) -> Error {
        Error::corrupt(&self.file, None, format!("`{}`: {what}", self.name))
    }

    pub(super) fn unsupported(&self, what: &str) -> Error {
        Error::Unsupported { path: format!("{}: {}", self.file, self.name), what: what.to_owned() }
    }

    fn fill(&self) -> &[u8] {
        self.absent.one().unwrap_or_default()
    }
}

/// How numbers of a fragment become numbers of the aggregation variable.
#[derive(Debug)]
pub(super) struct Canonical {
    rules: Unpacking,
    /// A factor and a summand for other units.
    units: Option<(f64, f64)>,
    to: Atomic,
    fill: Vec<u8>,
    name: String,
    /// The file of the aggregation variable.
    file: String,
}

impl Canonical {
    /// The conversion of a variable's elements; `None` if they are canonical as they are. The error says what cannot be converted.
    pub(super) fn of(schema: &Schema, id: VarId, target: &Target) -> Result<Option<Self>, String> {
        let var = schema.var(id);
        let units = Units::of(var).to(&target.units)?;
        let Some((from, to)) = schema.number_of(var.dtype).zip(target.kind) else {
            let is_same = var.dtype == target.dtype && !matches!(var.dtype, DType::User(_));
            let (own, of) = (&target.dtype_name, schema.type_name(var.dtype));
            return match is_same {
                true => Ok(None),
                false => Err(format!("an aggregation variable of type {own} with a fragment of type {of}")),
            };
        };
        let scaling = scaling(schema, var, from)?;
        let rules = Rules::of(schema, var, from);
        // Not of these conventions: the same numbers would have another meaning.
        let is_unsigned = is_unsigned(schema, var);
        if is_unsigned != target.is_unsigned {
            return Err(
                "an attribute `_Unsigned` of only one of a fragment and its aggregation variable".into()
            );
        }
        let (low, high) = match from == to && scaling.is_none() && units.is_none() {
            true if rules.missing.iter().all(|m| target.rules.missing.contains(m))
                && (rules.low.is_none() || rules.low == target.rules.low)
                && (rules.high.is_none() || rules.high == target.rules.high) =>
            {
                return Ok(None);
            }
            _ => (rules.low, rules.high),
        };
        if is_unsigned {
            return Err("converting a fragment with the attribute `_Unsigned`".into());
        }
        let becomes = Missing::Marked;
        let rules = Unpacking { stored: from, missing: rules.missing, low, high, becomes, scaling };
        let (fill, name, file) = (target.fill().to_vec(), target.name.clone(), target.file.clone());
        Ok(Some(Self { rules, units, to, fill, name, file }))
    }
}

/// Whether numbers of a signed type are unsigned ones.
fn is_unsigned(schema: &Schema, var: &Variable) -> bool {
    let kind = schema.number_of(var.dtype);
    matches!(kind, Some(Atomic::Byte | Atomic::Short | Atomic::Int | Atomic::Int64))
        && var.attr("_Unsigned").and_then(|a| a.as_text()).is_some_and(|t| t.eq_ignore_ascii_case("true"))
}

/// What packs the numbers of a variable, in the types of NumPy.
fn scaling(schema: &Schema, var: &Variable, stored: Atomic) -> Result<Option<Scaling>, String> {
    let number = |name: &str| -> Result<Option<(Atomic, f64)>, String> {
        let Some(attr) = var.attr(name) else { return Ok(None) };
        let kind = schema.number_of(attr.dtype).filter(|_| attr.len(schema) == 1);
        let value = kind.zip(attr.values.bytes()).and_then(|(k, b)| Some((k, Number::read(k, b)?.to_f64())));
        value.map(Some).ok_or_else(|| format!("a fragment whose `{name}` is not one number"))
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

impl Convert for Canonical {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let n = from.len() / self.rules.stored_size();
        let (mut numbers, mut mask) = (vec![0; n * self.rules.result_size()], vec![0u8; n]);
        self.rules.unpack(from, &mut numbers, Some(&mut mask))?;
        let mut kind = match self.rules.scaling.map(|s| s.width) {
            None => self.rules.stored,
            Some(Width::Single) => Atomic::Float,
            Some(Width::Widened | Width::Double) => Atomic::Double,
        };
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
            let (name, to) = (&self.name, self.to.cdl_name());
            let what =
                format!("`{name}`: {outside} of {n} numbers of a fragment are no numbers of type {to}");
            return Err(Error::corrupt(&self.file, None, what));
        }
        for (one, _) in to.chunks_exact_mut(self.to.size()).zip(&mask).filter(|(_, missing)| **missing != 0) {
            one.copy_from_slice(&self.fill);
        }
        Ok(())
    }
}

fn is_float(kind: Atomic) -> bool {
    matches!(kind, Atomic::Float | Atomic::Double)
}
