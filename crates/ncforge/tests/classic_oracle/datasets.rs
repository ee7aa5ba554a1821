//! Values written through a dataset: in pieces, beyond the end, past the limits of 32 bits, and of files that are cut off.

use std::process::Command;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, VarId, Variable};
use ncforge::raw::classic;
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};

use crate::tools::{python, run, validate};

/// Scattered hyperslabs through the engine, in a file of fixed and record variables; netCDF-C reads the same.
#[test]
fn datasets_written_in_pieces_read_equal_everywhere() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.nc");
    let script = |code: &str| run(Command::new(&python).args(["-c", code]).arg(&path));
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let mut s = Schema::new(format);
        s.dims = vec![
            Dimension::new("t", 0, true),
            Dimension::new("y", 40, false),
            Dimension::new("x", 30, false),
        ];
        s.vars.push(Variable::new("fixed", Atomic::Short, vec![DimId(1), DimId(2)]));
        s.vars.push(Variable::new("odd", Atomic::Byte, vec![DimId(0)]));
        s.vars.push(Variable::new("record", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]));
        let options = CreateOptions { overwrite: true, ..Default::default() };
        let mut file = DatasetMut::create(&path, s, options).unwrap();
        let (fixed, odd, record) = (VarId(0), VarId(1), VarId(2));
        // Every second row and every third column; the rest is fill.
        let slab = Hyperslab::strided(&[1, 2], &[20, 9], &[2, 3]);
        let values: Vec<u8> = (0..180i16).flat_map(i16::to_ne_bytes).collect();
        file.write_bytes(fixed, &slab, &values).unwrap();
        // Records out of order, past the end: the dimension grows.
        for r in [4u64, 1] {
            let values: Vec<u8> = (0..1200).flat_map(|i| (i as f32 + r as f32 / 8.0).to_ne_bytes()).collect();
            file.write_bytes(record, &Hyperslab::new(&[r, 0, 0], &[1, 40, 30]), &values).unwrap();
        }
        file.write_bytes(odd, &Hyperslab::strided(&[0], &[3], &[2]), &[1, 2, 3]).unwrap();
        let mut s = file.schema().clone();
        s.groups[0].attrs.push(Attribute::text("late", &"z".repeat(20_000)));
        file.redefine(s).unwrap();
        file.close().unwrap();
        validate(&path);
        script(
            "import sys, netCDF4, numpy as np\n\
             d = netCDF4.Dataset(sys.argv[1]); d.set_auto_mask(False)\n\
             f = np.full((40, 30), -32767, 'i2'); f[1:40:2, 2:29:3] = np.arange(180).reshape(20, 9)\n\
             assert (d['fixed'][:] == f).all()\n\
             r = np.full((5, 40, 30), 9.969209968386869e36, 'f4')\n\
             for i in 4, 1: r[i] = (np.arange(1200) + i / 8).reshape(40, 30)\n\
             assert (d['record'][:] == r).all()\n\
             assert d['odd'][:].tolist() == [1, -127, 2, -127, 3]\n\
             assert len(d.late) == 20000\n",
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing stays behind");
    }
}

#[test]
fn what_a_short_file_lacks_reads_as_zero() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.nc");
    let mut s = Schema::new(Format::Cdf2);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 5, false)];
    s.vars.push(Variable::new("a", Atomic::Int, vec![DimId(1)]));
    s.vars.push(Variable::new("b", Atomic::Short, vec![DimId(0), DimId(1)]));
    let mut file = DatasetMut::create(&path, s, Default::default()).unwrap();
    file.write_bytes(VarId(0), &Hyperslab::all(&[5]), &[1; 20]).unwrap();
    file.write_bytes(VarId(1), &Hyperslab::new(&[0, 0], &[4, 5]), &[2; 40]).unwrap();
    file.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    for cut in [1, 7, 40, 41, 59] {
        std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let file = Dataset::open(&path).unwrap();
        let (mut a, mut b) = ([9; 20], [9; 40]);
        file.read_bytes(VarId(0), &Hyperslab::all(&[5]), &mut a).unwrap();
        file.read_bytes(VarId(1), &Hyperslab::all(&[4, 5]), &mut b).unwrap();
        // Numbers that the cut goes through lack their last byte.
        let zeros = |bytes: &[u8]| bytes.iter().filter(|&&b| b == 0).count();
        assert_eq!((zeros(&a), zeros(&b)), (cut.saturating_sub(40), cut.min(40)));
        let note = format!("{cut} bytes shorter");
        assert!(file.container().notes().iter().any(|n| n.contains(&note)), "{:?}", file.container().notes());
    }
}

/// Sparse files past the limits of 32-bit sizes and offsets.
#[test]
fn variables_of_gigabytes_are_found_by_netcdf_c() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.nc");
    let large = (5u64 << 30) / 8;
    // The version that the variables need, and the variables.
    let cases = [
        (Format::Cdf1, vec![("small", vec![2]), ("last", vec![1])]),
        (Format::Cdf2, vec![("half", vec![3]), ("other", vec![3]), ("last", vec![1])]),
        (Format::Cdf5, vec![("first", vec![1]), ("last", vec![1])]),
        (Format::Cdf1, vec![("small", vec![2]), ("last", vec![0, 1])]),
    ];
    for (format, vars) in cases {
        let mut s = Schema::new(Format::Netcdf4);
        s.dims = vec![
            Dimension::new("t", 0, true),
            Dimension::new("large", large, false),
            Dimension::new("x", 3, false),
            Dimension::new("half", large / 4, false),
        ];
        for (name, dims) in vars {
            s.vars.push(Variable::new(name, Atomic::Double, dims.into_iter().map(DimId).collect()));
        }
        s.format = classic::version_needed(&s).unwrap();
        assert_eq!(s.format, format);
        let options = CreateOptions { overwrite: true, fill: false, ..Default::default() };
        let mut file = DatasetMut::create(&path, s, options).unwrap();
        let first = Hyperslab::all(&[3]);
        if file.schema().vars[0].name == "small" {
            file.write_bytes(VarId(0), &first, &[1.5f64, 2.5, 3.5].map(f64::to_ne_bytes).concat()).unwrap();
        }
        let last = file.schema().find_var("last").unwrap();
        let slab = if file.schema().var(last).dims.len() == 2 {
            Hyperslab::new(&[2, large - 1], &[1, 1])
        } else {
            Hyperslab::new(&[large - 1], &[1])
        };
        file.write_bytes(last, &slab, &42.5f64.to_ne_bytes()).unwrap();
        file.close().unwrap();
        validate(&path);
        run(Command::new(&python)
            .arg("-c")
            .arg(
                "import sys, netCDF4\n\
             d = netCDF4.Dataset(sys.argv[1]); d.set_auto_mask(False)\n\
             v = d['last']\n\
             assert v[..., -1].ravel()[-1] == 42.5 and v.shape[-1] == 671088640\n\
             if v.ndim == 2: assert v.shape[0] == 3\n\
             if 'small' in d.variables: assert d['small'][:].tolist() == [1.5, 2.5, 3.5]\n",
            )
            .arg(&path));
        let mut got = [0; 8];
        Dataset::open(&path).unwrap().read_bytes(last, &slab, &mut got).unwrap();
        assert_eq!(got, 42.5f64.to_ne_bytes());
    }
}
