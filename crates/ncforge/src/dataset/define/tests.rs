//! Refused definitions, with netCDF-C's error numbers; when definitions are written; definitions after the first values.

use super::*;
use crate::Dataset;
use crate::codec::filters;
use crate::model::{Atomic, Attribute, DimId, Endian, Fill, Filter, GroupId, Storage, UserKind, Values};
use crate::select::Hyperslab;
use crate::store::MemoryStore;

const ROOT: GroupId = Schema::ROOT;

fn begun(format: Format) -> Definer {
    let store = Arc::new(MemoryStore::new("memory", Vec::new()));
    DatasetMut::begin_in(store, format, CreateOptions::default())
}

fn number(error: Result<impl std::fmt::Debug>) -> i32 {
    error.unwrap_err().netcdf_code()
}

fn fill(of: Atomic, bytes: &[u8]) -> Attribute {
    Attribute { name: "_FillValue".into(), dtype: of.into(), values: Values::fixed(bytes) }
}

#[test]
fn what_is_refused_leaves_what_was_defined() {
    for format in [Format::Cdf1, Format::Cdf5, Format::Netcdf4Classic] {
        let mut d = begun(format);
        let time = d.dimension(ROOT, "time", None).unwrap();
        let x = d.dimension(ROOT, "x", Some(3)).unwrap();
        let v = d.variable(NewVariable::new("v", Atomic::Int, &[time, x])).unwrap();
        let before = d.schema().clone();
        assert_eq!(number(d.dimension(ROOT, "x", Some(4))), -42, "name in use");
        assert_eq!(number(d.dimension(ROOT, "a/b", Some(4))), -59, "bad name");
        assert_eq!(number(d.dimension(ROOT, "run", None)), -54, "second unlimited");
        assert_eq!(number(d.variable(NewVariable::new("v", Atomic::Int, &[x]))), -42);
        assert_eq!(number(d.variable(NewVariable::new("w", Atomic::Int, &[DimId(7)]))), -46, "bad dimension");
        assert_eq!(number(d.dimension(GroupId(3), "y", Some(4))), -116, "bad group");
        let groups = if format.is_classic() { -111 } else { -112 };
        assert_eq!(number(d.group(ROOT, "g")), groups);
        assert_eq!(number(d.rename_variable(VarId(9), "u")), -49, "bad variable");
        assert_eq!(number(d.rename_dimension(x, "time")), -42);
        assert_eq!(number(d.delete_attribute(Owner::Variable(v), "units")), -43, "no such attribute");
        assert_eq!(
            number(d.put_attribute(Owner::Variable(v), fill(Atomic::Float, &[0; 4]))),
            -45,
            "bad type"
        );
        if format.is_classic() {
            assert_eq!(number(d.variable(NewVariable::new("w", Atomic::Int, &[x, time]))), -47, "position");
        }
        if format == Format::Cdf1 {
            assert_eq!(number(d.variable(NewVariable::new("w", Atomic::UInt64, &[x]))), -45);
            assert_eq!(number(d.dimension(ROOT, "y", Some(1 << 40))), -63, "too long");
        }
        assert_eq!(*d.schema(), before);
        let data: Vec<u8> = [1i32, 2, 3].iter().flat_map(|n| n.to_ne_bytes()).collect();
        d.dataset().unwrap().write_bytes(v, &Hyperslab::new(&[0, 0], &[1, 3]), &data).unwrap();
        assert_eq!(d.schema().dims.len(), 2);
        d.close().unwrap();
    }
}

#[test]
fn a_new_file_is_there_when_its_data_are_needed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.nc");
    let mut d = DatasetMut::begin(&path, Format::Cdf5, CreateOptions::default()).unwrap();
    let x = d.dimension(ROOT, "x", Some(2)).unwrap();
    let v = d.variable(NewVariable::new("v", Atomic::UByte, &[x])).unwrap();
    assert!(!d.is_created());
    d.dataset().unwrap().put(v, &Hyperslab::all(&[2]), &[1u8, 2]).unwrap();
    assert!(d.is_created());
    // Later definitions are carried out together, and the data stay.
    for name in ["a", "b"] {
        d.variable(NewVariable::new(name, Atomic::UByte, &[x])).unwrap();
    }
    assert_eq!(d.file.as_ref().unwrap().schema().vars.len(), 1);
    d.close().unwrap();
    let back = Dataset::open(&path).unwrap();
    assert_eq!(back.schema().vars.len(), 3);
    assert_eq!(back.get::<u8>(v, &Hyperslab::all(&[2])).unwrap(), [1, 2]);
}

#[test]
fn a_new_file_that_was_dropped_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut d =
        DatasetMut::begin(dir.path().join("t.nc"), Format::Netcdf4, CreateOptions::default()).unwrap();
    d.dimension(ROOT, "x", Some(2)).unwrap();
    drop(d);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_zipped_file_is_defined_by_the_rules_of_the_classic_one_inside() {
    let dir = tempfile::tempdir().unwrap();
    let mut d =
        DatasetMut::begin(dir.path().join("t.ncz"), Format::Netcdf4, CreateOptions::default()).unwrap();
    assert_eq!(d.format(), Format::Cdf5);
    assert_eq!(number(d.group(ROOT, "g")), -111);
}

#[test]
fn storage_may_be_set_until_the_variable_is_in_the_file() {
    let mut d = begun(Format::Netcdf4);
    let (t, x) = (d.dimension(ROOT, "t", None).unwrap(), d.dimension(ROOT, "x", Some(100)).unwrap());
    let v = d.variable(NewVariable::new("v", Atomic::Short, &[x])).unwrap();
    assert_eq!(d.schema().var(v).storage, Storage::Contiguous);
    d.add_filter(v, NewFilter::Deflate(5)).unwrap();
    d.add_filter(v, NewFilter::Fletcher32).unwrap();
    d.add_filter(v, NewFilter::Shuffle).unwrap();
    d.add_filter(v, NewFilter::Deflate(2)).unwrap();
    d.set_layout(v, NewLayout::Chunked(vec![10])).unwrap();
    d.set_endian(v, Endian::Big).unwrap();
    d.set_fill(v, false).unwrap();
    let wanted = vec![filters::shuffle(2), filters::deflate(2), filters::fletcher32()];
    assert_eq!(d.schema().var(v).storage, Storage::Chunked { chunks: vec![10], filters: wanted });
    assert_eq!((d.schema().var(v).endian, &d.schema().var(v).fill), (Endian::Big, &Fill::None));
    let before = d.schema().clone();
    assert_eq!(number(d.set_layout(v, NewLayout::Chunked(vec![101]))), -127, "longer than the dimension");
    assert_eq!(number(d.set_layout(v, NewLayout::Chunked(vec![5, 5]))), -127);
    assert_eq!(number(d.set_layout(v, NewLayout::Contiguous)), -36, "filters need chunks");
    let u = d.variable(NewVariable::new("u", Atomic::Char, &[t])).unwrap();
    assert_eq!(number(d.set_endian(u, Endian::Big)), -36, "text has no byte order");
    assert_eq!(d.schema().vars[0], before.vars[0]);
    d.dataset().unwrap();
    assert_eq!(number(d.add_filter(v, NewFilter::Deflate(9))), -123, "too late");
    assert_eq!(number(d.set_fill(v, true)), -123);
    // Not in classic files, which store values in one way.
    let mut classic = begun(Format::Cdf2);
    let x = classic.dimension(ROOT, "x", Some(4)).unwrap();
    let v = classic.variable(NewVariable::new("v", Atomic::Short, &[x])).unwrap();
    assert_eq!(number(classic.add_filter(v, NewFilter::Deflate(1))), -111);
}

#[test]
fn a_fill_value_may_be_set_until_there_are_values() {
    for format in [Format::Cdf5, Format::Netcdf4] {
        let mut d = begun(format);
        let x = d.dimension(ROOT, "x", Some(2)).unwrap();
        let v = d.variable(NewVariable::new("v", Atomic::UByte, &[x])).unwrap();
        d.put_attribute(Owner::Variable(v), fill(Atomic::UByte, &[7])).unwrap();
        d.dataset().unwrap();
        d.put_attribute(Owner::Variable(v), fill(Atomic::UByte, &[8])).unwrap();
        d.dataset().unwrap().put(v, &Hyperslab::new(&[0], &[1]), &[1u8]).unwrap();
        // An equal value is no change.
        d.put_attribute(Owner::Variable(v), fill(Atomic::UByte, &[8])).unwrap();
        assert_eq!(number(d.put_attribute(Owner::Variable(v), fill(Atomic::UByte, &[9]))), -122);
        let all = Hyperslab::all(&[2]);
        let mut back = [0; 2];
        d.dataset().unwrap().read_bytes(v, &all, &mut back).unwrap();
        assert_eq!(back, [1, 8]);
    }
}

#[test]
fn define_mode_that_is_begun_and_ended_explicitly() {
    let mut d = begun(Format::Cdf2).with_mode(DefineMode::Explicit);
    let x = d.dimension(ROOT, "long", Some(2)).unwrap();
    let root = Owner::Group(ROOT);
    d.put_attribute(root, Attribute::text("title", "four")).unwrap();
    assert_eq!(number(d.dataset()), -39, "data in define mode");
    assert_eq!(number(d.redef()), -39);
    d.enddef().unwrap();
    assert_eq!(number(d.enddef()), -38);
    assert_eq!(number(d.dimension(ROOT, "y", Some(2))), -38);
    assert_eq!(number(d.delete_attribute(root, "title")), -38);
    assert_eq!(number(d.put_attribute(root, Attribute::text("title", "longer"))), -38);
    assert_eq!(number(d.rename_dimension(x, "longer")), -38);
    d.put_attribute(root, Attribute::text("title", "two")).unwrap();
    d.rename_dimension(x, "x").unwrap();
    d.dataset().unwrap();
    d.redef().unwrap();
    d.dimension(ROOT, "y", Some(2)).unwrap();
    d.enddef().unwrap();
    assert_eq!(d.into_dataset().unwrap().schema().dims.len(), 2);
}

#[test]
fn groups_types_and_names() {
    let mut d = begun(Format::Netcdf4);
    let g = d.group(ROOT, "g").unwrap();
    assert_eq!(number(d.group(ROOT, "g")), -42);
    assert_eq!(d.require_group(ROOT, "g").unwrap(), g);
    let kind = UserKind::Enum { base: Atomic::Float, members: vec![("a".into(), 0)] };
    assert_eq!(number(d.user_type(ROOT, "e", kind)), -45);
    let kind = UserKind::Enum { base: Atomic::Byte, members: vec![("a".into(), 0), ("a".into(), 1)] };
    assert_eq!(number(d.user_type(ROOT, "e", kind)), -45);
    d.user_type(g, "o", UserKind::Opaque { size: 3 }).unwrap();
    assert_eq!(number(d.dimension(g, "o", Some(1))), -42, "types and dimensions share their names");
    d.rename_group(g, "h").unwrap();
    assert!(d.rename_group(ROOT, "h").is_err());
    d.put_attribute(Owner::Group(g), Attribute::text("a", "1")).unwrap();
    d.put_attribute(Owner::Group(g), Attribute::text("b", "2")).unwrap();
    assert_eq!(number(d.rename_attribute(Owner::Group(g), "a", "b")), -42);
    d.rename_attribute(Owner::Group(g), "a", "c").unwrap();
    d.delete_attribute(Owner::Group(g), "b").unwrap();
    let made = d.into_dataset().unwrap();
    assert_eq!(made.schema().group(g).attrs, [Attribute::text("c", "1")]);
}

#[test]
fn an_update_that_cannot_be_carried_out_is_dropped() {
    let mut d = begun(Format::Cdf1);
    d.dataset().unwrap();
    let x = d.dimension(ROOT, "x", Some(2)).unwrap();
    d.change(|draft| {
        // A change that checks of single definitions do not see.
        draft.schema.format = Format::Cdf5;
        Ok(())
    })
    .unwrap();
    d.quantized.push((VarId(0), Quantize::BitRound(3)));
    assert!(d.dataset().is_err());
    assert!(d.quantized.is_empty(), "a later variable of this number must not lose bits");
    assert!(d.schema().dims.get(x.0).is_none());
    d.close().unwrap();
}

#[test]
fn wrong_parameters_of_a_filter_are_no_damage() {
    let mut d = begun(Format::Netcdf4);
    let x = d.dimension(ROOT, "x", Some(4)).unwrap();
    let v = d.variable(NewVariable::new("v", Atomic::Short, &[x])).unwrap();
    let szip = Filter { id: filters::SZIP, params: vec![1, 2], optional: false };
    let error = d.add_filter(v, NewFilter::Other(szip)).unwrap_err();
    assert_eq!(error.netcdf_code(), -132, "{error}");
}
