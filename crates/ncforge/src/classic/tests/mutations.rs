//! Damaged files: every byte changed, every truncation. Never a panic, never a hang.

use crate::error::{Error, ErrorKind};
use std::sync::Arc;

use super::MemoryStore;
use super::raw::{memory, var};
use super::words::Bytes;
use crate::classic::{CreateOptions, create, open, open_mut};
use crate::model::{Atomic, Attribute, DimId, Dimension, Format, Schema};

/// A small file with something of everything.
fn sample(format: Format) -> Vec<u8> {
    let mut schema = Schema::new(format);
    schema.dims = vec![
        Dimension::new("time", 0, true),
        Dimension::new("lat", 3, false),
        Dimension::new("lon", 4, false),
    ];
    schema.groups[0].attrs = vec![Attribute::text("title", "a sample"), Attribute::text("history", "")];
    for (i, atomic) in
        Atomic::ALL.into_iter().filter(|a| format == Format::Cdf5 || a.in_classic()).enumerate()
    {
        let mut v = var(&format!("v{i}"), atomic, [&[0, 1, 2][..], &[1], &[0], &[]][i % 4]);
        v.attrs.push(Attribute::text("units", "K"));
        schema.vars.push(v);
    }
    let store = memory();
    let mut file =
        create(store.clone(), schema, &CreateOptions { header_room: Some(0), fill: true }).unwrap();
    file.grow(DimId(0), 3).unwrap();
    file.sync().unwrap();
    store.to_vec()
}

fn probe(bytes: Vec<u8>) {
    let len = bytes.len();
    let store = Arc::new(MemoryStore::new("m.nc", bytes));
    match open(store.clone()) {
        Ok(file) => {
            for v in file.schema().var_ids() {
                // A header that declares far more than the file has is detected here.
                if let Err(e) = file.layout(v) {
                    assert_eq!(e.kind(), ErrorKind::Input, "{e}");
                }
            }
            file.notes();
            assert!(file.metadata_bytes().unwrap() <= len as u64);
            let _ = open_mut(store);
        }
        // A length beyond any file is not damage.
        Err(Error::Unsupported { .. }) => {}
        Err(e) => assert_eq!(e.kind(), ErrorKind::Input, "{e}"),
    }
}

#[test]
fn single_byte_mutations() {
    let mut tried = 0;
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let good = sample(format);
        let header = open(Arc::new(MemoryStore::new("g", good.clone()))).unwrap().metadata_bytes().unwrap();
        for at in 0..header as usize {
            for value in [0, 1, 2, 7, 10, 11, 12, 0x7f, 0x80, 0xff, good[at] ^ 0x55, good[at].wrapping_add(1)]
            {
                let mut bytes = good.clone();
                bytes[at] = value;
                probe(bytes);
                tried += 1;
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn truncations() {
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let good = sample(format);
        let header =
            open(Arc::new(MemoryStore::new("g", good.clone()))).unwrap().metadata_bytes().unwrap() as usize;
        for len in 0..good.len() {
            let result = open(Arc::new(MemoryStore::new("t.nc", good[..len].to_vec())));
            assert_eq!(result.is_ok(), len >= header, "{len}");
            probe(good[..len].to_vec());
        }
    }
}

#[test]
fn counts_that_lie_allocate_nothing() {
    for (tag, at) in [(10, 0), (12, 1), (11, 2)] {
        let mut b = Bytes::new(5).count(0);
        for i in 0..3 {
            b = if i == at { b.word(tag).count(1 << 40) } else { b.word(0).count(0) };
        }
        b.out.resize(1 << 16, 0);
        let err = open(Arc::new(MemoryStore::new("lie.nc", b.out))).unwrap_err();
        assert!(err.to_string().contains("do not fit"), "{err}");
    }
}
