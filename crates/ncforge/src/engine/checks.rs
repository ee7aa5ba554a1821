//! Checks before a read begins: the variable, the selection, the destination and its size.

use std::sync::Arc;

use super::machine;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::VarLayout;
use crate::model::VarId;
use crate::select::Hyperslab;

/// The layout of a variable, once the selection is known to lie inside its current shape.
pub(super) fn checked_layout(
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
) -> Result<Arc<VarLayout>> {
    layout_if(container, var, |shape, name| slab.check(shape, name))
}

/// The layout of a variable, if a selection `fits` its current shape.
pub(super) fn layout_if(
    container: &dyn Container,
    var: VarId,
    fits: impl FnOnce(&[u64], &str) -> Result<()>,
) -> Result<Arc<VarLayout>> {
    let schema = container.schema();
    if var.0 >= schema.vars.len() {
        return Err(Error::NoSuchId { kind: "variable", id: var.0 });
    }
    let layout = container.layout(var)?;
    let shape = schema.shape(var);
    fits(&shape, &layout.name)?;
    if layout.shape.len() != shape.len() {
        return Err(Error::corrupt(
            container.store().name(),
            None,
            format!(
                "`{}` has {} dimensions and is stored with {}",
                layout.name,
                shape.len(),
                layout.shape.len()
            ),
        ));
    }
    Ok(layout)
}

/// An error for what has no plain bytes.
pub(super) fn check_plain(layout: &VarLayout) -> Result<()> {
    if layout.element.heap {
        return Err(Error::wrong_kind(
            layout.name.clone(),
            "holds strings or ragged rows, which have no plain bytes",
        ));
    }
    Ok(())
}

/// Refuses sizes that no machine could hold; the allocator would end the process.
pub(super) fn check_memory(layout: &VarLayout, needed: u64) -> Result<()> {
    let budget = machine::memory();
    if needed > budget {
        return Err(Error::Budget { what: format!("reading `{}`", layout.name), needed, budget });
    }
    Ok(())
}

/// An error unless the destination has as many bytes as the selection.
pub(super) fn check_room(layout: &VarLayout, want: u64, out: &[u8]) -> Result<()> {
    if out.len() as u64 != want {
        return Err(Error::Length(format!(
            "`{}`: the selection has {want} bytes, the destination {}",
            layout.name,
            out.len()
        )));
    }
    Ok(())
}

pub(super) fn result_bytes(slab: &Hyperslab, layout: &VarLayout) -> Result<u64> {
    slab.count
        .iter()
        .try_fold(layout.element.size as u64, |n, &c| n.checked_mul(c))
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or_else(|| Error::TooLarge(format!("a selection of `{}` is too large to address", layout.name)))
}
