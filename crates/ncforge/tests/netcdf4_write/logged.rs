//! A store that remembers what was written to it, in order: for cutting the power at any point.

use std::sync::{Arc, Mutex};

use ncforge::raw::{Writer, netcdf4};
use ncforge::store::{MemoryStore, ReadStore, WriteStore};
use ncforge::{Engine, EngineOptions, Result, Schema};

/// One thing that happened to a store.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
    Sync,
}

impl Event {
    /// The bytes that were written.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Event::Write { bytes, .. } => bytes.len(),
            Event::Length(_) | Event::Sync => 0,
        }
    }
}

pub(crate) fn engine() -> Engine {
    Engine::new(EngineOptions { threads: Some(1), memory: Some(16 << 20) }).unwrap()
}

/// A store in memory with a log.
#[derive(Debug)]
pub(crate) struct LoggedStore {
    inner: MemoryStore,
    log: Mutex<Vec<Event>>,
}

impl LoggedStore {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { inner: MemoryStore::new("logged.nc", bytes), log: Mutex::default() }
    }

    /// A new file in an empty store.
    pub(crate) fn created(schema: Schema) -> (Arc<Self>, Writer) {
        let store = Arc::new(Self::new(Vec::new()));
        let container = netcdf4::create(store.clone(), schema, &netcdf4::CreateOptions::default()).unwrap();
        (store, Writer::new(engine(), container))
    }

    /// The file's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.read_vec(0, self.len()).unwrap()
    }

    /// The events since the last call.
    pub(crate) fn take_log(&self) -> Vec<Event> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    fn note(&self, e: Event) {
        self.log.lock().unwrap().push(e);
    }
}

impl ReadStore for LoggedStore {
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

impl WriteStore for LoggedStore {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.note(Event::Write { offset, bytes: buf.to_vec() });
        self.inner.write_at(buf, offset)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.note(Event::Length(len));
        self.inner.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.note(Event::Sync);
        self.inner.sync()
    }
}

/// The states of a disk after a crash: everything up to some sync, and of what came after it and before the
/// next one any part, in any order, each write whole or cut. `choose(n)` picks a number below `n`.
pub(crate) fn crashes(start: &[u8], log: &[Event], mut choose: impl FnMut(usize) -> usize) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut durable = start.to_vec();
    let mut after = Vec::new();
    let mut current = start.to_vec();
    let all_but = |state: &[u8], events: &[&Event]| {
        let mut s = state.to_vec();
        for e in events {
            apply(&mut s, e, usize::MAX);
        }
        s
    };
    for event in log {
        out.push(current.clone());
        match event {
            Event::Sync => {
                for _ in 0..4 {
                    let some: Vec<&Event> = after.iter().copied().filter(|_| choose(2) == 0).collect();
                    let mut state = all_but(&durable, &some);
                    if let Some(last) = some.last() {
                        // The last one may be cut, at the sector that the disk promises to write whole.
                        let mut cut = all_but(&durable, &some[..some.len() - 1]);
                        apply(&mut cut, last, 512 * choose(8));
                        out.push(cut);
                    }
                    out.push(std::mem::take(&mut state));
                }
                durable.clone_from(&current);
                after.clear();
            }
            other => {
                apply(&mut current, other, usize::MAX);
                after.push(other);
            }
        }
    }
    out.push(current);
    out
}

fn apply(state: &mut Vec<u8>, event: &Event, most: usize) {
    match event {
        Event::Write { offset, bytes } => {
            let from = *offset as usize;
            // A write that lies in one sector is whole or not there.
            let whole = from / 512 == (from + bytes.len().max(1) - 1) / 512;
            let n = if whole { bytes.len() } else { bytes.len().min(most) };
            if state.len() < from + n {
                state.resize(from + n, 0);
            }
            state[from..from + n].copy_from_slice(&bytes[..n]);
        }
        Event::Length(n) => state.resize(*n as usize, 0),
        Event::Sync => {}
    }
}
