//! Attributes of classic files that a netCDF-4 file cannot have: their names are those of its own.

use ncforge::model::{Attribute, Format, Schema};
use ncforge::raw::netcdf4::is_hidden;

/// The attributes of a description that a file of this format cannot have: "the global attribute `CLASS`".
pub(crate) fn hidden(schema: &Schema, format: Format) -> Vec<String> {
    if format.is_classic() {
        return Vec::new();
    }
    let names = |attrs: &[Attribute], owner: &str| -> Vec<String> {
        let hidden = attrs.iter().filter(|a| is_hidden(&a.name));
        hidden.map(|a| format!("attribute `{owner}{}`", a.name)).collect()
    };
    let mut found = Vec::new();
    for g in &schema.groups {
        found.extend(names(&g.attrs, "").into_iter().map(|name| format!("the global {name}")));
    }
    for v in schema.var_ids() {
        let owner = format!("{}:", schema.var_path(v).trim_start_matches('/'));
        found.extend(names(&schema.var(v).attrs, &owner).into_iter().map(|name| format!("the {name}")));
    }
    found
}

/// Takes them out, and notes which ones.
pub(super) fn leave_out(schema: &mut Schema, notes: &mut Vec<String>) {
    let found = hidden(schema, schema.format);
    if found.is_empty() {
        return;
    }
    notes.extend(found.into_iter().map(|what| {
        format!(
            "{what} is not copied: netCDF-4 files have this name for themselves, and hide what is called so"
        )
    }));
    let owners = schema.groups.iter_mut().map(|g| &mut g.attrs);
    owners.chain(schema.vars.iter_mut().map(|v| &mut v.attrs)).for_each(|attrs| {
        attrs.retain(|a| !is_hidden(&a.name));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Variable};

    #[test]
    fn classic_files_have_what_netcdf4_files_hide() {
        let mut s = Schema::new(Format::Cdf1);
        s.groups[0].attrs = vec![Attribute::text("CLASS", "a"), Attribute::text("title", "b")];
        s.vars.push(Variable::new("v", Atomic::Int, vec![]));
        s.vars[0].attrs = vec![Attribute::text("units", "m"), Attribute::text("_Format", "c")];
        assert!(hidden(&s, s.format).is_empty());
        let mut notes = Vec::new();
        leave_out(&mut s, &mut notes);
        assert!(notes.is_empty() && s.vars[0].attrs.len() == 2);
        s.format = Format::Netcdf4;
        leave_out(&mut s, &mut notes);
        assert!(notes[0].starts_with("the global attribute `CLASS` is not copied"), "{notes:?}");
        assert!(notes[1].starts_with("the attribute `v:_Format` is not copied"), "{notes:?}");
        assert_eq!((s.groups[0].attrs.len(), s.vars[0].attrs.len()), (1, 1));
    }
}
