//! Files that others wrote, changed by ncforge, read by the others again.

use std::path::Path;

use ncforge::model::{Atomic, Attribute, Dimension, Group, GroupId, Schema, Variable};
use ncforge::raw::put_attribute;
use ncforge::{Dataset, DatasetMut, Hyperslab};

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
    s.dims.push(Dimension { name: "z".into(), group: Schema::ROOT, len: 2, unlimited: false });
    let z = ncforge::model::DimId(s.dims.len() - 1);
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
    let (w, inside) = (ncforge::model::VarId(w), ncforge::model::VarId(inside));
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
