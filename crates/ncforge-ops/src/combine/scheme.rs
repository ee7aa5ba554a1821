//! Tile schemes: what the header of a tile says about its place in the whole.
//!
//! A scheme is found by what stands in the tiles (attributes), and tells for every dimension that is split which
//! part of the global dimension a tile holds. All else (checking that the tiles make one whole, holes, moving the
//! values) is the mosaic's, and the same for every scheme.

mod fms;
mod generic;
mod mitgcm;
mod nemo;
mod roms;
mod wrf;

use std::fmt::Debug;
use std::path::Path;

use ncforge::model::{Atomic, Attribute, DType, DimId, Number, Schema, VarId};
use ncforge::{Error, Result};

pub use generic::{GenericScheme, Placement, Position};

/// Which scheme the tiles follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SchemeChoice {
    /// The one that recognises the first tile.
    #[default]
    Auto,
    /// NEMO, XIOS, IOIPSL: global attributes `DOMAIN_*`.
    Nemo,
    /// FMS (MOM, AM4, FV3, SHiELD): `domain_decomposition` of coordinate variables.
    Fms,
    /// ROMS, CROCO: global attribute `partition`.
    Roms,
    /// WRF with one file a process: global attributes `*_PATCH_*`.
    Wrf,
    /// MITgcm's MNC package: global attribute `tile_number`.
    Mitgcm,
    /// As the user says.
    Generic(GenericScheme),
}

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
    /// In the tile's schema.
    pub(crate) dim: DimId,
    pub(crate) span: Span,
    /// Length of the whole, where the tile says it; else it is where the last tile ends.
    pub(crate) whole: Option<u64>,
    /// Whether `span.first` counts tiles, not elements: it is where the tiles before end.
    pub(crate) counts_tiles: bool,
}

/// What a tile says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// The split dimensions.
    pub(crate) axes: Vec<AxisPlace>,
    /// Dimensions along which tiles hold lists, to be put one behind the other.
    pub(crate) lists: Vec<DimId>,
    /// Its number among the tiles.
    pub(crate) number: Option<u64>,
    /// How many tiles there are.
    pub(crate) total: Option<u64>,
}

/// A convention of tiles.
pub(crate) trait Scheme: Send + Sync + Debug {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Whether this is a tile of it.
    fn detect(&self, tile: &Header<'_>) -> bool;
    /// Where the tile belongs.
    fn place(&self, tile: &Header<'_>) -> Result<Place>;
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
    /// The same of a variable's attribute.
    fn is_of_tile_var(&self, attribute: &str) -> bool {
        let _ = attribute;
        false
    }
    /// Changes what else the description of the whole says differently from the tiles'. `output` is its file name.
    fn finish(&self, whole: &mut Schema, output: &str) {
        let _ = (whole, output);
    }
}

/// The scheme that was asked for, or that recognises the tile.
pub(crate) fn find(choice: &SchemeChoice, tile: &Header<'_>) -> Result<Box<dyn Scheme>> {
    let all: [fn() -> Box<dyn Scheme>; 5] = [
        || Box::new(nemo::Nemo),
        || Box::new(fms::Fms),
        || Box::new(roms::Roms),
        || Box::new(wrf::Wrf),
        || Box::new(mitgcm::Mitgcm),
    ];
    let asked: Box<dyn Scheme> = match choice {
        SchemeChoice::Auto => {
            let found = all.iter().map(|make| make()).find(|s| s.detect(tile));
            return found.ok_or_else(|| tile.has_no_scheme());
        }
        SchemeChoice::Nemo => Box::new(nemo::Nemo),
        SchemeChoice::Fms => Box::new(fms::Fms),
        SchemeChoice::Roms => Box::new(roms::Roms),
        SchemeChoice::Wrf => Box::new(wrf::Wrf),
        SchemeChoice::Mitgcm => Box::new(mitgcm::Mitgcm),
        SchemeChoice::Generic(spec) => return Ok(Box::new(spec.clone())),
    };
    match asked.detect(tile) {
        true => Ok(asked),
        false => Err(tile.wrong(format!("is no tile of the scheme {}", asked.name()))),
    }
}

/// The header of a tile, as schemes look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) path: &'a Path,
}

impl Header<'_> {
    /// An error about this tile.
    pub(crate) fn wrong(&self, what: impl AsRef<str>) -> Error {
        Error::Tiles(format!("`{}` {}", self.path.display(), what.as_ref()))
    }

    /// The error for a tile that no scheme recognises.
    fn has_no_scheme(&self) -> Error {
        match self.mesh() {
            Some(what) => Error::Unsupported { path: self.path.display().to_string(), what: what.to_owned() },
            None => self.wrong(
                "does not say which part of a whole it is: it has none of the attributes DOMAIN_* (NEMO, XIOS), \
                 domain_decomposition (FMS), partition (ROMS), *_PATCH_* (WRF), tile_number (MITgcm)",
            ),
        }
    }

    /// What is not supported, if the file holds a part of an unstructured mesh: such parts are no boxes of a whole.
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
        let (from, to) = super::files::number_in(&name)?;
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

/// What XIOS writes of its own about a tile, besides the attribute of this name: `ibegin`, `ni`, `jbegin`, `nj`, behind each perhaps `_` and
/// the name of a domain. Nothing where the attribute is none of those that tell a place.
fn xios_beside(name: &str) -> Vec<String> {
    let domain = ["ibegin", "jbegin"].iter().find_map(|n| name.strip_prefix(n));
    match domain.filter(|domain| domain.is_empty() || domain.starts_with('_')) {
        Some(domain) => ["ibegin", "ni", "jbegin", "nj"].map(|name| format!("{name}{domain}")).to_vec(),
        None => Vec::new(),
    }
}

/// Removes what XIOS writes of its own about a tile, with or without `DOMAIN_*`.
pub(crate) fn drop_xios(whole: &mut Schema) {
    let attrs = &mut whole.groups[0].attrs;
    let of_domains: Vec<Vec<String>> =
        attrs.iter().filter(|a| a.name.starts_with("ibegin")).map(|a| xios_beside(&a.name)).collect();
    for names in of_domains.into_iter().filter(|names| !names.is_empty()) {
        let is_number = |name: &String| attrs.iter().any(|a| a.name == *name && ints(a).is_some());
        // One of them alone is somebody else's.
        if names.iter().all(is_number) {
            attrs.retain(|a| !names.contains(&a.name));
        }
    }
}

/// The coordinate variable of a dimension: of its name, in its group, along it alone.
pub(crate) fn coordinate(schema: &Schema, dim: DimId) -> Option<VarId> {
    let d = schema.dim(dim);
    schema.vars_in(d.group).find(|v| schema.var(*v).name == d.name && schema.var(*v).dims == [dim])
}
