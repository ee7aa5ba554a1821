//! Values, as `ncdump` prints them below the header: a row of the last dimension at a time.
//!
//! `_` stands for the fill value (`_FillValue`, else the type's own; bytes and user-defined types have none of their own). Characters are
//! text, a row each. A dimension behind the first that can grow has its records in braces.

use super::Writer;
use crate::describe::c_format::CFormat;
use crate::describe::calendar::TimeUnits;
use crate::describe::number::push_plain_number;
use crate::describe::text::{push_char_text, push_name, up_to_nul};
use crate::describe::values::{Look, push_fixed, push_value};
use ncforge::model::{Atomic, DType, GroupId, Number, Schema, UserKind, Value, Values, VarId, encode_name};
use ncforge::{Hyperslab, Result};

/// Bytes of values that are read at a time.
const BLOCK: u64 = 8 << 20;
/// Bytes of text that are handed on at a time.
const HANDED: usize = 1 << 16;

/// The style of the values of a variable.
struct Shows<'a> {
    look: Look<'a>,
    dtype: DType,
    fill: Option<Fill>,
    times: Option<(TimeUnits, char)>,
    format: Option<CFormat>,
}

enum Fill {
    Fixed(Vec<u8>),
    Heap(Value),
}

impl Writer<'_> {
    /// The values of a group's variables.
    pub(super) fn data(&mut self, group: GroupId) -> Result<()> {
        if !self.sink.as_ref().is_some_and(|s| s.has(group)) || self.tree.vars[group.0].is_empty() {
            return Ok(());
        }
        self.indent();
        self.out.extend_from_slice(b"data:\n");
        for v in std::mem::take(&mut self.tree.vars[group.0]) {
            let schema = self.schema;
            let wanted = self.sink.as_ref().is_some_and(|s| s.is_open && s.chosen.has(schema, v));
            if wanted && !schema.shape(v).contains(&0) {
                self.values_of(v)?;
            }
        }
        Ok(())
    }

    fn values_of(&mut self, v: VarId) -> Result<()> {
        let schema = self.schema;
        let var = schema.var(v);
        self.out.push(b'\n');
        self.indent();
        self.out.push(b' ');
        push_name(&mut self.out, &var.name);
        if var.dims.len() <= 1 {
            self.out.extend_from_slice(b" = ");
            self.line = encode_name(&var.name).len() + 4 + self.indent;
        } else {
            self.out.extend_from_slice(b" =\n  ");
            self.line = 2 + self.indent;
        }
        let times = self.times.as_ref().and_then(|t| Some((t.of(schema, v)?, t.separator)));
        let shows = Shows {
            look: Look { schema, digits: self.digits },
            dtype: var.dtype,
            fill: fill_of(schema, v),
            format: CFormat::of(var).filter(|_| times.is_none() && !self.digits.are_given(var.dtype)),
            times,
        };
        let mut rows = Rows::new(schema, v);
        let element = schema.fixed_size(var.dtype);
        for block in blocks(&schema.shape(v), BLOCK / element.unwrap_or(64).max(1) as u64) {
            let Some(values) = self.sink.as_ref().map(|s| s.dataset.read(v, &block)) else { return Ok(()) };
            match (values?, element) {
                (Values::Fixed(bytes), _) if var.dtype == DType::Atomic(Atomic::Char) => {
                    self.characters(&bytes, &mut rows);
                }
                (Values::Fixed(bytes), Some(size)) => {
                    for one in bytes.chunks_exact(size.max(1)) {
                        self.element(&mut rows, |out| shows.fixed(one, out));
                        if !self.hand_on() {
                            return Ok(());
                        }
                    }
                }
                (Values::Heap(list), _) => {
                    for one in &list {
                        self.element(&mut rows, |out| shows.heap(one, out));
                        if !self.hand_on() {
                            return Ok(());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One value.
    fn element(&mut self, rows: &mut Rows, show: impl FnOnce(&mut Vec<u8>)) {
        if rows.column == 0 {
            (0..rows.opened()).for_each(|_| self.put(b"{"));
        }
        let mut text = std::mem::take(&mut rows.text);
        text.clear();
        show(&mut text);
        match rows.column + 1 < rows.columns {
            true => {
                text.extend_from_slice(b", ");
                self.put(&text);
                rows.column += 1;
            }
            false => self.end_of_row(rows, &mut text),
        }
        rows.text = text;
    }

    /// Characters: a text for each row.
    fn characters(&mut self, mut bytes: &[u8], rows: &mut Rows) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min((rows.columns - rows.column) as usize));
            rows.characters.extend_from_slice(now);
            rows.column += now.len() as u64;
            bytes = rest;
            if rows.column == rows.columns {
                (0..rows.opened()).for_each(|_| self.put(b"{"));
                push_char_text(&mut self.out, &rows.characters);
                rows.characters.clear();
                self.end_of_row(rows, &mut Vec::new());
                if !self.hand_on() {
                    return;
                }
            }
        }
    }

    fn end_of_row(&mut self, rows: &mut Rows, text: &mut Vec<u8>) {
        text.extend(std::iter::repeat_n(b'}', rows.closed()));
        self.put(text);
        if rows.next() {
            self.put(b",\n");
            self.put(b"  ");
        } else {
            self.put(b" ;");
            self.put(b"\n");
        }
    }

    /// Hands text on, if there is enough. Whether more is wanted.
    fn hand_on(&mut self) -> bool {
        let Some(sink) = self.sink.as_mut() else { return false };
        if self.out.len() >= HANDED && sink.is_open {
            sink.is_open = (sink.take)(&self.out);
            self.out.clear();
        }
        sink.is_open
    }
}

/// The position of the printing among the rows of a variable.
struct Rows {
    lens: Vec<u64>,
    unlimited: Vec<bool>,
    /// Index of the row, on all dimensions but the last.
    at: Vec<u64>,
    /// Values of a row, and how many of it are done.
    columns: u64,
    column: u64,
    /// Memory that is used again.
    text: Vec<u8>,
    characters: Vec<u8>,
}

impl Rows {
    fn new(schema: &Schema, v: VarId) -> Rows {
        let lens = schema.shape(v);
        Rows {
            unlimited: schema.var(v).dims.iter().map(|d| schema.dim(*d).unlimited).collect(),
            at: vec![0; lens.len().saturating_sub(1)],
            columns: lens.last().copied().unwrap_or(1),
            column: 0,
            lens,
            text: Vec::new(),
            characters: Vec::new(),
        }
    }

    /// Dimensions behind the first that can grow, of which records begin (or end) with this row: those for which `is_edge` holds of
    /// the row's place on them and on all behind them.
    fn braces(&self, is_edge: impl Fn(usize) -> bool) -> usize {
        let inner = (0..self.at.len()).rev().take_while(|&d| is_edge(d)).count();
        let from = (self.at.len() - inner).max(1);
        self.unlimited.get(from..).map_or(0, |of| of.iter().filter(|u| **u).count())
    }

    fn opened(&self) -> usize {
        self.braces(|d| self.at[d] == 0)
    }

    fn closed(&self) -> usize {
        self.braces(|d| self.at[d] + 1 == self.lens[d])
    }

    /// Goes on to the next row; whether there is one.
    fn next(&mut self) -> bool {
        self.column = 0;
        for d in (0..self.at.len()).rev() {
            self.at[d] += 1;
            if self.at[d] < self.lens[d] {
                return true;
            }
            self.at[d] = 0;
        }
        false
    }
}

/// Boxes that follow one another as the values do, of about `most` values.
fn blocks(shape: &[u64], most: u64) -> impl Iterator<Item = Hyperslab> {
    let rank = shape.len();
    let mut inner = 1u64;
    let mut cut = rank;
    while cut > 0 && inner.saturating_mul(shape[cut - 1]) <= most.max(1) {
        cut -= 1;
        inner *= shape[cut];
    }
    // The dimension that is cut, how much of it is taken at a time, and the index on those before.
    let axis = cut.checked_sub(1);
    let step = (most / inner.max(1)).max(1);
    let mut at = Some(vec![0u64; cut]);
    let shape = shape.to_vec();
    std::iter::from_fn(move || {
        let start = at.take()?;
        let mut count = vec![1u64; rank];
        count[cut..].copy_from_slice(&shape[cut..]);
        let mut next = start.clone();
        if let Some(axis) = axis {
            count[axis] = step.min(shape[axis] - start[axis]);
            next[axis] += count[axis];
            let mut d = axis;
            while next[d] == shape[d] && d > 0 {
                next[d] = 0;
                d -= 1;
                next[d] += 1;
            }
            at = (next[0] < shape[0]).then_some(next);
        }
        let mut from = start;
        from.resize(rank, 0);
        Some(Hyperslab::new(&from, &count))
    })
}

/// Whether `_` can stand for values of a type: not where they have rows, of which `ncdump` compares the addresses.
fn is_fillable(schema: &Schema, dtype: DType) -> bool {
    let DType::User(t) = dtype else { return true };
    match &schema.user_type(t).kind {
        UserKind::Vlen { base } => *base == DType::String,
        UserKind::Compound { fields, .. } => fields.iter().all(|f| is_fillable(schema, f.dtype)),
        _ => true,
    }
}

/// The value for which `_` stands.
fn fill_of(schema: &Schema, v: VarId) -> Option<Fill> {
    let var = schema.var(v);
    if !is_fillable(schema, var.dtype) {
        return None;
    }
    let own = var.attr("_FillValue").filter(|a| a.dtype == var.dtype && a.len(schema) == 1);
    match (own.map(|a| &a.values), var.dtype) {
        (Some(Values::Fixed(bytes)), _) => Some(Fill::Fixed(bytes.to_vec())),
        (Some(Values::Heap(list)), _) => list.first().cloned().map(Fill::Heap),
        // Too risky, as ncdump has it.
        (None, DType::Atomic(Atomic::Byte | Atomic::UByte) | DType::User(_)) => None,
        (None, DType::Atomic(_)) => schema.default_fill(var.dtype).map(Fill::Fixed),
        (None, DType::String) => Some(Fill::Heap(Value::String(Some(Vec::new())))),
    }
}

impl Shows<'_> {
    fn fixed(&self, one: &[u8], out: &mut Vec<u8>) {
        if matches!(&self.fill, Some(Fill::Fixed(fill)) if same_fixed(self.look.schema, self.dtype, fill, one))
        {
            return out.push(b'_');
        }
        let DType::Atomic(kind) = self.dtype else { return push_fixed(out, self.look, self.dtype, one) };
        if let Some((units, separator)) = &self.times {
            return units.push(out, self.look.digits, kind, one, *separator);
        }
        let formatted = self.format.as_ref().zip(Number::read(kind, one)).and_then(|(f, x)| f.text(x));
        match formatted {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => push_plain_number(out, self.look.digits, kind, one),
        }
    }

    fn heap(&self, one: &Value, out: &mut Vec<u8>) {
        match &self.fill {
            Some(Fill::Heap(fill)) if same_value(fill, one) => out.push(b'_'),
            _ => push_value(out, self.look, self.dtype, one),
        }
    }
}

/// Whether two elements are the same, as ncdump sees it: floats within their precision.
fn same_fixed(schema: &Schema, dtype: DType, fill: &[u8], one: &[u8]) -> bool {
    match dtype {
        DType::Atomic(Atomic::Float) => match (fill.try_into(), one.try_into()) {
            (Ok(fill), Ok(one)) => same_float(f32::from_ne_bytes(fill), f32::from_ne_bytes(one)),
            _ => false,
        },
        DType::Atomic(Atomic::Double) => match (fill.try_into(), one.try_into()) {
            (Ok(fill), Ok(one)) => same_double(f64::from_ne_bytes(fill), f64::from_ne_bytes(one)),
            _ => false,
        },
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Compound { fields, .. } => fields.iter().all(|field| {
                let size = schema.fixed_size(field.dtype).unwrap_or(0);
                (0..field.count()).all(|i| {
                    let from = field.offset + i * size;
                    match (fill.get(from..from + size), one.get(from..from + size)) {
                        (Some(fill), Some(one)) => same_fixed(schema, field.dtype, fill, one),
                        _ => false,
                    }
                })
            }),
            _ => fill == one,
        },
        _ => fill == one,
    }
}

fn same_float(fill: f32, one: f32) -> bool {
    if (fill > 0.0) != (one > 0.0) {
        return false;
    }
    match fill.is_finite() && one.is_finite() {
        true => (fill - one).abs() <= (f32::EPSILON * one).abs(),
        false => fill.is_nan() && one.is_nan() || fill.is_infinite() && one.is_infinite(),
    }
}

fn same_double(fill: f64, one: f64) -> bool {
    if (fill > 0.0) != (one > 0.0) {
        return false;
    }
    match fill.is_finite() && one.is_finite() {
        true => (fill - one).abs() <= (f64::EPSILON * one).abs(),
        false => fill.is_nan() && one.is_nan() || fill.is_infinite() && one.is_infinite(),
    }
}

fn same_value(fill: &Value, one: &Value) -> bool {
    match (fill, one) {
        (Value::String(Some(fill)), Value::String(Some(one))) => up_to_nul(fill) == up_to_nul(one),
        _ => fill == one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_one_another() {
        for (shape, most) in
            [(&[][..], 1), (&[7], 3), (&[4, 5], 5), (&[3, 4, 5], 11), (&[3, 4, 5], 100), (&[2, 3, 7], 2)]
        {
            let mut expected = 0;
            for block in blocks(shape, most) {
                // The first value of each comes right behind the last of the one before.
                let at = block.start.iter().zip(shape).fold(0, |at, (i, n)| at * n + i);
                assert_eq!(at, expected, "{shape:?}");
                expected += block.len();
                assert!(block.len() <= most.max(1), "{block:?}");
            }
            assert_eq!(expected, shape.iter().product::<u64>(), "{shape:?}");
        }
    }

    #[test]
    fn floats_are_filled_within_their_precision() {
        let fill = 9.969_21e36f32;
        assert!(same_float(fill, f32::from_bits(fill.to_bits() + 1)) && !same_float(fill, fill * 1.001));
        assert!(same_float(f32::NAN, f32::NAN) && !same_float(f32::INFINITY, f32::NEG_INFINITY));
        assert!(same_double(1e20, 1e20) && !same_double(1e20, -1e20) && !same_double(0.0, 1e-300));
    }
}
