//! Random meshes, given to partitions and put together again: every cell's values and corners must come back.

mod damaged;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::dataset::{CreateOptions, Dataset, DatasetMut};
use crate::engine::{Engine, EngineOptions};
use crate::error::Result;
use crate::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, Values, VarId, Variable};
use crate::ops::combine::{CombineOptions, combine};
use crate::ops::progress::Silent;
use crate::select::Hyperslab;

/// A mesh, and whose its cells are.
#[derive(Clone, Debug)]
struct Case {
    /// Squares, of which some are cut in two.
    size: (usize, usize),
    cut: Vec<bool>,
    owner: Vec<usize>,
    parts: usize,
    /// Layers of cells of others.
    ghosts: usize,
    format: Format,
    /// Order of things in the files.
    stir: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let formats = prop::sample::select(vec![Format::Cdf2, Format::Cdf5, Format::Netcdf4]);
    (1_usize..7, 1_usize..7, 1_usize..=7, 0_usize..3, formats, any::<u64>()).prop_flat_map(
        |(ny, nx, parts, ghosts, format, stir)| {
            let n = ny * nx;
            let cut = prop::collection::vec(any::<bool>(), n);
            // Of anybody: pieces that hang together by corners, or not at all.
            let owner = prop::collection::vec(0..parts, 2 * n);
            (cut, owner).prop_map(move |(cut, owner)| Case {
                size: (ny, nx),
                cut,
                owner,
                parts,
                ghosts,
                format,
                stir,
            })
        },
    )
}

/// Cells by their nodes; nodes stand in a lattice.
fn cells(case: &Case) -> Vec<Vec<usize>> {
    let (ny, nx) = case.size;
    let node = |j: usize, i: usize| j * (nx + 1) + i;
    let mut cells = Vec::new();
    for j in 0..ny {
        for i in 0..nx {
            let [a, b, c, d] = [node(j, i), node(j, i + 1), node(j + 1, i + 1), node(j + 1, i)];
            match case.cut[j * nx + i] {
                true => cells.extend([vec![a, b, c], vec![a, c, d]]),
                false => cells.push(vec![a, b, c, d]),
            }
        }
    }
    cells
}

/// A number that follows from two.
fn stirred(a: u64, b: u64) -> u64 {
    (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(23) ^ b
}

/// The value of a cell.
fn value(cell: usize, layer: usize) -> f64 {
    (cell * 10 + layer) as f64 + 0.25
}

/// One partition, variable by variable; nothing if it owns no cell.
fn partition(case: &Case, part: usize) -> Option<(Schema, Vec<Values>)> {
    let cells = cells(case);
    let mut held: BTreeSet<usize> = (0..cells.len()).filter(|&c| case.owner[c] == part).collect();
    if held.is_empty() {
        return None;
    }
    for _ in 0..case.ghosts {
        let nodes: BTreeSet<usize> = held.iter().flat_map(|&c| cells[c].clone()).collect();
        held.extend((0..cells.len()).filter(|&c| cells[c].iter().any(|n| nodes.contains(n))));
    }
    let in_any_order = |what: u64, set: BTreeSet<usize>| {
        let mut all: Vec<usize> = set.into_iter().collect();
        all.sort_by_key(|&x| stirred(case.stir ^ what ^ (part as u64) << 8, x as u64));
        all
    };
    let held = in_any_order(1, held);
    let nodes = in_any_order(2, held.iter().flat_map(|&c| cells[c].clone()).collect());
    let local: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let corners = held.iter().map(|&c| cells[c].len()).max().unwrap_or(3);

    let mut s = Schema::new(case.format);
    for (name, len) in [("nFaces", held.len()), ("nNodes", nodes.len()), ("corners", corners), ("layers", 2)]
    {
        let (name, len) = (name.to_owned(), len as u64);
        s.dims.push(Dimension { name, group: Schema::ROOT, len, unlimited: false });
    }
    let [faces, points, corner, layer] = [0, 1, 2, 3].map(DimId);
    let int = |name: &str, n: i32| Attribute {
        name: name.into(),
        dtype: Atomic::Int.into(),
        values: Values::fixed(&n.to_ne_bytes()),
    };
    let mut topology = Variable::new("m", Atomic::Int, vec![]);
    topology.attrs = vec![
        Attribute::text("cf_role", "mesh_topology"),
        int("topology_dimension", 2),
        Attribute::text("node_coordinates", "x y"),
        Attribute::text("face_node_connectivity", "corners_of"),
    ];
    let mut corners_of = Variable::new("corners_of", Atomic::Int, vec![faces, corner]);
    corners_of.attrs = vec![int("_FillValue", -1), int("start_index", 1)];
    s.vars = vec![
        topology,
        Variable::new("x", Atomic::Double, vec![points]),
        Variable::new("y", Atomic::Double, vec![points]),
        corners_of,
        Variable::new("m_flowelem_domain", Atomic::Int, vec![faces]),
        Variable::new("m_flowelem_globalnr", Atomic::Int, vec![faces]),
        Variable::new("s1", Atomic::Double, vec![faces, layer]),
    ];
    let doubles =
        |all: Vec<f64>| Values::fixed(&all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
    let ints = |all: Vec<i32>| Values::fixed(&all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
    let width = case.size.1 + 1;
    let rows = held.iter().flat_map(|&c| {
        let by = stirred(case.stir, (c * 8 + part) as u64) as usize;
        let row: Vec<i32> = (0..corners)
            .map(|k| match cells[c].len() {
                n if k < n => local[&cells[c][(k + by % n) % n]] as i32 + 1,
                _ => -1,
            })
            .collect();
        row
    });
    let values = [
        ints(vec![0]),
        doubles(nodes.iter().map(|n| (n % width) as f64 * 1.5).collect()),
        doubles(nodes.iter().map(|n| (n / width) as f64).collect()),
        ints(rows.collect()),
        ints(held.iter().map(|&c| case.owner[c] as i32).collect()),
        ints(held.iter().map(|&c| c as i32 + 1).collect()),
        doubles(held.iter().flat_map(|&c| [0, 1].map(|k| value(c, k))).collect()),
    ];
    Some((s, values.to_vec()))
}

/// Writes a partition.
fn write(part: usize, (s, values): (Schema, Vec<Values>), dir: &Path, engine: &Engine) -> Result<PathBuf> {
    let path = dir.join(format!("m_{part:04}_map.nc"));
    let options = CreateOptions { engine: Some(engine.clone()), ..CreateOptions::default() };
    let mut file = DatasetMut::create(&path, s.clone(), options)?;
    for (v, values) in values.iter().enumerate() {
        file.write(VarId(v), &Hyperslab::all(&s.shape(VarId(v))), values)?;
    }
    file.close()?;
    Ok(path)
}

/// Writes all of them.
fn write_all(case: &Case, dir: &Path, engine: &Engine) -> Vec<PathBuf> {
    let all = (0..case.parts).filter_map(|p| Some((p, partition(case, p)?)));
    all.map(|(p, told)| write(p, told, dir, engine).unwrap()).collect()
}

fn engine() -> Engine {
    Engine::new(EngineOptions { threads: Some(2), memory: Some(64 << 20) }).unwrap()
}

/// All of a variable.
fn all<T: crate::dataset::Element>(file: &Dataset, name: &str) -> Vec<T> {
    let v = file.var(name).unwrap();
    file.get(v, &Hyperslab::all(&file.schema().shape(v))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_given_away_comes_back(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine();
        let tiles = write_all(&case, dir.path(), &engine);
        let output = dir.path().join("whole.nc");
        let report = combine(&tiles, &output, &CombineOptions::default(), &engine, &Silent).unwrap();
        prop_assert_eq!(report.scheme, "dflowfm");

        let cells = cells(&case);
        let whole = Dataset::open(&output).unwrap();
        prop_assert_eq!(all::<i32>(&whole, "m_flowelem_globalnr"), (1..=cells.len() as i32).collect::<Vec<_>>());
        let values: Vec<f64> = (0..cells.len()).flat_map(|c| [0, 1].map(|k| value(c, k))).collect();
        prop_assert_eq!(all::<f64>(&whole, "s1"), values);
        // Every node once, and every cell with its own corners in its own order.
        let (x, y): (Vec<f64>, Vec<f64>) = (all(&whole, "x"), all(&whole, "y"));
        let width = case.size.1 + 1;
        let node = |i: usize| (y[i] as usize) * width + (x[i] / 1.5) as usize;
        let nodes: BTreeSet<usize> = (0..x.len()).map(node).collect();
        prop_assert_eq!((nodes.len(), x.len()), ((case.size.0 + 1) * width, (case.size.0 + 1) * width));
        let table: Vec<i32> = all(&whole, "corners_of");
        for (cell, row) in cells.iter().zip(table.chunks(table.len() / cells.len())) {
            let told: Vec<usize> = row.iter().filter(|&&n| n > 0).map(|&n| node(n as usize - 1)).collect();
            let by = cell.iter().position(|n| Some(n) == told.first()).unwrap_or(0);
            let turned: Vec<usize> = (0..cell.len()).map(|k| cell[(k + by) % cell.len()]).collect();
            prop_assert_eq!(told, turned);
        }
    }
}
