//! Files of others, and what others read in our copies of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use ncforge::model::Format;
use ncforge::raw::classic::{self, CreateOptions};

use crate::stored::{copy, create, open, read, write};
use crate::tools::{dump, have, python, run, same_bytes, validate};

/// All classic files of Debian's `ferret-datasets`, `libncarg-data` and `gmt-gshhg-low` that are installed.
fn corpus() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> =
        ["/usr/share/ferret-vis", "/usr/share/ncarg", "/usr/share/gmt-gshhg"].map(PathBuf::from).into();
    let mut files = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let netcdf = path.extension().is_some_and(|e| e == "nc" || e == "cdf");
            match entry.file_type() {
                Ok(t) if t.is_dir() => dirs.push(path),
                Ok(t) if t.is_file() && netcdf => files.push(path),
                _ => {}
            }
        }
    }
    files.retain(|p| is_classic(p));
    files.sort();
    files
}

fn is_classic(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 8];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && classic::detect(&magic)
}

#[test]
fn real_files_open_and_their_copies_dump_equal() {
    if !have("ncdump") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let files = corpus();
    for path in &files {
        let theirs = Command::new("ncdump").arg("-h").arg(path).output().unwrap().status.success();
        let file = match open(path) {
            Ok(file) => file,
            Err(e) => {
                assert!(!theirs, "ncdump opens {}: {e}", path.display());
                continue;
            }
        };
        let len = path.metadata().unwrap().len();
        if len > 8 << 20 {
            continue;
        }
        let small = len < 100 << 10;
        let out = dir.path().join("copy.nc");
        if small {
            copy(&*file, &out, file.schema().format);
            validate(&out);
            assert_eq!(dump(&out, false), dump(path, false), "{}", path.display());
        } else {
            // Values of large files would be slow to print: header only, and bytes compared by ourselves.
            copy(&*file, &out, Format::Cdf5);
            assert_eq!(dump(&out, true), dump(path, true), "{}", path.display());
            let again = open(&out).unwrap();
            for var in file.schema().var_ids() {
                assert!(read(&*file, var) == read(&*again, var), "{}", path.display());
            }
        }
    }
    eprintln!("{} real files", files.len());
}

/// Shapes that ncgen makes: types, ranks, records alone and together, odd sizes, attributes, none of it.
const SHAPES: &[&str] = &[
    "netcdf f { }",
    "netcdf f { :title = \"only attributes\" ; :n = 1, 2, 3 ; :d = 1.5 ; :b = 1b, -1b, 3b ; :s = 7s ; :f = 2.5f ; :e = \"\" ; }",
    "netcdf f { dimensions: t = UNLIMITED ; x = 3 ; }",
    "netcdf f { variables: byte a ; short b ; char c ; double d ; data: a = 1 ; b = -2 ; c = \"x\" ; d = 1e300 ; }",
    "netcdf f { dimensions: x = 5 ; y = 3 ; variables: byte a(x) ; short b(x, y) ; char c(y) ; float d(y, x) ; int e ; \
     data: a = 1, 2, 3, 4, 5 ; b = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 ; c = \"abc\" ; d = 1, 2, _, 4 ; }",
    "netcdf f { dimensions: t = UNLIMITED ; variables: byte a(t) ; data: a = 1, 2, 3, 4, 5 ; }",
    "netcdf f { dimensions: t = UNLIMITED ; variables: char a(t) ; data: a = \"hello w\" ; }",
    "netcdf f { dimensions: t = UNLIMITED ; x = 3 ; variables: short a(t, x) ; data: a = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; }",
    "netcdf f { dimensions: t = UNLIMITED ; x = 3 ; variables: short a(t) ; byte b(t, x) ; double c(t) ; int fix(x) ; \
     a:_FillValue = 99s ; data: a = 1, 2, 3 ; b = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; c = 1, 2 ; fix = 1 ; }",
    "netcdf f { dimensions: t = UNLIMITED ; x = 2 ; variables: int a(t, x, x) ; float b(x, x, x) ; data: b = 1, 2, 3 ; }",
    "netcdf f { dimensions: x = 2 ; variables: int Größe\\ in\\ m(x) ; Größe\\ in\\ m:Einheit = \"m²\" ; data: Größe\\ in\\ m = 1, 2 ; }",
];

/// Shapes with the types that only CDF-5 has.
const SHAPES_5: &[&str] = &[
    "netcdf f { dimensions: t = UNLIMITED ; x = 3 ; variables: ubyte a(t) ; ushort b(t, x) ; uint c(x) ; uint64 d ; uint64 e(t) ; \
     :at = 1ull, 2ull ; :au = 7ub ; c:_FillValue = 5u ; data: a = 1, 255 ; b = 1, 2, 65534 ; c = 1 ; d = 18446744073709551610 ; e = 1, 2, 3 ; }",
    "netcdf f { dimensions: t = UNLIMITED ; variables: ubyte a(t) ; data: a = 1, 2, 255 ; }",
];

#[test]
fn files_by_ncgen_read_and_their_copies_dump_equal() {
    if !have("ncgen") || !have("ncdump") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (cdl, theirs, ours) = (dir.path().join("f.cdl"), dir.path().join("f.nc"), dir.path().join("g.nc"));
    for (kind, format) in [("1", Format::Cdf1), ("2", Format::Cdf2), ("5", Format::Cdf5)] {
        let more = if format == Format::Cdf5 { SHAPES_5 } else { &[] };
        for shape in SHAPES.iter().chain(more) {
            std::fs::write(&cdl, shape).unwrap();
            run(Command::new("ncgen").args(["-k", kind, "-o"]).arg(&theirs).arg(&cdl));
            let file = open(&theirs).unwrap();
            assert_eq!(file.schema().format, format);
            assert!(!file.notes().iter().any(|n| n.contains("shorter")), "{:?}", file.notes());
            copy(&*file, &ours, format);
            assert_eq!(dump(&ours, false), dump(&theirs, false), "{shape}");
            validate(&ours);
            // This layout without header room is the original file, byte for byte.
            let mut exact =
                create(&ours, file.schema().clone(), &CreateOptions { header_room: Some(0), fill: true });
            for var in file.schema().var_ids() {
                write(&mut *exact, var, &read(&*file, var));
            }
            exact.sync().unwrap();
            same_bytes(&ours, &theirs, shape);
        }
    }
}

#[test]
fn every_type_of_cdf5_survives_a_copy() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("f.nc"), dir.path().join("g.nc"));
    let script = |code: &str| run(Command::new(&python).args(["-c", code]).arg(&theirs).arg(&ours));
    script(
        "import sys, netCDF4, numpy as np\n\
         d = netCDF4.Dataset(sys.argv[1], 'w', format='NETCDF3_64BIT_DATA')\n\
         d.createDimension('t', None); d.createDimension('x', 3)\n\
         for i, t in enumerate(['i1', 'S1', 'i2', 'i4', 'f4', 'f8', 'u1', 'u2', 'u4', 'i8', 'u8']):\n\
         \x20 v = d.createVariable('v' + t, t, [('t', 'x'), ('x',), ()][i % 3])\n\
         \x20 if t == 'S1': v[:] = np.array(list('abc'), 'S1'); continue\n\
         \x20 top = np.iinfo(t).max if t[0] != 'f' else np.finfo(t).max\n\
         \x20 v.edges = np.array([top, 0, 1], t)\n\
         \x20 v[...] = np.array([[1, top, 3], [top - 1, 0, 2]], t) if i % 3 == 0 else np.array([1, top, 3], t) if i % 3 == 1 else top\n\
         d.close()\n",
    );
    let file = open(&theirs).unwrap();
    copy(&*file, &ours, Format::Cdf5);
    validate(&ours);
    script(
        "import sys, netCDF4, numpy as np\n\
         a, b = [netCDF4.Dataset(p) for p in sys.argv[1:]]\n\
         a.set_auto_mask(False); b.set_auto_mask(False)\n\
         assert list(a.variables) == list(b.variables) and len(a.variables) == 11\n\
         for n in a.variables:\n\
         \x20 x, y = a[n], b[n]\n\
         \x20 assert x.dtype == y.dtype and x.dimensions == y.dimensions and x[...].tobytes() == y[...].tobytes(), n\n\
         \x20 assert [np.array(x.getncattr(k)).tobytes() for k in x.ncattrs()] == [np.array(y.getncattr(k)).tobytes() for k in y.ncattrs()]\n",
    );
}
