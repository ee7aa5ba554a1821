//! Files that others wrote, changed by ncforge, read by the others again.

use std::path::Path;

use ncforge::model::{
    Atomic, Attribute, DimId, Dimension, Format, Group, GroupId, Schema, Storage, VarId, Variable,
};
use ncforge::raw::put_attribute;
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};

use crate::make;
use crate::peers;

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Makes the changes of all tests to a file: it has `a(t, x)` and `c(x)` of doubles, `t` unlimited, 3 long.
fn change(path: &Path) {
    let mut d = DatasetMut::open(path).unwrap();
    let mut s = d.schema().clone();
    let (a, c) = (s.find_var("a").unwrap(), s.find_var("c").unwrap());
    let x = s.find_dim(Schema::ROOT, "x").unwrap();
    put_attribute(&mut s.groups[0].attrs, Attribute::text("title", "changed by ncforge"));
    put_attribute(&mut s.vars[a.0].attrs, Attribute::strings("words", ["new", "words"]));
    s.vars[c.0].name = "renamed".into();
    s.dims.push(Dimension::new("z", 2, false));
    let z = DimId(s.dims.len() - 1);
    s.vars.push(Variable::new("w", Atomic::Short, vec![z, x]));
    s.groups.push(Group {
        name: "added".into(),
        parent: Some(GroupId(0)),
        attrs: vec![Attribute::text("k", "v")],
    });
    let mut v = Variable::new("inside", Atomic::Double, vec![x]);
    v.group = GroupId(s.groups.len() - 1);
    s.vars.push(v);
    let (w, inside) = (s.vars.len() - 2, s.vars.len() - 1);
    let (w, inside) = (VarId(w), VarId(inside));
    d.redefine(s).unwrap();
    d.write_bytes(a, &Hyperslab::new(&[1, 0], &[1, 4]), &doubles(&[90., 91., 92., 93.])).unwrap();
    d.write_bytes(a, &Hyperslab::new(&[3, 1], &[2, 2]), &doubles(&[31., 32., 41., 42.])).unwrap();
    d.write_bytes(c, &Hyperslab::new(&[2], &[1]), &doubles(&[-5.])).unwrap();
    d.write_bytes(w, &Hyperslab::new(&[1, 0], &[1, 4]), &[1, 0, 2, 0, 3, 0, 4, 0]).unwrap();
    d.write_bytes(inside, &Hyperslab::all(&[4]), &doubles(&[5., 6., 7., 8.])).unwrap();
    let back = d.read(a, &Hyperslab::new(&[1, 3], &[1, 1])).unwrap();
    assert_eq!(back.bytes(), Some(&doubles(&[93.])[..]));
    d.close().unwrap();
    // Once more, so that what was written anew is read anew.
    let mut d = DatasetMut::open(path).unwrap();
    let mut s = d.schema().clone();
    put_attribute(&mut s.groups[0].attrs, Attribute::text("second", "session"));
    d.redefine(s).unwrap();
    d.close().unwrap();
}

fn changed(kind: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{kind}.nc"));
    if !peers::check(&format!("make_{kind}"), &path) {
        return;
    }
    let before = std::fs::read(&path).unwrap();
    DatasetMut::open(&path).unwrap().close().unwrap();
    assert!(std::fs::read(&path).unwrap() == before, "opening and closing changes nothing");
    change(&path);
    assert_eq!(Dataset::open(&path).unwrap().schema().dims[0].len, 5);
    peers::check(&format!("changed_{kind}"), &path);
    peers::tools_accept(&path, true);
}

#[test]
fn files_of_netcdf_c_are_changed() {
    changed("netcdf");
}

#[test]
fn files_of_h5netcdf_are_changed() {
    changed("h5netcdf");
}

#[test]
fn files_of_h5py_with_the_oldest_format_are_changed() {
    changed("earliest");
}

#[test]
fn files_of_h5py_with_the_latest_format_are_changed() {
    changed("latest");
}

#[test]
fn own_files_are_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.nc");
    make::all(&path);
    let before = std::fs::read(&path).unwrap();
    let mut d = DatasetMut::open(&path).unwrap();
    let mut s = d.schema().clone();
    put_attribute(&mut s.groups[2].attrs, Attribute::text("later", "yes"));
    d.redefine(s).unwrap();
    d.close().unwrap();
    let mut d = DatasetMut::open(&path).unwrap();
    let mut s = d.schema().clone();
    s.groups[2].attrs.clear();
    d.redefine(s).unwrap();
    d.close().unwrap();
    // Everything is where it was: the description fits its old place again.
    assert_eq!(std::fs::read(&path).unwrap().len(), before.len());
    peers::check("all", &path);
}

#[test]
fn what_cannot_be_written_again_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (kind, word) in [
        ("virtual", "a virtual dataset"),
        ("reference", "a reference"),
        ("two_names", "under two names"),
        ("external_link", "an external link"),
        ("user_block", "a user block of 512 bytes"),
        ("external_file", "external files"),
    ] {
        let path = dir.path().join(format!("{kind}.h5"));
        if !peers::check(&format!("make_{kind}"), &path) {
            return;
        }
        let error = DatasetMut::open(&path).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("changing a file"), "{kind}: {error}");
        assert!(Dataset::open(&path).is_ok(), "{kind} can be read");
    }
}

/// A variable of 16 records of 6000 floats in chunks of 16 records.
fn records(filters: Vec<ncforge::model::Filter>) -> Schema {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 6000, false)];
    let mut v = Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1)]);
    v.storage = Storage::Chunked { chunks: vec![16, 2000], filters };
    s.vars.push(v);
    s
}

fn record(t: u64, n: f32) -> Vec<u8> {
    (0..6000).flat_map(|x| (n + t as f32 * 10000. + x as f32).to_ne_bytes()).collect()
}

#[test]
fn chunks_without_filters_are_overwritten_where_they_are() {
    let values = 16 * 6000 * 4;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("records.nc");
    let size = || std::fs::metadata(&path).unwrap().len();
    let mut d = DatasetMut::create(&path, records(Vec::new()), CreateOptions::default()).unwrap();
    let slab = |t| Hyperslab::new(&[t, 0], &[1, 6000]);
    for t in 0..16 {
        d.write_bytes(VarId(0), &slab(t), &record(t, 0.)).unwrap();
        d.sync().unwrap();
    }
    d.close().unwrap();
    assert!(size() < values + 30_000, "{} bytes for {values}", size());

    let before = size();
    let mut d = DatasetMut::open(&path).unwrap();
    for t in 0..16 {
        d.write_bytes(VarId(0), &slab(t), &record(t, 0.5)).unwrap();
        assert_eq!(d.read(VarId(0), &slab(t)).unwrap().bytes(), Some(&record(t, 0.5)[..]));
    }
    d.close().unwrap();
    assert!(size() < before + 30_000, "{} bytes, {before} before", size());
    let d = Dataset::open(&path).unwrap();
    let want: Vec<u8> = (0..16).flat_map(|t| record(t, 0.5)).collect();
    assert_eq!(d.read_all(VarId(0)).unwrap().bytes(), Some(&want[..]));
}

#[test]
fn chunks_with_a_checksum_are_not_overwritten_before_the_sync() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("records.nc");
    let schema = records(vec![ncforge::codec::filters::fletcher32()]);
    let mut d = DatasetMut::create(&path, schema, CreateOptions::default()).unwrap();
    let all = Hyperslab::new(&[0, 0], &[16, 6000]);
    let old: Vec<u8> = (0..16).flat_map(|t| record(t, 0.)).collect();
    d.write_bytes(VarId(0), &all, &old).unwrap();
    d.sync().unwrap();
    d.write_bytes(VarId(0), &all, &[0; 16 * 6000 * 4]).unwrap();
    d.writer().flush().unwrap();
    let found = Dataset::open(&path).unwrap().read_all(VarId(0)).unwrap();
    assert_eq!(found.bytes(), Some(&old[..]), "what a crash would leave");
    d.close().unwrap();
}
