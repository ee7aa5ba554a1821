//! The schema of a whole dataset, in flat arenas.

use super::dtype::{Atomic, DType, UserKind, UserType};
use super::id::{DimId, GroupId, TypeId, VarId};
use super::shape;
use super::skipped::Skipped;
use super::value::{Value, Values};

pub use ncforge_codec::{Endian, Filter, Segments};

/// The formats of netCDF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// CDF-1, "classic".
    Cdf1,
    /// CDF-2, "64-bit offset".
    Cdf2,
    /// CDF-5, "64-bit data".
    Cdf5,
    /// netCDF-4 (HDF5) with the enhanced model.
    Netcdf4,
    /// netCDF-4 (HDF5) restricted to the classic model (`_nc3_strict`).
    Netcdf4Classic,
}

impl Format {
    /// The output of `ncdump -k`.
    pub const fn kind(self) -> &'static str {
        match self {
            Format::Cdf1 => "classic",
            Format::Cdf2 => "64-bit offset",
            Format::Cdf5 => "cdf5",
            Format::Netcdf4 => "netCDF-4",
            Format::Netcdf4Classic => "netCDF-4 classic model",
        }
    }

    /// Whether the container is the classic one (CDF-1, 2, 5).
    pub const fn is_classic(self) -> bool {
        matches!(self, Format::Cdf1 | Format::Cdf2 | Format::Cdf5)
    }
}

/// A dimension, shared by the variables of its group and the groups below.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its name, unique in its group.
    pub name: String,
    /// The group that defines it.
    pub group: GroupId,
    /// Current length.
    pub len: u64,
    /// True if the dimension can grow.
    pub unlimited: bool,
}

impl Dimension {
    /// A dimension of the root group.
    ///
    /// ```
    /// use ncforge::model::{Dimension, Schema};
    /// let time = Dimension::new("time", 12, true);
    /// assert_eq!((time.group, time.len, time.unlimited), (Schema::ROOT, 12, true));
    /// ```
    pub fn new(name: impl Into<String>, len: u64, unlimited: bool) -> Self {
        Dimension { name: name.into(), group: Schema::ROOT, len, unlimited }
    }
}

/// A group; only the root (id 0, name "", no parent) in classic files.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name; empty for the root.
    pub name: String,
    /// The group that contains it; `None` for the root.
    pub parent: Option<GroupId>,
    /// Its attributes, in the order of the file.
    pub attrs: Vec<Attribute>,
}

/// An attribute of a group (then "global") or of a variable: a one-dimensional row of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub dtype: DType,
    /// The values. Text (`char`) has one byte for each value.
    pub values: Values,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, unique in its group.
    pub name: String,
    /// The group that contains it.
    pub group: GroupId,
    /// Type of its values.
    pub dtype: DType,
    /// Its dimensions, slowest first; empty for a scalar.
    pub dims: Vec<DimId>,
    /// Its attributes, in the order of the file (including `_FillValue`).
    pub attrs: Vec<Attribute>,
    /// Its present or future storage.
    pub storage: Storage,
    /// Byte order in the file (netCDF-4; classic is always big).
    pub endian: Endian,
    /// The value of elements that were never written.
    pub fill: Fill,
    /// The access points that its deflate chunks get when they are written. No file says so: of one that is opened,
    /// [`Segments::Auto`].
    pub access_points: Segments,
}

/// The storage of a variable's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// One run of bytes (in classic files: also records).
    Contiguous,
    /// Inside the metadata (netCDF-4, at most 64 KiB).
    Compact,
    /// Chunks (netCDF-4).
    Chunked {
        /// Chunk lengths, one for each dimension, slowest first.
        chunks: Vec<u64>,
        /// The filters, in the order in which they are applied on writing.
        filters: Vec<Filter>,
    },
}

impl Storage {
    /// Chunk lengths, where there are chunks.
    pub fn chunks(&self) -> Option<&[u64]> {
        match self {
            Storage::Chunked { chunks, .. } => Some(chunks),
            Storage::Contiguous | Storage::Compact => None,
        }
    }

    /// The filters; none where there are no chunks.
    pub fn filters(&self) -> &[Filter] {
        match self {
            Storage::Chunked { filters, .. } => filters,
            Storage::Contiguous | Storage::Compact => &[],
        }
    }

    /// Whether chunks are deflated: only these have access points.
    pub fn is_deflated(&self) -> bool {
        self.filters().iter().any(|f| f.id == ncforge_codec::filters::DEFLATE)
    }
}

/// The fill value of a variable.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Fill {
    /// The default of the type, or the `_FillValue` attribute if there is one.
    #[default]
    Default,
    /// Nothing is filled (`NC_NOFILL`): values that were never written are undefined.
    None,
}

/// The schema of a dataset: everything except the values.
///
/// Objects of one kind are in one arena, in the order of their definition; the objects of a group are those whose
/// `group` is its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The file's format.
    pub format: Format,
    /// Groups; the root is first, parents come before their children.
    pub groups: Vec<Group>,
    /// Dimensions.
    pub dims: Vec<Dimension>,
    /// Variables.
    pub vars: Vec<Variable>,
    /// User-defined types; a type comes after those that it uses.
    pub types: Vec<UserType>,
    /// Objects that were left out.
    pub skipped: Vec<Skipped>,
    /// Text of `_NCProperties`, if the file has one (netCDF-4): the libraries that created it.
    pub provenance: Option<String>,
}

impl Schema {
    /// An empty dataset.
    pub fn new(format: Format) -> Self {
        Schema {
            format,
            groups: vec![Group { name: String::new(), parent: None, attrs: Vec::new() }],
            dims: Vec::new(),
            vars: Vec::new(),
            types: Vec::new(),
            skipped: Vec::new(),
            provenance: None,
        }
    }

    /// The root group.
    pub const ROOT: GroupId = GroupId(0);

    /// A dimension by id.
    pub fn dim(&self, id: DimId) -> &Dimension {
        &self.dims[id.0]
    }

    /// A variable by id.
    pub fn var(&self, id: VarId) -> &Variable {
        &self.vars[id.0]
    }

    /// A group by id.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0]
    }

    /// A user-defined type by id.
    pub fn user_type(&self, id: TypeId) -> &UserType {
        &self.types[id.0]
    }

    /// Ids of all variables, in order.
    pub fn var_ids(&self) -> impl Iterator<Item = VarId> + use<> {
        (0..self.vars.len()).map(VarId)
    }

    /// Ids of the variables of one group.
    pub fn vars_in(&self, group: GroupId) -> impl Iterator<Item = VarId> + '_ {
        self.var_ids().filter(move |v| self.var(*v).group == group)
    }

    /// Ids of the dimensions that one group defines.
    pub fn dims_in(&self, group: GroupId) -> impl Iterator<Item = DimId> + '_ {
        (0..self.dims.len()).map(DimId).filter(move |d| self.dim(*d).group == group)
    }

    /// Ids of the types that one group defines.
    pub fn types_in(&self, group: GroupId) -> impl Iterator<Item = TypeId> + '_ {
        (0..self.types.len()).map(TypeId).filter(move |t| self.user_type(*t).group == group)
    }

    /// Ids of the groups directly below one group.
    pub fn children(&self, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        (0..self.groups.len()).map(GroupId).filter(move |g| self.group(*g).parent == Some(group))
    }

    /// Full path of a group: "/" for the root, else "/a/b".
    pub fn group_path(&self, id: GroupId) -> String {
        let mut parts = Vec::new();
        let mut at = Some(id);
        while let Some(g) = at {
            let group = self.group(g);
            if group.parent.is_some() {
                parts.push(group.name.as_str());
            }
            at = group.parent;
        }
        parts.reverse();
        format!("/{}", parts.join("/"))
    }

    /// The usual path of a variable: its bare name in the root, else "/group/name".
    pub fn var_path(&self, id: VarId) -> String {
        let v = self.var(id);
        if v.group == Self::ROOT {
            v.name.clone()
        } else {
            format!("{}/{}", self.group_path(v.group), v.name)
        }
    }

    /// The variable with this path ("name", "/name", "group/name").
    pub fn find_var(&self, path: &str) -> Option<VarId> {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let group = self.find_group(dir)?;
        self.vars_in(group).find(|v| self.var(*v).name == name)
    }

    /// The object with this path that was left out, or the group above it that was.
    ///
    /// ```
    /// use ncforge::model::{Cause, Format, Schema, Skipped};
    /// let mut schema = Schema::new(Format::Netcdf4);
    /// let cause = Cause::Damaged { at: Some(4096) };
    /// schema.skipped.push(Skipped { path: "/model/t".into(), why: "its checksum does not match".into(), cause });
    /// assert!(schema.find_skipped("model/t").is_some_and(|s| s.is_damaged()));
    /// assert!(schema.find_skipped("model").is_none());
    /// ```
    pub fn find_skipped(&self, path: &str) -> Option<&Skipped> {
        let path = path.trim_start_matches('/');
        self.skipped.iter().find(|s| {
            let rest = path.strip_prefix(s.path.trim_start_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The group with this path ("", "/", "a/b", "/a/b").
    pub fn find_group(&self, path: &str) -> Option<GroupId> {
        let mut at = Self::ROOT;
        for part in path.split('/').filter(|p| !p.is_empty()) {
            at = self.children(at).find(|g| self.group(*g).name == part)?;
        }
        Some(at)
    }

    /// The dimension of this name that is visible from a group: its own, else its ancestors'.
    pub fn find_dim(&self, from: GroupId, name: &str) -> Option<DimId> {
        let mut at = Some(from);
        while let Some(g) = at {
            if let Some(d) = self.dims_in(g).find(|d| self.dim(*d).name == name) {
                return Some(d);
            }
            at = self.group(g).parent;
        }
        None
    }

    /// Current shape of a variable: the lengths of its dimensions, slowest first.
    pub fn shape(&self, id: VarId) -> Vec<u64> {
        self.var(id).dims.iter().map(|d| self.dim(*d).len).collect()
    }

    /// Bytes of one element in memory for fixed-size types; `None` for heap types (those that contain strings or
    /// ragged rows).
    pub fn fixed_size(&self, dtype: DType) -> Option<usize> {
        match dtype {
            DType::Atomic(a) => Some(a.size()),
            DType::String => None,
            DType::User(t) => match &self.user_type(t).kind {
                UserKind::Compound { size, fields } => {
                    fields.iter().all(|f| self.fixed_size(f.dtype).is_some()).then_some(*size)
                }
                UserKind::Enum { base, .. } => Some(base.size()),
                UserKind::Vlen { .. } => None,
                UserKind::Opaque { size } => Some(*size),
            },
        }
    }

    /// Bytes of all values of a variable of a fixed-size type, with its current shape; `None` for heap types.
    ///
    /// ```
    /// use ncforge::model::{Atomic, DimId, Dimension};
    /// use ncforge::{Format, Schema, Variable};
    /// let mut schema = Schema::new(Format::Cdf5);
    /// schema.dims.push(Dimension::new("x", 300, false));
    /// schema.vars.push(Variable::new("v", Atomic::Short, vec![DimId(0)]));
    /// assert_eq!(schema.values_bytes(schema.find_var("v").unwrap()), Some(600));
    /// ```
    pub fn values_bytes(&self, id: VarId) -> Option<u64> {
        let size = self.fixed_size(self.var(id).dtype)? as u64;
        Some(shape::bytes(&self.shape(id), size))
    }

    /// Bytes that one element takes inside a compound in memory: its fixed size, 8 for a string, 16 for a
    /// ragged row, the record size for a compound (the sizes of the C structures on 64-bit machines).
    pub fn memory_size(&self, dtype: DType) -> usize {
        match dtype {
            DType::Atomic(a) => a.size(),
            DType::String => 8,
            DType::User(t) => match &self.user_type(t).kind {
                UserKind::Compound { size, .. } | UserKind::Opaque { size } => *size,
                UserKind::Enum { base, .. } => base.size(),
                UserKind::Vlen { .. } => 16,
            },
        }
    }

    /// Whether elements of the type are trees of [`Value`].
    pub fn is_heap(&self, dtype: DType) -> bool {
        self.fixed_size(dtype).is_none()
    }

    /// Name of a type in CDL.
    pub fn type_name(&self, dtype: DType) -> &str {
        match dtype {
            DType::Atomic(a) => a.cdl_name(),
            DType::String => "string",
            DType::User(t) => &self.user_type(t).name,
        }
    }

    /// A variable's fill element in native byte order: its `_FillValue`, else the default of its type; empty for heap
    /// types.
    pub fn fill_value(&self, id: VarId) -> Vec<u8> {
        let var = self.var(id);
        let own = var.attr("_FillValue").filter(|a| a.dtype == var.dtype).and_then(|a| a.values.bytes());
        own.map(<[u8]>::to_vec).or_else(|| self.default_fill(var.dtype)).unwrap_or_default()
    }

    /// The default fill element of a fixed-size type in native byte order: netCDF's for atomic types and for enums of
    /// them, zeros for the rest.
    pub fn default_fill(&self, dtype: DType) -> Option<Vec<u8>> {
        match dtype {
            DType::Atomic(a) => Some(a.default_fill()),
            DType::String => None,
            DType::User(t) => match &self.user_type(t).kind {
                UserKind::Enum { base, .. } => Some(base.default_fill()),
                _ => self.fixed_size(dtype).map(|n| vec![0; n]),
            },
        }
    }
}

impl Variable {
    /// A variable of the root group, contiguous, without attributes.
    pub fn new(name: impl Into<String>, dtype: impl Into<DType>, dims: Vec<DimId>) -> Self {
        Variable {
            name: name.into(),
            group: Schema::ROOT,
            dtype: dtype.into(),
            dims,
            attrs: Vec::new(),
            storage: Storage::Contiguous,
            endian: Endian::Native,
            fill: Fill::Default,
            access_points: Segments::Auto,
        }
    }

    /// An attribute by name.
    pub fn attr(&self, name: &str) -> Option<&Attribute> {
        self.attrs.iter().find(|a| a.name == name)
    }
}

impl Attribute {
    /// A text attribute (`char`).
    pub fn text(name: impl Into<String>, text: &str) -> Self {
        Attribute { name: name.into(), dtype: Atomic::Char.into(), values: Values::fixed(text.as_bytes()) }
    }

    /// An attribute of `NC_STRING` values.
    pub fn strings<'a>(name: impl Into<String>, strings: impl IntoIterator<Item = &'a str>) -> Self {
        let values = strings.into_iter().map(|s| Value::String(Some(s.as_bytes().to_vec()))).collect();
        Attribute { name: name.into(), dtype: DType::String, values: Values::Heap(values) }
    }

    /// The text of a `char` attribute, or of a single string, without trailing NULs. `None` for other types or
    /// text that is not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        let bytes = match (&self.values, self.dtype) {
            (Values::Fixed(b), DType::Atomic(Atomic::Char)) => &b[..],
            (Values::Heap(v), DType::String) if v.len() == 1 => match &v[0] {
                Value::String(Some(s)) => &s[..],
                _ => return None,
            },
            _ => return None,
        };
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
        std::str::from_utf8(&bytes[..end]).ok()
    }

    /// Number of values, given the schema that its type belongs to.
    pub fn len(&self, schema: &Schema) -> usize {
        match &self.values {
            Values::Heap(v) => v.len(),
            Values::Fixed(b) => match schema.fixed_size(self.dtype) {
                Some(n) if n > 0 => b.len() / n,
                _ => 0,
            },
        }
    }
}
