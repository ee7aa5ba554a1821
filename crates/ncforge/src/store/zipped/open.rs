//! Creating a zipped file, and finding its newest root.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, RwLock};

use super::format::{Entry, Kind, MAGIC, ROOT, ROOT_PLACES, Root, SLOT, corrupt, parse_map};
use super::image::Map;
use super::read::{Fetch, stored_bytes};
use super::space::Space;
use super::tree::{Pages, Tree};
use super::tx::Tx;
use super::{Codec, Core, Lock, Options, Recent, Resources, ZippedStore};
use crate::error::{Error, Result};
use crate::store::lock::{Locking, ranges as lock};
use crate::store::{ReadStore, Warning, WriteStore, warn};

/// Number of a file's first commit.
pub(super) const FIRST: u64 = 1;

/// A copy of a root in a file.
pub(super) struct Copy {
    pub(super) at: u64,
    /// The root, if it is complete.
    pub(super) root: Option<Root>,
    pub(super) bytes: [u8; ROOT],
}

/// The copies of roots in a file: two in each place.
pub(super) fn roots(backing: &dyn ReadStore) -> Result<Vec<Copy>> {
    let mut found = Vec::new();
    for place in ROOT_PLACES {
        for at in [place, place + ROOT as u64] {
            let mut bytes = [0; ROOT];
            let root = match backing.read_at(&mut bytes, at) {
                // A root of another version may be the newest one.
                Ok(()) => Root::parse(&bytes)
                    .map_err(|what| Error::Unsupported { path: backing.name().to_owned(), what })?,
                // If the file ends here, there is no root; a read error is returned.
                Err(Error::Corrupt { .. }) => None,
                Err(e) => return Err(e),
            };
            found.push(Copy { at, root, bytes });
        }
    }
    Ok(found)
}

/// The valid root of a file.
pub(super) struct Newest {
    pub(super) root: Root,
    /// Whether both copies are complete.
    is_twice: bool,
    /// Byte offset of the other place, if it is damaged: a newer root may have been there.
    lost: Option<u64>,
}

/// The valid root: the one with the highest number, if its second copy is complete, which is written after the sync, or if
/// everything that its commit added is intact; else the one before. That is so while a program writes, too: after a crash,
/// what the one before reaches may be written over, though the newer one has no second copy. With `is_written`, a program is
/// writing at the moment, and a place without copies is no damage.
pub(super) fn newest(backing: &dyn ReadStore, copies: &[Copy], is_written: bool) -> Result<Newest> {
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for (i, copy) in copies.iter().enumerate() {
        let Some(root) = &copy.root else { continue };
        match candidates.last_mut().filter(|last| last.root == root) {
            Some(last) => (last.is_synced, last.is_twice) = (true, true),
            None => candidates.push(Candidate { root, is_synced: i % 2 == 1, is_twice: false }),
        }
    }
    candidates.sort_by_key(|c| std::cmp::Reverse(c.root.sequence));
    let lost = if is_written { None } else { lost_place(copies) };
    let found = |c: &Candidate<'_>| Newest { root: c.root.clone(), is_twice: c.is_twice, lost };
    for (i, candidate) in candidates.iter().enumerate() {
        let before = candidates.get(i + 1).map(|c| c.root);
        // The machine may have failed while a root was synced. Before the last one there is none to fall back to:
        // everything reachable from it was synced before a later one was written. Only for the first one this is unknown.
        let is_waited_for = candidate.is_synced || (before.is_none() && candidate.root.sequence > FIRST);
        if is_waited_for || is_whole(backing, candidate.root, before)? {
            return Ok(found(candidate));
        }
        if before.is_none() {
            let what = "it was never written to the end: its first commit is not whole";
            return Err(corrupt(backing.name(), 0, what));
        }
    }
    Err(corrupt(backing.name(), 0, "it begins as a zipped file, and no root of one is whole"))
}

/// A complete root.
struct Candidate<'a> {
    root: &'a Root,
    /// Whether the second copy is complete.
    is_synced: bool,
    is_twice: bool,
}

/// Byte offset of a place of which damage destroyed both copies. A crash leaves one: a commit writes over the second copy
/// when the first one is on disk. Only the second commit finds a place without copies.
pub(super) fn lost_place(copies: &[Copy]) -> Option<u64> {
    let lost = copies.chunks(2).find(|place| place.iter().all(|copy| copy.root.is_none()))?;
    let is_first = copies.iter().filter_map(|copy| copy.root.as_ref()).all(|root| root.sequence == FIRST);
    // The magic number is on disk when the second copy is written.
    let is_begun = lost[0].bytes.starts_with(&MAGIC) || copies[3].root.is_none();
    let is_unused = is_first && is_begun && lost[1].bytes == [0; ROOT];
    (!is_unused).then_some(lost[0].at)
}

/// Whether everything has its checksum that is reachable from a root, and not from the one before: what both share was
/// synced before the newer one was begun.
fn is_whole(backing: &dyn ReadStore, root: &Root, before: Option<&Root>) -> Result<bool> {
    let mut shared = Vec::new();
    if let Some(before) = before.filter(|before| before.sequence + 1 == root.sequence) {
        intact(visit(backing, before, None, &mut |entry| {
            shared.push(entry.slot);
            Ok(())
        }))?;
    }
    shared.sort_unstable();
    intact(visit(backing, root, Some(&shared), &mut |entry| {
        stored_bytes(backing, entry, &String::new).map(drop)
    }))
}

/// False for damage.
fn intact(read: Result<()>) -> Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(Error::Corrupt { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Visits the entries of stored blocks and pages that are reachable from a root: those that are not at slots of the sorted
/// list `shared`; without one, those that can be read.
fn visit(
    backing: &dyn ReadStore,
    root: &Root,
    shared: Option<&[u64]>,
    f: &mut dyn FnMut(&Entry) -> Result<()>,
) -> Result<()> {
    let (_, trees) = load_map(backing, root)?;
    let pages = Added { fetch: Fetch { backing }, shared };
    trees.iter().try_for_each(|tree| {
        tree.visit(&pages, &mut |_, entry| match entry.extent() {
            Some(_) if !pages.has(entry) => f(entry),
            _ => Ok(()),
        })
    })
}

/// The index pages of [`visit`].
struct Added<'a> {
    fetch: Fetch<'a>,
    shared: Option<&'a [u64]>,
}

impl Added<'_> {
    /// Whether an entry is shared.
    fn has(&self, entry: &Entry) -> bool {
        self.shared.is_some_and(|shared| shared.binary_search(&entry.slot).is_ok())
    }
}

impl Pages for Added<'_> {
    fn load(&self, entry: &Entry, level: u8, first: u64) -> Result<Vec<Entry>> {
        if self.has(entry) {
            return Ok(Vec::new());
        }
        match self.fetch.load(entry, level, first) {
            Err(Error::Corrupt { .. }) if self.shared.is_none() => Ok(Vec::new()),
            loaded => loaded,
        }
    }
}

/// The damage of a place for roots, in words.
pub(super) fn lost_root(place: u64) -> String {
    format!("neither copy of the root at byte {place} can be read, and a newer commit may be lost")
}

/// The newest root and a pin on it.
fn pinned(backing: &Arc<dyn ReadStore>) -> Result<(Newest, Option<Lock>)> {
    let mut copies = roots(&**backing)?;
    loop {
        let found = newest(&**backing, &copies, lock::is_written(&**backing))?;
        let pin = lock::pin(backing, found.root.sequence);
        // A program that wrote another root in the meantime may not have seen the pin.
        let now = roots(&**backing)?;
        let same = now.iter().zip(&copies).all(|(now, then)| now.bytes == then.bytes);
        if same || pin.is_none() {
            return Ok((found, pin));
        }
        copies = now;
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
        let (Newest { root, lost, .. }, pin) = pinned(&backing)?;
        if let Some(place) = lost {
            let name = backing.name();
            warn(Warning::Damaged(format!(
                "`{name}`: {}; commit {} is read",
                lost_root(place),
                root.sequence
            )));
        }
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
        let Newest { root, is_twice, lost } = newest(&*backing, &roots(&*backing)?, false)?;
        if let Some(place) = lost {
            let what = format!(
                "{}. `ncforge copy` makes a new file of what commit {} holds",
                lost_root(place),
                root.sequence
            );
            return Err(corrupt(backing.name(), place, what));
        }
        let store = Self::at_root(backing, Some(sink), &root, writer, resources)?;
        // A root that another process wrote but could not sync must be made durable before the space of the
        // preceding root is used again, and have both copies before the other place is written over.
        if !is_twice {
            store.write_root(&root)?;
        }
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
            tx: Some(Tx::new(space, Entry::default())),
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
