//! Which variables are coordinates, by the CF conventions (chapters 4, 5 and 7), and by NEMO's names; and which belong to a variable.

use std::collections::{BTreeSet, HashSet};

use ncforge::model::{Attribute, Schema, VarId};

/// Attributes that name variables which say where values are.
const NAMING: [&str; 8] = [
    "coordinates",
    "bounds",
    "climatology",
    "grid_mapping",
    "cell_measures",
    // UGRID's.
    "node_coordinates",
    "edge_coordinates",
    "face_coordinates",
];

/// Attributes that name other variables without which values say less.
const BESIDES: [&str; 2] = ["ancillary_variables", "formula_terms"];

/// Units of latitude and of longitude, and of nothing else (CF, 4.1 and 4.2).
const UNITS: [&str; 12] = [
    "degrees_north",
    "degree_north",
    "degree_N",
    "degrees_N",
    "degreeN",
    "degreesN",
    "degrees_east",
    "degree_east",
    "degree_E",
    "degrees_E",
    "degreeE",
    "degreesE",
];

const STANDARD_NAMES: [&str; 6] = [
    "latitude",
    "longitude",
    "grid_latitude",
    "grid_longitude",
    "projection_x_coordinate",
    "projection_y_coordinate",
];

/// The variables that attributes of any variable, or of the file, name as coordinates.
pub(crate) fn named(schema: &Schema) -> HashSet<VarId> {
    let of_vars = schema.var_ids().flat_map(|v| NAMING.iter().flat_map(move |name| schema.named_by(v, name)));
    let of_file = schema.groups[0].attrs.iter().filter(|a| NAMING.contains(&a.name.as_str()));
    let of_file = of_file.flat_map(Attribute::references).filter_map(|w| schema.find_from(Schema::ROOT, w));
    of_vars.chain(of_file).collect()
}

/// The variables with all that belongs to them: the coordinates of their dimensions, the variables that their attributes name, and what
/// belongs to those.
pub fn with_companions(schema: &Schema, vars: impl IntoIterator<Item = VarId>) -> BTreeSet<VarId> {
    let mut found: BTreeSet<VarId> = vars.into_iter().collect();
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        let more: BTreeSet<VarId> = found.iter().flat_map(|v| companions(schema, *v)).collect();
        found.extend(more);
    }
    found
}

/// The coordinates of a variable's dimensions, and the variables that its attributes name.
fn companions(schema: &Schema, v: VarId) -> Vec<VarId> {
    let var = schema.var(v);
    let named = NAMING.iter().chain(&BESIDES).flat_map(|name| schema.named_by(v, name));
    let near =
        |other: &VarId| schema.var(*other).group == var.group || schema.var(*other).group == Schema::ROOT;
    let is_of_one = |other: &VarId| schema.coordinate_dim(*other).is_some_and(|d| var.dims.contains(&d));
    named.chain(schema.var_ids().filter(near).filter(is_of_one)).collect()
}

/// Whether a variable is a coordinate; `named` are those that [`named`] gives.
pub(crate) fn is_coordinate(schema: &Schema, v: VarId, named: &HashSet<VarId>) -> bool {
    let var = schema.var(v);
    let text = |name: &str| var.attr(name).and_then(Attribute::as_text);
    let has = |name: &str, known: &[&str]| text(name).is_some_and(|t| known.contains(&t));
    schema.coordinate_dim(v).is_some()
        || named.contains(&v)
        || has("units", &UNITS)
        || has("standard_name", &STANDARD_NAMES)
        || has("axis", &["X", "Y", "Z", "T"])
        || is_of_nemo(&var.name)
}

/// `nav_lon`, `nav_lat`, `glamt`, `gphit` and their kin, which often have no attributes.
fn is_of_nemo(name: &str) -> bool {
    let point = name.strip_prefix("glam").or_else(|| name.strip_prefix("gphi"));
    name.starts_with("nav_lon") || name.starts_with("nav_lat") || point.is_some_and(|p| p.len() == 1)
}
