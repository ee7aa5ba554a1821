//! Test vectors: this code reads the files in `docs/reference/zipped-format-vectors.txt`, which `zipped-format.md` in the same folder
//! describes.

use std::sync::Arc;

use super::super::{Codec, Options, Resources, ZippedStore};
use super::basics::{image, memory};
use crate::store::{BlockStore, MemoryStore, Part, WriteStore};

const FIRST: &str = "## Version 1";
const SECOND: &str = "## Version 2";

/// The image that the document describes.
fn described() -> Vec<u8> {
    let mut want = vec![0; 20_000];
    want[..13].copy_from_slice(b"hello, packed");
    for value in want[8192..20_000].chunks_mut(4) {
        value.copy_from_slice(&[0x7C, 0xF0, 0, 0]);
    }
    want
}

/// The image of the second vector.
fn described_records() -> Vec<u8> {
    let mut want = vec![0; 512];
    want[..15].copy_from_slice(b"records, packed");
    for r in 0..3000u32 {
        want.extend_from_slice(&(r / 1024).to_be_bytes());
        want.extend_from_slice(&[0x80, 1]);
    }
    want
}

/// The lines `OFFSET: HEX…` after a mark of the document as a file; bytes without a line are zero.
fn of_document(mark: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/zipped-format-vectors.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let vector = text.split(mark).nth(1).expect("the document has a test vector");
    let vector = vector.split("\n## ").next().unwrap_or_default();
    let mut file = Vec::new();
    for line in vector.lines() {
        let Some((at, hex)) = line.split_once(": ") else { continue };
        let at = usize::from_str_radix(at, 16).unwrap();
        let bytes: Vec<u8> = hex.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect();
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    file
}

/// A file as such lines.
fn dump(file: &[u8]) -> String {
    let lines = file.chunks(16).enumerate().filter(|(_, b)| b.iter().any(|&x| x != 0)).map(|(i, b)| {
        let hex: Vec<String> = b.iter().map(|x| format!("{x:02x}")).collect();
        format!("{:04x}: {}\n", i * 16, hex.join(" "))
    });
    lines.collect()
}

#[test]
fn the_test_vector_of_the_document_is_read() {
    let vector = Arc::new(MemoryStore::new("vector.ncz", of_document(FIRST)));
    let store = ZippedStore::open(vector, Resources::default()).unwrap();
    assert_eq!(image(&store), described());
    assert_eq!((store.block_size(), store.codec(), store.commit_number()), (4096, Codec::Lz4, 1));
    let survey = store.survey().unwrap();
    assert_eq!((survey.total.blocks, survey.total.constant, survey.pages), (2, 2, 1));
    assert_eq!(store.verify(&mut |_| Ok(())).unwrap(), []);
}

#[test]
fn the_test_vector_is_what_is_written() {
    let file = memory();
    let options = Options { block: 4096, codec: Codec::Lz4 };
    let store = ZippedStore::create(file.clone(), &options, Resources::default()).unwrap();
    store.describe(&[Part { start: 0, width: 1, stride: 0 }, Part { start: 8192, width: 4, stride: 40 }]);
    store.write_at(&described(), 0).unwrap();
    store.sync().unwrap();
    // Another version of the LZ4 encoder may write other bytes: the document gets them, and describes the same images.
    let same = dump(&file.to_vec()) == dump(&of_document(FIRST));
    assert!(same, "the file is now:\n{}", dump(&file.to_vec()));
}

#[test]
fn the_test_vector_of_records_is_read() {
    let vector = Arc::new(MemoryStore::new("vector.ncz", of_document(SECOND)));
    let store = ZippedStore::open(vector, Resources::default()).unwrap();
    assert_eq!(image(&store), described_records());
    let survey = store.survey().unwrap();
    assert_eq!((survey.total.blocks, survey.total.constant, survey.pages), (3, 2, 2));
    assert_eq!(store.verify(&mut |_| Ok(())).unwrap(), []);
}

#[test]
fn the_test_vector_of_records_is_what_is_written() {
    let file = memory();
    let options = Options { block: 4096, codec: Codec::Lz4 };
    let store = ZippedStore::create(file.clone(), &options, Resources::default()).unwrap();
    store.describe(&[
        Part { start: 0, width: 1, stride: 0 },
        Part { start: 512, width: 4, stride: 6 },
        Part { start: 516, width: 2, stride: 6 },
    ]);
    store.write_at(&described_records(), 0).unwrap();
    store.sync().unwrap();
    let same = dump(&file.to_vec()) == dump(&of_document(SECOND));
    assert!(same, "the file is now:\n{}", dump(&file.to_vec()));
}
