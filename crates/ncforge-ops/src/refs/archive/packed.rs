//! Packed variables as the variables that they mean.

use ncforge::model::{Atomic, Attribute, DType, Schema, Values, Variable};

/// Attributes that speak of packed numbers.
const OF_PACKED: [&str; 9] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "flag_values",
    "flag_masks",
];

/// Makes a packed variable one of unpacked numbers, which have the type that NumPy gives them; a reason where that cannot be.
pub(super) fn unpack(schema: &Schema, var: &mut Variable) -> Result<(), String> {
    let kind_of = |name: &str| -> Result<Option<Atomic>, String> {
        let Some(attr) = var.attr(name) else { return Ok(None) };
        let kind = schema.number_of(attr.dtype).filter(|_| attr.len(schema) == 1);
        kind.map(Some).ok_or_else(|| format!("its `{name}` is not one number"))
    };
    let steps = [kind_of("scale_factor")?, kind_of("add_offset")?];
    if steps == [None, None] {
        return Ok(());
    }
    if var.attr("_Unsigned").is_some() {
        return Err("it is packed in numbers whose attribute `_Unsigned` is not of the CF conventions".into());
    }
    let Some(stored) = schema.number_of(var.dtype) else {
        return Err("it is packed, and has no numbers".into());
    };
    let narrow =
        [Atomic::Byte, Atomic::UByte, Atomic::Short, Atomic::UShort, Atomic::Float].contains(&stored);
    let single = narrow && steps.iter().flatten().all(|kind| *kind == Atomic::Float);
    let kind = if single { Atomic::Float } else { Atomic::Double };
    var.dtype = DType::Atomic(kind);
    var.attrs.retain(|a| !OF_PACKED.contains(&a.name.as_str()));
    let values = Values::fixed(&kind.default_fill());
    var.attrs.insert(0, Attribute { name: "_FillValue".into(), dtype: kind.into(), values });
    Ok(())
}
