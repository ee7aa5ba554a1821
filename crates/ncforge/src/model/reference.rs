//! The variables that attributes name, as the CF conventions have it (section 2.7): words between blanks, each a name or a path; and those
//! that dimensions name.
//!
//! ```
//! use ncforge::model::{Atomic, Attribute, Format, Schema, VarId, Variable};
//!
//! let mut schema = Schema::new(Format::Netcdf4);
//! let mut time = Variable::new("time", Atomic::Double, vec![]);
//! time.attrs = vec![Attribute::text("bounds", "/time_bnds ")];
//! schema.vars = vec![time, Variable::new("time_bnds", Atomic::Double, vec![])];
//! assert_eq!(schema.named_by(VarId(0), "bounds").collect::<Vec<_>>(), [VarId(1)]);
//! assert_eq!(schema.parent_of(VarId(1)), Some(VarId(0)));
//! ```

use super::id::{DimId, GroupId, VarId};
use super::schema::{Attribute, Schema};

/// Attributes that name the bounds of a variable.
pub const BOUNDS: [&str; 2] = ["bounds", "climatology"];

impl Attribute {
    /// The words that may be names of variables. `area:` of `area: cells` says what the next one is, and is none; `crs:` of
    /// `crs: x y` is one.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        let is_of_keys = self.name == "grid_mapping";
        let words = self.as_text().unwrap_or_default().split([' ', '\t', '\n', '\r', '\0']);
        words.filter(|word| !word.is_empty()).filter_map(move |word| match word.strip_suffix(':') {
            Some(key) => is_of_keys.then_some(key),
            None => Some(word),
        })
    }
}

impl Schema {
    /// The variable that a name or a path means in a group: a name is looked for in the group, then in those above; a path with a slash in
    /// front begins in the root, another one in the group.
    pub fn find_from(&self, group: GroupId, path: &str) -> Option<VarId> {
        let Some((folder, name)) = path.rsplit_once('/') else {
            let above = std::iter::successors(Some(group), |g| self.group(*g).parent);
            return above.into_iter().find_map(|g| self.vars_in(g).find(|v| self.var(*v).name == path));
        };
        let mut at = if path.starts_with('/') { Self::ROOT } else { group };
        for part in folder.split('/') {
            at = match part {
                "" | "." => at,
                ".." => self.group(at).parent?,
                part => self.children(at).find(|g| self.group(*g).name == part)?,
            };
        }
        self.vars_in(at).find(|v| self.var(*v).name == name)
    }

    /// The variables that an attribute of a variable names, as far as there are any.
    pub fn named_by<'a>(&'a self, v: VarId, attr: &str) -> impl Iterator<Item = VarId> + 'a {
        let attr = self.var(v).attr(attr);
        let words = attr.into_iter().flat_map(Attribute::references);
        words.filter_map(move |word| self.find_from(self.var(v).group, word))
    }

    /// The dimension whose coordinate variable this is: it has the dimension's name, and no other dimension.
    pub fn coordinate_dim(&self, v: VarId) -> Option<DimId> {
        let var = self.var(v);
        let [dim] = var.dims[..] else { return None };
        (self.dim(dim).name == var.name).then_some(dim)
    }

    /// The variables that hold the bounds of a variable.
    pub fn bounds_of(&self, v: VarId) -> impl Iterator<Item = VarId> + '_ {
        BOUNDS.into_iter().flat_map(move |attr| self.named_by(v, attr)).filter(move |b| *b != v)
    }

    /// The variable whose bounds a variable holds.
    pub fn parent_of(&self, bounds: VarId) -> Option<VarId> {
        self.var_ids().find(|v| self.bounds_of(*v).any(|b| b == bounds))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Atomic, Dimension, Format, Group, Variable};
    use super::*;

    fn schema() -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        for (name, parent) in [("g", 0), ("h", 1)] {
            s.groups.push(Group { name: name.into(), parent: Some(GroupId(parent)), attrs: Vec::new() });
        }
        for (name, group) in [("b", 0), ("b", 1), ("c", 0), ("d", 2)] {
            s.vars.push(Variable { group: GroupId(group), ..Variable::new(name, Atomic::Int, vec![]) });
        }
        s
    }

    #[test]
    fn names_and_paths_are_those_of_the_conventions() {
        let s = schema();
        for (from, path, found) in [
            (2, "b", Some(1)),
            (2, "c", Some(2)),
            (0, "d", None),
            (0, "g/h/d", Some(3)),
            (2, "../b", Some(1)),
            (2, "../../b", Some(0)),
            (2, "/b", Some(0)),
            (1, "/g/h/d", Some(3)),
            (1, "h/d", Some(3)),
            (0, "../b", None),
            (0, "", None),
        ] {
            assert_eq!(s.find_from(GroupId(from), path), found.map(VarId), "{path}");
        }
    }

    #[test]
    fn a_coordinate_has_the_name_of_its_only_dimension() {
        let mut s = schema();
        for name in ["x", "y"] {
            s.dims.push(Dimension { name: name.into(), len: 2, unlimited: false, group: Schema::ROOT });
        }
        let (x, y) = (DimId(0), DimId(1));
        for (name, dims, of) in
            [("x", vec![x], Some(x)), ("x", vec![y], None), ("x", vec![x, y], None), ("x", vec![], None)]
        {
            s.vars.push(Variable::new(name, Atomic::Int, dims));
            assert_eq!(s.coordinate_dim(VarId(s.vars.len() - 1)), of);
        }
    }

    #[test]
    fn keys_are_no_names_but_of_grid_mappings() {
        let words = |name: &str, text: &str| {
            let attr = Attribute::text(name, text);
            attr.references().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("cell_measures", " area: cells\n"), ["cells"]);
        assert_eq!(words("grid_mapping", "crs: x y"), ["crs", "x", "y"]);
        assert_eq!(words("bounds", "time_bnds \0"), ["time_bnds"]);
    }
}
