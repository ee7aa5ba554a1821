//! The reads of choosing: little of any file, however large it is.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ncforge::model::{Atomic, Format, Storage, VarId};
use ncforge::store::ReadStore;
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab, Result};
use ncforge_ops::choosing::{Choosing, chunks_for_all};
use ncforge_ops::copy::{copy, plan};
use ncforge_ops::progress::Silent;
use ncforge_tune::Machine;
use ncforge_tune::codec::Goal;

use super::{array, chosen, engine};

/// Bytes that may be read and decoded to choose for one file.
const MOST: u64 = 64 << 20;

/// The header of a classic file, and behind it numbers without end that compress a little.
#[derive(Debug)]
struct Endless {
    header: Vec<u8>,
    len: u64,
    read: AtomicU64,
}

impl ReadStore for Endless {
    fn len(&self) -> u64 {
        self.len
    }

    fn name(&self) -> &str {
        "endless"
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        for (i, b) in (offset..).zip(buf) {
            *b = match self.header.get(i as usize) {
                Some(b) => *b,
                None => (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8 & 31,
            };
        }
        Ok(())
    }
}

/// A file of `vars` variables of 64 x 512 x 1024 floats, 128 MiB each.
fn endless(vars: usize) -> Arc<Endless> {
    let dims = [(64u64, false), (512, false), (1024, false)];
    let mut schema = array(Format::Cdf5, &dims, Atomic::Float);
    let one = schema.vars[0].clone();
    for i in 1..vars {
        let mut v = one.clone();
        v.name = format!("v{i}");
        schema.vars.push(v);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("header.nc");
    let options = CreateOptions { engine: Some(engine(1)), fill: false, ..CreateOptions::default() };
    DatasetMut::create(&path, schema, options).unwrap().close().unwrap();
    let (mut header, file) = (Vec::new(), std::fs::File::open(&path).unwrap());
    let len = file.metadata().unwrap().len();
    file.take(1024).read_to_end(&mut header).unwrap();
    Arc::new(Endless { header, len, read: AtomicU64::new(0) })
}

#[test]
fn a_choice_reads_little() {
    for vars in [1, 3, 12] {
        let store = endless(vars);
        let source = Dataset::from_store(store.clone(), &engine(2)).unwrap();
        for (goal, sample) in [(Goal::Small, true), (Goal::Balanced, false)] {
            store.read.store(0, Ordering::Relaxed);
            let mut options = chosen(goal, true);
            options.choosing.sample = sample;
            let plan = plan(&source, &options, &engine(2)).unwrap();
            let read = store.read.load(Ordering::Relaxed);
            assert!(read <= MOST, "{vars} variables: {read} bytes");
            let looked = plan.variables.iter().filter(|v| v.codec.as_ref().unwrap().sampled > 0).count();
            assert_eq!(looked, vars, "each of them is looked at");
        }
        store.read.store(0, Ordering::Relaxed);
        let ids: Vec<VarId> = (0..vars).map(VarId).collect();
        let sampled = Choosing { sample: true, machine: Machine::default(), ..Choosing::default() };
        assert_eq!(chunks_for_all(&source, &ids, &sampled).unwrap().len(), vars);
        let read = store.read.load(Ordering::Relaxed);
        // Where nothing is compressed, values tell nothing about chunks.
        assert!(read <= MOST, "{vars} variables: {read} bytes");
    }
}

/// Of an array of 2^40 elements, two parts were written: they are copied, and the rest costs nothing.
#[test]
fn what_was_never_written_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a.nc", "b.nc"].map(|n| dir.path().join(n));
    let mut schema = array(Format::Netcdf4, &[(1 << 20, false), (1 << 20, false)], Atomic::Short);
    schema.vars[0].storage = Storage::Chunked { chunks: vec![64, 64], filters: vec![] };
    let options = CreateOptions { engine: Some(engine(1)), ..CreateOptions::default() };
    let mut new = DatasetMut::create(&a, schema, options).unwrap();
    let parts = [Hyperslab::new(&[70, 1 << 19], &[90, 40]), Hyperslab::new(&[(1 << 20) - 9, 0], &[9, 17])];
    let values = |s: &Hyperslab| -> Vec<u8> { (0..s.len() as u16).flat_map(u16::to_ne_bytes).collect() };
    for part in &parts {
        new.write_bytes(VarId(0), part, &values(part)).unwrap();
    }
    new.close().unwrap();
    for keep in [true, false] {
        let mut options = chosen(Goal::Balanced, false);
        if keep {
            // Chunks are moved as they are.
            options.chunks = ncforge_ops::copy::Chunks::Keep;
            options.codec = ncforge_ops::copy::Codec::Keep;
        }
        copy(&a, &b, &options, &engine(2), &Silent).unwrap();
        let copied = Dataset::open_with(&b, &engine(1)).unwrap();
        for part in &parts {
            let mut got = vec![0; values(part).len()];
            copied.read_bytes(VarId(0), part, &mut got).unwrap();
            assert!(got == values(part));
        }
        // Most of it is the index, which has a place for each of two million chunks.
        let len = std::fs::metadata(&b).unwrap().len();
        assert!(len < 128 << 20, "keep {keep}: {len}, {:?}", copied.schema().var(VarId(0)).storage);
    }
}
