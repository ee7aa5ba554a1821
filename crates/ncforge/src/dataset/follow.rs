//! Open readers follow writers of their file: a read returns the newest synced state.
//!
//! A reader has the description and the lengths that the file had when it was opened. Each read is of one *state* of the
//! file: a container, opened once more when the file has changed, with its own store. All that is kept of a file is kept by
//! its store (decoded chunks, what was read ahead, indexes, pages of metadata, heaps), so nothing of an earlier state is ever
//! answered in a later one, whatever the format and the layout. (A zipped file is not followed: its writers keep the state that
//! a reader has opened.)
//!
//! After a read the file is asked whether it is still in the state that was read
//! ([`FileStore::is_as_opened`](crate::store::FileStore): one request to the system, which says no when in doubt). If it
//! is not, the newest state is opened, and read instead. A writer that never stops is not waited for: values are accepted when all of them
//! were read after the read began, and the newest state has them in the same place; they may then be older and newer ones, as those of any
//! read that meets a write. A plain run of bytes is read from the file itself each time, and the file is asked once a tick of the clock.
//! A variable that is no longer there, or of another type or shape, is an [`Error::Changed`].

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::formats;
use super::options::Leads;
use crate::container::Container;
use crate::engine::{self, Engine};
use crate::error::{Error, Result};
use crate::layout::{ArrayPart, Place, VarLayout};
use crate::model::{Schema, VarId, shape};
use crate::select::Hyperslab;
use crate::store::attempts::Attempts;
use crate::store::remote::shown_path;
use crate::store::{FileStore, PerProcess};

/// Before a read of this many bytes the file is asked, too.
const LONG: u64 = 1 << 20;

/// The newest state of a file that is open for reading.
#[derive(Debug)]
pub(super) struct Follower {
    engine: Engine,
    opened: Arc<FileStore>,
    /// Whether it may lead to other files.
    leads: Leads,
    /// The newest state that was seen; `None` while that is the one of the opening.
    later: PerProcess<RwLock<Option<Arc<State>>>>,
    /// One opens it.
    opening: PerProcess<Mutex<()>>,
}

/// A later state.
#[derive(Debug)]
struct State {
    file: Arc<FileStore>,
    container: Arc<dyn Container>,
    /// The variables of the opening in this state; `None` for what is not there as it was.
    vars: Vec<OnceLock<Option<VarId>>>,
    engine: Engine,
}

impl Drop for State {
    fn drop(&mut self) {
        self.engine.forget_store(self.container.store());
    }
}

impl State {
    /// The variable that one of the opening is.
    fn var(&self, opened: &Schema, var: VarId) -> Result<VarId> {
        let find = |slot: &OnceLock<_>| match slot.get() {
            Some(found) => *found,
            None => {
                let found = same_variable(opened, var, self.container.schema());
                *slot.get_or_init(|| found)
            }
        };
        let found = self.vars.get(var.0).and_then(find);
        found.ok_or_else(|| {
            // What lies in another file may be gone with it.
            let (now, file) = (self.container.schema(), self.container.store().name());
            match now.find_skipped(&opened.var_path(var)) {
                Some(skipped) => skipped.error(file),
                None => Error::Changed { path: file.to_owned() },
            }
        })
    }
}

/// The variable of a later state of a file that a variable is: of the same name, type and rank, and not shorter.
fn same_variable(old: &Schema, var: VarId, new: &Schema) -> Option<VarId> {
    let now = new.find_var(&old.var_path(var))?;
    let (old_shape, new_shape) = (old.shape(var), new.shape(now));
    let same = old.var(var).dtype == new.var(now).dtype
        && old.types == new.types
        && old_shape.len() == new_shape.len()
        && old_shape.iter().zip(&new_shape).all(|(old, new)| old <= new);
    same.then_some(now)
}

/// Whether reading a selection takes so long that a question to the system does not count.
fn is_long(layout: &VarLayout, slab: &Hyperslab) -> bool {
    let size = layout.element.size as u64;
    shape::bytes(&slab.count, size) >= LONG
}

/// Whether a box of a variable lies where it lay. Chunks that were read are compared by who reads them
/// ([`ChunkIndex::check_places`](crate::layout::ChunkIndex::check_places)).
fn same_place(old: &VarLayout, new: &VarLayout, read: &Hyperslab) -> bool {
    match (&old.place, &new.place) {
        (Place::Nowhere, Place::Nowhere) => true,
        (Place::Inline(a), Place::Inline(b)) => a == b,
        (Place::Contiguous { offset: a }, Place::Contiguous { offset: b }) => a == b,
        (Place::Records { begin: a, stride: n }, Place::Records { begin: b, stride: m }) => (a, n) == (b, m),
        (Place::Chunked { chunk: a, .. }, Place::Chunked { chunk: b, .. }) => a == b,
        (Place::Parts(a), Place::Parts(b)) => {
            let within: Vec<_> = (0..read.rank()).map(|d| read.start[d]..read.end(d)).collect();
            a.meeting(&within).ok().zip(b.meeting(&within).ok()).is_some_and(|(a, b)| same_parts(&a, &b))
        }
        _ => false,
    }
}

/// Whether parts are the same elements of the same sources. A source without a name cannot be compared.
fn same_parts(old: &[Cow<'_, ArrayPart>], new: &[Cow<'_, ArrayPart>]) -> bool {
    let is_same = |(a, b): (&Cow<'_, ArrayPart>, &Cow<'_, ArrayPart>)| {
        let (name, there) = (a.source.name(), b.source.name());
        name.is_some() && name == there && a.axes == b.axes && a.origin == b.origin
    };
    old.len() == new.len() && old.iter().zip(new).all(is_same)
}

impl Follower {
    /// Follows a file that was just opened.
    pub(super) fn new(opened: Arc<FileStore>, engine: Engine, leads: Leads) -> Self {
        Self { engine, opened, leads, later: PerProcess::default(), opening: PerProcess::default() }
    }

    /// Reads a variable from the newest state. `opened` is the container of the opening; `slab` is what is read, if that is
    /// one box.
    pub(super) fn read<T>(
        &self,
        opened: &Arc<dyn Container>,
        var: VarId,
        slab: Option<&Hyperslab>,
        mut read: impl FnMut(&Arc<dyn Container>, VarId) -> Result<T>,
    ) -> Result<T> {
        let schema = opened.schema();
        if var.0 >= schema.vars.len() {
            return read(opened, var);
        }
        let (mut state, mut is_new) = (self.newest(), false);
        // Another program may sync again while what it wrote before is read.
        let mut attempts = Attempts::at_a_state();
        loop {
            let (file, container) = match &state {
                Some(state) => (&state.file, &state.container),
                None => (&self.opened, opened),
            };
            let now = state.as_ref().map_or(Ok(var), |state| state.var(schema, var));
            if let (Some(_), Some(check)) = (&state, slab) {
                // A later state may be longer.
                check.check(&schema.shape(var), &schema.var(var).name)?;
            }
            let layout = now.as_ref().ok().and_then(|&now| container.layout(now).ok());
            let wanted = layout.as_deref().zip(slab);
            let is_run = wanted.is_some_and(|(layout, slab)| engine::is_run(layout, slab));
            let is_long = wanted.is_some_and(|(layout, slab)| is_long(layout, slab));
            // Avoids a read whose values would have to be read again.
            let is_old = !is_new && !is_run && (is_long || !file.shows_changes()) && !file.is_as_opened();
            let mut found = None;
            if !is_old {
                let values = now.and_then(|now| read(container, now));
                let is_newest = if is_run { file.was_as_opened() } else { file.is_as_opened() };
                if is_newest {
                    return values;
                }
                found = Some(values);
            }
            let next = self.renew(schema.vars.len())?;
            if let Some(values) = found
                && is_new
                && match &values {
                    Ok(_) => layout.is_some_and(|old| next.has(schema, var, &old, file, slab)),
                    Err(_) => file.opened() == next.file.opened(),
                }
            {
                return values;
            }
            if state.is_none() {
                self.engine.forget_store(opened.store());
            }
            if !attempts.again() {
                return Err(Error::Changed { path: shown_path(self.opened.path()) });
            }
            // The newest after the wait.
            (state, is_new) = (Some(self.renew(schema.vars.len())?), true);
        }
    }

    fn newest(&self) -> Option<Arc<State>> {
        self.later.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest state, opened now if the file is in none that is open.
    fn renew(&self, vars: usize) -> Result<Arc<State>> {
        let _one_opens = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = self.newest();
        if let Some(state) = newest.as_ref().filter(|state| state.file.is_as_opened()) {
            return Ok(state.clone());
        }
        let before = newest.as_ref().map_or(&self.opened, |state| &state.file);
        let opened = FileStore::whole_state(
            || before.again().map(Arc::new),
            |file| Ok((file.clone(), formats::open(file.clone(), &self.engine, &self.leads)?)),
            |(_, container)| container.schema().format.is_classic(),
        );
        let (file, container) = opened.map_err(|e| match e {
            // It was one when it was opened.
            Error::NotNetcdf { path, .. } | Error::Corrupt { path, .. } => Error::Changed { path },
            other => other,
        })?;
        let vars = std::iter::repeat_with(OnceLock::new).take(vars).collect();
        let container = Arc::from(container);
        let state = Arc::new(State { file, container, vars, engine: self.engine.clone() });
        *self.later.write().unwrap_or_else(PoisonError::into_inner) = Some(state.clone());
        Ok(state)
    }
}

impl State {
    /// Whether what was read of a variable (`slab`, if that is one box) is here where it was in an earlier state, that of `file`.
    /// References to a heap say nothing of what is in it.
    fn has(
        &self,
        opened: &Schema,
        var: VarId,
        before: &VarLayout,
        file: &FileStore,
        slab: Option<&Hyperslab>,
    ) -> bool {
        let Some((old, new)) = file.opened().zip(self.file.opened()) else { return false };
        if old.file() != new.file() || (before.element.heap && old != new) {
            return false;
        }
        let layout = self.var(opened, var).and_then(|now| self.container.layout(now));
        let read = slab.cloned().unwrap_or_else(|| Hyperslab::all(&before.shape));
        let is_same_list = old == new && before.place.parts().is_some();
        layout.is_ok_and(|layout| is_same_list || same_place(before, &layout, &read))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::model::{Atomic, Attribute, DimId, Dimension};
    use crate::{CreateOptions, DatasetMut, Format, Schema, Variable};

    /// A classic file with a variable; longer by a byte each time that the function is called.
    fn growing() -> (tempfile::TempDir, std::path::PathBuf, impl Fn()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let mut schema = Schema::new(Format::Cdf2);
        schema.vars.push(Variable::new("v", Atomic::Int, vec![]));
        DatasetMut::create(&path, schema, CreateOptions::default()).unwrap().close().unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        let grow = move || (&file).write_all(b"x").unwrap();
        (dir, path, grow)
    }

    #[test]
    fn readers_wait_for_writers_that_sync_again_and_again() {
        let (_dir, path, grow) = growing();
        let damaged = || Error::Corrupt { path: String::new(), offset: None, what: "half of a state".into() };
        for changes in [1, 12, 30] {
            let mut seen = 0;
            let found = FileStore::whole_state(
                || FileStore::open(&path).map(Arc::new),
                |_| {
                    seen += 1;
                    grow();
                    if seen > changes { Ok(seen) } else { Err(damaged()) }
                },
                |_| false,
            );
            // What could be read is accepted, in the end, though the file has changed once more.
            assert_eq!(found.unwrap(), (changes + 1).max(11));

            let (engine, leads) = (Engine::global(), Leads::new(None, None, formats::open_path));
            let file = Arc::new(FileStore::open(&path).unwrap());
            let opened: Arc<dyn Container> = formats::open(file.clone(), &engine, &leads).unwrap().into();
            let follower = Follower::new(file, engine, leads);
            seen = 0;
            let found = follower.read(&opened, VarId(0), None, |_, _| {
                seen += 1;
                if seen > changes {
                    return Ok(seen);
                }
                grow();
                Err(damaged())
            });
            assert_eq!(found.unwrap(), changes + 1);
        }
    }

    #[test]
    fn parts_are_where_they_were_if_the_same_sources_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let mut schema = Schema::new(Format::Cdf2);
        schema.dims =
            [("x", 4), ("one", 1), ("len", 4)].map(|(name, len)| Dimension::new(name, len, false)).into();
        let mut v = Variable::new("v", Atomic::Double, vec![]);
        v.attrs = vec![
            Attribute::text("aggregated_dimensions", "x"),
            Attribute::text("aggregated_data", "map: map uris: uris identifiers: names"),
        ];
        let text = |name| Variable::new(name, Atomic::Char, vec![DimId(1), DimId(2)]);
        let map = Variable::new("map", Atomic::Int, vec![DimId(1), DimId(1)]);
        schema.vars = vec![v, map, text("uris"), text("names")];
        let mut new = DatasetMut::create(&path, schema, CreateOptions::default()).unwrap();
        new.write_bytes(VarId(1), &Hyperslab::all(&[1, 1]), &4i32.to_ne_bytes()).unwrap();
        for (at, text) in [(2, b"b.nc"), (3, b"v\0\0\0")] {
            new.write_bytes(VarId(at), &Hyperslab::all(&[1, 4]), text).unwrap();
        }
        new.close().unwrap();

        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        let (engine, leads) = (Engine::global(), Leads::new(None, None, formats::open_path));
        let store = Arc::new(FileStore::open(&path).unwrap());
        let opened: Arc<dyn Container> = formats::open(store.clone(), &engine, &leads).unwrap().into();
        assert!(opened.layout(VarId(0)).unwrap().place.parts().is_some());
        let follower = Follower::new(store, engine, leads);
        for slab in [None, Some(Hyperslab::new(&[1], &[2]))] {
            // Somebody writes to the file during each read.
            let read = |_: &Arc<dyn Container>, _| {
                file.write_all(b"x").unwrap();
                Ok(())
            };
            follower.read(&opened, VarId(0), slab.as_ref(), read).unwrap();
        }
    }
}
