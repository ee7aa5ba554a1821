//! Times as text: which variables are times.

use crate::describe::calendar::TimeUnits;
use crate::describe::text::up_to_nul;
use ncforge::model::{Atomic, DType, Schema, VarId};

/// How times are shown.
pub(super) struct Times {
    /// Between date and time.
    pub(super) separator: char,
    /// Names in `bounds` attributes, with the variables that have them, as far as the header has been printed.
    pub(super) bounds: Vec<(Vec<u8>, VarId)>,
}

impl Times {
    pub(super) fn new(separator: char) -> Self {
        Times { separator, bounds: Vec::new() }
    }

    /// The units of a variable of times; those of the variable whose bounds it holds, if there is one.
    pub(super) fn of(&self, schema: &Schema, v: VarId) -> Option<TimeUnits> {
        let name = schema.var(v).name.as_bytes();
        let owner = self.bounds.iter().rev().find(|(bounds, _)| bounds == name).map_or(v, |b| b.1);
        let text = |name: &str| {
            let attr = schema.var(owner).attr(name).filter(|a| a.dtype == DType::Atomic(Atomic::Char))?;
            Some(String::from_utf8_lossy(up_to_nul(attr.values.bytes()?)).into_owned())
        };
        TimeUnits::parse(&text("units")?, &text("calendar").unwrap_or_default())
    }
}
