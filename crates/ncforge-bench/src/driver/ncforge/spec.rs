//! The file that is asked for, in ncforge's terms.

use std::borrow::Cow;

use ncforge::codec::quantize::Quantize;
use ncforge::model::{Attribute, DimId, Dimension, Fill, Storage, VarId, Variable};
use ncforge::{Atomic, Schema};

use crate::driver::{FileSpec, MARK};

/// The one variable of a file.
pub(super) const VAR: VarId = VarId(0);

/// The description of a file in ncforge's terms. Unlimited dimensions are empty at first.
pub(super) fn schema(spec: &FileSpec) -> Schema {
    let mut schema = Schema::new(spec.format);
    for dim in &spec.dims {
        let len = if dim.unlimited { 0 } else { dim.len };
        schema.dims.push(Dimension {
            name: dim.name.clone(),
            group: Schema::ROOT,
            len,
            unlimited: dim.unlimited,
        });
    }
    schema.groups[0].attrs.push(Attribute::text(MARK, "blocks"));
    let var = &spec.var;
    let mut new = Variable::new(&var.name, var.dtype, (0..spec.dims.len()).map(DimId).collect());
    if let Some(chunks) = spec.chunks() {
        new.storage = Storage::Chunked { chunks, filters: spec.filters() };
    }
    new.attrs.extend(var.coding.rounding.map(|r| ncforge::model::quantization_attribute(r.0)));
    new.fill = if spec.fill { Fill::Default } else { Fill::None };
    schema.vars.push(new);
    schema
}

/// How values lose bits where the file does not see to it.
pub(super) fn rounds(spec: &FileSpec) -> Option<(Quantize, Atomic)> {
    Some((spec.var.coding.rounding?.0, spec.var.dtype))
}

/// The bytes with the bits lost that shall be.
pub(super) fn rounded(how: Option<(Quantize, Atomic)>, bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some((how, dtype)) = how else { return bytes.into() };
    let mut own = bytes.to_vec();
    how.apply(dtype, &mut own, &dtype.default_fill());
    own.into()
}
