//! Roots, map, index pages and blocks of a zipped file, and the classic file inside.
#![no_main]

use std::sync::Arc;

use ncforge::store::zipped::{Resources, ZippedStore};
use ncforge::store::{ReadStore, WriteStore};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // Checksums guard every byte: without mending them, mutations end at the first one.
    let mut data = data.to_vec();
    for at in [0, 512, 4096, 4608] {
        if let Some(root) = data.get_mut(at..at + 512) {
            root[..8].copy_from_slice(b"\x89NCZ\r\n\x1a\n");
            let crc = crc32c::crc32c(&root[..508]);
            root[508..].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let Ok(store) = ZippedStore::open(ncforge_fuzz::store(&data), Resources::default()) else { return };
    let mut some = vec![0; store.len().min(10_000) as usize];
    let _ = store.read_at(&mut some, 0);
    let _ = store.survey();
    if let Ok(container) = ncforge::raw::classic::open(Arc::new(store)) {
        ncforge_fuzz::walk(&*container);
    }
    let _ = ZippedStore::open_rw(ncforge_fuzz::store(&data), Resources::default()).map(|store| {
        let _ = store.write_at(b"some bytes", 100);
        let _ = store.sync();
    });
});
