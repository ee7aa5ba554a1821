//! One description out of those of all tiles: files may hold different sets of variables.

use super::super::tiles::Tiles;
use super::existing::is_chosen;
use super::scan::{First, Scanned};
use super::types::{attributes_in, same_type};
use crate::copy::Names;
use ncforge::model::{DType, DimId, Group, GroupId, Schema, VarId};
use ncforge::{Error, Result};

/// The objects of a tile in the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The whole's dimension for each of the tile's.
    pub(crate) dims: Vec<DimId>,
    /// The whole's variable for each of the tile's; none for one that nobody wants and that the whole has otherwise, or not.
    pub(crate) vars: Vec<Option<VarId>>,
}

/// The description of everything, lengths still those of the first tile that has it; and for tiles built otherwise
/// than the first, where their objects are in it.
pub(crate) fn join(
    tiles: &Tiles,
    first: &First,
    scanned: &[Scanned],
    only: Option<&Names>,
) -> Result<(Schema, Vec<Option<Mapping>>)> {
    let mut whole = first.schema.clone();
    let mut maps = Vec::with_capacity(scanned.len());
    for (i, one) in scanned.iter().enumerate() {
        maps.push(match &one.schema {
            None => None,
            Some(schema) => {
                let wrong = |what: String| {
                    Error::Tiles(format!("`{}` does not go with `{}`: {what}", tiles.name(i), tiles.name(0)))
                };
                Some(add(&mut whole, schema, only, &wrong)?)
            }
        });
    }
    Ok((whole, maps))
}

/// Adds the objects of a tile to the description of everything; tells where they are in it.
pub(crate) fn add(
    whole: &mut Schema,
    tile: &Schema,
    only: Option<&Names>,
    wrong: &dyn Fn(String) -> Error,
) -> Result<Mapping> {
    if tile.format != whole.format {
        // Another container is no obstacle; the output's is that of the first.
        let classic = (tile.format.is_classic(), whole.format.is_classic());
        if classic.0 != classic.1 && (tile.groups.len() > 1 || !tile.types.is_empty()) {
            return Err(wrong("one is classic, the other has groups or types".into()));
        }
    }
    let mut group_of = Vec::with_capacity(tile.groups.len());
    for (g, group) in tile.groups.iter().enumerate() {
        let path = tile.group_path(GroupId(g));
        let has_chosen = || {
            let is_below =
                |v: &VarId| tile.var_path(*v).strip_prefix(&path).is_some_and(|p| p.starts_with('/'));
            only.is_none() || tile.var_ids().any(|v| is_below(&v) && is_chosen(only, tile, v))
        };
        group_of.push(match whole.find_group(&path) {
            Some(known) => known,
            None if has_chosen() => return Err(wrong(format!("only one has a group `{path}`"))),
            None => {
                let parent = group.parent.map(|up| group_of[up.0]);
                whole.groups.push(Group { parent, name: group.name.clone(), attrs: Vec::new() });
                GroupId(whole.groups.len() - 1)
            }
        });
    }
    let mut dims = Vec::with_capacity(tile.dims.len());
    for d in &tile.dims {
        let group = group_of[d.group.0];
        let known = (0..whole.dims.len()).map(DimId).find(|&w| {
            let x = whole.dim(w);
            x.group == group && x.name == d.name
        });
        dims.push(match known {
            // Whether it is unlimited is a matter of the file that holds it: the output's is as the first one's.
            Some(w) => w,
            None => {
                whole.dims.push(ncforge::model::Dimension { group, ..d.clone() });
                DimId(whole.dims.len() - 1)
            }
        });
    }
    let mut vars = Vec::with_capacity(tile.vars.len());
    for v in tile.var_ids() {
        let var = tile.var(v);
        let path = tile.var_path(v);
        let placed: Vec<DimId> = var.dims.iter().map(|d| dims[d.0]).collect();
        let known = whole.find_var(&path);
        if !is_chosen(only, tile, v) {
            let is_same = |w: &VarId| {
                let own = whole.var(*w);
                same_type((whole, own.dtype), (tile, var.dtype)) && own.dims == placed
            };
            vars.push(known.filter(is_same));
            continue;
        }
        vars.push(Some(match known {
            Some(w) => {
                let own = whole.var(w);
                if !same_type((whole, own.dtype), (tile, var.dtype)) {
                    let (a, b) = (whole.type_name(own.dtype), tile.type_name(var.dtype));
                    return Err(wrong(match a == b {
                        true => format!("`{path}` is of a type {a} that has other members or fields there"),
                        false => format!("`{path}` is of type {b} there and {a} here"),
                    }));
                }
                if own.dims != placed {
                    return Err(wrong(format!("`{path}` has other dimensions")));
                }
                w
            }
            None => {
                if matches!(var.dtype, DType::User(_)) {
                    return Err(wrong(format!("only one has `{path}`, which is of a user-defined type")));
                }
                let attrs = attributes_in(whole, (tile, &var.attrs)).map_err(|attr| {
                    wrong(format!("only one has `{path}`, whose attribute `{attr}` is of a type of its own"))
                })?;
                whole.vars.push(ncforge::model::Variable {
                    attrs,
                    dims: placed,
                    group: group_of[var.group.0],
                    ..var.clone()
                });
                VarId(whole.vars.len() - 1)
            }
        }));
    }
    Ok(Mapping { dims, vars })
}
