//! The header of a dataset as CDL, byte for byte as `ncdump -h` or `ncdump -hs` prints it.
//!
//! Reference: the CDL grammar in `ncgen(1)`, and the output of `ncdump` of netCDF-C 4.9.0. One difference on
//! purpose: where `ncdump` gives up on a file (a name that begins with a control character, an enum value
//! without a name), this prints what is there.

use std::collections::HashSet;
use std::io::Write;

use super::special;
use super::text::push_name;
use super::values::{Shown, show};
use ncforge::model::{Attribute, DType, DimId, Format, GroupId, Schema, TypeId, UserKind, VarId};
use ncforge::raw::Container;

/// `ncdump` breaks lines of type declarations and of compound values at this length.
const LINE_LENGTH: usize = 78;
/// What stands before a continued line.
const CONTINUED: &[u8] = b"    ";
/// Names that the CDL parser takes for its own when an attribute follows them.
const KEYWORDS: [&str; 5] = ["variables", "dimensions", "data", "group", "types"];

/// What to print.
#[derive(Clone, Debug, Default)]
pub struct CdlOptions {
    /// The name after `netcdf`; `ncdump` takes the file's name without its last extension.
    pub name: String,
    /// Storage as special attributes, as `ncdump -s`.
    pub special: bool,
}

/// The header as CDL. Bytes rather than a `String`: names and text of old files need not be UTF-8, and come
/// out as they are.
///
/// ```
/// use ncforge::{Format, Schema};
/// use ncforge::model::Dimension;
/// # use ncforge_ops::describe::{CdlOptions, cdl_of};
/// let mut schema = Schema::new(Format::Cdf1);
/// schema.dims.push(Dimension { name: "time".into(), group: Schema::ROOT, len: 12, unlimited: true });
/// let text = cdl_of(&schema, None, &CdlOptions { name: "sst".into(), special: false });
/// assert_eq!(text, b"netcdf sst {\ndimensions:\n\ttime = UNLIMITED ; // (12 currently)\n}\n");
/// ```
pub fn cdl_of(schema: &Schema, superblock: Option<u8>, options: &CdlOptions) -> Vec<u8> {
    let mut w = Writer {
        out: Vec::new(),
        schema,
        superblock,
        special: options.special,
        indent: 0,
        line: 0,
        tree: Tree::of(schema),
    };
    w.out.extend_from_slice(b"netcdf ");
    push_name(&mut w.out, &options.name);
    w.out.extend_from_slice(b" {\n");
    w.group(Schema::ROOT);
    w.out.extend_from_slice(b"}\n");
    w.out
}

/// The header of an open dataset as CDL: [`cdl_of`] with what the container knows.
pub fn cdl(container: &dyn Container, options: &CdlOptions) -> Vec<u8> {
    cdl_of(container.schema(), special::superblock_version(container), options)
}

/// The objects of each group, gathered once: walking the arenas for each of thousands of groups would be
/// quadratic.
struct Tree {
    dims: Vec<Vec<DimId>>,
    vars: Vec<Vec<VarId>>,
    types: Vec<Vec<TypeId>>,
    groups: Vec<Vec<GroupId>>,
    /// Names of the types and of the dimensions of each group.
    type_names: Vec<HashSet<String>>,
}

impl Tree {
    fn of(schema: &Schema) -> Tree {
        let n = schema.groups.len();
        let mut tree = Tree {
            dims: vec![Vec::new(); n],
            vars: vec![Vec::new(); n],
            types: vec![Vec::new(); n],
            groups: vec![Vec::new(); n],
            type_names: vec![HashSet::new(); n],
        };
        for (i, d) in schema.dims.iter().enumerate() {
            tree.dims[d.group.0].push(DimId(i));
        }
        for (i, v) in schema.vars.iter().enumerate() {
            tree.vars[v.group.0].push(VarId(i));
        }
        for (i, t) in schema.types.iter().enumerate() {
            tree.types[t.group.0].push(TypeId(i));
            tree.type_names[t.group.0].insert(t.name.clone());
        }
        for (i, g) in schema.groups.iter().enumerate() {
            if let Some(parent) = g.parent {
                tree.groups[parent.0].push(GroupId(i));
            }
        }
        tree
    }
}

struct Writer<'a> {
    out: Vec<u8>,
    schema: &'a Schema,
    superblock: Option<u8>,
    special: bool,
    /// Spaces before a line.
    indent: usize,
    /// Where in the line the last text of [`Writer::put`] ended.
    line: usize,
    tree: Tree,
}

macro_rules! put {
    ($w:expr, $($arg:tt)*) => {{
        // Writing to a vector cannot fail.
        let _ = write!($w.out, $($arg)*);
    }};
}

impl Writer<'_> {
    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n(b' ', self.indent));
    }

    /// Prints a text, on a new line if this one would grow too long: the only place where `ncdump` breaks
    /// lines in a header.
    fn put(&mut self, text: &[u8]) {
        if text.len() + self.line > LINE_LENGTH && text.len() > 2 {
            self.out.push(b'\n');
            self.indent();
            self.out.extend_from_slice(CONTINUED);
            self.line = CONTINUED.len() + self.indent;
        }
        self.out.extend_from_slice(text);
        if text.last() == Some(&b'\n') {
            self.line = self.indent;
        } else {
            self.line += text.len();
        }
    }

    fn group(&mut self, id: GroupId) {
        self.types(id);
        self.dimensions(id);
        self.variables(id);
        self.group_attributes(id);
        for child in std::mem::take(&mut self.tree.groups[id.0]) {
            let name = &self.schema.group(child).name;
            self.out.push(b'\n');
            self.indent();
            self.out.extend_from_slice(b"group: ");
            push_name(&mut self.out, name);
            self.out.extend_from_slice(b" {\n");
            self.indent += 2;
            self.group(child);
            self.indent();
            self.out.extend_from_slice(b"} // group ");
            push_name(&mut self.out, name);
            self.out.push(b'\n');
            self.indent -= 2;
        }
    }

    fn types(&mut self, group: GroupId) {
        let types = std::mem::take(&mut self.tree.types[group.0]);
        if types.is_empty() {
            return;
        }
        self.indent();
        self.out.extend_from_slice(b"types:\n");
        self.indent += 2;
        for t in types {
            self.user_type(group, t);
        }
        self.indent -= 2;
    }

    fn user_type(&mut self, group: GroupId, id: TypeId) {
        let schema = self.schema;
        let this = DType::User(id);
        self.indent();
        match &schema.user_type(id).kind {
            UserKind::Vlen { base } => {
                self.type_name(group, *base);
                self.out.extend_from_slice(b"(*) ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" ;\n");
            }
            UserKind::Opaque { size } => {
                put!(self, "opaque({size}) ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" ;\n");
            }
            UserKind::Enum { base, members } => {
                let mut head = base.cdl_name().as_bytes().to_vec();
                head.extend_from_slice(b" enum ");
                push_name(&mut head, &schema.user_type(id).name);
                head.extend_from_slice(b" {");
                self.put(&head);
                for (i, (name, value)) in members.iter().enumerate() {
                    let mut text = Vec::new();
                    push_name(&mut text, name);
                    // Values above 2^63 are shown as ncdump shows them, as signed numbers.
                    let end = if i + 1 == members.len() { "} ;\n" } else { ", " };
                    let _ = write!(text, " = {}{end}", *value as i64);
                    self.put(&text);
                }
            }
            UserKind::Compound { fields, .. } => {
                self.out.extend_from_slice(b"compound ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" {\n");
                for field in fields {
                    self.indent();
                    self.out.extend_from_slice(b"  ");
                    self.type_name(group, field.dtype);
                    self.out.push(b' ');
                    push_name(&mut self.out, &field.name);
                    if !field.shape.is_empty() {
                        let shape: Vec<String> = field.shape.iter().map(u32::to_string).collect();
                        put!(self, "({})", shape.join(", "));
                    }
                    self.out.extend_from_slice(b" ;\n");
                }
                self.indent();
                self.out.extend_from_slice(b"}; // ");
                self.type_name(group, this);
                self.out.push(b'\n');
            }
        }
    }

    /// The name of a type as seen from a group: with its group's path when no group on the way up to the root
    /// has a type of this name.
    fn type_name(&mut self, from: GroupId, dtype: DType) {
        let schema = self.schema;
        if let DType::User(t) = dtype {
            let name = &schema.user_type(t).name;
            let mut at = Some(from);
            let mut seen = false;
            while let Some(g) = at.filter(|_| !seen) {
                seen = self.tree.type_names[g.0].contains(name);
                at = schema.group(g).parent;
            }
            if !seen {
                let path = schema.group_path(schema.user_type(t).group);
                push_name(&mut self.out, &path);
                self.out.push(b'/');
            }
        }
        push_name(&mut self.out, schema.type_name(dtype));
    }

    fn dimensions(&mut self, group: GroupId) {
        let dims = std::mem::take(&mut self.tree.dims[group.0]);
        if !dims.is_empty() {
            self.indent();
            self.out.extend_from_slice(b"dimensions:\n");
        }
        for d in dims {
            let dim = self.schema.dim(d);
            self.indent();
            self.out.push(b'\t');
            push_name(&mut self.out, &dim.name);
            if dim.unlimited {
                put!(self, " = UNLIMITED ; // ({} currently)\n", dim.len);
            } else {
                put!(self, " = {} ;\n", dim.len);
            }
        }
    }

    fn variables(&mut self, group: GroupId) {
        let schema = self.schema;
        let vars = std::mem::take(&mut self.tree.vars[group.0]);
        if !vars.is_empty() {
            self.indent();
            self.out.extend_from_slice(b"variables:\n");
        }
        for v in vars {
            let var = schema.var(v);
            self.indent();
            self.out.push(b'\t');
            self.type_name(group, var.dtype);
            self.out.push(b' ');
            push_name(&mut self.out, &var.name);
            for (i, d) in var.dims.iter().enumerate() {
                self.out.extend_from_slice(if i == 0 { b"(" } else { b", " });
                self.dim_name(group, *d);
            }
            self.out.extend_from_slice(if var.dims.is_empty() { b" ;\n" } else { b") ;\n" });
            for a in &var.attrs {
                self.attribute(group, &var.name, a);
            }
            if self.special {
                for s in special::of_variable(schema, v) {
                    self.special_attribute(&var.name, s.name, &s.value);
                }
            }
        }
    }

    /// The name of a dimension as seen from a group: with its group's path when the bare name would mean
    /// another dimension, or none.
    fn dim_name(&mut self, from: GroupId, id: DimId) {
        let schema = self.schema;
        let dim = schema.dim(id);
        if schema.find_dim(from, &dim.name) != Some(id) {
            let path = schema.group_path(dim.group);
            push_name(&mut self.out, &path);
            if path != "/" {
                self.out.push(b'/');
            }
        }
        push_name(&mut self.out, &dim.name);
    }

    fn group_attributes(&mut self, group: GroupId) {
        let attrs = &self.schema.group(group).attrs;
        let root = group == Schema::ROOT;
        if !attrs.is_empty() || self.special {
            self.out.push(b'\n');
            self.indent();
            let title: &[u8] = if root { b"// global attributes:\n" } else { b"// group attributes:\n" };
            self.out.extend_from_slice(title);
        }
        for a in attrs {
            self.attribute(group, "", a);
        }
        if root && self.special {
            for s in special::of_file(self.schema, self.superblock) {
                self.special_attribute("", s.name, &s.value);
            }
        }
    }

    fn attribute(&mut self, group: GroupId, owner: &str, attr: &Attribute) {
        self.indent();
        self.out.extend_from_slice(b"\t\t");
        if !matches!(attr.dtype, DType::Atomic(_)) {
            self.type_name(group, attr.dtype);
            self.out.push(b' ');
        }
        push_name(&mut self.out, owner);
        if KEYWORDS.contains(&owner) {
            self.out.push(b' ');
        }
        self.out.push(b':');
        push_name(&mut self.out, &attr.name);
        self.out.extend_from_slice(b" = ");
        // In netCDF-4 a second quoted piece would be a second string.
        let breaks = self.schema.format != Format::Netcdf4;
        match show(self.schema, attr, breaks) {
            Shown::Whole(text) => self.out.extend_from_slice(&text),
            Shown::Pieces(pieces) => pieces.iter().for_each(|p| self.put(p)),
        }
        self.out.extend_from_slice(b" ;\n");
    }

    fn special_attribute(&mut self, owner: &str, name: &str, value: &[u8]) {
        self.indent();
        self.out.extend_from_slice(b"\t\t");
        push_name(&mut self.out, owner);
        self.out.push(b':');
        push_name(&mut self.out, name);
        self.out.extend_from_slice(b" = ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b" ;\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Dimension, Group, Storage, UserType, Variable};

    fn text(schema: &Schema, special: bool) -> String {
        String::from_utf8(cdl_of(schema, Some(2), &CdlOptions { name: "x.y".into(), special }))
            .expect("ASCII")
    }

    #[test]
    fn groups_types_and_dimensions_find_their_names() {
        let mut s = Schema::new(Format::Netcdf4);
        for (name, parent) in [("a", 0), ("b", 0)] {
            s.groups.push(Group { name: name.into(), parent: Some(GroupId(parent)), attrs: Vec::new() });
        }
        for (group, len) in [(0, 2), (1, 3)] {
            s.dims.push(Dimension { name: "x".into(), group: GroupId(group), len, unlimited: false });
        }
        s.types.push(UserType {
            name: "row".into(),
            group: GroupId(2),
            kind: UserKind::Vlen { base: Atomic::Int.into() },
        });
        let mut v = Variable::new("v", DType::User(TypeId(0)), vec![DimId(0), DimId(1)]);
        v.group = GroupId(1);
        v.attrs.push(Attribute::strings("who", ["me", "you"]));
        s.vars.push(v);
        let expected = "netcdf x.y {
dimensions:
\tx = 2 ;

group: a {
  dimensions:
  \tx = 3 ;
  variables:
  \t/b/row v(/x, x) ;
  \t\tstring v:who = \"me\", \"you\" ;
  } // group a

group: b {
  types:
    int(*) row ;
  } // group b
}
";
        assert_eq!(text(&s, false), expected);
    }

    #[test]
    fn special_attributes_follow_the_real_ones() {
        let mut s = Schema::new(Format::Netcdf4);
        s.dims.push(Dimension { name: "x".into(), group: Schema::ROOT, len: 8, unlimited: false });
        let mut v = Variable::new("data", Atomic::Char, vec![DimId(0)]);
        v.attrs.push(Attribute::text("long_name", "one\ntwo"));
        v.storage = Storage::Chunked { chunks: vec![4], filters: Vec::new() };
        s.vars.push(v);
        let expected = "netcdf x.y {
dimensions:
\tx = 8 ;
variables:
\tchar data(x) ;
\t\tdata :long_name = \"one\\ntwo\" ;
\t\tdata:_Storage = \"chunked\" ;
\t\tdata:_ChunkSizes = 4 ;

// global attributes:
\t\t:_SuperblockVersion = 2 ;
\t\t:_IsNetcdf4 = 1 ;
\t\t:_Format = \"netCDF-4\" ;
}
";
        assert_eq!(text(&s, true), expected);
    }

    #[test]
    fn long_enumerations_are_broken() {
        let mut s = Schema::new(Format::Netcdf4);
        let members = (0..20).map(|i| (format!("member_{i}"), i)).collect();
        let kind = UserKind::Enum { base: Atomic::Byte, members };
        s.types.push(UserType { name: "e".into(), group: Schema::ROOT, kind });
        let got = text(&s, false);
        assert!(got.contains("  byte enum e {member_0 = 0, member_1 = 1,"), "{got}");
        assert!(got.lines().all(|l| l.len() <= LINE_LENGTH + 2), "{got}");
    }
}
