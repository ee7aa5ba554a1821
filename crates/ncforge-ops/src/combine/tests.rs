//! Random files, cut into tiles and combined again: the whole must come back, bit for bit.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::progress::Silent;
use crate::split::{SplitOptions, TileScheme, split};
use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, Storage, Values, Variable};
use ncforge::{Dataset, DatasetMut, EngineOptions, Hyperslab};

/// The array to cut, and the cuts.
#[derive(Clone, Debug)]
struct Case {
    /// Lengths of time, depth, y and x.
    shape: [u64; 4],
    /// Dimensions of the variables: this many of the fastest.
    ranks: Vec<usize>,
    kind: Atomic,
    classic: bool,
    tiles: (u64, u64),
    scheme: TileScheme,
    halo: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (1_u64..4, 1_u64..4, 4_u64..24, 4_u64..24).prop_map(|(t, z, y, x)| [t, z, y, x]);
    let kinds = prop::sample::select(vec![
        Atomic::Byte,
        Atomic::Char,
        Atomic::Short,
        Atomic::Int,
        Atomic::Float,
        Atomic::Double,
    ]);
    let schemes = prop::sample::select(vec![TileScheme::Nemo, TileScheme::Fms]);
    let ranks = prop::collection::vec(2_usize..=4, 1..4);
    (shape, ranks, kinds, any::<bool>(), (1_u64..5, 1_u64..5), schemes, 0_u64..3).prop_map(
        |(shape, ranks, kind, classic, (nx, ny), scheme, halo)| {
            let tiles = (nx.min(shape[3]), ny.min(shape[2]));
            // A halo comes out of a neighbour, so no neighbour may be narrower.
            let narrow = (shape[3] / tiles.0).min(shape[2] / tiles.1);
            let halo = if scheme == TileScheme::Nemo { halo.min(narrow) } else { 0 };
            Case { shape, ranks, kind, classic, tiles, scheme, halo }
        },
    )
}

fn schema_of(case: &Case) -> Schema {
    let mut s = Schema::new(if case.classic { Format::Cdf2 } else { Format::Netcdf4 });
    for (name, len) in ["time", "depth", "y", "x"].into_iter().zip(case.shape) {
        s.dims.push(Dimension::new(name, len, name == "time"));
    }
    // FMS tells a tile's place by coordinates.
    for (name, dim) in [("y", 2), ("x", 3)] {
        s.vars.push(Variable::new(name, Atomic::Int, vec![DimId(dim)]));
    }
    for (i, &rank) in case.ranks.iter().enumerate() {
        let dims: Vec<DimId> = (4 - rank..4).map(DimId).collect();
        let mut v = Variable::new(format!("v{i}"), case.kind, dims);
        if !case.classic {
            let chunks = case.shape[4 - rank..].iter().map(|&l| l.div_ceil(2)).collect();
            v.storage = Storage::Chunked { chunks, filters: Vec::new() };
        }
        v.attrs.push(Attribute::text("long_name", "what was cut"));
        s.vars.push(v);
    }
    s
}

/// The values of a variable: different ones everywhere.
fn values(n: u64, size: u64, seed: u64) -> Values {
    let bytes: Vec<u8> =
        (0..n * size).map(|i| ((i + seed * 7919).wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    Values::fixed(&bytes)
}

fn make(path: &Path, schema: &Schema, engine: &Engine) -> Result<()> {
    let options = ncforge::CreateOptions { engine: Some(engine.clone()), ..Default::default() };
    let mut file = DatasetMut::create(path, schema.clone(), options)?;
    for v in schema.var_ids() {
        let shape = schema.shape(v);
        let size = schema.fixed_size(schema.var(v).dtype).unwrap_or(1) as u64;
        file.write(v, &Hyperslab::all(&shape), &values(shape.iter().product(), size, v.0 as u64))?;
    }
    file.close()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_split_comes_back(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::new(EngineOptions { threads: Some(2), memory: Some(64 << 20) }).unwrap();
        let (whole, output) = (dir.path().join("whole.nc"), dir.path().join("again.nc"));
        make(&whole, &schema_of(&case), &engine).unwrap();
        let options = SplitOptions {
            tiles: case.tiles,
            scheme: case.scheme,
            halo: case.halo,
            dims: Some(("x".into(), "y".into())),
            ..SplitOptions::default()
        };
        split(&whole, Some(&dir.path().join("tile")), &options, &engine, &Silent).unwrap();
        let tiles: Vec<PathBuf> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("tile"))
            .collect();
        prop_assert_eq!(tiles.len() as u64, case.tiles.0 * case.tiles.1);
        combine(&tiles, &output, &CombineOptions::default(), &engine, &Silent).unwrap();

        let (a, b) = (Dataset::open(&whole).unwrap(), Dataset::open(&output).unwrap());
        for v in a.schema().var_ids() {
            let path = a.schema().var_path(v);
            let w = b.var(path.trim_start_matches('/')).unwrap();
            let shape = a.schema().shape(v);
            prop_assert_eq!(&shape, &b.schema().shape(w));
            let slab = Hyperslab::all(&shape);
            let (one, other) = (a.read(v, &slab).unwrap(), b.read(w, &slab).unwrap());
            prop_assert_eq!(one.bytes().unwrap(), other.bytes().unwrap());
        }
    }
}
