//! Groups: the links in them, old (symbol table) and new (compact or dense).

use super::btree1;
use super::file::File;
use super::fractal_heap::FractalHeap;
use super::link::{Link, Target};
use super::local_heap::LocalHeap;
use super::message::{DenseInfo, ObjectHeader, cursor, kind};
use super::source::{Source, TOGETHER};
use crate::error::Result;

/// The links of a group.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// Whether the order of creation is tracked.
    pub tracked: bool,
    /// The links: by order of creation where tracked, else by name (bytewise).
    pub links: Vec<Link>,
}

impl File {
    /// The links of a group.
    pub(crate) fn links(&self, header: &ObjectHeader) -> Result<Links> {
        let source = &self.source;
        let mut tracked = false;
        let mut links = Vec::new();
        if let Some(m) = header.find(kind::SYMBOL_TABLE) {
            let mut c = cursor(source, m);
            let tree = c.defined_address("a group's B-tree")?;
            let heap = c.defined_address("a group's heap")?;
            links = symbol_table(source, tree, heap)?;
        }
        if let Some(m) = header.find(kind::LINK_INFO) {
            let info = DenseInfo::parse(&mut cursor(source, m), "a link info message", 8)?;
            tracked = info.tracked;
            if let Some((heap, names)) = info.place {
                links.extend(dense(source, heap, names)?);
            }
        }
        for m in header.messages.iter().filter(|m| m.kind == kind::LINK) {
            let body = self.body(m)?;
            links.push(Link::parse(&mut self.cursor(&body))?);
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(twice) = links.windows(2).find(|w| w[0].name == w[1].name) {
            let name = String::from_utf8_lossy(&twice[0].name);
            return Err(source.fail(header.address, format!("two links named `{name}` in one group")));
        }
        if tracked {
            links.sort_by_key(|l| l.order);
        }
        Ok(Links { tracked, links })
    }
}

fn symbol_table(source: &Source, tree: u64, heap: u64) -> Result<Vec<Link>> {
    let mut nodes = Vec::new();
    // Both are tried before an error counts, so that absent bytes of both become known.
    let heap = LocalHeap::read(source, heap);
    let key = usize::from(source.sizes().length);
    let tree = btree1::walk(source, tree, btree1::GROUP, key, |_, child| {
        nodes.push(child);
        Ok(())
    });
    let ((), heap) = (tree?, heap?);
    let mut links = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (i, &address) in nodes.iter().enumerate() {
        if i % TOGETHER == 0 {
            source.want(nodes[i..nodes.len().min(i + TOGETHER)].iter().map(|&n| source.guess(n)))?;
        }
        if !seen.insert(address) {
            return Err(source.fail(address, "a symbol table node is reached twice"));
        }
        let head = source.peek(address, 8)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"SNOD")?;
        c.version("a symbol table node", 1..=1)?;
        c.skip(1)?;
        let count = usize::from(c.u16()?);
        let entry = 2 * usize::from(source.sizes().offset) + 24;
        let bytes = source.read(address, 8 + (count * entry) as u64)?;
        let mut c = source.cursor(&bytes, address);
        c.skip(8)?;
        for _ in 0..count {
            let name_at = c.uint(usize::from(source.sizes().offset))?;
            let object = c.address()?;
            let cache = c.u32()?;
            c.skip(4)?;
            let mut scratch = c.sub(16)?;
            let name = heap.text(source, name_at)?.to_vec();
            let target = match (cache, object) {
                (2, _) => Target::Soft(heap.text(source, u64::from(scratch.u32()?))?.to_vec()),
                (_, Some(address)) => Target::Hard(address),
                _ => return Err(c.fail("a link whose object has no address")),
            };
            links.push(Link { name, order: None, target });
        }
    }
    Ok(links)
}

fn dense(source: &Source, heap: u64, names: u64) -> Result<Vec<Link>> {
    let (heap, records) = FractalHeap::with_index(source, heap, names, 5, "names")?;
    let (mut links, mut first) = (Vec::with_capacity(records.len()), Ok(()));
    for r in records.iter() {
        // A hash of the name, then the heap id.
        let bytes = heap.get(source, r.get(4..).unwrap_or(&[]));
        match bytes.and_then(|b| Link::parse(&mut source.cursor(&b, names))) {
            Ok(link) => links.push(link),
            Err(e) => source.postpone(&mut first, e)?,
        }
    }
    first.map(|()| links)
}
