//! Chunks that netCDF-C, HDF5 and their plugins wrote, decoded by ours: `codecs/make.py` says how they were made.
//!
//! `NCFORGE_CODEC_SAMPLES=DIR` adds the samples of another folder, made by `codecs/make.py DIR --random N`.

use std::path::{Path, PathBuf};

use ncforge_codec::Filter;
use ncforge_codec::{CodecChain, Scratch};
use ncforge_codec::{Element, Order};

struct Sample {
    name: String,
    chain: CodecChain,
    element_size: usize,
    mask: u32,
    raw: Vec<u8>,
    chunk: Vec<u8>,
}

fn samples() -> Vec<Sample> {
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codecs")];
    dirs.extend(std::env::var_os("NCFORGE_CODEC_SAMPLES").map(PathBuf::from));
    let read = |dir: &Path, name: &str| std::fs::read(dir.join(name)).unwrap();
    let mut all = Vec::new();
    for dir in dirs {
        for line in String::from_utf8(read(&dir, "index.txt")).unwrap().lines() {
            let [name, size, filters, mask, raw] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let element_size = size.parse().unwrap();
            let filters: Vec<Filter> = filters.split('+').map(filter).collect();
            all.push(Sample {
                name: name.into(),
                chain: CodecChain::new(&filters, element_size).unwrap_or_else(|e| panic!("{name}: {e}")),
                element_size,
                mask: mask.parse().unwrap(),
                raw: read(&dir, raw),
                chunk: read(&dir, &format!("{name}.chunk")),
            });
        }
    }
    all
}

fn filter(spec: &str) -> Filter {
    let (id, params) = spec.split_once(':').unwrap();
    let params = params.split(',').filter(|p| !p.is_empty()).map(|p| p.parse().unwrap()).collect();
    Filter { id: id.parse().unwrap(), params, optional: true }
}

#[test]
fn chunks_of_other_libraries_decode_to_the_same_bytes() {
    let mut wrong = Vec::new();
    for s in samples() {
        let mut out = vec![0xa5; s.raw.len()];
        match s.chain.decode(&s.chunk, s.mask, &mut out) {
            Ok(()) if out == s.raw => {}
            Ok(()) => {
                let at = out.iter().zip(&s.raw).position(|(a, b)| a != b).unwrap();
                wrong.push(format!("{}: differs from byte {at} of {}", s.name, out.len()));
            }
            Err(e) => wrong.push(format!("{}: {e}", s.name)),
        }
        let mut scratch = Scratch::new();
        let mut rows = vec![0; s.raw.len()];
        match s.chain.decode_staged(&s.chunk, s.mask, s.raw.len(), &mut scratch) {
            Ok(stage) => {
                let keep = Element { size: s.element_size, order: Order::Keep, heap: false };
                stage.read(&keep, 0, &mut rows);
                assert_eq!(rows, out, "{}: staged and plain decoding differ", s.name);
            }
            Err(e) => wrong.push(format!("{}, staged: {e}", s.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn damaged_chunks_never_panic() {
    for s in samples() {
        let mut out = vec![0; s.raw.len()];
        let step = (s.chunk.len() / 300).max(1);
        for cut in (0..s.chunk.len()).step_by(step) {
            let _ = s.chain.decode(&s.chunk[..cut], s.mask, &mut out);
        }
        for at in (0..s.chunk.len()).step_by(step) {
            for flip in [1u8, 0x10, 0x80, 0xff] {
                let mut chunk = s.chunk.clone();
                chunk[at] ^= flip;
                let _ = s.chain.decode(&chunk, s.mask, &mut out);
            }
        }
        // The chunk with another expected length.
        for len in [0, 1, s.raw.len() / 2, s.raw.len() + 1, s.raw.len() * 2] {
            let mut out = vec![0; len];
            assert!(s.chain.decode(&s.chunk, s.mask, &mut out).is_err(), "{} to {len} bytes", s.name);
        }
    }
}

/// Damaged parameters come from the same damaged files.
#[test]
fn damaged_parameters_never_panic() {
    for s in samples() {
        let mut out = vec![0; s.raw.len()];
        for f in 0..s.chain.filters().len() {
            for p in 0..s.chain.filters()[f].params.len() {
                for v in [0, 1, 2, 3, 5, 8, 33, 64, 255, 256, 1 << 16, i32::MAX as u32, u32::MAX] {
                    let mut filters = s.chain.filters().to_vec();
                    filters[f].params[p] = v;
                    if let Ok(chain) = CodecChain::new(&filters, s.element_size) {
                        let _ = chain.decode(&s.chunk, s.mask, &mut out);
                    }
                }
            }
        }
    }
}
