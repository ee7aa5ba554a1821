//! The index of one tree of blocks: a radix tree of pages, loaded on demand.
//!
//! Who loads a page only moves it into its cell: a child that was forked while a thread filled the cell would wait for ever.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use super::format::{Entry, FANOUT, Kind, MAX_HEIGHT, TreeHead};
use crate::error::{Error, Result};

/// Reads index pages: returns the entries of the page at `entry`, with this level and first block.
pub(super) trait Pages {
    fn load(&self, entry: &Entry, level: u8, first: u64) -> Result<Vec<Entry>>;
}

/// The destination of index pages.
pub(super) trait Sink {
    /// Stores a page in free space; returns its entry.
    fn store(&mut self, level: u8, first: u64, entries: &[Entry]) -> Result<Entry>;
    /// Frees the bytes of an entry.
    fn free(&mut self, entry: &Entry);
}

/// One page in memory.
#[derive(Debug)]
struct Node {
    /// 0: its entries are blocks.
    level: u8,
    first: u64,
    entries: Vec<Entry>,
    /// The page below each entry of an upper page, if it is loaded.
    below: Vec<OnceLock<Box<Node>>>,
    dirty: bool,
}

/// Blocks that one entry at `level` covers.
fn span(level: u8) -> u64 {
    FANOUT.saturating_pow(u32::from(level))
}

impl Node {
    fn new(level: u8, first: u64, entries: Vec<Entry>) -> Self {
        let below = if level > 0 { entries.iter().map(|_| OnceLock::new()).collect() } else { Vec::new() };
        Node { level, first, entries, below, dirty: false }
    }

    fn slot_of(&self, block: u64) -> usize {
        ((block - self.first) / span(self.level)) as usize
    }

    fn extend_to(&mut self, i: usize) {
        if self.entries.len() <= i {
            self.entries.resize(i + 1, Entry::default());
            if self.level > 0 {
                self.below.resize_with(i + 1, OnceLock::new);
            }
        }
    }

    /// The page below entry `i`, loaded if necessary; `None` if there is none.
    fn child(&self, i: usize, pages: &dyn Pages) -> Result<Option<&Node>> {
        let Some(cell) = self.below.get(i) else { return Ok(None) };
        if let Some(node) = cell.get() {
            return Ok(Some(node));
        }
        if self.entries[i].kind != Kind::Page {
            return Ok(None);
        }
        let (level, first) = (self.level - 1, self.first + i as u64 * span(self.level));
        let entries = pages.load(&self.entries[i], level, first)?;
        let node = Box::new(Node::new(level, first, entries));
        Ok(Some(cell.get_or_init(|| node)))
    }

    fn child_mut(&mut self, i: usize, pages: &dyn Pages) -> Result<&mut Node> {
        self.extend_to(i);
        if self.child(i, pages)?.is_none() {
            let (level, first) = (self.level - 1, self.first + i as u64 * span(self.level));
            let _ = self.below[i].set(Box::new(Node::new(level, first, Vec::new())));
        }
        Ok(self.below[i].get_mut().expect("set above"))
    }
}

/// One tree of blocks.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) head: TreeHead,
    root: OnceLock<Box<Node>>,
    /// The block that was read last, and the number of consecutive blocks before it.
    pub(super) last: AtomicU64,
    pub(super) streak: AtomicU64,
}

impl Tree {
    pub(super) fn new(head: TreeHead) -> Self {
        Tree { head, ..Tree::default() }
    }

    /// True if the tree never had a block.
    pub(super) fn is_empty(&self) -> bool {
        self.head.top.kind == Kind::Zero && self.root.get().is_none()
    }

    fn root(&self, pages: &dyn Pages) -> Result<Option<&Node>> {
        if let Some(node) = self.root.get() {
            return Ok(Some(node));
        }
        if self.head.height == 0 || self.head.top.kind != Kind::Page {
            return Ok(None);
        }
        let level = self.head.height - 1;
        let entries = pages.load(&self.head.top, level, 0)?;
        let node = Box::new(Node::new(level, 0, entries));
        Ok(Some(self.root.get_or_init(|| node)))
    }

    /// The entry of a block; the default one for an absent block.
    pub(super) fn get(&self, block: u64, pages: &dyn Pages) -> Result<Entry> {
        if self.head.height == 0 {
            return Ok(if block == 0 { self.head.top } else { Entry::default() });
        }
        if block >= span(self.head.height) {
            return Ok(Entry::default());
        }
        let Some(mut node) = self.root(pages)? else { return Ok(Entry::default()) };
        loop {
            let i = node.slot_of(block);
            if node.level == 0 {
                return Ok(node.entries.get(i).copied().unwrap_or_default());
            }
            match node.child(i, pages)? {
                Some(below) => node = below,
                None => return Ok(Entry::default()),
            }
        }
    }

    /// Sets the entry of a block; returns the old one.
    pub(super) fn set(&mut self, block: u64, entry: Entry, pages: &dyn Pages) -> Result<Entry> {
        if self.head.height == 0 {
            if block == 0 {
                return Ok(std::mem::replace(&mut self.head.top, entry));
            }
            if entry.kind == Kind::Zero {
                return Ok(Entry::default());
            }
        }
        // Load the path first: an error must not change the tree.
        if self.get(block, pages)?.kind == Kind::Zero && entry.kind == Kind::Zero {
            return Ok(Entry::default());
        }
        while block >= span(self.head.height) {
            self.raise(pages)?;
        }
        if self.root(pages)?.is_none() {
            let _ = self.root.set(Box::new(Node::new(self.head.height - 1, 0, Vec::new())));
        }
        let mut node: &mut Node = self.root.get_mut().expect("set above");
        loop {
            node.dirty = true;
            let i = node.slot_of(block);
            if node.level == 0 {
                node.extend_to(i);
                return Ok(std::mem::replace(&mut node.entries[i], entry));
            }
            node = node.child_mut(i, pages)?;
        }
    }

    /// Puts a page on top.
    fn raise(&mut self, pages: &dyn Pages) -> Result<()> {
        if self.head.height >= MAX_HEIGHT {
            return Err(Error::TooLarge("more blocks than a zipped file can have".into()));
        }
        let height = self.head.height;
        if height == 0 {
            let mut node = Node::new(0, 0, Vec::new());
            if self.head.top.kind != Kind::Zero {
                node.entries.push(self.head.top);
            }
            node.dirty = true;
            let _ = self.root.set(Box::new(node));
            self.head.top = Entry::default();
        } else {
            self.root(pages)?;
            let mut node = Node::new(height, 0, vec![self.head.top]);
            if let Some(old) = self.root.take() {
                let _ = node.below[0].set(old);
            }
            node.dirty = true;
            let _ = self.root.set(Box::new(node));
            self.head.top = Entry::default();
        }
        self.head.height = height + 1;
        Ok(())
    }

    /// Visits every stored block, in order, and (with `block` none) every index page. Pages that are not in memory are
    /// read, but not cached.
    pub(super) fn visit(
        &self,
        pages: &dyn Pages,
        f: &mut dyn FnMut(Option<u64>, &Entry) -> Result<()>,
    ) -> Result<()> {
        if self.head.height == 0 {
            return if self.head.top.kind == Kind::Zero { Ok(()) } else { f(Some(0), &self.head.top) };
        }
        if self.head.top.kind == Kind::Page {
            f(None, &self.head.top)?;
        }
        match self.root.get() {
            Some(node) => visit_node(node, pages, f),
            None if self.head.top.kind == Kind::Page => {
                let level = self.head.height - 1;
                visit_stored(&self.head.top, level, 0, pages, f)
            }
            None => Ok(()),
        }
    }

    /// Writes pages that have changed, lower ones first, and frees those that they replace.
    pub(super) fn write_pages(&mut self, sink: &mut dyn Sink) -> Result<()> {
        match self.root.get_mut() {
            Some(node) if node.dirty => write_node(node, &mut self.head.top, sink),
            _ => Ok(()),
        }
    }
}

fn visit_node(
    node: &Node,
    pages: &dyn Pages,
    f: &mut dyn FnMut(Option<u64>, &Entry) -> Result<()>,
) -> Result<()> {
    for (i, entry) in node.entries.iter().enumerate() {
        let first = node.first + i as u64 * span(node.level);
        if node.level == 0 {
            if entry.kind != Kind::Zero {
                f(Some(first), entry)?;
            }
            continue;
        }
        if entry.kind == Kind::Page {
            f(None, entry)?;
        }
        match node.below[i].get() {
            Some(below) => visit_node(below, pages, f)?,
            None if entry.kind == Kind::Page => visit_stored(entry, node.level - 1, first, pages, f)?,
            None => {}
        }
    }
    Ok(())
}

fn visit_stored(
    entry: &Entry,
    level: u8,
    first: u64,
    pages: &dyn Pages,
    f: &mut dyn FnMut(Option<u64>, &Entry) -> Result<()>,
) -> Result<()> {
    let node = Node::new(level, first, pages.load(entry, level, first)?);
    visit_node(&node, pages, f)
}

fn write_node(node: &mut Node, entry: &mut Entry, sink: &mut dyn Sink) -> Result<()> {
    for (i, below) in node.below.iter_mut().enumerate() {
        if let Some(below) = below.get_mut()
            && below.dirty
        {
            write_node(below, &mut node.entries[i], sink)?;
        }
    }
    while node.entries.last().is_some_and(|e| e.kind == Kind::Zero) && node.entries.len() > 1 {
        node.entries.pop();
        node.below.truncate(node.entries.len());
    }
    let new = sink.store(node.level, node.first, &node.entries)?;
    sink.free(entry);
    *entry = new;
    node.dirty = false;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, HashMap};

    use proptest::prelude::*;

    use super::super::format::{emit_page, parse_page};
    use super::*;

    /// Pages by slot.
    #[derive(Default)]
    struct MemoryPages(RefCell<HashMap<u64, Vec<u8>>>);

    impl Pages for MemoryPages {
        fn load(&self, entry: &Entry, level: u8, first: u64) -> Result<Vec<Entry>> {
            let stored = self.0.borrow();
            Ok(parse_page(&stored[&entry.slot], level, first).unwrap())
        }
    }

    struct Put<'a>(&'a MemoryPages, u64);

    impl Sink for Put<'_> {
        fn store(&mut self, level: u8, first: u64, entries: &[Entry]) -> Result<Entry> {
            self.1 += 1;
            let bytes = emit_page(level, first, entries);
            let entry = Entry { kind: Kind::Page, slot: self.1, len: bytes.len() as u32, width: 0, crc: 0 };
            self.0.0.borrow_mut().insert(self.1, bytes);
            Ok(entry)
        }
        fn free(&mut self, entry: &Entry) {
            if entry.kind == Kind::Page {
                self.0.0.borrow_mut().remove(&entry.slot);
            }
        }
    }

    fn block(n: u64) -> Entry {
        Entry { kind: Kind::Raw, slot: n, len: 1, width: 0, crc: 1 }
    }

    proptest! {
        #[test]
        fn a_tree_is_a_map(steps in prop::collection::vec(
            (prop_oneof![0..4u64, 0..600u64, 0..200_000u64, 0..20_000_000u64], 0..4u64, any::<bool>()), 1..60)
        ) {
            let stored = MemoryPages::default();
            let mut tree = Tree::default();
            let mut model = BTreeMap::new();
            let mut written = 1000;
            for (at, value, reload) in steps {
                let entry = if value == 0 { Entry::default() } else { block(value) };
                let old = tree.set(at, entry, &stored).unwrap();
                let known = if value == 0 { model.remove(&at) } else { model.insert(at, entry) };
                prop_assert_eq!(old, known.unwrap_or_default());
                if reload {
                    let mut sink = Put(&stored, written);
                    tree.write_pages(&mut sink).unwrap();
                    written = sink.1;
                    tree = Tree::new(tree.head);
                    // The stored pages are those that can be reached, and no others.
                    let mut pages = 0;
                    tree.visit(&stored, &mut |b, _| { pages += usize::from(b.is_none()); Ok(()) }).unwrap();
                    prop_assert_eq!(pages, stored.0.borrow().len());
                }
                prop_assert_eq!(tree.get(at, &stored).unwrap(), entry);
                prop_assert_eq!(tree.get(at + 1, &stored).unwrap(), model.get(&(at + 1)).copied().unwrap_or_default());
                let mut seen = Vec::new();
                tree.visit(&stored, &mut |b, e| { seen.extend(b.map(|b| (b, *e))); Ok(()) }).unwrap();
                prop_assert_eq!(seen, model.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>());
            }
        }
    }
}
