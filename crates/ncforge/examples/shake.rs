//! Opens damaged copies of a netCDF-4 file and reads all of them: `shake COUNT FILE…`
//!
//! Every copy has one byte changed (or, every eighth, is cut short). Requirements: no panic, no copy that
//! takes more than five seconds, no more memory than the file's size and 64 MB. Prints what does not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ncforge::model::shape;
use ncforge::raw::{Place, netcdf4};
use ncforge::store::MemoryStore;
use ncforge::{Engine, Hyperslab, Result};

/// Counts bytes in use and remembers the most.
struct Counting;
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut bad = 0;
    for path in args {
        let whole = std::fs::read(&path).expect("a file that can be read");
        let (mut opened, mut random) = (0, 0x2545_F491_4F6C_DD1D_u64);
        for i in 0..count {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut bytes = whole.clone();
            let at = (random >> 16) as usize % bytes.len();
            if i % 8 == 7 {
                bytes.truncate(at);
            } else {
                bytes[at] = match i % 4 {
                    0 => 0xFF,
                    1 => bytes[at] ^ 1 << (random & 7),
                    2 => 0,
                    _ => random as u8,
                };
            }
            let allowed = USED.load(Ordering::Relaxed) + bytes.len() + (64 << 20);
            PEAK.store(0, Ordering::Relaxed);
            let start = Instant::now();
            match std::panic::catch_unwind(|| visit(&path, bytes)) {
                Ok(result) => opened += u64::from(result.is_ok()),
                Err(_) => {
                    println!("{path}: panic in copy {i} (byte {at})");
                    bad += 1;
                }
            }
            let (time, peak) = (start.elapsed(), PEAK.load(Ordering::Relaxed));
            if time.as_secs() >= 5 || peak > allowed {
                println!("{path}: copy {i} (byte {at}) took {time:?} and {peak} bytes");
                bad += 1;
            }
        }
        println!("{}: {opened} of {count} copies are readable", Path::new(&path).display());
    }
    std::process::exit(i32::from(bad > 0));
}

fn visit(path: &str, bytes: Vec<u8>) -> Result<()> {
    let file = netcdf4::open(Arc::new(MemoryStore::new(path, bytes)))?;
    let schema = file.schema();
    let mut first = Ok(());
    for v in schema.var_ids() {
        let one = || -> Result<()> {
            let layout = file.layout(v)?;
            if let Place::Chunked { index, .. } = &layout.place {
                for (at, record) in index.list()? {
                    assert_eq!(index.get(&at)?, Some(record));
                }
            }
            let shape = schema.shape(v);
            let elements = shape::checked(&shape, layout.element.size as u64);
            if elements.is_some_and(|n| n <= 4 << 20) {
                Engine::global().read(&*file, v, &Hyperslab::all(&shape))?;
            }
            Ok(())
        };
        if let Err(e) = one() {
            first = Err(e);
        }
    }
    first
}
