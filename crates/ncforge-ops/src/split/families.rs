//! Which dimensions are split, and where.

use ncforge::model::{Atomic, DType, DimId, Schema, VarId, shape};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Result};
use ncforge_tune::{Role, Roles};

use super::options::{SplitOptions, TileScheme};

/// A dimension that is cut with others at the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) dim: DimId,
    pub(super) edge: Edge,
}

/// The place of a dimension's points relative to those of the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The points coincide.
    Centre,
    /// One more: the first tile has it (FMS: symmetric memory).
    FirstHasMore,
    /// One more: the last tile has it (WRF: staggered).
    LastHasMore,
    /// One less: between the points, the first tile has one less (ROMS: velocity).
    FirstHasLess,
}

/// The dimensions of one direction; the first is the main one.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) members: Vec<Member>,
}

impl Family {
    pub(super) fn main(&self) -> DimId {
        self.members[0].dim
    }

    /// The range of tile `at` of `tiles` on the main dimension of length `n`: from, to.
    #[allow(clippy::unused_self, reason = "a family is cut in one way")]
    pub(super) fn cut(&self, n: u64, at: u64, tiles: u64) -> (u64, u64) {
        let edge = |i: u64| (u128::from(n) * u128::from(i) / u128::from(tiles)) as u64;
        (edge(at), edge(at + 1))
    }

    /// The range of a tile on a member, given that on the main dimension.
    pub(super) fn cut_of(edge: Edge, main: (u64, u64), last: bool) -> (u64, u64) {
        let (from, to) = main;
        match edge {
            Edge::Centre => (from, to),
            Edge::FirstHasMore => (from + u64::from(from > 0), to + 1),
            Edge::LastHasMore => (from, to + u64::from(last)),
            Edge::FirstHasLess => (from.saturating_sub(1), to - 1),
        }
    }
}

/// Both directions.
#[derive(Clone, Debug)]
pub(super) struct Families {
    pub(super) x: Family,
    pub(super) y: Family,
}

impl Families {
    pub(super) fn of(source: &Dataset, options: &SplitOptions) -> Result<Families> {
        let schema = source.schema();
        let by_name = |name: &str| schema.dims_in(Schema::ROOT).find(|d| schema.dim(*d).name == name);
        let need = |name: &str| {
            let file = || shown_path(source.path());
            by_name(name).ok_or_else(|| schema.no_dimension("dimension", name, &file()))
        };
        let usual = options.scheme.dims().and_then(|[x, y]| Some((by_name(x)?, by_name(y)?)));
        let mains = match &options.dims {
            Some((x, y)) => (need(x)?, need(y)?),
            None => usual.or_else(|| last_two(schema)).ok_or_else(|| {
                Error::bad_option("dims", "no variable has two fixed dimensions to split: name them")
            })?,
        };
        if mains.0 == mains.1 {
            let name = &schema.dim(mains.0).name;
            return Err(Error::bad_option("dims", format!("`{name}` is named twice")));
        }
        let named = |main: DimId, others: &[(&str, Edge)]| {
            let mut members = vec![Member { dim: main, edge: Edge::Centre }];
            for (name, edge) in others {
                if let Some(dim) = by_name(name).filter(|d| *d != main) {
                    members.push(Member { dim, edge: *edge });
                }
            }
            Family { members }
        };
        let (x, y) = match options.scheme {
            TileScheme::Roms => (
                named(
                    mains.0,
                    &[("xi_v", Edge::Centre), ("xi_u", Edge::FirstHasLess), ("xi_psi", Edge::FirstHasLess)],
                ),
                named(
                    mains.1,
                    &[
                        ("eta_u", Edge::Centre),
                        ("eta_v", Edge::FirstHasLess),
                        ("eta_psi", Edge::FirstHasLess),
                    ],
                ),
            ),
            TileScheme::Wrf => (
                named(mains.0, &[("west_east_stag", Edge::LastHasMore)]),
                named(mains.1, &[("south_north_stag", Edge::LastHasMore)]),
            ),
            TileScheme::Nemo | TileScheme::Fms => {
                let corners = options.scheme == TileScheme::Fms;
                let places = places(schema);
                (
                    family(schema, &places, mains, |p| p, corners),
                    family(schema, &places, (mains.1, mains.0), |(x, y)| (y, x), corners),
                )
            }
        };
        let families = Families { x, y };
        families.check(schema, options)?;
        Ok(families)
    }

    fn check(&self, schema: &Schema, options: &SplitOptions) -> Result<()> {
        for (family, tiles) in [(&self.x, options.tiles.0), (&self.y, options.tiles.1)] {
            let n = schema.dim(family.main()).len;
            if tiles == 0 || tiles > n {
                return Err(Error::bad_option(
                    "tiles",
                    format!(
                        "dimension `{}` of length {n} cannot be split into {tiles} tiles",
                        schema.dim(family.main()).name
                    ),
                ));
            }
            let is_member = |d: &&DimId| family.members.iter().any(|m| m.dim == **d);
            if let Some(v) =
                schema.var_ids().find(|v| schema.var(*v).dims.iter().filter(is_member).count() > 1)
            {
                return Err(Error::bad_option(
                    "dims",
                    format!(
                        "`{}` has two dimensions of one direction: it cannot be split",
                        schema.var_path(v)
                    ),
                ));
            }
            for m in &family.members {
                let d = schema.dim(m.dim);
                let want = match m.edge {
                    Edge::Centre => n,
                    Edge::FirstHasMore | Edge::LastHasMore => n + 1,
                    Edge::FirstHasLess => n - 1,
                };
                if d.len != want {
                    return Err(Error::bad_option(
                        "dims",
                        format!("dimension `{}` has length {}, not {want}", d.name, d.len),
                    ));
                }
                if d.unlimited {
                    return Err(Error::bad_option(
                        "dims",
                        format!("dimension `{}` is unlimited and cannot be split", d.name),
                    ));
                }
                // Tiles of one point would have none of those between.
                if m.edge == Edge::FirstHasLess && n / tiles < 2 {
                    return Err(Error::bad_option(
                        "tiles",
                        format!("tiles of one point have nothing along `{}`", d.name),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The last two dimensions of a variable along which its places lie.
struct Places {
    var: VarId,
    /// Fastest, second.
    dims: (DimId, DimId),
    /// Whether the dimensions are known to be those of a map.
    is_map: bool,
}

/// The places of each variable that has two dimensions of them. Corners of cells and the characters of a text are no places.
fn places(schema: &Schema) -> Vec<Places> {
    let roles = Roles::of(schema);
    let of_var = |v: VarId| {
        let var = schema.var(v);
        let axes = roles.axes_of(schema, v);
        let is_text = var.dtype == DType::Atomic(Atomic::Char);
        let is_place = |i: &usize| axes[*i].role != Role::Corner && !(is_text && i + 1 == axes.len());
        let places: Vec<usize> = (0..axes.len()).filter(is_place).collect();
        let &[.., y, x] = &places[..] else { return None };
        let is_map = [y, x].iter().all(|i| matches!(axes[*i].role, Role::X | Role::Y));
        Some(Places { var: v, dims: (var.dims[x], var.dims[y]), is_map })
    };
    schema.var_ids().filter_map(of_var).collect()
}

/// The last two dimensions of the map with the most values, or of another array where there is no map: fastest, second.
fn last_two(schema: &Schema) -> Option<(DimId, DimId)> {
    let fixed = |d: &DimId| !schema.dim(*d).unlimited && schema.dim(*d).group == Schema::ROOT;
    let found = places(schema).into_iter().filter(|p| fixed(&p.dims.0) && fixed(&p.dims.1));
    let size = |p: &Places| shape::elements(&schema.shape(p.var));
    found.max_by_key(|p| (p.is_map, size(p), std::cmp::Reverse(p.var.0))).map(|p| p.dims)
}

/// The main dimension, and those of its direction in other variables that have its length,
/// or with `corners` one more. `order`: both dimensions of a variable, that of this direction first. The dimension of the other
/// direction must be as long as that one's, and no variable
/// may have two of a family: a level that happens to be as long as a row would be cut with it, along the diagonal.
fn family(
    schema: &Schema,
    places: &[Places],
    (main, other): (DimId, DimId),
    order: impl Fn((DimId, DimId)) -> (DimId, DimId),
    corners: bool,
) -> Family {
    let edge_of = |len: u64, n: u64| match len {
        len if len == n => Some(Edge::Centre),
        len if corners && len == n + 1 => Some(Edge::FirstHasMore),
        _ => None,
    };
    let is_with = |a: DimId, b: DimId| schema.vars.iter().any(|v| v.dims.contains(&a) && v.dims.contains(&b));
    let (n, across) = (schema.dim(main).len, schema.dim(other).len);
    let mut members = vec![Member { dim: main, edge: Edge::Centre }];
    for place in places {
        let (d, crossing) = order(place.dims);
        let dim = schema.dim(d);
        if d == other || dim.unlimited || members.iter().any(|m| m.dim == d || is_with(m.dim, d)) {
            continue;
        }
        if let (Some(edge), Some(_)) = (edge_of(dim.len, n), edge_of(schema.dim(crossing).len, across)) {
            members.push(Member { dim: d, edge });
        }
    }
    Family { members }
}
