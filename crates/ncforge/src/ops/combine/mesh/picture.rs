//! What a person is told of how the partitions make the mesh.

use super::super::mosaic::Picture;
use super::set::NONE;
use super::{From, Mesh};

/// One for everything that is numbered.
pub(in super::super) fn pictures(mesh: &Mesh) -> Vec<Picture> {
    (0..mesh.sets.len()).map(|s| picture(mesh, s)).collect()
}

fn picture(mesh: &Mesh, s: usize) -> Picture {
    let set = &mesh.sets[s];
    let mut holes: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    let mut from = 0;
    for run in set.source.chunk_by(|a, b| (*a == NONE) == (*b == NONE)) {
        if run[0] == NONE {
            holes.push((vec![from], vec![run.len() as u64]));
        }
        from += run.len() as u64;
    }
    Picture {
        dims: set.dims.iter().take(1).map(|d| mesh.schema.dim(*d).name.clone()).collect(),
        shape: vec![set.source.len() as u64],
        tiles: set.owned().iter().filter(|n| **n > 0).count(),
        lattice: Vec::new(),
        hole_points: set.holes(),
        holes,
        variables: mesh
            .schema
            .var_ids()
            .filter(|v| matches!(mesh.from[v.0], From::Scattered { set, .. } if set == s))
            .map(|v| mesh.schema.var_path(v).trim_start_matches('/').to_owned())
            .collect(),
        halo: vec![0],
        drawing: Vec::new(),
        ghosts: mesh.ghosts[s],
    }
}
