//! The variables whose units are those of others: bounds.

use ncforge::model::{Attribute, Schema, VarId};

/// The variable whose units are those of a variable: itself, or the one whose bounds it has.
pub(super) fn counted_by(schema: &Schema, v: VarId) -> VarId {
    let var = schema.var(v);
    match var.attr("units") {
        Some(_) => v,
        None => schema.vars_in(var.group).find(|of| counts_as(schema, v, *of)).unwrap_or(v),
    }
}

/// Whether a variable has the bounds of another one, and says of no units that they are others than that one's.
pub(super) fn counts_as(schema: &Schema, bounds: VarId, of: VarId) -> bool {
    let (bounds, of) = (schema.var(bounds), schema.var(of));
    let names = |attr| of.attr(attr).and_then(Attribute::as_text) == Some(bounds.name.as_str());
    bounds.attr("units").is_none() && ["bounds", "climatology"].into_iter().any(names)
}
