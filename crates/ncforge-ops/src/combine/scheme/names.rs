//! Names of dimensions and attributes that several schemes write, and their removal from the whole.

use super::convention::ints;
use ncforge::model::{Attribute, DimId, Schema, VarId};

/// A global attribute of tiles that begins so: [`split`](crate::split) has given a dimension the name that follows, by which
/// the scheme knows it; the text is its own name.
pub(crate) const RENAMED: &str = "ncforge_renamed_";

/// Gives dimensions back the names that they had before a file was split. Whether there were any.
pub(crate) fn give_back_names(whole: &mut Schema) -> bool {
    let (renamed, others) = std::mem::take(&mut whole.groups[0].attrs)
        .into_iter()
        .partition(|a: &Attribute| a.name.starts_with(RENAMED));
    whole.groups[0].attrs = others;
    for attr in &renamed {
        let name = &attr.name[RENAMED.len()..];
        let Some(own) = attr.as_text() else { continue };
        let is_free = !whole.dims_in(Schema::ROOT).any(|d| whole.dim(d).name == own);
        let renamed = whole.dims_in(Schema::ROOT).find(|d| whole.dim(*d).name == name);
        if let (Some(dim), true) = (renamed, is_free) {
            whole.dims[dim.0].name = own.to_owned();
        }
    }
    !renamed.is_empty()
}

/// XIOS's other attributes of a tile, besides the one of this name: `ibegin`, `ni`, `jbegin`, `nj`, behind each perhaps `_` and the name of
/// a domain. Nothing where the attribute is none of those that give a place.
pub(super) fn xios_beside(name: &str) -> Vec<String> {
    let domain = ["ibegin", "jbegin"].iter().find_map(|n| name.strip_prefix(n));
    match domain.filter(|domain| domain.is_empty() || domain.starts_with('_')) {
        Some(domain) => ["ibegin", "ni", "jbegin", "nj"].map(|name| format!("{name}{domain}")).to_vec(),
        None => Vec::new(),
    }
}

/// XIOS's attributes of the file of a tile: its name, and an identifier.
pub(super) const XIOS_FILE: [&str; 2] = ["name", "uuid"];

/// The attributes that XIOS writes of its own about a tile, with or without `DOMAIN_*`.
pub(super) fn xios_attributes(tile: &Schema) -> Vec<String> {
    let attrs = &tile.groups[0].attrs;
    let is_number = |name: &String| attrs.iter().any(|a| a.name == *name && ints(a).is_some());
    let of_domains = attrs.iter().filter(|a| a.name.starts_with("ibegin")).map(|a| xios_beside(&a.name));
    // One of them alone is somebody else's.
    of_domains.filter(|names| names.iter().all(is_number)).flatten().collect()
}

/// Removes them.
pub(crate) fn drop_xios(whole: &mut Schema) {
    let names = xios_attributes(whole);
    whole.groups[0].attrs.retain(|a| !names.contains(&a.name));
}

/// The coordinate variable of a dimension: of its name, in its group, along it alone.
pub(crate) fn coordinate(schema: &Schema, dim: DimId) -> Option<VarId> {
    let d = schema.dim(dim);
    schema.vars_in(d.group).find(|v| schema.var(*v).name == d.name && schema.var(*v).dims == [dim])
}
