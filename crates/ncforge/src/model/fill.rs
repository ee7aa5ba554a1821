//! `_FillValue` as netCDF has it: one value of its variable's type.
//!
//! netCDF-C refuses to write any other, and to copy files that have one; HDF5 takes all (`h5py` makes 8-byte integers and doubles of
//! Python's numbers). Readers that mask compare numbers, not types: what is the same number in the variable's type masks the same.

use super::{Atomic, Attribute, DType, Number, Schema, UserKind, Value, Values, Variable};

/// The attributes of a variable that say which of its values are missing, in its type.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactFill {
    /// `_FillValue`.
    pub fill: Attribute,
    /// `missing_value` with all values, where `_FillValue` had several: it may have them.
    pub missing: Option<Attribute>,
}

impl ExactFill {
    /// Puts them in the place of the variable's own.
    pub fn put(self, var: &mut Variable) {
        for new in std::iter::once(self.fill).chain(self.missing) {
            match var.attrs.iter_mut().find(|a| a.name == new.name) {
                Some(old) => *old = new,
                None => var.attrs.push(new),
            }
        }
    }
}

impl Schema {
    /// The `_FillValue` of a variable in its type; `None` where it has none. The reason where its type does not have the value: then no
    /// value of the variable is equal to it.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Attribute, Format, Schema, Values, Variable};
    /// let mut schema = Schema::new(Format::Netcdf4);
    /// let mut var = Variable::new("v", Atomic::Short, vec![]);
    /// let fill = |n: i64| Attribute {
    ///     name: "_FillValue".into(),
    ///     dtype: Atomic::Int64.into(),
    ///     values: Values::fixed(&n.to_ne_bytes()),
    /// };
    /// var.attrs = vec![fill(-999)];
    /// let exact = schema.exact_fill(&var).unwrap().unwrap();
    /// assert_eq!(exact.fill.values.bytes(), Some(&(-999i16).to_ne_bytes()[..]));
    /// var.attrs = vec![fill(70_000)];
    /// assert!(schema.exact_fill(&var).unwrap().is_err());
    /// ```
    pub fn exact_fill(&self, var: &Variable) -> Option<Result<ExactFill, String>> {
        let own = var.attr("_FillValue")?;
        let n = own.len(self);
        if own.dtype == var.dtype && n == 1 {
            return Some(Ok(ExactFill { fill: own.clone(), missing: None }));
        }
        let (of, is) = (self.type_name(var.dtype), self.type_name(own.dtype));
        Some(self.converted(var, own, n).ok_or_else(|| {
            let values = match self.shown(own) {
                _ if n == 0 => "no value".to_owned(),
                Some(values) => format!("{values}, of type {is}"),
                None => format!("{n} of type {is}"),
            };
            format!("`_FillValue` is {values}: the type of the variable, {of}, does not have it")
        }))
    }

    fn converted(&self, var: &Variable, own: &Attribute, n: usize) -> Option<ExactFill> {
        let attribute = |name: &str, values| Attribute { name: name.into(), dtype: var.dtype, values };
        match (var.dtype, own.dtype) {
            (DType::String, DType::Atomic(Atomic::Char)) => {
                let fill = Attribute::strings("_FillValue", [own.as_text()?]);
                Some(ExactFill { fill, missing: None })
            }
            (DType::Atomic(Atomic::Char), DType::String) if n == 1 => {
                let bytes = own.as_text().filter(|text| text.len() == 1)?.as_bytes();
                Some(ExactFill { fill: attribute("_FillValue", Values::fixed(bytes)), missing: None })
            }
            _ => {
                let kind = self.number_of(var.dtype)?;
                let all = self.exact_elements(own, kind)?;
                let size = kind.size();
                let first = all.get(..size)?;
                let fill = attribute("_FillValue", Values::fixed(first));
                if all.chunks(size).all(|one| one == first) {
                    return Some(ExactFill { fill, missing: None });
                }
                let mut missing = match var.attr("missing_value") {
                    Some(known) => self.exact_elements(known, kind)?,
                    None => Vec::new(),
                };
                for one in all.chunks(size) {
                    if !missing.chunks(size).any(|known| known == one) {
                        missing.extend_from_slice(one);
                    }
                }
                let missing = Some(attribute("missing_value", Values::fixed(&missing)));
                Some(ExactFill { fill, missing })
            }
        }
    }

    /// The elements of a variable of numbers that stand for no value: the numbers of `_FillValue`, then those of `missing_value`, in its
    /// type. Without `_FillValue`, also what netCDF has where nothing was written, but for types of one byte, all of whose values are used.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Attribute, Format, Schema, Values, Variable};
    /// let schema = Schema::new(Format::Netcdf4);
    /// let mut var = Variable::new("v", Atomic::Float, vec![]);
    /// let values = [-1.0f64, 1e20].map(f64::to_ne_bytes).concat();
    /// let (name, dtype) = ("missing_value".into(), Atomic::Double.into());
    /// var.attrs = vec![Attribute { name, dtype, values: Values::fixed(&values) }];
    /// let floats = [-1.0f32, 1e20, 9.969_21e36].map(|x| x.to_ne_bytes().to_vec());
    /// assert_eq!(schema.missing_elements(&var), floats);
    /// ```
    pub fn missing_elements(&self, var: &Variable) -> Vec<Vec<u8>> {
        let Some(kind) = self.number_of(var.dtype) else { return Vec::new() };
        let named = |name| var.attr(name).map(|attr| self.elements_near(attr, kind)).unwrap_or_default();
        let mut missing = named("_FillValue");
        missing.extend(named("missing_value"));
        if var.attr("_FillValue").is_none() && kind.size() > 1 {
            missing.push(kind.default_fill());
        }
        missing
    }

    /// The numbers of an attribute as elements of a type, as far as it has them. Floats are the nearest ones: those who write `1e20` as a
    /// double mean the float that is in their array.
    fn elements_near(&self, attr: &Attribute, kind: Atomic) -> Vec<Vec<u8>> {
        let (Some(own), Some(bytes)) = (self.number_of(attr.dtype), attr.values.bytes()) else {
            return Vec::new();
        };
        let near = |number: Number| {
            let near = Number::nearest(kind, number.to_f64());
            let is_float = kind == Atomic::Float && Number::read_f64(kind, &near).is_finite();
            number.exactly(kind).or_else(|| is_float.then_some(near))
        };
        bytes.chunks_exact(own.size()).filter_map(|one| near(Number::read(own, one)?)).collect()
    }

    /// The type of numbers, those of an enum among them; `None` for others.
    pub fn number_of(&self, dtype: DType) -> Option<Atomic> {
        match dtype {
            DType::Atomic(Atomic::Char) | DType::String => None,
            DType::Atomic(kind) => Some(kind),
            DType::User(t) => match self.user_type(t).kind {
                UserKind::Enum { base, .. } => Some(base),
                _ => None,
            },
        }
    }

    /// The numbers of an attribute as elements of a type; `None` where it has others than numbers, or one that the type lacks.
    pub fn exact_elements(&self, attr: &Attribute, kind: Atomic) -> Option<Vec<u8>> {
        let own = self.number_of(attr.dtype)?;
        let mut out = Vec::new();
        for bytes in attr.values.bytes()?.chunks(own.size()) {
            out.extend(Number::read(own, bytes)?.exactly(kind)?);
        }
        Some(out)
    }

    /// The values of a short attribute in words.
    fn shown(&self, attr: &Attribute) -> Option<String> {
        const MOST: usize = 4;
        let shown: Vec<String> = match (&attr.values, self.number_of(attr.dtype)) {
            (Values::Fixed(bytes), Some(kind)) if bytes.len() <= MOST * kind.size() => bytes
                .chunks(kind.size())
                .map(|one| Some(Number::read(kind, one)?.to_string()))
                .collect::<Option<_>>()?,
            (Values::Heap(values), _) if values.len() > 1 && values.len() <= MOST => values
                .iter()
                .map(|v| match v {
                    Value::String(Some(bytes)) => format!("\"{}\"", bytes.escape_ascii()),
                    _ => "\"\"".to_owned(),
                })
                .collect(),
            _ => vec![format!("\"{}\"", attr.as_text()?)],
        };
        Some(shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::*;

    fn exact(var: Atomic, own: Atomic, values: &[u8]) -> Option<ExactFill> {
        let mut v = Variable::new("v", var, vec![]);
        v.attrs.push(Attribute {
            name: "_FillValue".into(),
            dtype: own.into(),
            values: Values::fixed(values),
        });
        Schema::new(Format::Netcdf4).exact_fill(&v).expect("one").ok()
    }

    #[test]
    fn a_number_is_the_same_in_another_type_or_refused() {
        let bytes = |e: Option<ExactFill>| e.and_then(|e| e.fill.values.bytes().map(<[u8]>::to_vec));
        let double = |x: f64| x.to_ne_bytes();
        assert_eq!(
            bytes(exact(Atomic::Short, Atomic::Double, &double(-999.0))),
            Some((-999i16).to_ne_bytes().to_vec())
        );
        assert_eq!(
            bytes(exact(Atomic::Float, Atomic::Double, &double(1.5))),
            Some(1.5f32.to_ne_bytes().to_vec())
        );
        assert!(
            bytes(exact(Atomic::Float, Atomic::Double, &double(f64::NAN)))
                .is_some_and(|b| { Number::read_f64(Atomic::Float, &b).is_nan() })
        );
        for (var, own, value) in [
            (Atomic::Float, Atomic::Double, double(1e20)),
            (Atomic::Short, Atomic::Double, double(-999.5)),
            (Atomic::Short, Atomic::Double, double(f64::NAN)),
            (Atomic::UInt64, Atomic::Double, double(2f64.powi(64))),
            (Atomic::UByte, Atomic::Int64, (-1i64).to_ne_bytes()),
            (Atomic::Float, Atomic::Int64, (16_777_217i64).to_ne_bytes()),
        ] {
            assert_eq!(exact(var, own, &value), None, "{var:?} {own:?}");
        }
        assert_eq!(exact(Atomic::Short, Atomic::Short, &[]), None, "no value");
    }

    #[test]
    fn several_values_are_missing_values() {
        let two: Vec<u8> = [-999i16, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let found = exact(Atomic::Short, Atomic::Short, &two).expect("numbers");
        assert_eq!(found.fill.values, Values::fixed(&(-999i16).to_ne_bytes()));
        assert_eq!(found.missing.map(|a| a.values), Some(Values::fixed(&two)));
        let twice = [two[..2].to_vec(), two[..2].to_vec()].concat();
        assert_eq!(exact(Atomic::Short, Atomic::Short, &twice).and_then(|e| e.missing), None);
    }
}
