//! Headers byte by byte: the specification's example, and possible errors.

use std::sync::Arc;

use super::MemoryStore;
use super::words::Bytes;
use crate::classic::{open, open_mut};
use crate::error::{Error, ErrorKind};
use crate::layout::Place;
use crate::model::{Format, VarId};

/// `netcdf small { dimensions: dim = 5; variables: short vx(dim); data: vx = 3, 1, 4, 1, 5; }`, the example
/// of the format specification: 92 bytes.
pub(in crate::classic) const SMALL: [u8; 92] =
    *b"CDF\x01\0\0\0\0\0\0\0\x0a\0\0\0\x01\0\0\0\x03dim\0\0\0\0\x05\
\0\0\0\0\0\0\0\0\0\0\0\x0b\0\0\0\x01\0\0\0\x02vx\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\
\0\0\0\x03\0\0\0\x0c\0\0\0\x50\0\x03\0\x01\0\x04\0\x01\0\x05\x80\x01";

#[test]
fn the_example_of_the_specification() {
    let file = open(Arc::new(MemoryStore::new("small.nc", SMALL.to_vec()))).unwrap();
    let schema = file.schema();
    assert_eq!(schema.format, Format::Cdf1);
    assert_eq!(
        (schema.dims[0].name.as_str(), schema.dims[0].len, schema.dims[0].unlimited),
        ("dim", 5, false)
    );
    let layout = file.layout(VarId(0)).unwrap();
    assert!(matches!(layout.place, Place::Contiguous { offset: 80 }));
    assert_eq!((layout.shape.as_slice(), layout.element.size), (&[5][..], 2));
    assert_eq!(layout.absent.one().unwrap(), (-32767i16).to_be_bytes());
    assert_eq!(file.metadata_bytes(), Some(80));
    assert_eq!(file.notes(), [""; 0]);
    assert!(file.layout(VarId(1)).is_err());
}

#[test]
fn files_that_are_none() {
    for bytes in [&b""[..], b"CD", b"CDF", b"CDF\x03\0\0\0\0", b"\x89HDF\r\n\x1a\n", b"0CDF"] {
        let err = open(Arc::new(MemoryStore::new("x", bytes.to_vec()))).unwrap_err();
        assert!(matches!(err, Error::NotNetcdf { .. }), "{err}");
        assert_eq!(err.kind(), ErrorKind::Input);
    }
}

/// One fixed variable `fix_var` of type `xtype` in an otherwise empty file, its data beginning at `begin`.
fn scalar(version: u8, count: u64, xtype: u32, begin: u64) -> Bytes {
    Bytes::new(version).count(0).absent().absent().vars(count).var("fix_var", &[], xtype, 4, begin)
}

/// The errors that PnetCDF's `ncvalidator` reports, reproduced: each is an error with its offset.
#[test]
fn malformed_headers_are_refused() {
    for v in [1, 2, 5] {
        let dims = |tag| Bytes::new(v).count(0).word(tag).count(1).name("dimX", 0).count(1).absent().absent();
        let gatt = |tag, xtype| {
            Bytes::new(v)
                .count(0)
                .absent()
                .word(tag)
                .count(1)
                .name("attr", 0)
                .word(xtype)
                .count(1)
                .word(7)
                .absent()
        };
        let vatt = |tag, n| {
            Bytes::new(v)
                .count(0)
                .absent()
                .absent()
                .vars(1)
                .name("v", 0)
                .count(0)
                .word(tag)
                .count(n)
                .name("attr", 0)
                .word(4)
                .count(1)
                .word(7)
                .word(4)
                .count(4)
                .begin(512)
        };
        let var = |rank, id| {
            Bytes::new(v)
                .count(0)
                .dims(&[("d", 2)])
                .absent()
                .vars(1)
                .name("v", 0)
                .count(rank)
                .count(id)
                .absent()
                .word(4)
                .count(8)
                .begin(512)
        };
        let late = Bytes::new(v).count(0).dims(&[("a", 3), ("t", 0)]).absent().vars(1);
        let bad = [
            ("tag", dims(0)),
            ("tag", dims(11)),
            ("tag", dims(99_999)),
            ("tag", gatt(11, 4)),
            ("tag", vatt(10, 1)),
            ("fit", vatt(12, 0x7fff_ffff)),
            ("type", gatt(12, 0)),
            ("type", gatt(12, 12)),
            ("type", scalar(v, 1, 0, 512)),
            ("type", scalar(v, 1, if v == 5 { 12 } else { 7 }, 512)),
            ("fit", scalar(v, 0x8000_0000, 4, 512)),
            ("fit", scalar(v, 2, 4, 512)),
            ("before", scalar(v, 1, 4, 8)),
            ("dimension id", var(1, 1)),
            ("dimension id", var(1, 0x7fff_ffff)),
            ("fit", var(0x7fff_ffff, 0)),
            ("fit", var(50, 0)),
            ("both record dimensions", Bytes::new(v).count(0).dims(&[("a", 0), ("b", 0)]).absent().absent()),
            ("record dimension", late.var("v", &[0, 1], 4, 8, 512)),
            ("are left of the file", Bytes::new(v).count(0).absent()),
            ("name", Bytes::new(v).count(0).word(10).count(1).count(0x7000_0000).raw(&[0; 40])),
        ];
        for (i, (expect, bytes)) in bad.into_iter().enumerate() {
            let err = bytes.open().expect_err(expect);
            assert_eq!(err.kind(), ErrorKind::Input, "{err}");
            assert!(err.to_string().contains(expect), "CDF-{v}, case {i}: {err}");
        }
        dims(10).open().unwrap();
        gatt(12, 4).open().unwrap();
        vatt(12, 1).open().unwrap();
        var(1, 0).open().unwrap();
    }
}

#[test]
fn begins_that_overlap_or_fall_are_refused_and_gaps_are_not() {
    let two = |b0, b1, dim| {
        let head = Bytes::new(5).count(1).dims(&[("d", dim)]).absent().vars(2);
        head.var("a", &[0], 6, 8, b0).var("b", &[0], 6, 8, b1)
    };
    for dim in [0, 3] {
        let size = if dim == 0 { 8 } else { 24 };
        two(512, 512 + size, dim).open().unwrap();
        two(512, 4096, dim).open().unwrap();
        for (b0, b1) in [(512, 512), (512, 512 + size - 4), (600, 512), (1 << 63, 512)] {
            let err = two(b0, b1, dim).open().unwrap_err();
            assert!(matches!(err, Error::Corrupt { .. }), "{err}");
        }
    }
}

#[test]
fn variables_beyond_the_limits_are_no_damage() {
    // Two-byte elements over Z = 2^32-4: legal only as the last variable (PnetCDF: bad_large_fixed_var), and readable.
    let file = |first: u64, second: u64| {
        let head = Bytes::new(2).count(0).dims(&[("big", 0xffff_fffc), ("x", 2)]).absent().vars(2);
        let begin = if first == 0 { 9 << 30 } else { 516 };
        head.var("a", &[first], 3, 0xffff_ffff, 512).var("b", &[second], 3, 0xffff_ffff, begin)
    };
    let odd = file(0, 1).open().unwrap();
    assert!(odd.notes().iter().any(|note| note.contains("`a`") && note.contains("CDF-2")));
    assert!(!file(1, 0).open().unwrap().notes().iter().any(|note| note.contains("CDF-2")));
    // The product of lengths passes 2^63.
    let huge = Bytes::new(5).count(0).dims(&[("d", 1 << 62)]).absent().vars(1).var("v", &[0, 0], 6, 0, 512);
    let unsupported =
        |e: Error, word: &str| matches!(&e, Error::Unsupported { what, .. } if what.contains(word));
    assert!(unsupported(huge.open().unwrap_err(), "2^63"));
    // So does the number of records.
    let records = Bytes::new(5).count(1 << 62).dims(&[("d", 0)]).absent().vars(1).var("v", &[0], 6, 8, 512);
    assert!(unsupported(records.open().unwrap_err(), "records"));
}

#[test]
fn harmless_oddities_are_accepted() {
    for v in [1, 2, 5] {
        // Padding that is not zero, a name with a byte that is no UTF-8, the tag of an empty list.
        let odd = Bytes::new(v)
            .count(0)
            .word(10)
            .count(1)
            .name("dimXY", 0xAA)
            .count(1)
            .word(77)
            .count(0)
            .vars(1)
            .count(2)
            .raw(b"\xE9/\xFF\xFF")
            .count(0)
            .word(12)
            .count(0)
            .word(1)
            .count(4)
            .begin(512);
        let file = odd.open().unwrap();
        assert_eq!(file.schema().vars[0].name, "\u{F7E9}/");
        assert_eq!(file.schema().dims[0].name, "dimXY");
        assert!(file.notes().iter().any(|n| n.contains("tag 77")), "{:?}", file.notes());
    }
}

/// As in netCDF-C's own `ref_nctest_classic.nc`.
#[test]
fn names_end_before_nul_bytes() {
    for v in [1, 2, 5] {
        let padded = Bytes::new(v)
            .count(0)
            .dims(&[("yy\0", 3), ("a\0b\0\0", 1)])
            .word(12)
            .count(1)
            .name("att\0\0\0\0\0", 0)
            .word(4)
            .count(1)
            .word(7)
            .vars(1)
            .var("v\0", &[0], 4, 12, 512);
        let mut bytes = padded.out;
        bytes.resize(524, 7);
        let store = Arc::new(MemoryStore::new("padded.nc", bytes.clone()));
        let mut schema = open(store.clone()).unwrap().schema().clone();
        let dims: Vec<_> = schema.dims.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(dims, ["yy", "a\0b"]);
        assert_eq!((&*schema.vars[0].name, &*schema.groups[0].attrs[0].name), ("v", "att"));
        assert_eq!(open(store.clone()).unwrap().notes().iter().filter(|n| n.contains("NUL")).count(), 1);
        // Unchanged names keep their bytes; changed ones do not affect the others.
        let mut file = open_mut(store.clone()).unwrap();
        file.sync().unwrap();
        assert_eq!(store.to_vec(), bytes);
        schema.groups[0].attrs.push(crate::model::Attribute::text("title", "a title"));
        file.redefine(schema.clone()).unwrap();
        file.sync().unwrap();
        let file = open(store).unwrap();
        assert_eq!(file.schema(), &schema);
        assert_eq!(super::raw::read(&*file, VarId(0)), [7; 12]);
    }
}

#[test]
fn record_counts_of_streams_are_counted() {
    for v in [1, 2, 5] {
        let head = |count: u64, types: &[u32]| {
            let size = |t: u32| if t == 3 { 2u64 } else { 1 };
            let mut b = Bytes::new(v).count(count).dims(&[("t", 0)]).absent().vars(types.len() as u64);
            for (i, &t) in types.iter().enumerate() {
                b = b.var("v", &[0], t, size(t).next_multiple_of(4), 512 + 4 * i as u64);
            }
            b.out.resize(512, 0);
            b
        };
        // One record variable of shorts: nothing is padded, 7 bytes are three records and a half.
        let open = head(u64::MAX, &[3]).raw(&[1; 7]).open().unwrap();
        assert_eq!(open.schema().dims[0].len, 3);
        assert!(open.notes()[0].contains("3 whole records"), "{:?}", open.notes());
        assert!(matches!(open.layout(VarId(0)).unwrap().place, Place::Records { begin: 512, stride: 2 }));
        // Two: each takes four bytes; the last padding may be missing.
        let open = head(u64::MAX, &[3, 1]).raw(&[1; 13]).open().unwrap();
        assert_eq!(open.schema().dims[0].len, 2);
        assert!(matches!(open.layout(VarId(1)).unwrap().place, Place::Records { begin: 516, stride: 8 }));
        // A count for which the file is too short is accepted: the missing values read as zero.
        let open = head(5, &[3, 1]).raw(&[1; 13]).open().unwrap();
        assert_eq!(open.schema().dims[0].len, 5);
        assert!(open.notes().iter().any(|n| n.contains("24 bytes shorter")), "{:?}", open.notes());
        // Records beyond the count are reported.
        let open = head(1, &[3, 1]).raw(&[1; 16]).open().unwrap();
        assert!(open.notes().iter().any(|n| n.contains("1 whole records follow")), "{:?}", open.notes());
    }
}

#[test]
fn a_file_that_is_extremely_short_for_its_header_opens_but_does_not_read() {
    let file = |records: u64, len: usize| {
        let mut b = Bytes::new(1)
            .count(records)
            .dims(&[("t", 0), ("x", 1 << 20)])
            .absent()
            .vars(2)
            .var("r", &[0], 6, 8, 512 + (1 << 20))
            .var("f", &[1], 1, 1 << 20, 512);
        b.out.resize(len, 0);
        b.open().unwrap()
    };
    // 8 MB missing of a file of half a kilobyte: rows of zeros. 8 GB: no.
    file(1 << 20, 512).layout(VarId(0)).unwrap();
    let odd = file(1 << 30, 512);
    let err = odd.layout(VarId(0)).unwrap_err();
    assert!(matches!(err, Error::Corrupt { .. }) && err.to_string().contains("`r`"), "{err}");
    odd.layout(VarId(1)).unwrap();
    assert!(odd.notes().iter().any(|n| n.contains("shorter")));
    // If the file contains a thousandth of it, the header is trusted.
    file(1 << 30, 9 << 20).layout(VarId(0)).unwrap();
}

#[test]
fn large_headers_are_fetched_piece_by_piece() {
    let mut b = Bytes::new(2).count(0).absent().word(12).count(2000);
    for i in 0..2000 {
        b = b.name(&format!("attribute_{i:04}"), 0).word(2).count(50).raw(&[b'x'; 52]);
    }
    let file = b.absent().open().unwrap();
    assert_eq!(file.schema().groups[0].attrs.len(), 2000);
    assert!(file.metadata_bytes().unwrap() > 128 << 10);
}
