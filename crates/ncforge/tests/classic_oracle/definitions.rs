//! Definitions, fill values and later changes, by us and by netCDF-C in turn.

use std::process::Command;
use std::sync::Arc;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, VarId, Variable};
use ncforge::raw::classic::{self, CreateOptions};
use ncforge::store::FileStore;

use crate::stored::{create, read, write};
use crate::tools::{dump, have, python, run, same_bytes, same_text, validate};

/// A schema with records of odd sizes, every type of the format, and fixed variables.
fn everything(format: Format) -> Schema {
    let mut s = Schema::new(format);
    s.dims =
        vec![Dimension::new("time", 0, true), Dimension::new("x", 3, false), Dimension::new("y", 2, false)];
    s.groups[0].attrs.push(Attribute::text("title", "Überblick"));
    // ncgen 4.9 makes `int` of `int64` in CDF-5; netCDF4-python tests that type below.
    let fits = |a: &Atomic| a.in_classic() || (format == Format::Cdf5 && *a != Atomic::Int64);
    for a in Atomic::ALL.into_iter().filter(fits) {
        for (suffix, dims) in [("_r", vec![0, 1]), ("_f", vec![2, 1]), ("_s", vec![]), ("_t", vec![0])] {
            let name = format!("v{}{suffix}", a as u8);
            s.vars.push(Variable::new(name, a, dims.into_iter().map(DimId).collect()));
        }
    }
    s
}

#[test]
fn unwritten_files_hold_what_ncgen_fills() {
    if !have("ncgen") || !have("ncdump") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (cdl, theirs, ours) = (dir.path().join("f.cdl"), dir.path().join("f.nc"), dir.path().join("g.nc"));
    for (kind, format) in [("1", Format::Cdf1), ("2", Format::Cdf2), ("5", Format::Cdf5)] {
        let options = CreateOptions { header_room: Some(0), fill: true };
        let mut file = create(&ours, everything(format), &options);
        file.grow(DimId(0), 3).unwrap();
        let clock = VarId(3);
        write(&mut *file, clock, &[5; 3]);
        file.sync().unwrap();
        validate(&ours);
        // ncgen makes the same file of the dump, given one record variable with values.
        let text = run(Command::new("ncdump").arg(&ours));
        let (head, _) = text.split_once("data:").unwrap();
        std::fs::write(&cdl, format!("{head}data:\n v1_t = 5, 5, 5 ;\n}}\n")).unwrap();
        run(Command::new("ncgen").args(["-k", kind, "-o"]).arg(&theirs).arg(&cdl));
        same_text(&dump(&ours, false), &dump(&theirs, false));
        same_bytes(&ours, &theirs, kind);
    }
}

#[test]
fn netcdf_c_appends_to_ours_and_we_to_theirs() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.nc");
    let script = |code: &str| run(Command::new(&python).args(["-c", code]).arg(&path));
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        for vars in [1, 2, 3] {
            let mut s = Schema::new(format);
            s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 3, false)];
            s.vars = [
                ("a", Atomic::Short, vec![0]),
                ("b", Atomic::Byte, vec![0, 1]),
                ("c", Atomic::Double, vec![1]),
            ]
            .into_iter()
            .take(vars)
            .map(|(n, a, d)| Variable::new(n, a, d.into_iter().map(DimId).collect()))
            .collect();
            let mut file = create(&path, s, &CreateOptions::default());
            file.grow(DimId(0), 2).unwrap();
            write(&mut *file, VarId(0), &[0, 1, 0, 2]);
            file.sync().unwrap();
            drop(file);
            // Theirs on ours: three more records, an attribute, a variable.
            script(
                "import sys, netCDF4, numpy as np\n\
                 d = netCDF4.Dataset(sys.argv[1], 'a'); d.set_auto_mask(False)\n\
                 assert d['a'][:].tolist() == [1, 2], d['a'][:]\n\
                 if 'b' in d.variables: assert (d['b'][:] == -127).all()\n\
                 d['a'][2:5] = [3, 4, 5]\n\
                 d.note = 'x' * 3000\n\
                 v = d.createVariable('late', 'i2', ('t',)); v[1] = 7\n\
                 d.close()\n",
            );
            // Ours on theirs: two more records, a longer attribute, another variable.
            let mut file = classic::open_mut(Arc::new(FileStore::open_rw(&path).unwrap())).unwrap();
            assert_eq!(file.schema().dims[0].len, 5);
            assert_eq!(read(file.as_container(), VarId(0)), [0, 1, 0, 2, 0, 3, 0, 4, 0, 5]);
            let late = file.schema().find_var("late").unwrap();
            assert_eq!(read(file.as_container(), late), [0x80, 1, 0, 7, 0x80, 1, 0x80, 1, 0x80, 1]);
            file.grow(DimId(0), 7).unwrap();
            let mut s = file.schema().clone();
            s.groups[0].attrs.push(Attribute::text("more", &"y".repeat(5000)));
            s.vars[0].name = "renamed".into();
            s.vars.push(Variable::new("latest", Atomic::Int, vec![DimId(0), DimId(1)]));
            file.redefine(s).unwrap();
            let all = [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7];
            write(&mut *file, VarId(0), &all);
            file.sync().unwrap();
            drop(file);
            validate(&path);
            script(
                "import sys, netCDF4\n\
                 d = netCDF4.Dataset(sys.argv[1]); d.set_auto_mask(False)\n\
                 assert d['renamed'][:].tolist() == [1, 2, 3, 4, 5, 6, 7], d['renamed'][:]\n\
                 assert d['late'][:].tolist() == [-32767, 7] + 5 * [-32767], d['late'][:]\n\
                 assert d['latest'].shape == (7, 3) and (d['latest'][:] == -2147483647).all()\n\
                 assert d.note == 'x' * 3000 and d.more == 'y' * 5000\n\
                 if 'b' in d.variables: assert (d['b'][:] == -127).all() and d['b'].shape == (7, 3)\n\
                 if 'c' in d.variables: assert (d['c'][:] == 9.969209968386869e36).all()\n",
            );
        }
    }
}
