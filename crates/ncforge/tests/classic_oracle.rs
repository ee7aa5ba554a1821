//! Classic files across tools: what netCDF-C (ncdump, ncgen, netCDF4-python) and PnetCDF's ncvalidator make of
//! ours, and we of theirs.
//!
//! Needs Debian's `netcdf-bin`, and for single tests a Python with netCDF4 (`NCFORGE_TEST_PYTHON`, the
//! workspace's `.venv`, or `python3`) and `pnetcdf-bin`. A test whose tool is missing says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, VarId, Variable};
use ncforge::raw::classic::{self, CreateOptions};
use ncforge::raw::{Container, ContainerMut, Place};
use ncforge::store::{FileStore, MemoryStore};
use ncforge::{CreateOptions as NewFileOptions, Dataset, DatasetMut, Hyperslab};

/// Whether a tool is there; says so if not.
fn have(tool: &str) -> bool {
    let there = Command::new(tool).arg("-h").output().is_ok();
    if !there {
        eprintln!("skipped: `{tool}` is not installed");
    }
    there
}

/// Runs a tool that must succeed; gives what it printed.
fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {} {stderr}", String::from_utf8_lossy(&out.stdout));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A Python that has netCDF4.
fn python() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let asked = std::env::var_os("NCFORGE_TEST_PYTHON").map(PathBuf::from);
    let found = asked.into_iter().chain([venv, "python3".into()]).find(|p| {
        Command::new(p).args(["-c", "import netCDF4"]).output().is_ok_and(|out| out.status.success())
    });
    if found.is_none() {
        eprintln!("skipped: no Python with netCDF4");
    }
    found
}

fn open(path: &Path) -> ncforge::Result<Box<dyn Container>> {
    classic::open(Arc::new(FileStore::open(path)?))
}

fn create(path: &Path, schema: Schema, options: &CreateOptions) -> Box<dyn ContainerMut> {
    classic::create(Arc::new(FileStore::create(path).unwrap()), schema, options).unwrap()
}

/// The runs of bytes that a variable's data are: offset and length, row-major.
fn runs(file: &dyn Container, var: VarId) -> Vec<(u64, u64)> {
    let layout = file.layout(var).unwrap();
    let bytes = |shape: &[u64]| shape.iter().product::<u64>() * layout.element.size as u64;
    match layout.place {
        Place::Contiguous { offset } => vec![(offset, bytes(&layout.shape))],
        Place::Records { begin, stride } => {
            (0..layout.shape[0]).map(|r| (begin + r * stride, bytes(&layout.shape[1..]))).collect()
        }
        ref other => panic!("{other:?}"),
    }
}

/// All of a variable's bytes in stored form, zeros where the file has ended.
fn read(file: &dyn Container, var: VarId) -> Vec<u8> {
    let mut out = Vec::new();
    for (offset, len) in runs(file, var) {
        let from = out.len();
        out.resize(from + len as usize, 0);
        let there = file.store().len().saturating_sub(offset).min(len) as usize;
        if there > 0 {
            file.store().read_at(&mut out[from..from + there], offset).unwrap();
        }
    }
    out
}

fn write(file: &mut dyn ContainerMut, var: VarId, mut stored: &[u8]) {
    let shape = file.schema().shape(var);
    file.will_write(var, &Hyperslab::all(&shape)).unwrap();
    for (offset, len) in runs(file.as_container(), var) {
        let (now, later) = stored.split_at(len as usize);
        file.write_store().write_at(now, offset).unwrap();
        stored = later;
    }
}

/// Copies a file through our reader and writer.
fn copy(from: &dyn Container, to: &Path, format: Format) {
    let mut schema = from.schema().clone();
    schema.format = format;
    // In memory: a hundred files are not worth three hundred disk flushes.
    let store = Arc::new(MemoryStore::new("copy", Vec::new()));
    let mut file = classic::create(store.clone(), schema, &CreateOptions::default()).unwrap();
    for var in from.schema().var_ids() {
        write(&mut *file, var, &read(from, var));
    }
    file.sync().unwrap();
    std::fs::write(to, store.to_vec()).unwrap();
}

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

/// What ncdump prints of a file, but for its first line, which has the file's name.
fn dump(path: &Path, header_only: bool) -> String {
    let text = run(Command::new("ncdump").arg(if header_only { "-h" } else { "-p9,17" }).arg(path));
    text.split_once('\n').unwrap_or_default().1.to_owned()
}

/// Like `assert_eq`, but shows only the first line that differs.
fn same_text(ours: &str, theirs: &str) {
    for (a, b) in ours.lines().zip(theirs.lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// Equal files; netCDF-C leaves a page of zeros behind a header without variables.
fn same_bytes(ours: &Path, theirs: &Path, what: &str) {
    let (ours, theirs) = (std::fs::read(ours).unwrap(), std::fs::read(theirs).unwrap());
    let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert_eq!(first, None, "{what}");
    assert!(ours.len() <= theirs.len() && theirs[ours.len()..].iter().all(|&b| b == 0), "{what}: lengths");
    assert!(ours.len() == theirs.len() || theirs.len() == 4096, "{what}: {} {}", ours.len(), theirs.len());
}

/// ncvalidator is the strictest judge of headers: silent when content.
fn validate(path: &Path) {
    if Command::new("ncvalidator").arg("-h").output().is_ok() {
        run(Command::new("ncvalidator").arg("-q").arg(path));
    }
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
            // The same layout without header room is the same file, byte for byte.
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

fn dim(name: &str, len: u64, unlimited: bool) -> Dimension {
    Dimension { name: name.into(), group: Schema::ROOT, len, unlimited }
}

/// A schema with records of odd sizes, every type of the format, and fixed variables.
fn everything(format: Format) -> Schema {
    let mut s = Schema::new(format);
    s.dims = vec![dim("time", 0, true), dim("x", 3, false), dim("y", 2, false)];
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
            s.dims = vec![dim("t", 0, true), dim("x", 3, false)];
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

/// Scattered hyperslabs through the engine, in a file of fixed and record variables; netCDF-C reads the same.
#[test]
fn datasets_written_in_pieces_read_equal_everywhere() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.nc");
    let script = |code: &str| run(Command::new(&python).args(["-c", code]).arg(&path));
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let mut s = Schema::new(format);
        s.dims = vec![dim("t", 0, true), dim("y", 40, false), dim("x", 30, false)];
        s.vars.push(Variable::new("fixed", Atomic::Short, vec![DimId(1), DimId(2)]));
        s.vars.push(Variable::new("odd", Atomic::Byte, vec![DimId(0)]));
        s.vars.push(Variable::new("record", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]));
        let options = NewFileOptions { overwrite: true, ..Default::default() };
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
    s.dims = vec![dim("t", 0, true), dim("x", 5, false)];
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
    // What is written, and the version that it needs.
    let cases = [
        (Format::Cdf1, vec![("small", vec![2]), ("last", vec![1])]),
        (Format::Cdf2, vec![("half", vec![3]), ("other", vec![3]), ("last", vec![1])]),
        (Format::Cdf5, vec![("first", vec![1]), ("last", vec![1])]),
        (Format::Cdf1, vec![("small", vec![2]), ("last", vec![0, 1])]),
    ];
    for (format, vars) in cases {
        let mut s = Schema::new(Format::Netcdf4);
        s.dims = vec![
            dim("t", 0, true),
            dim("large", large, false),
            dim("x", 3, false),
            dim("half", large / 4, false),
        ];
        for (name, dims) in vars {
            s.vars.push(Variable::new(name, Atomic::Double, dims.into_iter().map(DimId).collect()));
        }
        s.format = classic::version_needed(&s).unwrap();
        assert_eq!(s.format, format);
        let options = NewFileOptions { overwrite: true, fill: false, ..Default::default() };
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
