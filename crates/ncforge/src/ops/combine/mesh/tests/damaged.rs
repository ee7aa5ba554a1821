//! Partitions that say what cannot be: an error that tells it, and never a panic.

use super::*;
use crate::error::Error;

/// Three rows of four cells, of three partitions.
fn small(ghosts: usize) -> Case {
    Case {
        size: (3, 4),
        cut: vec![false; 12],
        owner: (0..12).map(|c| c / 4).collect(),
        parts: 3,
        ghosts,
        format: Format::Netcdf4,
        stir: 0,
    }
}

/// Combines the partitions of `case` after each went through `change`.
fn combined(
    case: &Case,
    options: &CombineOptions,
    change: impl Fn(&mut Schema, &mut Vec<Values>),
) -> (tempfile::TempDir, Result<PathBuf>) {
    let (dir, engine) = (tempfile::tempdir().unwrap(), engine());
    let tiles: Vec<PathBuf> = (0..case.parts)
        .map(|p| {
            let mut told = partition(case, p).unwrap();
            change(&mut told.0, &mut told.1);
            write(p, told, dir.path(), &engine).unwrap()
        })
        .collect();
    let out = dir.path().join("whole.nc");
    let done = combine(&tiles, &out, options, &engine, &Silent).map(|_| out);
    (dir, done)
}

/// The message, which must be about the input.
fn refused(case: &Case, change: impl Fn(&mut Schema, &mut Vec<Values>)) -> String {
    let e = combined(case, &CombineOptions::default(), change).1.unwrap_err();
    assert!(matches!(e, Error::Tiles(_)), "{e:?}");
    e.to_string()
}

fn var<'a>(s: &'a mut Schema, name: &str) -> &'a mut Variable {
    s.vars.iter_mut().find(|v| v.name == name).unwrap()
}

fn long(name: &str, n: i64) -> Attribute {
    Attribute { name: name.into(), dtype: Atomic::Int64.into(), values: Values::fixed(&n.to_ne_bytes()) }
}

#[test]
fn lists_count_from_0_or_1() {
    for n in [i64::MIN, -1, 2, i64::from(i32::MAX), i64::MAX] {
        let said = refused(&small(1), |s, _| {
            let list = var(s, "corners_of");
            list.attrs.retain(|a| a.name != "start_index");
            list.attrs.push(long("start_index", n));
        });
        assert!(said.contains("`corners_of`") && said.contains(&n.to_string()), "{said}");
    }
}

#[test]
fn one_list_is_not_two() {
    let said = refused(&small(1), |s, _| {
        var(s, "m").attrs.extend([
            Attribute::text("edge_node_connectivity", "corners_of"),
            Attribute::text("edge_dimension", "nNodes"),
        ]);
    });
    assert!(said.contains("`corners_of`") && said.contains("edge"), "{said}");
}

/// The form before UGRID names its variables by fixed names, along whatever they are.
#[test]
fn numbers_of_cells_are_one_for_each() {
    let old = |s: &mut Schema| {
        s.vars.remove(0);
        for (new, old) in [
            ("x", "NetNode_x"),
            ("y", "NetNode_y"),
            ("corners_of", "NetElemNode"),
            ("m_flowelem_domain", "FlowElemDomain"),
            ("m_flowelem_globalnr", "FlowElemGlobalNr"),
        ] {
            var(s, new).name = old.into();
        }
    };
    let told = combined(&small(1), &CombineOptions::default(), |s, values| {
        old(s);
        values.remove(0);
    });
    let whole = Dataset::open(told.1.unwrap()).unwrap();
    assert_eq!(all::<i32>(&whole, "FlowElemGlobalNr"), (1..=12).collect::<Vec<_>>());

    for name in ["FlowElemDomain", "FlowElemGlobalNr"] {
        let said = refused(&small(1), |s, values| {
            old(s);
            values.remove(0);
            let layers = DimId(3);
            let i = s.vars.iter().position(|v| v.name == name).unwrap();
            s.vars[i].dims.push(layers);
            let twice: Vec<u8> =
                values[i].bytes().unwrap().chunks_exact(4).flat_map(|b| b.repeat(2)).collect();
            values[i] = Values::fixed(&twice);
        });
        assert!(said.contains(name) && said.contains("one for every cell"), "{said}");
    }
}

#[test]
fn a_number_beyond_the_last_is_told_with_what_it_is_of() {
    for (column, what) in [(0, "node 99"), (1, "cell 99")] {
        let said = refused(&small(0), |s, values| {
            for (name, len) in [("nLinks", 1), ("two", 2)] {
                s.dims.push(Dimension { name: name.into(), group: Schema::ROOT, len, unlimited: false });
            }
            let mut links = Variable::new("links", Atomic::Int, vec![DimId(4), DimId(5)]);
            links.attrs = vec![
                Attribute::text("cf_role", "mesh_topology_contact"),
                Attribute::text("contact", "m: node m: face"),
                long("start_index", 1),
            ];
            s.vars.push(links);
            let mut ends = [1i32, 1];
            ends[column] = 99;
            values.push(Values::fixed(&ends.map(i32::to_ne_bytes).concat()));
        });
        assert!(said.contains(what) && said.contains("`links`"), "{said}");
    }
}

/// Far fewer cells than places: what is missing is most of the whole.
#[test]
fn one_partition_of_many() {
    let case = small(0);
    let (dir, engine) = (tempfile::tempdir().unwrap(), engine());
    let tile = write(2, partition(&case, 2).unwrap(), dir.path(), &engine).unwrap();
    let options = CombineOptions { allow_missing: true, ..CombineOptions::default() };
    let out = dir.path().join("whole.nc");
    combine(&[tile], &out, &options, &engine, &Silent).unwrap();
    let whole = Dataset::open(&out).unwrap();
    assert_eq!(
        all::<f64>(&whole, "s1")[16..],
        (8..12).flat_map(|c| [0, 1].map(|k| value(c, k))).collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever bytes change in a partition: a whole, or an error.
    #[test]
    fn changed_bytes_are_no_panic(
        case in cases(),
        part in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..4),
        allow_missing in any::<bool>(),
    ) {
        let (dir, engine) = (tempfile::tempdir().unwrap(), engine());
        let tiles = write_all(&case, dir.path(), &engine);
        let path = part.get(&tiles);
        let mut bytes = std::fs::read(path).unwrap();
        for (at, byte, of_header) in changes {
            let n = if of_header { bytes.len().min(1800) } else { bytes.len() };
            bytes[at.index(n)] = byte;
        }
        std::fs::write(path, bytes).unwrap();
        let options = CombineOptions { allow_missing, allow_ragged: true, ..CombineOptions::default() };
        let _ = combine(&tiles, &dir.path().join("whole.nc"), &options, &engine, &Silent);
    }
}
