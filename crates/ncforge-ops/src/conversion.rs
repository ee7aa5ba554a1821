//! Values of types that a format lacks, in types that it has: strings as text, integers as those that hold their values. And fill values
//! of other types than their variables', in these.
//!
//! A [`Conversion`] says what changes. A [view](View) of a file has these types from the beginning: a copy is one of this view, and a
//! file agrees with its copy where this view does. Nothing is lost: a value that does not fit is an error that names it. `ncks -3` takes
//! the same types, and lets values overflow.

use std::sync::Arc;

use ncforge::codec::filters;
use ncforge::model::{
    Atomic, Attribute, DType, Endian, Format, Number, Schema, Storage, Value, Values, VarId, Variable,
};
use ncforge::raw::{Convert, Remark, Said, View};
use ncforge::{Error, Result};

/// The changes of types that let a format hold a file, and netCDF-C copy it, as far as that is possible without a loss.
pub(crate) struct Conversion {
    schema: Schema,
    /// How values change.
    changes: Vec<(VarId, Arc<dyn Convert>)>,
    notes: Vec<Remark>,
}

/// The change of the values of a variable.
#[derive(Clone, Debug)]
struct Change {
    from: Atomic,
    to: Atomic,
    /// Elements that become the fill value, and that; where the fill value of the one type is none of the other.
    fill: Option<(Vec<u8>, Vec<u8>)>,
    /// The variable, and the kind of the format.
    name: String,
    format: &'static str,
}

impl Conversion {
    /// The changes of a file for a format, of those that are `wanted`: of a variable, or of the named attribute of one or of the file,
    /// to a type. `None`: nothing changes.
    pub(crate) fn to(
        format: Format,
        own: &Schema,
        wanted: impl Fn(Option<VarId>, Option<&str>, DType) -> bool,
    ) -> Option<Self> {
        let mut schema = own.clone();
        let mut notes = Vec::new();
        let of_file = |name: &str, to| wanted(None, Some(name), to);
        convert_attributes(own, &mut schema.groups[0].attrs, None, format, &of_file, &mut notes);
        let mut changes: Vec<(VarId, Arc<dyn Convert>)> = Vec::new();
        for v in own.var_ids() {
            let (path, var) = (own.var_path(v), &mut schema.vars[v.0]);
            if let Some(change) =
                change_of(own, v, format).filter(|change| wanted(Some(v), None, change.to.into()))
            {
                let words = format!(
                    "`/{}` is {}, which {} has not: it is written as {}",
                    path.trim_start_matches('/'),
                    change.from.cdl_name(),
                    format.kind(),
                    change.to.cdl_name()
                );
                notes.push(Remark { variable: Some(path.clone()), said: Said::Words(words) });
                var.dtype = change.to.into();
                var.endian = Endian::Native;
                resize(&mut var.storage, change.to.size());
                changes.push((v, Arc::new(change)));
            }
            let of_var = |name: &str, to| wanted(Some(v), Some(name), to);
            convert_attributes(own, &mut var.attrs, Some(&path), format, &of_var, &mut notes);
            fit_fill_value(own, var, &path, &of_var, &mut notes);
        }
        (!notes.is_empty()).then_some(Conversion { schema, changes, notes })
    }

    /// What changes, in words.
    pub(crate) fn notes(&self) -> &[Remark] {
        &self.notes
    }

    /// The view of the file after that.
    pub(crate) fn view(self) -> View {
        View::converted(self.schema, self.changes).with_remarks(self.notes)
    }
}

/// Gives the filters of chunks elements of another size.
pub(crate) fn resize(storage: &mut Storage, size: usize) {
    if let Storage::Chunked { filters, .. } = storage {
        filters.iter_mut().for_each(|f| filters::resize(f, size));
    }
}

/// The type of the classic model that holds values of one that it has not.
fn held_by(kind: Atomic, format: Format) -> Option<Atomic> {
    match kind {
        _ if matches!(format, Format::Cdf5 | Format::Netcdf4) || kind.in_classic() => None,
        Atomic::UByte => Some(Atomic::Short),
        Atomic::UShort | Atomic::UInt | Atomic::Int64 | Atomic::UInt64 => Some(Atomic::Int),
        _ => None,
    }
}

/// The change of a variable; `None` where it does not, or where its `_FillValue` does not fit.
fn change_of(schema: &Schema, v: VarId, format: Format) -> Option<Change> {
    let var = schema.var(v);
    let DType::Atomic(from) = var.dtype else { return None };
    let to = held_by(from, format)?;
    let fill = match var.attr("_FillValue") {
        Some(own) => {
            schema.exact_elements(own, to)?;
            None
        }
        // Unwritten elements read as the type's default.
        None => {
            let (old, new) = (from.default_fill(), to.default_fill());
            let fits = Number::read(from, &old)?.exactly(to).is_some();
            (!fits).then_some((old, new))
        }
    };
    let name = schema.var_path(v).trim_start_matches('/').to_owned();
    Some(Change { from, to, fill, name, format: format.kind() })
}

/// Gives attributes types that the format has, where they hold the values.
fn convert_attributes(
    schema: &Schema,
    attrs: &mut [Attribute],
    of: Option<&str>,
    format: Format,
    wanted: &dyn Fn(&str, DType) -> bool,
    notes: &mut Vec<Remark>,
) {
    for attr in attrs {
        let Some((to, new)) =
            converted(schema, attr, format).filter(|(to, _)| wanted(&attr.name, (*to).into()))
        else {
            continue;
        };
        let what = if to == Atomic::Char { "text" } else { to.cdl_name() };
        let words = match of.map(|path| path.trim_start_matches('/')) {
            None => format!("the global attribute `{}` is written as {what}", attr.name),
            Some(path) => format!("`/{path}` has an attribute `{}` that is written as {what}", attr.name),
        };
        notes.push(Remark { variable: of.map(str::to_owned), said: Said::Words(words) });
        (attr.dtype, attr.values) = (to.into(), new);
    }
}

/// The type and the values that an attribute gets; `None` where it keeps its own.
fn converted(schema: &Schema, attr: &Attribute, format: Format) -> Option<(Atomic, Values)> {
    match (attr.dtype, &attr.values) {
        (DType::String, Values::Heap(values)) if format != Format::Netcdf4 => {
            let text: &[u8] = match &values[..] {
                [] | [Value::String(None)] => &[],
                [Value::String(Some(bytes))] => bytes,
                // Several strings are no text: where one ends would be lost.
                _ => return None,
            };
            Some((Atomic::Char, Values::fixed(text)))
        }
        (DType::Atomic(kind), _) => {
            let to = held_by(kind, format)?;
            Some((to, Values::fixed(&schema.exact_elements(attr, to)?)))
        }
        _ => None,
    }
}

/// Gives a `_FillValue` its variable's type, without which netCDF-C copies no file.
fn fit_fill_value(
    own: &Schema,
    var: &mut Variable,
    path: &str,
    wanted: &dyn Fn(&str, DType) -> bool,
    notes: &mut Vec<Remark>,
) {
    let (Some(fill), Some(exact)) = (var.attr("_FillValue"), own.exact_fill(var)) else { return };
    let words = match exact {
        Ok(exact) if exact.fill == *fill => return,
        _ if !wanted("_FillValue", var.dtype) => return,
        Ok(exact) => {
            let (was, is) = (own.type_name(fill.dtype), own.type_name(var.dtype));
            let several =
                if exact.missing.is_some() { ", and its other values as `missing_value`" } else { "" };
            let words = format!("`{path}` has a `_FillValue` of type {was}: it is written as {is}{several}");
            exact.put(var);
            words
        }
        Err(why) => format!("`{path}` keeps its attribute, with which nccopy cannot copy the file: {why}"),
    };
    notes.push(Remark { variable: Some(path.to_owned()), said: Said::Words(words) });
}

impl Change {
    /// Values in the other type; the first that it does not have is an error.
    fn apply(&self, source: &[u8], out: &mut [u8]) -> std::result::Result<(), i128> {
        let (from, to) = (self.from.size(), self.to.size());
        for (old, new) in source.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            let number = Number::read(self.from, old).and_then(Number::integer).unwrap_or_default();
            match &self.fill {
                Some((fill, becomes)) if fill == old => new.copy_from_slice(becomes),
                fill => {
                    if self.to == Atomic::Short {
                        new.copy_from_slice(&i16::try_from(number).map_err(|_| number)?.to_ne_bytes());
                    } else {
                        new.copy_from_slice(&i32::try_from(number).map_err(|_| number)?.to_ne_bytes());
                    }
                    // It would be taken for what nobody wrote.
                    if fill.as_ref().is_some_and(|(_, becomes)| becomes == new) {
                        return Err(number);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Convert for Change {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        self.apply(from, to).map_err(|value| Error::NotRepresentable {
            format: self.format,
            what: format!(
                "variable `{}` of type {}: its value {value} is none of type {}",
                self.name,
                self.from.cdl_name(),
                self.to.cdl_name()
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_and_what_nobody_wrote_stays_so() {
        let mut s = Schema::new(Format::Netcdf4);
        s.vars.push(Variable::new("v", Atomic::Int64, vec![]));
        let change = change_of(&s, VarId(0), Format::Cdf1).unwrap();
        let apply = |n: i64| {
            let mut out = [0; 4];
            change.apply(&n.to_ne_bytes(), &mut out).map(|()| i32::from_ne_bytes(out))
        };
        let (wide, narrow) = (Atomic::Int64.default_fill(), Atomic::Int.default_fill());
        let number = |kind, b: &[u8]| Number::read(kind, b).unwrap().whole().unwrap();
        assert_eq!(apply(-5), Ok(-5));
        assert_eq!(apply(number(Atomic::Int64, &wide)), Ok(number(Atomic::Int, &narrow) as i32));
        assert!(apply(1 << 31).is_err() && apply(number(Atomic::Int, &narrow)).is_err());
        let fill = |n: i64| Attribute {
            name: "_FillValue".into(),
            dtype: Atomic::Int64.into(),
            values: Values::fixed(&n.to_ne_bytes()),
        };
        s.vars[0].attrs = vec![fill(i64::MIN)];
        assert!(change_of(&s, VarId(0), Format::Cdf1).is_none());
        s.vars[0].attrs = vec![fill(-1)];
        assert!(change_of(&s, VarId(0), Format::Cdf1).unwrap().fill.is_none());
        assert!(change_of(&s, VarId(0), Format::Cdf5).is_none());
    }

    #[test]
    fn one_string_is_text_and_several_are_not() {
        let s = Schema::new(Format::Netcdf4);
        let text = |strings: &[&str]| {
            let attr = Attribute::strings("a", strings.iter().copied());
            converted(&s, &attr, Format::Cdf5).map(|(_, values)| values)
        };
        assert_eq!(text(&["K m"]), Some(Values::fixed(b"K m")));
        assert_eq!(text(&[]), Some(Values::fixed(b"")));
        assert_eq!(text(&["a", "b"]), None);
    }
}
