//! Files of small records, written and read one call at a time.

use std::path::Path;

use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, VarId, Variable};
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};

const RECORDS: u64 = 700;

/// A time, five floats and three shorts (which are padded) a record, and a fixed variable.
fn schema() -> Schema {
    let mut schema = Schema::new(Format::Cdf2);
    for (name, len, unlimited) in [("time", 0, true), ("x", 5, false), ("z", 3, false)] {
        schema.dims.push(Dimension::new(name, len, unlimited));
    }
    let dims = |ids: &[usize]| ids.iter().map(|&d| DimId(d)).collect::<Vec<_>>();
    schema.vars.push(Variable::new("t", Atomic::Double, dims(&[0])));
    schema.vars.push(Variable::new("v", Atomic::Float, dims(&[0, 1])));
    schema.vars.push(Variable::new("s", Atomic::Short, dims(&[0, 2])));
    schema.vars.push(Variable::new("f", Atomic::Float, dims(&[1])));
    schema
}

/// The bytes of records of a variable: any pattern will do.
fn values(var: usize, records: std::ops::Range<u64>) -> Vec<u8> {
    let size = [8, 20, 6, 20][var];
    records.flat_map(|r| (0..size).map(move |i| (r * 7 + i * 3 + var as u64) as u8)).collect()
}

fn slab(var: usize, start: u64, count: u64) -> Hyperslab {
    match [0, 5, 3, 5][var] {
        0 => Hyperslab::new(&[start], &[count]),
        _ if var == 3 => Hyperslab::new(&[0], &[5]),
        n => Hyperslab::new(&[start, 0], &[count, n]),
    }
}

fn create(path: &Path) -> DatasetMut {
    DatasetMut::create(path, schema(), CreateOptions::default()).unwrap()
}

/// Each variable in one call.
fn reference(path: &Path) {
    let mut new = create(path);
    for var in 0..4 {
        let records = if var == 3 { 1 } else { RECORDS };
        new.write_bytes(VarId(var), &slab(var, 0, records), &values(var, 0..records)).unwrap();
    }
    new.close().unwrap();
}

#[test]
fn files_do_not_depend_on_the_calls_that_wrote_them() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.nc");
    reference(&whole);
    let expected = std::fs::read(&whole).unwrap();
    type Order = fn(&mut dyn FnMut(usize, u64));
    let orders: [(&str, Order); 4] = [
        ("record by record", |write| (0..RECORDS).for_each(|r| (0..3).for_each(|var| write(var, r)))),
        ("one variable after the other", |write| {
            (0..3).for_each(|var| (0..RECORDS).for_each(|r| write(var, r)));
        }),
        ("backwards", |write| (0..RECORDS).rev().for_each(|r| (0..3).rev().for_each(|var| write(var, r)))),
        ("some twice", |write| {
            (0..RECORDS)
                .for_each(|r| (0..3).for_each(|var| (r.saturating_sub(1)..=r).for_each(|r| write(var, r))));
        }),
    ];
    for (name, order) in orders {
        let path = dir.path().join("parts.nc");
        let mut new = create(&path);
        let mut n = 0;
        order(&mut |var, r| {
            new.write_bytes(VarId(var), &slab(var, r, 1), &values(var, r..r + 1)).unwrap();
            n += 1;
            if n % 97 == 0 {
                // The values just written are read back, whether they are in the file yet or not.
                let mut back = vec![0; values(var, r..r + 1).len()];
                new.read_bytes(VarId(var), &slab(var, r, 1), &mut back).unwrap();
                assert_eq!(back, values(var, r..r + 1), "{name}");
            }
            if n % 401 == 0 {
                new.sync().unwrap();
            }
        });
        new.write_bytes(VarId(3), &slab(3, 0, 1), &values(3, 0..1)).unwrap();
        new.close().unwrap();
        assert!(std::fs::read(&path).unwrap() == expected, "{name}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn value_by_value_is_what_one_read_gives() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.nc");
    reference(&path);
    let data = Dataset::open(&path).unwrap();
    for r in 0..RECORDS {
        for i in 0..5 {
            let one = data.read(VarId(1), &Hyperslab::new(&[r, i], &[1, 1])).unwrap();
            let at = i as usize * 4;
            assert_eq!(one.bytes().unwrap(), &values(1, r..r + 1)[at..at + 4]);
        }
        assert_eq!(data.read(VarId(2), &slab(2, r, 1)).unwrap().bytes().unwrap(), values(2, r..r + 1));
    }
    assert!(data.read(VarId(1), &Hyperslab::new(&[RECORDS, 0], &[1, 1])).is_err());
}

#[test]
fn a_reader_sees_at_once_what_a_writer_of_the_process_has_synced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.nc");
    reference(&path);
    let data = Dataset::open(&path).unwrap();
    let mut writer = DatasetMut::open(&path).unwrap();
    for r in 0..200 {
        let read = |r| data.read(VarId(1), &slab(1, r, 1)).unwrap().bytes().unwrap().to_vec();
        assert_eq!(read(r), values(1, r..r + 1));
        writer.write_bytes(VarId(1), &slab(1, r + 1, 1), &values(1, r + 9..r + 10)).unwrap();
        writer.sync().unwrap();
        assert_eq!(read(r + 1), values(1, r + 9..r + 10));
        writer.write_bytes(VarId(1), &slab(1, r + 1, 1), &values(1, r + 1..r + 2)).unwrap();
        writer.sync().unwrap();
    }
    // Records that are added belong to who opens the file from now on.
    writer.write_bytes(VarId(0), &slab(0, RECORDS, 1), &values(0, 3..4)).unwrap();
    writer.close().unwrap();
    assert!(data.read(VarId(0), &slab(0, RECORDS, 1)).is_err());
    let again = Dataset::open(&path).unwrap();
    assert_eq!(again.read(VarId(0), &slab(0, RECORDS, 1)).unwrap().bytes().unwrap(), values(0, 3..4));
}
