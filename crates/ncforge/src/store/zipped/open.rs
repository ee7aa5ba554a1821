//! Creating a zipped file, and finding its newest root.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, RwLock};

use super::format::{Kind, ROOT, ROOT_PLACES, Root, SLOT, corrupt, parse_map};
use super::image::Map;
use super::read::{Fetch, stored_bytes};
use super::space::Space;
use super::tree::Tree;
use super::tx::Tx;
use super::{Codec, Core, Lock, Options, Recent, Resources, ZippedStore};
use crate::error::{Error, Result};
use crate::store::lock::{Locking, ranges as lock};
use crate::store::{ReadStore, WriteStore};

/// Number of a file's first commit.
pub(super) const FIRST: u64 = 1;

/// The copies of roots in a file: byte offset, and the root if it is complete.
pub(super) fn roots(backing: &dyn ReadStore) -> Result<Vec<(u64, Option<Root>)>> {
    let mut found = Vec::new();
    let mut refused = None;
    for place in ROOT_PLACES {
        for at in [place, place + ROOT as u64] {
            let mut bytes = [0; ROOT];
            // If the file ends here, there is no root; a read error is returned.
            let root = match backing.read_at(&mut bytes, at) {
                Ok(()) => Root::parse(&bytes).unwrap_or_else(|what| {
                    refused = Some(what);
                    None
                }),
                Err(Error::Corrupt { .. }) => None,
                Err(e) => return Err(e),
            };
            found.push((at, root));
        }
    }
    match refused {
        Some(what) if found.iter().all(|(_, r)| r.is_none()) => {
            Err(Error::Unsupported { path: backing.name().to_owned(), what })
        }
        _ => Ok(found),
    }
}

/// The valid root: the one with the highest number, if both copies are complete, or if everything reachable from it
/// is intact; else the one before. With `is_written`, a program is writing at the moment and may not have synced the
/// newest root yet: the newest one with two complete copies is used. Also returns whether both copies are complete, and
/// the root therefore was synced.
fn newest(backing: &dyn ReadStore, is_written: bool) -> Result<(Root, bool)> {
    let mut found = roots(backing)?.into_iter().filter_map(|(_, r)| r).collect::<Vec<Root>>();
    found.sort_by_key(|r| std::cmp::Reverse(r.sequence));
    let mut candidates: Vec<(Root, bool)> = Vec::new();
    for root in found {
        match candidates.last_mut() {
            Some((last, twice)) if *last == root => *twice = true,
            _ => candidates.push((root, false)),
        }
    }
    if is_written && let Some(i) = candidates.iter().position(|(_, twice)| *twice) {
        return Ok(candidates.swap_remove(i));
    }
    let last = candidates.len().saturating_sub(1);
    for (i, (root, twice)) in candidates.into_iter().enumerate() {
        // The machine may have failed while a root was synced. Before the last one there is none to fall back to:
        // everything reachable from it was synced before a later one was written. Only for the first one this is unknown.
        let is_waited_for = twice || (i == last && root.sequence > FIRST);
        if is_waited_for || is_whole(backing, &root)? {
            return Ok((root, twice));
        }
        if i == last {
            return Err(corrupt(
                backing.name(),
                0,
                "it was never written to the end: its first commit is not whole",
            ));
        }
    }
    Err(corrupt(backing.name(), 0, "it begins as a zipped file, and no root of one is whole"))
}

/// Whether everything reachable from a root has its checksum.
fn is_whole(backing: &dyn ReadStore, root: &Root) -> Result<bool> {
    let whole = || -> Result<()> {
        let (_, trees) = load_map(backing, root)?;
        let fetch = Fetch { backing };
        for tree in &trees {
            tree.visit(&fetch, &mut |_, entry| {
                if entry.extent().is_some() {
                    stored_bytes(backing, entry, &String::new)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    };
    match whole() {
        Ok(()) => Ok(true),
        Err(Error::Corrupt { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// The newest root and a pin on it.
fn pinned(backing: &Arc<dyn ReadStore>) -> Result<(Root, Option<Lock>)> {
    let find = || newest(&**backing, lock::is_written(&**backing));
    let (mut root, _) = find()?;
    loop {
        let pin = lock::pin(backing, root.sequence);
        // A program that wrote another root in the meantime may not have seen the pin.
        let (again, _) = find()?;
        if again.sequence == root.sequence || pin.is_none() {
            return Ok((again, pin));
        }
        root = again;
    }
}

/// The map that a root refers to.
fn load_map(backing: &dyn ReadStore, root: &Root) -> Result<(Map, Vec<Tree>)> {
    let bytes = match root.map.kind {
        Kind::Zero => root.inline.clone(),
        _ => stored_bytes(backing, &root.map, &|| "the map of the image".to_owned())?,
    };
    let at = (root.map.kind != Kind::Zero).then(|| root.map.offset());
    let contents = parse_map(&bytes, &root.counts).map_err(|what| corrupt(backing.name(), at, what))?;
    let (map, heads) = Map::of_contents(root.len, contents);
    Ok((map, heads.into_iter().map(Tree::new).collect()))
}

impl ZippedStore {
    /// Opens a zipped file for reading, in its newest state, which does not change while it is open.
    pub fn open(backing: Arc<dyn ReadStore>, resources: Resources) -> Result<Self> {
        let (root, pin) = pinned(&backing)?;
        Self::at_root(backing, None, &root, pin, resources)
    }

    /// Opens a zipped file for reading and writing. An error if another program has it open for writing.
    pub fn open_rw(backing: Arc<dyn WriteStore>, resources: Resources) -> Result<Self> {
        Self::open_locked(backing, resources, Locking::default())
    }

    /// As [`ZippedStore::open_rw`]; `locking` defines whether the file is locked.
    pub fn open_locked(backing: Arc<dyn WriteStore>, resources: Resources, locking: Locking) -> Result<Self> {
        let sink = backing;
        let backing: Arc<dyn ReadStore> = sink.clone();
        let writer = lock::writer(&backing, locking.or_environment())?;
        let (root, was_waited_for) = newest(&*backing, false)?;
        // A root that another process wrote but could not sync must be made durable before the space of the
        // preceding root is used again.
        if !was_waited_for {
            sink.sync()?;
        }
        let store = Self::at_root(backing, Some(sink), &root, writer, resources)?;
        let mut live = root.map.extent().into_iter().collect::<Vec<_>>();
        {
            let mut core = store.core_mut();
            let fetch = Fetch { backing: &*store.backing };
            for tree in &core.trees {
                tree.visit(&fetch, &mut |_, entry| {
                    live.extend(entry.extent());
                    Ok(())
                })?;
            }
            let stored = store.backing.len().div_ceil(SLOT);
            let space = Space::rebuild(live, root.sequence, stored).map_err(|slot| {
                let at = slot.saturating_mul(SLOT);
                corrupt(store.name(), at, "two blocks are stored in the same place")
            })?;
            core.tx = Some(Tx::new(space, root.map));
            store.recycle(&mut core);
        }
        Ok(store)
    }

    /// Creates a zipped file with an empty image; the contents of `backing` are discarded.
    pub fn create(backing: Arc<dyn WriteStore>, options: &Options, resources: Resources) -> Result<Self> {
        options.check()?;
        let sink = backing;
        let backing: Arc<dyn ReadStore> = sink.clone();
        let writer = lock::writer(&backing, Locking::default().or_environment())?;
        sink.set_len(0)?;
        let mut space = Space::rebuild(Vec::new(), 1, 0).map_err(|_| Error::Internal("no space".into()))?;
        space.recycle(|_| false);
        let core = Core {
            map: Map::new(0),
            replacement: None,
            trees: vec![Tree::default()],
            sequence: 0,
            tx: Some(Tx::new(space, super::format::Entry::default())),
        };
        Ok(ZippedStore {
            _lock: writer,
            backing,
            sink: Some(sink),
            core: RwLock::new(core),
            len: AtomicU64::new(0),
            shift: options.block.trailing_zeros() as u8,
            codec: options.codec,
            poisoned: AtomicBool::new(false),
            resources,
            recent: Recent::default(),
            id: Self::next_id(),
        })
    }

    fn at_root(
        backing: Arc<dyn ReadStore>,
        sink: Option<Arc<dyn WriteStore>>,
        root: &Root,
        lock: Option<Lock>,
        resources: Resources,
    ) -> Result<Self> {
        let (map, trees) = load_map(&*backing, root)?;
        let codec = Codec::of_numbers(root.codec, root.level).ok_or_else(|| Error::Unsupported {
            path: backing.name().to_owned(),
            what: format!("codec {} at level {} of the zipped format", root.codec, root.level),
        })?;
        Ok(ZippedStore {
            _lock: lock,
            len: AtomicU64::new(map.len),
            core: RwLock::new(Core { map, replacement: None, trees, sequence: root.sequence, tx: None }),
            backing,
            sink,
            shift: root.shift,
            codec,
            poisoned: AtomicBool::new(false),
            resources,
            recent: Recent::default(),
            id: Self::next_id(),
        })
    }
}
