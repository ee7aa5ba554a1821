//! Schemes: each reads the header of a tile and gives the tile's place in the whole.

use std::fmt::Debug;
use std::path::Path;

use ncforge::model::agreement::{Class, Origin};
use ncforge::model::{Atomic, Attribute, DType, DimId, Number, Schema};
use ncforge::store::remote::shown_path;
use ncforge::{Error, Result, TileFault};

/// The part of a dimension that a tile holds: elements `skip..skip + count` of the tile's are elements
/// `first..first + count` of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    /// Index in the whole, from 0.
    pub(crate) first: u64,
    /// Elements of the tile before: its halo.
    pub(crate) skip: u64,
    /// How many.
    pub(crate) count: u64,
}

/// One split dimension of a tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisPlace {
    /// The dimension in the tile's schema.
    pub(crate) dim: DimId,
    pub(crate) span: Span,
    /// Length of the whole, where the tile says it; else it is where the last tile ends.
    pub(crate) whole: Option<u64>,
    /// Whether `span.first` counts tiles, not elements: it is where the tiles before end.
    pub(crate) counts_tiles: bool,
}

/// A tile's description of its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TilePosition {
    /// The split dimensions.
    pub(crate) axes: Vec<AxisPlace>,
    /// Dimensions along which tiles hold lists, to be put one behind the other.
    pub(crate) lists: Vec<DimId>,
    /// Its number among the tiles.
    pub(crate) number: Option<u64>,
    /// The number of tiles, as the model gives it: of all its processes, perhaps, where only some had something to write.
    pub(crate) total: Option<u64>,
}

/// Files one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesScheme {
    /// The dimension along which they follow each other, in every group that has one of this name.
    pub dim: String,
    /// Whether they stay in the order in which they are given, whatever the values of the coordinate.
    pub unsorted: bool,
}

/// A convention of tiles.
pub(crate) trait Scheme: Send + Sync + Debug {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Whether this is a tile of it.
    fn detect(&self, tile: &Header<'_>) -> bool;
    /// The place of the tile.
    fn place(&self, tile: &Header<'_>) -> Result<TilePosition>;
    /// Number of the first tile.
    fn first_number(&self) -> u64 {
        0
    }
    /// Whether the model leaves out tiles that have nothing to say (land): then a hole need not be a file that
    /// somebody forgot.
    fn leaves_out_tiles(&self) -> bool {
        true
    }
    /// Whether a global attribute speaks of the tile and not of the whole.
    fn is_of_tile(&self, global_attribute: &str) -> bool;
    /// Whether a global attribute speaks of the tile, or of its file, although the output has one of this name. `first` is the
    /// first tile.
    fn is_of_file(&self, first: &Schema, global_attribute: &str) -> bool {
        let _ = (first, global_attribute);
        false
    }
    /// As [`Scheme::is_of_tile`], for a variable's attribute.
    fn is_of_tile_var(&self, attribute: &str) -> bool {
        let _ = attribute;
        false
    }
    /// The dimension along which the tiles follow each other, if they are files of a series.
    fn series(&self) -> Option<&SeriesScheme> {
        None
    }
    /// What messages call a tile.
    fn noun(&self) -> &'static str {
        if self.series().is_some() { "file" } else { "tile" }
    }
    /// Changes what else the description of the whole says differently from the tiles'. `output` is its file name.
    fn finish(&self, whole: &mut Schema, output: &str) {
        let _ = (whole, output);
    }
}

/// Whether tiles of one run may differ in a global attribute: it speaks of the tile or of its file. All that is not known to
/// do so is taken to speak of the run.
pub(crate) fn may_differ(scheme: &dyn Scheme, first: &Schema, global_attribute: &str) -> bool {
    Class::of_file(global_attribute).may_differ(Origin::Run)
        || scheme.is_of_tile(global_attribute)
        || scheme.is_of_file(first, global_attribute)
}

/// The header of a tile, as schemes look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) path: &'a Path,
    /// The tile's number among the files that were found.
    pub(crate) number: usize,
}

impl Header<'_> {
    /// An error about this tile.
    pub(crate) fn wrong(&self, what: impl AsRef<str>) -> Error {
        Error::Tiles(format!("`{}` {}", shown_path(self.path), what.as_ref()))
    }

    /// An error about a file that is no tile, or not as its model wrote it.
    pub(crate) fn bad(&self, fault: TileFault, what: impl Into<String>) -> Error {
        Error::BadTile { path: shown_path(self.path), what: what.into(), fault }
    }

    /// The error for a tile that no scheme recognises; `marks` are what they look for.
    pub(super) fn has_no_scheme(&self, marks: &str) -> Error {
        match self.mesh() {
            Some(what) => Error::Unsupported { path: shown_path(self.path), what: what.to_owned() },
            None => self.wrong(format!(
                "does not say which part of a whole it is by attributes that are known ({marks})"
            )),
        }
    }

    /// The unsupported feature, if the file holds a part of an unstructured mesh: such parts are no boxes of a whole.
    fn mesh(&self) -> Option<&'static str> {
        let vars = &self.schema.vars;
        if vars.iter().any(|v| {
            let name = v.name.to_ascii_lowercase();
            name.ends_with("flowelem_domain") || name == "flowelemdomain"
        }) {
            return Some(
                "combining the partitions of an unstructured mesh (D-Flow FM's own `dfmoutput mapmerge` joins them)",
            );
        }
        let is_topology = |a: &Attribute| a.name == "cf_role" && a.as_text() == Some("mesh_topology");
        let is_mesh = vars.iter().any(|v| v.attrs.iter().any(is_topology));
        is_mesh.then_some("combining the partitions of an unstructured mesh")
    }

    /// A global attribute.
    pub(crate) fn global(&self, name: &str) -> Option<&Attribute> {
        self.schema.groups[0].attrs.iter().find(|a| a.name == name)
    }

    /// The whole numbers of a global attribute.
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.global(name).and_then(ints)
    }

    /// One whole number.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.ints(name).and_then(|v| v.first().copied())
    }

    /// One whole number that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<i64> {
        self.int(name)
            .ok_or_else(|| self.wrong(format!("lacks the global attribute {name} (a whole number)")))
    }

    /// A root dimension by name.
    pub(crate) fn dim(&self, name: &str) -> Option<DimId> {
        self.schema.dims_in(Schema::ROOT).find(|d| self.schema.dim(*d).name == name)
    }

    /// The number at the end of the file's name, before its extension.
    pub(crate) fn suffix(&self) -> Option<u64> {
        let name = self.path.file_name()?.to_string_lossy().into_owned();
        let (from, to) = super::super::files::number_in(&name)?;
        name[from..to].parse().ok()
    }

    /// A part of a dimension; an error unless it lies inside the tile.
    pub(crate) fn axis(&self, dim: DimId, first: i64, skip: i64, count: i64) -> Result<AxisPlace> {
        let d = self.schema.dim(dim);
        let natural = |n: i64| u64::try_from(n).ok();
        let span = match (natural(first), natural(skip), natural(count)) {
            (Some(first), Some(skip), Some(count))
                if skip.checked_add(count).is_some_and(|end| end <= d.len)
                    && first.checked_add(count).is_some_and(|end| end < 1 << 62) =>
            {
                Span { first, skip, count }
            }
            _ => {
                return Err(self.wrong(format!(
                    "says that its dimension `{}` (length {}) has {count} points from {first} of the whole on, \
                     behind {skip} of halo: that cannot be",
                    d.name, d.len
                )));
            }
        };
        Ok(AxisPlace { dim, span, whole: None, counts_tiles: false })
    }
}

/// The values of an attribute as whole numbers; `None` for text, fractions and what does not fit.
pub(crate) fn ints(a: &Attribute) -> Option<Vec<i64>> {
    let DType::Atomic(kind) = a.dtype else { return None };
    let bytes = a.values.bytes()?;
    if kind == Atomic::Char {
        return None;
    }
    bytes.chunks_exact(kind.size()).map(|b| Number::read(kind, b)?.whole()).collect()
}
