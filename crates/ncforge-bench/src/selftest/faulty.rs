//! A driver that is as fast and as right as it is told to be.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use ncforge::Hyperslab;

use crate::clock;
use crate::driver::{Access, BlockFile, Driver, FileSpec, RawDriver, Session};
use crate::error::Result;

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Seconds that creating or opening takes longer.
    pub open: f64,
    /// Seconds that every call takes longer.
    pub call: f64,
    /// Seconds that closing takes longer.
    pub close: f64,
    /// Of the file created as number so many (from 0), calls take ten times as long.
    pub late: Option<usize>,
    /// The element whose lowest bit is wrong when it is read.
    pub wrong: Option<Vec<u64>>,
    /// The call of a file, from 0, that writes nothing.
    pub lost: Option<usize>,
    /// Reads leave their buffers alone.
    pub no_read: bool,
    /// All bits are written the other way round, and turned back when they are read.
    pub turned: bool,
    /// Two places along the first dimension that are written in each other's place.
    pub swapped: Option<(u64, u64)>,
}

/// Plain system calls, with faults.
#[derive(Clone, Debug)]
pub struct FaultyDriver {
    name: String,
    faults: Faults,
    created: Rc<Cell<usize>>,
}

impl FaultyDriver {
    /// A driver of this name with these faults.
    pub fn new(name: impl Into<String>, faults: Faults) -> Self {
        FaultyDriver { name: name.into(), faults, created: Rc::default() }
    }

    fn wrap<'a>(
        &self,
        inner: Box<dyn BlockFile + 'a>,
        spec: &FileSpec,
        late: bool,
    ) -> Box<dyn BlockFile + 'a> {
        let size = spec.vars[0].dtype.size();
        Box::new(Faulty { inner, faults: self.faults.clone(), size, late, calls: 0 })
    }
}

/// Passes time without giving the processor away, so that no more of it passes than is wanted.
fn wait(seconds: f64) {
    let begun = clock::now();
    while clock::now() - begun < seconds {
        std::hint::spin_loop();
    }
}

impl Driver for FaultyDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> String {
        "with known faults".to_owned()
    }

    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>> {
        RawDriver.open_cached(path, cache)
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        RawDriver.refuses(spec, access)
    }

    fn create<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let number = self.created.replace(self.created.get() + 1);
        wait(self.faults.open);
        Ok(self.wrap(RawDriver.create(path, spec, access)?, spec, self.faults.late == Some(number)))
    }

    fn open_blocks<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        wait(self.faults.open);
        Ok(self.wrap(RawDriver.open_blocks(path, spec, access)?, spec, false))
    }

    fn extension(&self) -> Option<&str> {
        RawDriver.extension()
    }
}

struct Faulty<'a> {
    inner: Box<dyn BlockFile + 'a>,
    faults: Faults,
    size: usize,
    late: bool,
    calls: usize,
}

impl Faulty<'_> {
    /// Number of this call, after its delay.
    fn call(&mut self) -> usize {
        wait(self.faults.call * if self.late { 10.0 } else { 1.0 });
        self.calls += 1;
        self.calls - 1
    }
}

impl BlockFile for Faulty<'_> {
    fn write(&mut self, var: usize, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let number = self.call();
        if self.faults.lost == Some(number) {
            return Ok(());
        }
        let mut slab = slab.clone();
        if let Some((a, b)) = self.faults.swapped {
            slab.start[0] = match slab.start[0] {
                at if at == a => b,
                at if at == b => a,
                at => at,
            };
        }
        if self.faults.turned {
            let turned: Vec<u8> = bytes.iter().map(|b| !b).collect();
            return self.inner.write(var, &slab, &turned);
        }
        self.inner.write(var, &slab, bytes)
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.call();
        if self.faults.no_read {
            return Ok(());
        }
        self.inner.read(var, slab, out)?;
        if self.faults.turned {
            out.iter_mut().for_each(|b| *b = !*b);
        }
        let Some(at) = &self.faults.wrong else { return Ok(()) };
        let inside = (0..at.len()).all(|d| (slab.start[d]..slab.end(d)).contains(&at[d]));
        if inside {
            let index = (0..at.len()).fold(0, |i, d| i * slab.count[d] + at[d] - slab.start[d]);
            out[index as usize * self.size] ^= 1;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        wait(self.faults.close);
        self.inner.close()
    }
}
