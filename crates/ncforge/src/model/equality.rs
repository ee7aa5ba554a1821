//! Equal values: the one definition of all that compares files.
//!
//! Numbers are equal if they have the same bits (so 0.0 is not -0.0), and any NaN equals any NaN. Compounds are equal field by
//! field: bytes between fields are no values.
//!
//! ```
//! use ncforge::model::equality::Equality;
//! use ncforge::model::{Atomic, Format, Schema, Values};
//!
//! let schema = Schema::new(Format::Cdf1);
//! let of = (&schema, Atomic::Float.into());
//! let values = |bits: [u32; 2]| Values::fixed(&bits.map(u32::to_ne_bytes).concat());
//! let (a, b) = (values([0x7fc0_0000, 0]), values([0xffc0_0001, 0x8000_0000]));
//! assert_eq!(Equality::new(of, of, None).first_difference(&a, &b), Some(1));
//! ```

use super::{Atomic, DType, Field, Number, Schema, UserKind, Value, Values};

/// The difference that two numbers may have; `None` asks for the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance(Option<f64>);

impl Tolerance {
    /// Numbers within `t` are the same.
    pub fn new(t: Option<f64>) -> Self {
        Tolerance(t)
    }

    fn same_float(self, a: f64, b: f64) -> bool {
        (a.is_nan() && b.is_nan()) || self.0.is_some_and(|t| a == b || (a - b).abs() <= t)
    }
}

/// Gives all NaNs the same bits: equal numbers then are equal bytes.
pub fn one_nan(kind: Atomic, values: &mut [u8]) {
    match kind {
        Atomic::Float => {
            for x in values.as_chunks_mut().0.iter_mut().filter(|x| f32::from_ne_bytes(**x).is_nan()) {
                *x = f32::NAN.to_ne_bytes();
            }
        }
        Atomic::Double => {
            for x in values.as_chunks_mut().0.iter_mut().filter(|x| f64::from_ne_bytes(**x).is_nan()) {
                *x = f64::NAN.to_ne_bytes();
            }
        }
        _ => {}
    }
}

/// Equality of elements of two fixed-size types of the same structure.
pub struct Equality<'a> {
    left: (&'a Schema, DType),
    right: (&'a Schema, DType),
    sizes: (usize, usize),
    tolerance: Tolerance,
}

impl<'a> Equality<'a> {
    /// The equality of elements of these types, which [`same_type`](super::agreement::same_type) found to be the same.
    pub fn new(
        left: (&'a Schema, DType),
        right: (&'a Schema, DType),
        tolerance: impl Into<Option<Tolerance>>,
    ) -> Self {
        let sizes = (left.0.fixed_size(left.1).unwrap_or(0), right.0.fixed_size(right.1).unwrap_or(0));
        Equality { left, right, sizes, tolerance: tolerance.into().unwrap_or_default() }
    }

    /// Bytes of an element on either side. They differ only where compounds are padded differently.
    pub fn sizes(&self) -> (usize, usize) {
        self.sizes
    }

    /// Whether two elements are the same.
    pub fn same(&self, a: &[u8], b: &[u8]) -> bool {
        same_fixed((self.left.0, self.left.1, a), (self.right.0, self.right.1, b), self.tolerance)
    }

    /// Whether two elements of a heap type are the same.
    pub fn same_value(&self, a: &Value, b: &Value) -> bool {
        same_value((self.left.0, self.left.1, a), (self.right.0, self.right.1, b), self.tolerance)
    }

    /// Whether two lists of values are the same.
    pub fn same_values(&self, a: &Values, b: &Values) -> bool {
        self.first_difference(a, b).is_none()
    }

    /// The first element in which two lists of values differ; that behind the shorter one where it is the beginning of the other.
    pub fn first_difference(&self, a: &Values, b: &Values) -> Option<usize> {
        match (a, b) {
            // Mostly the bytes are the same: comparing those is far faster.
            (Values::Fixed(x), Values::Fixed(y)) if self.sizes.0 == self.sizes.1 && x[..] == y[..] => None,
            (Values::Fixed(x), Values::Fixed(y)) => {
                let (m, n) = (self.sizes.0.max(1), self.sizes.1.max(1));
                let pairs = x.chunks_exact(m).zip(y.chunks_exact(n));
                first((x.len() / m, y.len() / n), pairs.map(|(e, f)| self.same(e, f)))
            }
            (Values::Heap(x), Values::Heap(y)) => {
                first((x.len(), y.len()), x.iter().zip(y).map(|(e, f)| self.same_value(e, f)))
            }
            _ => Some(0),
        }
    }

    /// The difference of two numbers, and that as a share of the larger; `None` for what is no finite number.
    pub fn apart(&self, a: &[u8], b: &[u8]) -> Option<(f64, f64)> {
        let DType::Atomic(kind) = self.left.1 else { return None };
        let (by, larger) = match (Number::read(kind, a)?, Number::read(kind, b)?) {
            _ if kind == Atomic::Char => return None,
            (Number::Integer(x), Number::Integer(y)) => {
                (x.abs_diff(y) as f64, x.unsigned_abs().max(y.unsigned_abs()) as f64)
            }
            (x, y) => {
                let (x, y) = (x.to_f64(), y.to_f64());
                ((x - y).abs(), x.abs().max(y.abs()))
            }
        };
        by.is_finite().then(|| (by, if larger > 0.0 { by / larger } else { 0.0 }))
    }
}

/// The first place that is not the same, or where only one of two lists goes on.
fn first((m, n): (usize, usize), mut same: impl Iterator<Item = bool>) -> Option<usize> {
    same.position(|same| !same).or_else(|| (m != n).then(|| m.min(n)))
}

fn same_fixed(
    (sa, ta, a): (&Schema, DType, &[u8]),
    (sb, tb, b): (&Schema, DType, &[u8]),
    tol: Tolerance,
) -> bool {
    match (ta, tb) {
        (DType::Atomic(kind), _) => a == b || same_number(kind, a, b, tol),
        (DType::User(x), DType::User(y)) => match (&sa.user_type(x).kind, &sb.user_type(y).kind) {
            (UserKind::Compound { fields: f, .. }, UserKind::Compound { fields: g, .. }) => {
                // Field by field: what lies between fields is nobody's.
                f.iter().zip(g).all(|(f, g)| same_field((sa, f, a), (sb, g, b), tol))
            }
            _ => a == b,
        },
        _ => a == b,
    }
}

fn same_field(
    (sa, f, a): (&Schema, &Field, &[u8]),
    (sb, g, b): (&Schema, &Field, &[u8]),
    tol: Tolerance,
) -> bool {
    let (m, n) = (sa.memory_size(f.dtype), sb.memory_size(g.dtype));
    (0..f.count()).all(|i| {
        let x = a.get(f.offset + i * m..f.offset + (i + 1) * m);
        let y = b.get(g.offset + i * n..g.offset + (i + 1) * n);
        match (x, y) {
            (Some(x), Some(y)) => same_fixed((sa, f.dtype, x), (sb, g.dtype, y), tol),
            _ => false,
        }
    })
}

/// Whether numbers whose bits differ count as the same: both NaN, or within the tolerance.
fn same_number(kind: Atomic, a: &[u8], b: &[u8], tol: Tolerance) -> bool {
    match (Number::read(kind, a), Number::read(kind, b)) {
        _ if kind == Atomic::Char => false,
        (Some(Number::Integer(x)), Some(Number::Integer(y))) => {
            tol.0.is_some_and(|t| x.abs_diff(y) as f64 <= t)
        }
        (Some(x), Some(y)) => tol.same_float(x.to_f64(), y.to_f64()),
        _ => false,
    }
}

/// Whether two heap values of types of the same structure are the same.
fn same_value(
    (sa, ta, a): (&Schema, DType, &Value),
    (sb, tb, b): (&Schema, DType, &Value),
    tol: Tolerance,
) -> bool {
    match (a, b) {
        (Value::Fixed(x), Value::Fixed(y)) => same_fixed((sa, ta, x), (sb, tb, y), tol),
        (Value::String(x), Value::String(y)) => x == y,
        (Value::Row(x), Value::Row(y)) => {
            let (Some(p), Some(q)) = (row_type(sa, ta), row_type(sb, tb)) else { return x == y };
            let (m, n) = (sa.fixed_size(p).unwrap_or(0), sb.fixed_size(q).unwrap_or(0));
            if m == 0 || n == 0 {
                return x == y;
            }
            x.len() / m == y.len() / n
                && x.chunks_exact(m)
                    .zip(y.chunks_exact(n))
                    .all(|(e, f)| same_fixed((sa, p, e), (sb, q, f), tol))
        }
        (Value::HeapRow(x), Value::HeapRow(y)) => {
            let (Some(p), Some(q)) = (row_type(sa, ta), row_type(sb, tb)) else { return x == y };
            x.len() == y.len() && x.iter().zip(y).all(|(e, f)| same_value((sa, p, e), (sb, q, f), tol))
        }
        (Value::Compound(x), Value::Compound(y)) => {
            let (p, q) = (flat_fields(sa, ta), flat_fields(sb, tb));
            x.len() == y.len()
                && x.len() == p.len()
                && x.len() == q.len()
                && x.iter().zip(y).zip(p.iter().zip(&q)).all(|((e, f), (&p, &q))| {
                    // A field of several fixed-size elements may be one run of bytes.
                    e == f || same_value((sa, p, e), (sb, q, f), tol)
                })
        }
        _ => false,
    }
}

fn row_type(s: &Schema, t: DType) -> Option<DType> {
    match t {
        DType::User(id) => match &s.user_type(id).kind {
            UserKind::Vlen { base } => Some(*base),
            _ => None,
        },
        _ => None,
    }
}

/// The types of a compound's entries: a field of several elements stands once for each.
fn flat_fields(s: &Schema, t: DType) -> Vec<DType> {
    match t {
        DType::User(id) => match &s.user_type(id).kind {
            UserKind::Compound { fields, .. } => {
                fields.iter().flat_map(|f| std::iter::repeat_n(f.dtype, f.count())).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, TypeId, UserType};
    use super::*;

    fn f(x: f64) -> [u8; 8] {
        x.to_ne_bytes()
    }

    #[test]
    fn nan_equals_nan_and_zero_is_not_minus_zero() {
        let s = Schema::new(Format::Netcdf4);
        let t = DType::Atomic(Atomic::Double);
        let e = Equality::new((&s, t), (&s, t), None);
        let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
        assert!(e.same(&f(f64::NAN), &f(other_nan)));
        assert!(!e.same(&f(0.0), &f(-0.0)));
        assert!(!e.same(&f(1.0), &f(1.0 + 1e-9)));
        let e = Equality::new((&s, t), (&s, t), Tolerance::new(Some(1e-6)));
        assert!(e.same(&f(1.0), &f(1.0 + 1e-9)));
        assert!(e.same(&f(f64::INFINITY), &f(f64::INFINITY)));
        assert!(!e.same(&f(1.0), &f(f64::NAN)));
    }

    #[test]
    fn numbers_are_so_far_apart() {
        let s = Schema::new(Format::Netcdf4);
        let of = |kind: Atomic| {
            let t = DType::Atomic(kind);
            move |s: &Schema, a: &[u8], b: &[u8]| Equality::new((s, t), (s, t), None).apart(a, b)
        };
        let double = of(Atomic::Double);
        assert_eq!(double(&s, &f(2.0), &f(-2.0)), Some((4.0, 2.0)));
        assert_eq!(double(&s, &f(0.0), &f(-0.0)), Some((0.0, 0.0)));
        assert_eq!(double(&s, &f(1.0), &f(f64::NAN)), None);
        assert_eq!(double(&s, &f(1.0), &f(f64::INFINITY)), None);
        let most = (i64::MIN.to_ne_bytes(), i64::MAX.to_ne_bytes());
        let (by, share) = of(Atomic::Int64)(&s, &most.0, &most.1).unwrap();
        assert!(by == 2f64.powi(64) && (share - 2.0).abs() < 1e-9, "{by} {share}");
        assert_eq!(of(Atomic::Char)(&s, b"a", b"b"), None);
    }

    #[test]
    fn padding_of_compounds_does_not_count() {
        let mut s = Schema::new(Format::Netcdf4);
        let field = |name: &str, offset, a: Atomic| Field {
            name: name.into(),
            offset,
            dtype: a.into(),
            shape: vec![],
        };
        let fields = vec![field("a", 0, Atomic::Byte), field("b", 4, Atomic::Int)];
        s.types.push(UserType {
            name: "t".into(),
            group: Schema::ROOT,
            kind: UserKind::Compound { size: 8, fields },
        });
        let t = DType::User(TypeId(0));
        let e = Equality::new((&s, t), (&s, t), None);
        assert!(e.same(&[1, 9, 9, 9, 2, 0, 0, 0], &[1, 0, 0, 0, 2, 0, 0, 0]));
        assert!(!e.same(&[1, 0, 0, 0, 2, 0, 0, 0], &[1, 0, 0, 0, 3, 0, 0, 0]));
    }
}
