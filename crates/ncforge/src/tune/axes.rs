//! What the dimensions of a variable mean: time, vertical, y, x.
//!
//! Sources, in this order: the coordinate variable's `axis`, `standard_name`, `units` and `positive` attributes
//! (CF conventions 1.11, §4: a coordinate's axis is known by its units; `axis` and `standard_name` may say it);
//! the names that models and tools give to dimensions; at last the place: an unlimited first dimension is time,
//! the last two of three or more are y and x.

use crate::model::{DimId, Schema, VarId, Variable};

/// What a dimension is.
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
    /// Anything else: ensemble member, station, band …
    Other,
}

/// One dimension of the array that is to be cut into chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name, for messages and for accesses given by names.
    pub name: String,
    /// Number of elements that reads will meet: the current length, or the predicted final one of a dimension that
    /// grows.
    pub len: u64,
    /// Whether it can grow. Chunks may then be longer than [`Axis::len`].
    pub unlimited: bool,
    /// What it means.
    pub role: Role,
    /// The chunk length on this axis, where somebody fixed it.
    pub given: Option<u64>,
}

impl Axis {
    /// A dimension of fixed length.
    pub fn new(name: &str, len: u64, role: Role) -> Self {
        Axis { name: name.to_owned(), len, unlimited: false, role, given: None }
    }

    /// The same dimension, able to grow.
    pub fn unlimited(self) -> Self {
        Axis { unlimited: true, ..self }
    }
}

/// The dimensions of a variable, with what they mean.
pub fn axes_of(schema: &Schema, var: VarId) -> Vec<Axis> {
    axes_along(schema, &schema.var(var).dims)
}

/// The same for a variable along these dimensions that is about to be defined.
pub fn axes_along(schema: &Schema, dims: &[DimId]) -> Vec<Axis> {
    let mut roles: Vec<Option<Role>> =
        dims.iter().map(|&d| by_coordinate(schema, d).or_else(|| by_name(&schema.dim(d).name))).collect();
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

/// The coordinate variable of a dimension: one-dimensional, of its name, in its group.
fn coordinate(schema: &Schema, dim: DimId) -> Option<&Variable> {
    let d = schema.dim(dim);
    schema.vars.iter().find(|v| v.group == d.group && v.name == d.name && v.dims == [dim])
}

fn by_coordinate(schema: &Schema, dim: DimId) -> Option<Role> {
    let var = coordinate(schema, dim)?;
    let text = |name: &str| var.attr(name).and_then(|a| a.as_text());
    text("axis")
        .and_then(by_axis)
        .or_else(|| text("standard_name").and_then(by_standard_name))
        .or_else(|| text("units").and_then(by_units))
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
    let rank = roles.len();
    if rank == 0 {
        return;
    }
    let has = |roles: &[Option<Role>], role| roles.contains(&Some(role));
    if first_unlimited && roles[0].is_none() && !has(roles, Role::Time) {
        roles[0] = Some(Role::Time);
    }
    if rank >= 3 {
        for (d, role) in [(rank - 1, Role::X), (rank - 2, Role::Y)] {
            if roles[d].is_none() && !has(roles, role) {
                roles[d] = Some(role);
            }
        }
        if roles[0].is_none() && !has(roles, Role::Time) {
            roles[0] = Some(Role::Time);
        }
        if rank == 4 && roles[1].is_none() && !has(roles, Role::Vertical) {
            roles[1] = Some(Role::Vertical);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Attribute, Dimension, Format, GroupId};

    fn schema(dims: &[(&str, bool)], coords: &[(usize, &str, &str)]) -> (Schema, VarId) {
        let mut s = Schema::new(Format::Netcdf4);
        for &(name, unlimited) in dims {
            s.dims.push(Dimension { name: name.into(), group: GroupId(0), len: 10, unlimited });
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
            [Time, Vertical, Y, X]
        );
        assert_eq!(roles(&[("station", false), ("obs", false)], &[]), [Other, Other]);
        assert_eq!(roles(&[("record", true)], &[]), [Time]);
        assert_eq!(
            roles(&[("member", false), ("time", true), ("lev", false), ("lat", false), ("lon", false)], &[]),
            [Other, Time, Vertical, Y, X]
        );
    }
}
