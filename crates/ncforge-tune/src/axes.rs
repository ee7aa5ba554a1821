//! Meanings of the dimensions of a variable: time, vertical, y, x.
//!
//! Sources, in this order: the coordinate variable's `axis`, `standard_name`, `units` and `positive` attributes
//! (CF conventions 1.11, §4: a coordinate's axis is known by its units; `axis` and `standard_name` may say it);
//! the names that models and tools give to dimensions; at last the place: an unlimited first dimension is time,
//! the last two of three or more are y and x. Nothing else is taken for time: of a static field there are no series.

use std::collections::{HashMap, HashSet};

use ncforge::model::{DimId, Schema, VarId, Variable};

/// The meaning of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Time (CF axis T).
    Time,
    /// Height, depth, pressure, model level (CF axis Z).
    Vertical,
    /// Latitude or the grid's second horizontal axis (CF axis Y).
    Y,
    /// Longitude or the grid's first horizontal axis (CF axis X).
    X,
    /// The corners of a cell (CF's bounds): always read together.
    Corner,
    /// Anything else: ensemble member, station, band …
    Other,
}

/// One dimension of the array that is to be cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Its name, for messages and for accesses given by names.
    pub name: String,
    /// Number of elements that reads will meet: the current length, or the predicted final one of a dimension that
    /// grows.
    pub len: u64,
    /// True if the dimension can grow. Chunks may then be longer than [`Axis::len`].
    pub unlimited: bool,
    /// The meaning.
    pub role: Role,
    /// The chunk length on this axis, where somebody fixed it.
    pub given: Option<u64>,
}

impl Axis {
    /// A dimension of fixed length.
    pub fn new(name: &str, len: u64, role: Role) -> Self {
        Axis { name: name.to_owned(), len, unlimited: false, role, given: None }
    }

    /// The dimension, able to grow.
    pub fn unlimited(self) -> Self {
        Axis { unlimited: true, ..self }
    }
}

/// The dimensions of a variable, with what they mean.
pub fn axes_of(schema: &Schema, var: VarId) -> Vec<Axis> {
    Roles::of(schema).axes_of(schema, var)
}

/// As [`axes_of`], for a variable along these dimensions that is about to be defined.
pub fn axes_along(schema: &Schema, dims: &[DimId]) -> Vec<Axis> {
    Roles::of(schema).along(schema, dims, false)
}

/// The meanings of the dimensions of a dataset, looked up once for all variables.
#[derive(Clone, Debug)]
pub struct Roles {
    /// The role of every dimension, as far as its coordinate variable or its name tells.
    dims: Vec<Option<Role>>,
    /// Variables that a `bounds` attribute names.
    bounds: HashSet<VarId>,
}

/// Cells with more corners than this are no cells, or their corners may as well be cut apart.
const MOST_CORNERS: u64 = 16;

impl Roles {
    /// The roles of the dimensions of `schema`.
    pub fn of(schema: &Schema) -> Self {
        let mut coordinates: HashMap<DimId, &Variable> = HashMap::new();
        for id in schema.var_ids() {
            let v = schema.var(id);
            if let Some(d) = schema.coordinate_dim(id).filter(|d| schema.dim(*d).group == v.group) {
                coordinates.entry(d).or_insert(v);
            }
        }
        let role = |(i, dim): (usize, &ncforge::model::Dimension)| {
            coordinates.get(&DimId(i)).and_then(|v| by_coordinate(v)).or_else(|| by_name(&dim.name))
        };
        let bounds = schema.var_ids().flat_map(|v| schema.bounds_of(v));
        Roles { dims: schema.dims.iter().enumerate().map(role).collect(), bounds: bounds.collect() }
    }

    /// The dimensions of a variable of `schema`.
    pub fn axes_of(&self, schema: &Schema, var: VarId) -> Vec<Axis> {
        self.along(schema, &schema.var(var).dims, self.bounds.contains(&var))
    }

    /// The dimensions of a variable of `copy`, which has the values of one of `schema`: a copy may lack what says what its dimensions
    /// are.
    pub fn axes_in(&self, schema: &Schema, var: VarId, copy: &Schema, there: VarId) -> Vec<Axis> {
        let mut axes = self.axes_of(schema, var);
        for (axis, dim) in axes.iter_mut().zip(&copy.var(there).dims) {
            let dim = copy.dim(*dim);
            (axis.name, axis.len, axis.unlimited) = (dim.name.clone(), dim.len, dim.unlimited);
        }
        axes
    }

    /// `bounds`: whether the variable is known to hold the bounds of cells.
    fn along(&self, schema: &Schema, dims: &[DimId], bounds: bool) -> Vec<Axis> {
        let mut roles: Vec<Option<Role>> = dims.iter().map(|d| self.dims[d.0]).collect();
        if let [_, .., last] = dims {
            let dim = schema.dim(*last);
            if dim.len <= MOST_CORNERS && (bounds || is_corner(&dim.name)) && !dim.unlimited {
                roles[dims.len() - 1] = Some(Role::Corner);
            }
        }
        by_place(&mut roles, dims.first().is_some_and(|&d| schema.dim(d).unlimited));
        dims.iter()
            .zip(roles)
            .map(|(&d, role)| {
                let dim = schema.dim(d);
                Axis {
                    name: dim.name.clone(),
                    len: dim.len,
                    unlimited: dim.unlimited,
                    role: role.unwrap_or(Role::Other),
                    given: None,
                }
            })
            .collect()
    }
}

/// Names that programs give to the dimension of a cell's corners.
fn is_corner(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "bnds",
        "bounds",
        "bnd",
        "nv",
        "nb2",
        "nvert",
        "vertices",
        "nvertex",
        "tbnds",
        "axis_nbounds",
        "nbnd",
    ];
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || name.starts_with("nvertices") || name.starts_with("nvertex")
}

fn by_coordinate(var: &Variable) -> Option<Role> {
    let text = |name: &str| var.attr(name).and_then(|a| a.as_text());
    text("axis")
        .and_then(by_axis)
        .or_else(|| text("standard_name").and_then(by_standard_name))
        .or_else(|| text("units").and_then(by_units))
        .or_else(|| text("calendar").map(|_| Role::Time))
        .or_else(|| text("positive").map(|_| Role::Vertical))
}

fn by_axis(axis: &str) -> Option<Role> {
    match axis.trim().to_ascii_uppercase().as_str() {
        "T" => Some(Role::Time),
        "Z" => Some(Role::Vertical),
        "Y" => Some(Role::Y),
        "X" => Some(Role::X),
        _ => None,
    }
}

fn by_standard_name(name: &str) -> Option<Role> {
    match name.trim() {
        "time" | "forecast_reference_time" | "forecast_period" => Some(Role::Time),
        "latitude" | "grid_latitude" | "projection_y_coordinate" => Some(Role::Y),
        "longitude" | "grid_longitude" | "projection_x_coordinate" => Some(Role::X),
        "altitude" | "height" | "depth" | "air_pressure" | "model_level_number" => Some(Role::Vertical),
        n if n.starts_with("height_above_")
            || n.starts_with("depth_below_")
            || (n.starts_with("atmosphere_") || n.starts_with("ocean_")) && n.ends_with("_coordinate") =>
        {
            Some(Role::Vertical)
        }
        _ => None,
    }
}

fn by_units(units: &str) -> Option<Role> {
    let units = units.trim().to_ascii_lowercase();
    let compact: String = units.chars().filter(|c| !matches!(c, '_' | ' ')).collect();
    if units.contains(" since ") {
        return Some(Role::Time);
    }
    match compact.as_str() {
        "degreesnorth" | "degreenorth" | "degreen" | "degreesn" => Some(Role::Y),
        "degreeseast" | "degreeeast" | "degreee" | "degreese" => Some(Role::X),
        "pa" | "hpa" | "mb" | "mbar" | "millibar" | "millibars" | "dbar" | "bar" | "level" | "layer"
        | "sigmalevel" => Some(Role::Vertical),
        _ => None,
    }
}

/// Names that models and tools give to dimensions (their beginnings, for the longer ones).
fn by_name(name: &str) -> Option<Role> {
    let name = name.to_ascii_lowercase();
    let is = |list: &[&str]| list.contains(&name.as_str());
    let begins = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    if is(&["t", "month", "year", "day", "date", "hour"]) || begins(&["time"]) {
        Some(Role::Time)
    } else if is(&["y", "j", "nj", "ny", "jm", "latitude", "rows", "row", "south_north", "nlat"])
        || begins(&[
            "lat",
            "y_",
            "yt_",
            "yu_",
            "yh",
            "yq",
            "eta_rho",
            "eta_u",
            "eta_v",
            "eta_psi",
            "south_north",
            "grid_y",
            "rlat",
        ])
    {
        Some(Role::Y)
    } else if is(&["x", "i", "ni", "nx", "im", "cols", "col", "west_east", "nlon"])
        || begins(&["lon", "x_", "xt_", "xu_", "xh", "xq", "xi_", "west_east", "grid_x", "rlon"])
    {
        Some(Role::X)
    } else if is(&["z", "k", "nk", "nz", "km", "s_rho", "s_w", "nav_lev", "plev", "zt", "zw", "zl", "zi"])
        || begins(&[
            "lev",
            "dep",
            "alt",
            "height",
            "plev",
            "pressure",
            "isobar",
            "bottom_top",
            "ilev",
            "st_ocean",
            "sw_ocean",
        ])
    {
        Some(Role::Vertical)
    } else {
        None
    }
}

/// Fills in what is still unknown by where it stands.
fn by_place(roles: &mut [Option<Role>], first_unlimited: bool) {
    let has = |roles: &[Option<Role>], role| roles.contains(&Some(role));
    // The corners of cells are no place among the others.
    let rank = roles.len() - usize::from(roles.last() == Some(&Some(Role::Corner)));
    if rank == 0 {
        return;
    }
    if first_unlimited && roles[0].is_none() && !has(roles, Role::Time) {
        roles[0] = Some(Role::Time);
    }
    if rank >= 3 {
        for (d, role) in [(rank - 1, Role::X), (rank - 2, Role::Y)] {
            if roles[d].is_none() && !has(roles, role) {
                roles[d] = Some(role);
            }
        }
        if rank == 4 && roles[1].is_none() && !has(roles, Role::Vertical) {
            roles[1] = Some(Role::Vertical);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Attribute, Dimension, Format};

    fn schema(dims: &[(&str, bool)], coords: &[(usize, &str, &str)]) -> (Schema, VarId) {
        let mut s = Schema::new(Format::Netcdf4);
        for &(name, unlimited) in dims {
            s.dims.push(Dimension::new(name, 10, unlimited));
        }
        for &(d, attr, text) in coords {
            let mut v = Variable::new(dims[d].0, Atomic::Double, vec![DimId(d)]);
            v.attrs.push(Attribute::text(attr, text));
            s.vars.push(v);
        }
        s.vars.push(Variable::new("v", Atomic::Float, (0..dims.len()).map(DimId).collect()));
        let id = VarId(s.vars.len() - 1);
        (s, id)
    }

    fn roles(dims: &[(&str, bool)], coords: &[(usize, &str, &str)]) -> Vec<Role> {
        let (s, v) = schema(dims, coords);
        axes_of(&s, v).into_iter().map(|a| a.role).collect()
    }

    #[test]
    fn attributes_win_over_names_and_places() {
        use Role::*;
        let coords =
            [(0, "axis", "X"), (1, "units", "degrees_north"), (2, "units", "hours since 1900-01-01")];
        assert_eq!(roles(&[("time", false), ("b", false), ("c", false)], &coords), [X, Y, Time]);
        assert_eq!(roles(&[("q", false)], &[(0, "standard_name", "ocean_sigma_coordinate")]), [Vertical]);
        assert_eq!(roles(&[("q", false)], &[(0, "positive", "down")]), [Vertical]);
    }

    #[test]
    fn names_and_places_fill_in() {
        use Role::*;
        assert_eq!(
            roles(&[("time_counter", true), ("deptht", false), ("y", false), ("x", false)], &[]),
            [Time, Vertical, Y, X]
        );
        assert_eq!(roles(&[("a", true), ("b", false), ("c", false)], &[]), [Time, Y, X]);
        assert_eq!(
            roles(&[("a", false), ("b", false), ("c", false), ("d", false)], &[]),
            [Other, Vertical, Y, X]
        );
        assert_eq!(roles(&[("station", false), ("obs", false)], &[]), [Other, Other]);
        assert_eq!(roles(&[("record", true)], &[]), [Time]);
        assert_eq!(
            roles(&[("member", false), ("time", true), ("lev", false), ("lat", false), ("lon", false)], &[]),
            [Other, Time, Vertical, Y, X]
        );
    }

    /// The corners of cells are known by the attribute that names the variable, or by the dimension's name.
    #[test]
    fn corners_stay_together() {
        use Role::*;
        assert_eq!(roles(&[("time", true), ("bnds", false)], &[]), [Time, Corner]);
        assert_eq!(roles(&[("lat", false), ("lon", false), ("nv", false)], &[]), [Y, X, Corner]);
        assert_eq!(roles(&[("nv", false)], &[]), [Other]);
        let (mut s, v) = schema(&[("lat", false), ("two", false)], &[(0, "bounds", "v")]);
        assert_eq!(axes_of(&s, v)[1].role, Corner);
        s.dims[1].len = 1000;
        assert_eq!(axes_of(&s, v)[1].role, Other);
        assert_eq!(roles(&[("q", false)], &[(0, "calendar", "noleap")]), [Time]);
    }
}
