//! The description of the output, from that of the source: the format's rules, the variables asked for,
//! dimensions made fixed, a line of history.

use std::collections::BTreeSet;

use super::fitted::order_bytes;
use super::hidden::leave_out;
use super::options::{CopyOptions, Names};
use crate::profile::Profile;
use crate::select::Selected;
use ncforge::model::{
    Atomic, Attribute, DType, DimId, Endian, Fill, Format, GroupId, Schema, TypeId, UserKind, Values, VarId,
};
use ncforge::raw::classic;
use ncforge::{Dataset, Error, Result};

/// A variable's way from source to output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The variable of the source.
    pub(crate) from: VarId,
    /// The variable of the output.
    pub(crate) to: VarId,
    /// Whether its values are copied (otherwise it is defined only).
    pub(crate) values: bool,
}

/// The output's description, storage still as in the source.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(crate) schema: Schema,
    pub(crate) vars: Vec<Moved>,
    /// Notes for the user: objects left out.
    pub(crate) notes: Vec<String>,
}

/// Translates a description; `path` is the source's, for messages.
pub(crate) fn translate(source: &Schema, path: &str, options: &CopyOptions) -> Result<Translation> {
    let wanted = match &options.only {
        Some(names) => with_containers(source, chosen(source, names, path)?),
        // A copy that lacks what is damaged would pass for the whole.
        None => match source.skipped.iter().find(|s| s.is_damaged()) {
            Some(damaged) => return Err(damaged.error(path)),
            None => source.var_ids().collect(),
        },
    };
    let with_values = match &options.values_of {
        Some(names) => chosen(source, names, path)?,
        None => source.var_ids().collect(),
    };
    let keep = Keep::new(source, &wanted, options);
    let mut schema = keep.apply(source);
    let format = format_of(source, &schema, options)?;
    schema.format = format;
    if options.switches.fix_unlimited {
        // A dimension without a record yet stays unlimited: length 0 means just that in every netCDF format.
        schema.dims.iter_mut().filter(|d| d.len > 0).for_each(|d| d.unlimited = false);
    }
    let skipped = source.skipped.iter();
    let mut notes: Vec<String> = skipped.map(|s| format!("`{}` is not copied: {}", s.path, s.why)).collect();
    let across = source.format.is_classic() || format.is_classic();
    for v in &mut schema.vars {
        if across {
            v.endian = Endian::Native;
        }
        if format.is_classic() {
            v.fill = Fill::Default;
        }
    }
    if let Some(endian) = options.endian.filter(|_| !format.is_classic()) {
        order_bytes(&mut schema, endian, &mut notes);
    }
    if format != Format::Netcdf4 {
        check_classic(&schema, format)?;
    }
    if let Some(line) = &options.history {
        prepend_history(&mut schema, line);
    }
    let vars = wanted
        .iter()
        .enumerate()
        .map(|(i, &from)| Moved { from, to: VarId(i), values: with_values.contains(&from) })
        .collect();
    leave_out(&mut schema, &mut notes);
    Ok(Translation { schema, vars, notes })
}

/// The part of a source that is selected, along the dimensions of the variables that are copied; `None`: all.
pub(super) fn selected(source: &Dataset, options: &CopyOptions) -> Result<Option<Selected>> {
    let schema = source.schema();
    let dims = |names: &Names| -> Result<BTreeSet<DimId>> {
        let vars = with_containers(schema, chosen(schema, names, &source.name())?);
        Ok(vars.iter().flat_map(|&v| schema.var(v).dims.iter().copied()).collect())
    };
    let used = options.only.as_ref().map(dims).transpose()?;
    options.select.of(source, used.as_ref())
}

/// The variables, and those that say how they were quantized (CF conventions 1.12, section 8.4).
fn with_containers(source: &Schema, mut vars: BTreeSet<VarId>) -> BTreeSet<VarId> {
    let containers = vars.iter().filter_map(|&v| source.quantization_container(source.var(v)));
    let containers: Vec<VarId> = containers.collect();
    vars.extend(containers);
    vars
}

/// The output's format.
fn format_of(source: &Schema, kept: &Schema, options: &CopyOptions) -> Result<Format> {
    let needs_netcdf4 =
        source.format.is_classic() && (options.profile == Some(Profile::Cmip7) || options.chunked_format);
    match options.format {
        Some(format) if options.zipped.is_some() && !format.is_classic() => {
            Err(Error::bad_option("format", "a zipped file holds a classic file, of no other format"))
        }
        Some(format) => Ok(format),
        // Objects that no version can hold are named later.
        None if options.zipped.is_some() && !source.format.is_classic() => {
            Ok(classic::version_needed(kept).unwrap_or(Format::Cdf5))
        }
        None if needs_netcdf4 && options.zipped.is_none() => Ok(match source.format {
            // Its types are more than the classic model's.
            Format::Cdf5 => Format::Netcdf4,
            _ => Format::Netcdf4Classic,
        }),
        None => Ok(source.format),
    }
}

/// The variables that names mean, in the source's order.
fn chosen(source: &Schema, names: &Names, path: &str) -> Result<BTreeSet<VarId>> {
    let mut set = BTreeSet::new();
    for name in &names.vars {
        set.insert(source.find_var(name).ok_or_else(|| source.no_variable(name, path))?);
    }
    for name in &names.groups {
        let top = source.find_group(name).ok_or_else(|| source.no_group(name, path))?;
        set.extend(source.var_ids().filter(|&v| is_below(source, source.var(v).group, top)));
        let within = format!("{}/", source.group_path(top).trim_end_matches('/'));
        if let Some(s) = source.skipped.iter().find(|s| s.is_damaged() && s.path.starts_with(&within)) {
            return Err(s.error(path));
        }
    }
    Ok(set)
}

fn is_below(s: &Schema, mut g: GroupId, top: GroupId) -> bool {
    loop {
        if g == top {
            return true;
        }
        match s.group(g).parent {
            Some(p) => g = p,
            None => return false,
        }
    }
}

/// The objects that are kept, by their place in the source's arenas.
struct Keep {
    groups: BTreeSet<usize>,
    dims: BTreeSet<usize>,
    types: BTreeSet<usize>,
    vars: BTreeSet<VarId>,
}

impl Keep {
    fn new(s: &Schema, vars: &BTreeSet<VarId>, options: &CopyOptions) -> Keep {
        if options.only.is_none() {
            return Keep {
                groups: (0..s.groups.len()).collect(),
                dims: (0..s.dims.len()).collect(),
                types: (0..s.types.len()).collect(),
                vars: vars.clone(),
            };
        }
        let mut keep = Keep {
            groups: BTreeSet::from([0]),
            dims: BTreeSet::new(),
            types: BTreeSet::new(),
            vars: vars.clone(),
        };
        for &v in vars {
            let var = s.var(v);
            keep.group(s, var.group);
            var.dims.iter().for_each(|d| keep.dim(s, *d));
            keep.dtype(s, var.dtype);
            var.attrs.iter().for_each(|a| keep.dtype(s, a.dtype));
        }
        if options.switches.all_dimensions {
            keep.groups = (0..s.groups.len()).collect();
            keep.dims = (0..s.dims.len()).collect();
            keep.types = (0..s.types.len()).collect();
        }
        for g in keep.groups.clone() {
            s.groups[g].attrs.iter().for_each(|a| keep.dtype(s, a.dtype));
        }
        keep
    }

    fn group(&mut self, s: &Schema, g: GroupId) {
        let mut at = Some(g);
        while let Some(g) = at {
            self.groups.insert(g.0);
            at = s.group(g).parent;
        }
    }

    fn dim(&mut self, s: &Schema, d: DimId) {
        if self.dims.insert(d.0) {
            self.group(s, s.dim(d).group);
        }
    }

    fn dtype(&mut self, s: &Schema, t: DType) {
        let DType::User(id) = t else { return };
        if !self.types.insert(id.0) {
            return;
        }
        self.group(s, s.user_type(id).group);
        match &s.user_type(id).kind {
            UserKind::Compound { fields, .. } => fields.iter().for_each(|f| self.dtype(s, f.dtype)),
            UserKind::Vlen { base } => self.dtype(s, *base),
            UserKind::Enum { .. } | UserKind::Opaque { .. } => {}
        }
    }

    /// The schema of what is kept, renumbered.
    fn apply(&self, s: &Schema) -> Schema {
        let rank = |set: &BTreeSet<usize>, len: usize| -> Vec<usize> {
            let mut next = 0;
            (0..len)
                .map(|i| {
                    let at = next;
                    next += usize::from(set.contains(&i));
                    at
                })
                .collect()
        };
        let (groups, dims, types) = (
            rank(&self.groups, s.groups.len()),
            rank(&self.dims, s.dims.len()),
            rank(&self.types, s.types.len()),
        );
        let dtype = |t: DType| match t {
            DType::User(id) => DType::User(TypeId(types[id.0])),
            other => other,
        };
        let group = |g: GroupId| GroupId(groups[g.0]);
        let attrs = |list: &[Attribute]| -> Vec<Attribute> {
            list.iter().map(|a| Attribute { dtype: dtype(a.dtype), ..a.clone() }).collect()
        };
        let mut out = Schema::new(s.format);
        out.groups = self
            .groups
            .iter()
            .map(|&g| {
                let mut x = s.groups[g].clone();
                x.parent = x.parent.map(group);
                x.attrs = attrs(&x.attrs);
                x
            })
            .collect();
        out.dims = self
            .dims
            .iter()
            .map(|&d| {
                let mut x = s.dims[d].clone();
                x.group = group(x.group);
                x
            })
            .collect();
        out.types = self
            .types
            .iter()
            .map(|&t| {
                let mut x = s.types[t].clone();
                x.group = group(x.group);
                match &mut x.kind {
                    UserKind::Compound { fields, .. } => {
                        fields.iter_mut().for_each(|f| f.dtype = dtype(f.dtype));
                    }
                    UserKind::Vlen { base } => *base = dtype(*base),
                    UserKind::Enum { .. } | UserKind::Opaque { .. } => {}
                }
                x
            })
            .collect();
        out.vars = self
            .vars
            .iter()
            .map(|&v| {
                let mut x = s.var(v).clone();
                x.group = group(x.group);
                x.dtype = dtype(x.dtype);
                x.dims.iter_mut().for_each(|d| *d = DimId(dims[d.0]));
                x.attrs = attrs(&x.attrs);
                x
            })
            .collect();
        out
    }
}

/// An error that names the first object that the classic model, or this format of it, cannot hold.
fn check_classic(s: &Schema, format: Format) -> Result<()> {
    let cannot = |what: String| Err(Error::NotRepresentable { format: format.kind(), what });
    if let Some(g) = (0..s.groups.len()).map(GroupId).find(|&g| g != Schema::ROOT) {
        return cannot(format!("group `{}`: it has no groups", s.group_path(g)));
    }
    if let Some(t) = s.types.first() {
        return cannot(format!("type `{}`: it has no user-defined types", t.name));
    }
    let fits = |t: DType| match t {
        DType::Atomic(a) => a.in_classic() || format == Format::Cdf5,
        _ => false,
    };
    let why = |t: DType| {
        let five = matches!(t, DType::Atomic(_)) && format != Format::Cdf5;
        format!("of type {}{}", s.type_name(t), if five { " (cdf5 and netcdf4 can)" } else { "" })
    };
    for a in &s.groups[0].attrs {
        if !fits(a.dtype) {
            return cannot(format!("global attribute `{}` {}", a.name, why(a.dtype)));
        }
    }
    let unlimited: Vec<DimId> = (0..s.dims.len()).map(DimId).filter(|&d| s.dim(d).unlimited).collect();
    if let [first, second, ..] = unlimited[..] {
        return cannot(format!(
            "two unlimited dimensions, `{}` and `{}` (`--fix-unlimited`, of nccopy `-u`, makes them fixed)",
            s.dim(first).name,
            s.dim(second).name
        ));
    }
    for v in &s.vars {
        if !fits(v.dtype) {
            return cannot(format!("variable `{}` {}", v.name, why(v.dtype)));
        }
        if let Some(a) = v.attrs.iter().find(|a| !fits(a.dtype)) {
            return cannot(format!("attribute `{}:{}` {}", v.name, a.name, why(a.dtype)));
        }
        if let Some(d) = v.dims.iter().skip(1).find(|d| format.is_classic() && s.dim(**d).unlimited) {
            return cannot(format!(
                "variable `{}`: its unlimited dimension `{}` is not the first (`--fix-unlimited`, of nccopy `-u`, \
                 makes it fixed)",
                v.name,
                s.dim(*d).name
            ));
        }
    }
    if format.is_classic()
        && let Some(d) = s.dims.iter().find(|d| d.len == 0 && !d.unlimited)
    {
        return cannot(format!("dimension `{}`: a fixed dimension of length 0", d.name));
    }
    Ok(())
}

/// Puts a line in front of the global attribute `history`. An attribute of that name that is not text is left
/// alone.
fn prepend_history(s: &mut Schema, line: &str) {
    let attrs = &mut s.groups[0].attrs;
    match attrs.iter_mut().find(|a| a.name == "history") {
        None => attrs.push(Attribute::text("history", line)),
        Some(old) => {
            let text = match (&old.values, old.dtype) {
                (Values::Fixed(b), DType::Atomic(Atomic::Char)) => {
                    // Bytes, not text: an old file's Latin-1 must survive.
                    let mut bytes = line.as_bytes().to_vec();
                    let end = b.iter().rposition(|&c| c != 0).map_or(0, |i| i + 1);
                    if end > 0 {
                        bytes.push(b'\n');
                        bytes.extend_from_slice(&b[..end]);
                    }
                    Values::fixed(&bytes)
                }
                (_, DType::String) => match old.as_text() {
                    Some(t) => Attribute::strings("history", [format!("{line}\n{t}").as_str()]).values,
                    None => return,
                },
                _ => return,
            };
            old.values = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Dimension, Group, UserType, Variable};

    fn schema() -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        s.groups.push(Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: vec![] });
        s.groups.push(Group { name: "h".into(), parent: Some(Schema::ROOT), attrs: vec![] });
        for (name, group, unlimited) in [("t", 0, true), ("x", 1, false), ("y", 2, false)] {
            s.dims.push(Dimension { name: name.into(), group: GroupId(group), len: 3, unlimited });
        }
        for name in ["unused", "kind"] {
            s.types.push(UserType {
                name: name.into(),
                group: Schema::ROOT,
                kind: UserKind::Enum { base: Atomic::Byte, members: vec![("a".into(), 1)] },
            });
        }
        s.vars.push(Variable::new("a", Atomic::Int, vec![DimId(0)]));
        let mut b = Variable::new("b", DType::User(TypeId(1)), vec![DimId(0), DimId(2)]);
        b.group = GroupId(2);
        s.vars.push(b);
        s
    }

    fn only(names: &[&str]) -> CopyOptions {
        let vars = names.iter().map(|n| (*n).to_string()).collect();
        CopyOptions { only: Some(Names { vars, groups: vec![] }), ..CopyOptions::default() }
    }

    #[test]
    fn a_subset_is_renumbered() {
        let t = translate(&schema(), "f", &only(&["h/b"])).unwrap();
        assert_eq!(t.schema.groups.len(), 2);
        assert_eq!(t.schema.dims.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["t", "y"]);
        assert_eq!(t.schema.types.len(), 1);
        assert_eq!(t.schema.var_path(VarId(0)), "/h/b");
        assert_eq!(t.schema.var(VarId(0)).dims, [DimId(0), DimId(1)]);
        assert_eq!(t.vars, [Moved { from: VarId(1), to: VarId(0), values: true }]);
        assert!(matches!(translate(&schema(), "f", &only(&["no"])), Err(Error::NotFound { .. })));
    }

    #[test]
    fn the_classic_model_says_what_it_cannot_hold() {
        let classic = |s: &Schema, format| {
            translate(s, "f", &CopyOptions { format: Some(format), ..CopyOptions::default() })
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert!(classic(&schema(), Format::Cdf5).unwrap_err().contains("group `/g`"));
        let mut s = Schema::new(Format::Netcdf4);
        s.dims = vec![Dimension::new("t", 3, true)];
        s.vars.push(Variable::new("u", Atomic::UInt64, vec![DimId(0)]));
        assert!(classic(&s, Format::Cdf5).is_ok());
        assert!(classic(&s, Format::Cdf2).unwrap_err().contains("variable `u` of type uint64"));
        s.dims.push(Dimension::new("x", 3, false));
        s.vars[0].dims = vec![DimId(1), DimId(0)];
        assert!(classic(&s, Format::Cdf5).unwrap_err().contains("is not the first"));
        // Only records of the formats need it: netCDF-C writes such netCDF-4 files of the classic model.
        s.vars[0].dtype = Atomic::Int.into();
        assert!(classic(&s, Format::Netcdf4Classic).is_ok());
    }

    #[test]
    fn history_is_prepended_as_bytes() {
        let mut s = Schema::new(Format::Cdf1);
        prepend_history(&mut s, "one");
        prepend_history(&mut s, "two");
        assert_eq!(s.groups[0].attrs[0].as_text(), Some("two\none"));
        s.groups[0].attrs[0].values = Values::fixed(b"caf\xe9\0");
        prepend_history(&mut s, "three");
        assert_eq!(s.groups[0].attrs[0].values.bytes().unwrap(), b"three\ncaf\xe9");
    }
}
