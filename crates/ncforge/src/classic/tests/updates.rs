//! The guarantees of create, grow, fill and redefine, case by case.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::MemoryStore;
use super::raw::{memory, read, var, write};
use crate::classic::{CreateOptions, create, open, open_mut, version_needed};
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::layout::Place;
use crate::model::{Atomic, Attribute, DType, DimId, Dimension, Fill, Format, Group, Schema, VarId};
use crate::select::Hyperslab;
use crate::store::{FileStore, ReadStore, WriteStore};

fn schema(format: Format) -> Schema {
    let mut s = Schema::new(format);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 3, false)];
    s
}

const TIGHT: CreateOptions = CreateOptions { header_room: Some(0), fill: true };

#[test]
fn the_example_of_the_specification_is_written_byte_by_byte() {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims.push(Dimension::new("dim", 5, false));
    s.vars.push(var("vx", Atomic::Short, &[0]));
    let store = memory();
    let mut file = create(store.clone(), s, &TIGHT).unwrap();
    let values: Vec<u8> = [3i16, 1, 4, 1, 5].iter().flat_map(|v| v.to_be_bytes()).collect();
    write(&mut *file, VarId(0), &Hyperslab::all(&[5]), &values);
    file.sync().unwrap();
    assert_eq!(store.to_vec(), super::headers::SMALL);
}

#[test]
fn versions_are_chosen_by_need() {
    let need = |change: &dyn Fn(&mut Schema)| {
        let mut s = schema(Format::Netcdf4);
        change(&mut s);
        version_needed(&s).map_err(|e| e.to_string())
    };
    let big = |s: &mut Schema, len| s.dims.push(Dimension::new("big", len, false));
    assert_eq!(need(&|_| ()), Ok(Format::Cdf1));
    assert_eq!(need(&|s| s.vars.push(var("u", Atomic::UByte, &[1]))), Ok(Format::Cdf5));
    // The last fixed variable may be large, one before it may not.
    let two = |s: &mut Schema, a: &[usize], b: &[usize]| {
        big(s, 1 << 30);
        s.vars = vec![var("a", Atomic::Int, a), var("b", Atomic::Int, b)];
    };
    assert_eq!(need(&|s| two(s, &[1], &[2])), Ok(Format::Cdf1));
    assert_eq!(need(&|s| two(s, &[2], &[1])), Ok(Format::Cdf5));
    assert_eq!(need(&|s| two(s, &[2], &[0])), Ok(Format::Cdf5));
    assert_eq!(need(&|s| two(s, &[1], &[0, 2])), Ok(Format::Cdf1));
    // Data that begin past 2 GiB.
    let mid = |s: &mut Schema| {
        big(s, 1 << 28);
        s.vars = (0..4).map(|i| var(&format!("v{i}"), Atomic::Int, &[2])).collect();
    };
    assert_eq!(need(&mid), Ok(Format::Cdf2));
    assert_eq!(need(&|s| big(s, (1 << 31) - 3)), Ok(Format::Cdf2));
    assert_eq!(need(&|s| big(s, 1 << 32)), Ok(Format::Cdf5));
    // Schemas that no version can hold.
    assert!(need(&|s| s.vars.push(var("v", Atomic::Int, &[1, 0]))).unwrap_err().contains("not the first"));
    assert!(need(&|s| s.dims.push(Dimension::new("u", 0, true))).unwrap_err().contains("two unlimited"));
    assert!(need(&|s| s.dims.push(Dimension::new("z", 0, false))).unwrap_err().contains("fixed length 0"));
    assert!(
        need(&|s| s.dims.push(Dimension::new("t", 4, false)))
            .unwrap_err()
            .contains("two dimensions called `t`")
    );
    assert!(need(&|s| s.dims.push(Dimension::new("a/b", 4, false))).unwrap_err().contains("slash"));
    assert!(
        need(&|s| s.groups[0].attrs.push(Attribute::strings("s", ["x"]))).unwrap_err().contains("string")
    );
    let group = Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: vec![] };
    assert!(need(&|s| s.groups.push(group.clone())).unwrap_err().contains("groups (`g`)"));
    assert!(
        need(&|s| {
            s.vars.push(var("v", Atomic::Int, &[]));
            s.vars[0].dtype = DType::String;
        })
        .unwrap_err()
        .contains("variable `v` of type string")
    );
}

#[test]
fn a_version_that_was_asked_for_is_kept_or_refused() {
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let mut s = schema(format);
        s.vars.push(var("v", Atomic::Int, &[1]));
        assert_eq!(create(memory(), s.clone(), &TIGHT).unwrap().schema().format, format);
        s.vars.push(var("w", Atomic::UInt64, &[1]));
        let made = create(memory(), s, &TIGHT);
        match (format, made) {
            (Format::Cdf5, Ok(_)) | (_, Err(Error::NotRepresentable { .. } | Error::Limit { .. })) => {}
            (_, other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn one_record_variable_is_not_padded_and_two_are() {
    for (atomic, bytes) in [(Atomic::Byte, 1), (Atomic::Char, 1), (Atomic::Short, 2)] {
        let store = memory();
        let mut s = schema(Format::Cdf1);
        s.vars.push(var("a", atomic, &[0]));
        let mut file = create(store.clone(), s.clone(), &TIGHT).unwrap();
        file.grow(DimId(0), 5).unwrap();
        write(&mut *file, VarId(0), &Hyperslab::new(&[1], &[4]), &vec![7; 4 * bytes]);
        file.sync().unwrap();
        let header = file.metadata_bytes().unwrap();
        assert_eq!(store.len(), header + 5 * bytes as u64);
        assert!(
            matches!(file.layout(VarId(0)).unwrap().place, Place::Records { stride, .. } if stride == bytes as u64)
        );
        // vsize, before the begin at the header's end, shows the padded size all the same.
        assert_eq!(store.read_vec(header - 8, 4).unwrap(), [0, 0, 0, 4]);
        // A second record variable changes the stride of the first: the data move.
        s.dims[0].len = 5;
        s.vars.push(var("b", Atomic::Short, &[0, 1]));
        file.redefine(s).unwrap();
        file.sync().unwrap();
        let again = open(store.clone()).unwrap();
        assert!(matches!(again.layout(VarId(0)).unwrap().place, Place::Records { stride: 12, .. }));
        assert_eq!(read(&*again, VarId(0))[bytes..], vec![7; 4 * bytes]);
        assert_eq!(read(&*again, VarId(1)), [0x80, 1].repeat(15));
    }
}

#[test]
fn unwritten_values_are_filled_unless_filling_is_off() {
    let mut s = schema(Format::Cdf1);
    s.vars = vec![var("a", Atomic::Int, &[1]), var("b", Atomic::Int, &[1]), var("c", Atomic::Short, &[0, 1])];
    s.vars[1].fill = Fill::None;
    s.vars[2].attrs.push(Attribute {
        name: "_FillValue".into(),
        dtype: Atomic::Short.into(),
        values: crate::Values::fixed(&9i16.to_ne_bytes()),
    });
    let store = memory();
    let mut file = create(store.clone(), s.clone(), &TIGHT).unwrap();
    write(&mut *file, VarId(0), &Hyperslab::new(&[1], &[1]), &[1; 4]);
    file.grow(DimId(0), 2).unwrap();
    file.sync().unwrap();
    let got = open(store).unwrap();
    assert_eq!(read(&*got, VarId(0)), [0x80, 0, 0, 1, 1, 1, 1, 1, 0x80, 0, 0, 1]);
    assert_eq!(read(&*got, VarId(1)), [0; 12]);
    assert_eq!(read(&*got, VarId(2)), [0, 9].repeat(6));
    let store = memory();
    let mut file = create(store.clone(), s, &CreateOptions { fill: false, ..TIGHT }).unwrap();
    file.sync().unwrap();
    assert_eq!(read(&*open(store).unwrap(), VarId(0)), [0; 12]);
}

#[test]
fn many_scattered_writes_do_not_pile_up() {
    let mut s = schema(Format::Cdf1);
    s.dims.push(Dimension::new("n", 600_000, false));
    s.vars.push(var("a", Atomic::Byte, &[2]));
    let store = memory();
    let mut file = create(store.clone(), s, &TIGHT).unwrap();
    let slab = Hyperslab::strided(&[0], &[300_000], &[2]);
    write(&mut *file, VarId(0), &slab, &vec![5; 300_000]);
    file.sync().unwrap();
    assert_eq!(read(&*open(store).unwrap(), VarId(0)), [5, 129].repeat(300_000));
}

#[test]
fn header_room_takes_new_attributes_without_moving_data() {
    let store = memory();
    let mut s = schema(Format::Cdf2);
    s.vars.push(var("a", Atomic::Int, &[0, 1]));
    let mut file = create(store.clone(), s, &CreateOptions::default()).unwrap();
    file.grow(DimId(0), 10).unwrap();
    file.sync().unwrap();
    let before = file.layout(VarId(0)).unwrap();
    let mut s = file.schema().clone();
    s.groups[0].attrs.push(Attribute::text("history", &"x".repeat(900)));
    s.vars.push(var("fixed", Atomic::Byte, &[1]));
    file.redefine(s.clone()).unwrap();
    file.sync().unwrap();
    assert!(matches!(
        (&before.place, &file.layout(VarId(0)).unwrap().place),
        (Place::Records { begin: a, .. }, Place::Records { begin: b, .. }) if a == b
    ));
    // The header padding is used up now: the data move, and there is padding again.
    s.groups[0].attrs.push(Attribute::text("more", &"y".repeat(900)));
    file.redefine(s.clone()).unwrap();
    file.sync().unwrap();
    let Place::Records { begin, .. } = file.layout(VarId(0)).unwrap().place else { panic!() };
    assert!(begin > file.metadata_bytes().unwrap() + 1000);
    assert_eq!(open(store).unwrap().schema(), &s);
}

#[test]
fn redefinition_preserves_existing_objects() {
    let mut s = schema(Format::Cdf1);
    s.vars.push(var("a", Atomic::Int, &[1]));
    let mut file = create(memory(), s.clone(), &TIGHT).unwrap();
    let refused = |file: &mut Box<dyn ContainerMut>, change: &dyn Fn(&mut Schema)| {
        let mut other = s.clone();
        change(&mut other);
        file.redefine(other).unwrap_err().to_string()
    };
    assert!(refused(&mut file, &|s| s.vars.clear()).contains("cannot remove"));
    assert!(refused(&mut file, &|s| s.dims[1].len = 4).contains("length of dimension `x`"));
    assert!(refused(&mut file, &|s| s.vars[0].dtype = Atomic::Byte.into()).contains("type or the shape"));
    assert!(refused(&mut file, &|s| s.format = Format::Cdf5).contains("into"));
    assert!(refused(&mut file, &|s| s.vars.push(var("u", Atomic::UInt, &[]))).contains("uint"));
    assert!(refused(&mut file, &|s| s.vars.push(var("-", Atomic::Int, &[]))).contains("name"));
    let odd =
        Attribute { name: "odd".into(), dtype: Atomic::Int.into(), values: crate::Values::fixed(&[0; 6]) };
    assert!(refused(&mut file, &|s| s.groups[0].attrs.push(odd.clone())).contains("6 bytes"));
    assert_eq!(file.schema(), &s);
}

/// A store whose writes fail after some number of them, as on a full disk or in a crash.
#[derive(Debug)]
struct Failing {
    inner: Arc<dyn WriteStore>,
    left: Arc<AtomicI64>,
}

impl Failing {
    fn step(&self) -> Result<&Arc<dyn WriteStore>> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left > 0 { Ok(&self.inner) } else { Err(Error::Interrupted("crash".into())) }
    }
}

impl ReadStore for Failing {
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.inner.read_at(buf, offset)
    }
}

impl WriteStore for Failing {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.step()?.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.step()?.set_len(len)
    }
    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        let left = self.left.clone();
        self.step()?.replace(&mut |to| {
            let copy: Arc<dyn WriteStore> = Arc::new(MemoryStore::new("copy", vec![]));
            build(&Failing { inner: copy.clone(), left: left.clone() })?;
            to.write_at(&copy.read_vec(0, copy.len())?, 0)
        })
    }
}

#[test]
fn a_crash_at_any_write_leaves_the_old_state_or_the_new() {
    let mut s = schema(Format::Cdf1);
    s.vars = vec![var("a", Atomic::Int, &[1]), var("b", Atomic::Short, &[0, 1])];
    let good = memory();
    let mut file = create(good.clone(), s, &TIGHT).unwrap();
    file.grow(DimId(0), 2).unwrap();
    write(&mut *file, VarId(0), &Hyperslab::all(&[3]), &[3; 12]);
    write(&mut *file, VarId(1), &Hyperslab::all(&[2, 3]), &[4; 12]);
    file.sync().unwrap();
    let old = file.schema().clone();
    let mut new = old.clone();
    new.groups[0].attrs.push(Attribute::text("long", &"z".repeat(9000)));
    new.vars.push(var("c", Atomic::Byte, &[0]));
    new.dims[0].len = 6;
    let mut outcomes = [0, 0];
    for left in 0..40 {
        let inner: Arc<dyn WriteStore> = Arc::new(MemoryStore::new("f.nc", good.to_vec()));
        let store = Arc::new(Failing { inner: inner.clone(), left: Arc::new(left.into()) });
        let done = open_mut(store.clone()).and_then(|mut file| {
            file.redefine(new.clone())?;
            file.sync()
        });
        let after =
            open(Arc::new(MemoryStore::new("after.nc", inner.read_vec(0, inner.len()).unwrap()))).unwrap();
        let records = after.schema().dims[0].len;
        assert_eq!(read(&*after, VarId(0)), [3; 12]);
        assert_eq!(read(&*after, VarId(1))[..12], [4; 12]);
        assert_eq!(read(&*after, VarId(1))[12..], [0x80, 1].repeat(3 * (records - 2) as usize));
        if done.is_ok() {
            assert_eq!(after.schema(), &new);
            outcomes[1] += 1;
        } else {
            assert!(after.schema() == &old || records == 2, "{left}");
            outcomes[0] += 1;
        }
    }
    assert!(outcomes.iter().all(|&n| n > 3), "{outcomes:?}");
}

#[test]
fn short_files_grow_whole() {
    let mut s = schema(Format::Cdf5);
    s.vars = vec![var("a", Atomic::Int64, &[1]), var("b", Atomic::Int, &[0])];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.nc");
    let store: Arc<dyn WriteStore> = Arc::new(FileStore::create(&path).unwrap());
    let mut file = create(store.clone(), s, &TIGHT).unwrap();
    file.grow(DimId(0), 3).unwrap();
    write(&mut *file, VarId(1), &Hyperslab::all(&[3]), &[1; 12]);
    file.sync().unwrap();
    let len = store.len();
    store.set_len(len - 6).unwrap();
    let mut file = open_mut(store.clone()).unwrap();
    assert_eq!(read(file.as_container(), VarId(1)), [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    file.grow(DimId(0), 4).unwrap();
    file.sync().unwrap();
    assert_eq!(read(file.as_container(), VarId(1)), [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 1]);
}
