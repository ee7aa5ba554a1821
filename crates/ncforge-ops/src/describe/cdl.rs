//! A dataset as CDL, byte for byte as `ncdump` prints it: the header alone, or with values.
//!
//! Reference: the CDL grammar in `ncgen(1)`, and the output of `ncdump` of netCDF-C 4.9.0. One difference on
//! purpose: where `ncdump` gives up on a file (a name that begins with a control character, an enum value
//! without a name), this prints what is there.

mod chosen;
mod comments;
mod data;
mod times;
mod types;

use std::collections::HashSet;
use std::io::Write;

use super::number::Digits;
use super::special;
use super::text::push_name;
use super::values::{Look, Shown, show};
use ncforge::model::{Attribute, DType, DimId, Format, GroupId, Schema, TypeId, VarId};
use ncforge::raw::Container;
use ncforge::{Dataset, Result};

use self::chosen::{Chosen, Sink};
use self::times::Times;

pub use self::chosen::DumpedValues;

/// `ncdump` breaks lines at this length, less two, unless another one is asked for.
const LINE_LENGTH: usize = 80;
/// The indent of a continued line.
const CONTINUED: &[u8] = b"    ";
/// Names that the CDL parser takes for its own when an attribute follows them.
const KEYWORDS: [&str; 5] = ["variables", "dimensions", "data", "group", "types"];

/// Options of the printed header.
#[derive(Clone, Debug, Default)]
pub struct CdlOptions {
    /// The name after `netcdf`; `ncdump` takes the file's name without its last extension.
    pub name: String,
    /// Storage as special attributes, as `ncdump -s`.
    pub special: bool,
}

/// Options of [`dump`].
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// The header.
    pub cdl: CdlOptions,
    /// The kind of variables of which values are printed.
    pub values: DumpedValues,
    /// Of these variables only, as `ncdump -v`: a name, in whichever groups; or a path. All, if none is named.
    pub vars: Vec<String>,
    /// Times as text, as `ncdump -t` (a blank) or `-i` (`T`), with this between date and time.
    pub times: Option<char>,
    /// The length of lines, as `ncdump -l`; 80 by default.
    pub line_length: Option<usize>,
    /// Significant digits of floats and doubles, as `ncdump -p`. They go before the attribute `C_format`.
    pub digits: Digits,
    /// The groups of which values are printed, as `ncdump -g`: a name, wherever it is; or a path. All, if none is named.
    pub groups: Vec<String>,
}

/// Prints a dataset with its values as CDL, piece by piece, in bounded memory. `sink` says whether it wants more.
///
/// ```
/// use ncforge::Dataset;
/// use ncforge_ops::describe::{DumpOptions, dump};
/// # use ncforge::model::{Atomic, DimId};
/// # use ncforge::{CreateOptions, DatasetMut, Dimension, Format, Hyperslab, Schema, Variable};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("x.nc");
/// # let mut schema = Schema::new(Format::Cdf1);
/// # schema.dims.push(Dimension::new("x", 3, false));
/// # schema.vars.push(Variable::new("x", Atomic::Short, vec![DimId(0)]));
/// # let id = schema.find_var("x").unwrap();
/// # let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
/// # new.write_bytes(id, &Hyperslab::all(&[3]), &[1i16, 2, 3].map(i16::to_ne_bytes).concat())?;
/// # new.close()?;
/// let mut text = Vec::new();
/// dump(&Dataset::open(&path)?, &DumpOptions::default(), &mut |bytes| { text.extend_from_slice(bytes); true })?;
/// assert!(text.ends_with(b"data:\n\n x = 1, 2, 3 ;\n}\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ncforge::Error::NotFound`] for a variable that no group has, and for a group that is not there; else as reading.
pub fn dump(dataset: &Dataset, options: &DumpOptions, sink: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
    let container = dataset.container();
    let superblock = special::superblock_version(container);
    let mut w = Writer::new(container.schema(), superblock, &options.cdl);
    w.length = options.line_length.unwrap_or(LINE_LENGTH).saturating_sub(2);
    w.times = options.times.map(Times::new);
    w.digits = options.digits;
    let chosen = Chosen::of(dataset, options.values, &options.vars)?;
    let groups = chosen::groups(dataset, &options.groups)?;
    w.sink = (options.values != DumpedValues::None).then_some(Sink {
        dataset,
        chosen,
        groups,
        take: &mut *sink,
        is_open: true,
    });
    w.whole(&options.cdl.name)?;
    if w.sink.as_ref().is_none_or(|s| s.is_open) {
        let rest = w.out;
        sink(&rest);
    }
    Ok(())
}

/// The header as CDL. Bytes rather than a `String`: names and text of old files need not be UTF-8, and come
/// out as they are.
///
/// ```
/// use ncforge::{Format, Schema};
/// use ncforge::model::Dimension;
/// # use ncforge_ops::describe::{CdlOptions, cdl_of};
/// let mut schema = Schema::new(Format::Cdf1);
/// schema.dims.push(Dimension::new("time", 12, true));
/// let text = cdl_of(&schema, None, &CdlOptions { name: "sst".into(), special: false });
/// assert_eq!(text, b"netcdf sst {\ndimensions:\n\ttime = UNLIMITED ; // (12 currently)\n}\n");
/// ```
pub fn cdl_of(schema: &Schema, superblock: Option<u8>, options: &CdlOptions) -> Vec<u8> {
    let mut w = Writer::new(schema, superblock, options);
    // Only reading values fails.
    let _ = w.whole(&options.name);
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
    /// The position in the line at which the last text of [`Writer::put`] ended.
    line: usize,
    /// The length at which lines are broken.
    length: usize,
    tree: Tree,
    /// How times are shown as text, if they are.
    times: Option<Times>,
    /// The digits that were asked for.
    digits: Digits,
    /// The source of values and the receiver of text; `None`: the header alone is wanted.
    sink: Option<Sink<'a>>,
}

macro_rules! put {
    ($w:expr, $($arg:tt)*) => {{
        // Writing to a vector cannot fail.
        let _ = write!($w.out, $($arg)*);
    }};
}

impl<'a> Writer<'a> {
    fn new(schema: &'a Schema, superblock: Option<u8>, options: &CdlOptions) -> Self {
        Writer {
            out: Vec::new(),
            schema,
            superblock,
            special: options.special,
            indent: 0,
            line: 0,
            length: LINE_LENGTH - 2,
            tree: Tree::of(schema),
            times: None,
            digits: Digits::default(),
            sink: None,
        }
    }
}

impl Writer<'_> {
    fn whole(&mut self, name: &str) -> Result<()> {
        self.out.extend_from_slice(b"netcdf ");
        push_name(&mut self.out, name);
        self.out.extend_from_slice(b" {\n");
        self.group(Schema::ROOT)?;
        self.out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn look(&self) -> Look<'_> {
        Look { schema: self.schema, digits: self.digits }
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n(b' ', self.indent));
    }

    /// Prints a text, on a new line if this one would grow too long: the only place where `ncdump` breaks
    /// lines.
    fn put(&mut self, text: &[u8]) {
        if text.len() + self.line > self.length && text.len() > 2 {
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

    fn group(&mut self, id: GroupId) -> Result<()> {
        self.types(id);
        self.dimensions(id);
        self.variables(id);
        self.group_attributes(id);
        self.data(id)?;
        for child in std::mem::take(&mut self.tree.groups[id.0]) {
            let name = &self.schema.group(child).name;
            self.out.push(b'\n');
            self.indent();
            self.out.extend_from_slice(b"group: ");
            push_name(&mut self.out, name);
            self.out.extend_from_slice(b" {\n");
            self.indent += 2;
            self.group(child)?;
            self.indent();
            self.out.extend_from_slice(b"} // group ");
            push_name(&mut self.out, name);
            self.out.push(b'\n');
            self.indent -= 2;
        }
        Ok(())
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
        let vars = self.tree.vars[group.0].clone();
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
                self.attribute(group, Some(v), a);
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
            self.attribute(group, None, a);
        }
        if root && self.special {
            for s in special::of_file(self.schema, self.superblock) {
                self.special_attribute("", s.name, &s.value);
            }
        }
    }

    fn attribute(&mut self, group: GroupId, of: Option<VarId>, attr: &Attribute) {
        let schema = self.schema;
        let owner = of.map_or("", |v| schema.var(v).name.as_str());
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
        match show(self.look(), attr, breaks) {
            Shown::Whole(text) => self.out.extend_from_slice(&text),
            Shown::Pieces(pieces) => pieces.iter().for_each(|p| self.put(p)),
        }
        self.out.extend_from_slice(b" ;");
        if let Some(v) = of {
            self.times_of_attribute(v, attr);
        }
        self.out.push(b'\n');
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
    use ncforge::model::{Atomic, Dimension, Group, Storage, UserKind, UserType, Variable};

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
        s.dims.push(Dimension::new("x", 8, false));
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
        assert!(got.lines().all(|l| l.len() <= LINE_LENGTH), "{got}");
    }
}
