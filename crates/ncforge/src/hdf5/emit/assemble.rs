//! Sizes, addresses, bytes: the three passes over an image.

use super::btree::{self, TreePlan};
use super::bytes::UNDEFINED;
use super::datatype::encode_datatype;
use super::dense::{self, Dense};
use super::header::{self, Attributes, MAX_MESSAGE, Message};
use super::heap::{Content, HeapPlan};
use super::image::{Attribute, Dataset, Image, Kind, Layout, Object, ObjectId};
use super::messages::{self, DenseAddresses, flag, kind};
use crate::error::{Error, Result};

/// Headers and trees start on multiples of this.
const ALIGN: u64 = 8;

/// An image with everything in its place, relative to the start of the block.
#[derive(Debug)]
pub(crate) struct Assembly {
    image: Image,
    /// Attribute contents per object.
    contents: Vec<Vec<Content>>,
    heap: HeapPlan,
    /// The number of links that lead to each object.
    links: Vec<u32>,
    dense: Vec<Option<Dense>>,
    trees: Vec<Option<TreePlan>>,
    addresses: Addresses,
    /// Bytes of each header, and of each tree, as placed.
    headers: Vec<u64>,
    rooms: Vec<u64>,
    size: u64,
}

/// The addresses of the parts of a block in the file.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    objects: Vec<u64>,
    dense: Vec<u64>,
    collections: Vec<u64>,
    trees: Vec<u64>,
}

impl Addresses {
    fn moved_by(&self, base: u64) -> Self {
        let shift = |v: &[u64]| v.iter().map(|a| a + base).collect();
        Addresses {
            objects: shift(&self.objects),
            dense: shift(&self.dense),
            collections: shift(&self.collections),
            trees: shift(&self.trees),
        }
    }

    /// The address of an object's header.
    pub(crate) fn object(&self, id: ObjectId) -> u64 {
        self.objects[id.0]
    }

    /// The address of an object's chunk index.
    pub(crate) fn tree(&self, id: ObjectId) -> u64 {
        self.trees[id.0]
    }

    /// A chunk index is outside the block.
    pub(crate) fn move_tree(&mut self, id: ObjectId, to: u64) {
        self.trees[id.0] = to;
    }
}

/// Bytes, and where they belong.
type Placed = Vec<(u64, Vec<u8>)>;

impl Assembly {
    /// Places everything that an image describes.
    pub(crate) fn new(image: Image) -> Result<Self> {
        let n = image.objects.len();
        if !matches!(image.objects.first().map(|o| &o.kind), Some(Kind::Group(_))) {
            return Err(Error::Internal("an image needs a root group".into()));
        }
        let mut heap = HeapPlan::default();
        let contents: Vec<Vec<Content>> =
            image.objects.iter().map(|o| o.attrs.iter().map(|a| heap.intern(&a.data)).collect()).collect();
        let mut links = vec![0u32; n];
        links[0] = 1;
        for object in &image.objects {
            let Kind::Group(list) = &object.kind else { continue };
            for link in list {
                links[link.target.0] += 1;
            }
        }
        let trees = image.objects.iter().map(tree_plan).collect();
        let mut placed = Assembly {
            image,
            contents,
            heap,
            links,
            dense: Vec::new(),
            trees,
            addresses: Addresses::default(),
            headers: Vec::new(),
            rooms: Vec::new(),
            size: 0,
        };
        placed.place()?;
        Ok(placed)
    }

    /// Exact size in bytes of the metadata block.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Gives everything an address. Sizes do not depend on addresses, so a first encoding with zeros gives them.
    fn place(&mut self) -> Result<()> {
        let n = self.image.objects.len();
        let zeros = Addresses {
            objects: vec![0; n],
            dense: vec![0; n],
            collections: vec![0; self.heap.sizes().count()],
            trees: vec![0; n],
        };
        let mut at = 0u64;
        let mut placed = Addresses::default();
        for i in 0..n {
            let attrs = self.attributes(i, &zeros)?;
            let dense = attrs
                .iter()
                .any(|m| m.len() > MAX_MESSAGE)
                .then(|| Dense::new(&self.image.objects[i].attrs, &attrs));
            self.dense.push(dense.transpose()?);
        }
        for i in 0..n {
            placed.objects.push(at);
            let len = self.encode_header(i, &zeros)?.len() as u64;
            self.headers.push(len);
            at = step(at, len)?;
        }
        for dense in &self.dense {
            placed.dense.push(at);
            at = step(at, dense.as_ref().map_or(0, Dense::size))?;
        }
        for size in self.heap.sizes() {
            placed.collections.push(at);
            at = step(at, size)?;
        }
        for tree in &self.trees {
            placed.trees.push(at);
            let len = tree.as_ref().map_or(0, TreePlan::size);
            self.rooms.push(len);
            at = step(at, len)?;
        }
        self.addresses = placed;
        self.size = at;
        Ok(())
    }

    /// Attribute messages of one object.
    fn attributes(&self, i: usize, at: &Addresses) -> Result<Vec<Vec<u8>>> {
        let attrs = &self.image.objects[i].attrs;
        attrs
            .iter()
            .zip(&self.contents[i])
            .map(|(a, c)| {
                let data = c.resolve(&at.objects, &at.collections);
                messages::attribute(&a.name, &encode_datatype(&a.datatype)?, &a.space, &data)
            })
            .collect()
    }

    /// One object's header.
    fn encode_header(&self, i: usize, at: &Addresses) -> Result<Vec<u8>> {
        let object = &self.image.objects[i];
        let mut list = Vec::new();
        match &object.kind {
            Kind::Group(links) => {
                list.push(Message::new(kind::LINK_INFO, 0, messages::link_info(links.len())));
                list.push(Message::new(kind::GROUP_INFO, flag::CONSTANT, messages::group_info(links.len())));
            }
            Kind::Type(t) => {
                let flags = flag::CONSTANT | flag::DONT_SHARE;
                list.push(Message::new(kind::DATATYPE, flags, encode_datatype(t)?));
            }
            Kind::Dataset(d) => self.dataset(i, d, at, &mut list)?,
        }
        if self.links[i] > 1 {
            let mut body = vec![0];
            body.extend(self.links[i].to_le_bytes());
            list.push(Message::new(kind::REFERENCE_COUNT, 0, body));
        }
        let ordered = !matches!(object.kind, Kind::Type(_)) || !object.attrs.is_empty();
        let mut compact = 0;
        if ordered {
            let dense = self.dense[i].as_ref();
            let addresses = dense.map_or(DenseAddresses::NONE, |d| d.addresses(at.dense[i]));
            let info = messages::attribute_info(object.attrs.len(), addresses)?;
            list.push(Message::new(kind::ATTRIBUTE_INFO, flag::DONT_SHARE, info));
            if dense.is_none() {
                compact = object.attrs.len();
                for (k, body) in self.attributes(i, at)?.into_iter().enumerate() {
                    list.push(Message { kind: kind::ATTRIBUTE, flags: 0, order: k as u16, body });
                }
            }
        }
        if let Kind::Group(links) = &object.kind {
            for (k, link) in links.iter().enumerate() {
                list.push(Message::new(
                    kind::LINK,
                    0,
                    messages::link(&link.name, k as u64, at.objects[link.target.0])?,
                ));
            }
        }
        header::encode(&list, if ordered { Attributes::Ordered(compact) } else { Attributes::Plain })
    }

    fn dataset(&self, i: usize, d: &Dataset, at: &Addresses, list: &mut Vec<Message>) -> Result<()> {
        let tree = self.trees[i].as_ref().map_or(UNDEFINED, |t| t.root(at.trees[i]));
        list.push(Message::new(kind::DATASPACE, 0, messages::dataspace(&d.space)?));
        list.push(Message::new(kind::DATATYPE, flag::CONSTANT, encode_datatype(&d.datatype)?));
        list.push(Message::new(kind::FILL, flag::CONSTANT, messages::fill(&d.fill)?));
        if !d.filters.is_empty() {
            list.push(Message::new(kind::FILTERS, flag::CONSTANT, messages::filters(&d.filters)?));
        }
        list.push(Message::new(kind::LAYOUT, 0, messages::layout(&d.layout, tree)?));
        Ok(())
    }

    /// Emits the metadata block for address `base`, in pieces from first byte to last; gives the address of the
    /// root group's header.
    pub(crate) fn write(&self, base: u64, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        if base.checked_add(self.size).is_none() {
            return Err(Error::Internal(format!("metadata of {} bytes at byte {base}", self.size)));
        }
        let at = self.addresses(base);
        let mut written = self.write_headers(&at, out)?;
        for id in self.objects() {
            pad(&mut written, self.addresses.trees[id.0], out)?;
            self.write_tree(id, at.trees[id.0], &mut |bytes| {
                written += bytes.len() as u64;
                out(bytes)
            })?;
        }
        pad(&mut written, self.size, out)?;
        Ok(at.objects[0])
    }

    /// Emits all of a block but the chunk indexes, which are at the end of it or elsewhere. Gives the number of bytes.
    pub(crate) fn write_headers(
        &self,
        at: &Addresses,
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        let mut written = 0u64;
        let mut put = |bytes: &[u8], target: u64| -> Result<()> {
            pad(&mut written, target, out)?;
            written += bytes.len() as u64;
            out(bytes)
        };
        for i in 0..self.image.objects.len() {
            put(&self.encode_header(i, at)?, self.addresses.objects[i])?;
        }
        for i in 0..self.image.objects.len() {
            if let Some(bytes) = self.encode_dense(i, at)? {
                put(&bytes, self.addresses.dense[i])?;
            }
        }
        let collections = self.heap.encode(&at.objects, &at.collections);
        for (bytes, &target) in collections.zip(&self.addresses.collections) {
            put(&bytes, target)?;
        }
        Ok(written)
    }

    /// The addresses of everything in a block at `base`.
    pub(crate) fn addresses(&self, base: u64) -> Addresses {
        self.addresses.moved_by(base)
    }

    /// All objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> + use<> {
        (0..self.image.objects.len()).map(ObjectId)
    }

    /// Describes a dataset anew.
    pub(crate) fn set_dataset(&mut self, id: ObjectId, dataset: Dataset) {
        let object = &mut self.image.objects[id.0];
        object.kind = Kind::Dataset(Box::new(dataset));
        self.trees[id.0] = tree_plan(object);
    }

    /// Gives an attribute other values, which refer to nothing.
    pub(crate) fn set_attribute(&mut self, id: ObjectId, new: Attribute) {
        let attrs = &mut self.image.objects[id.0].attrs;
        if let Some(i) = attrs.iter().position(|a| a.name == new.name) {
            self.contents[id.0][i] = Content::from(new.data.bytes.clone());
            attrs[i] = new;
        }
    }

    /// The pieces that belong to one object, with their places: its header, and its attributes where they are not in there. `None` if
    /// they are not as long as they were when they were placed.
    pub(crate) fn pieces(&self, id: ObjectId, at: &Addresses) -> Result<Option<Placed>> {
        let header = self.encode_header(id.0, at)?;
        if header.len() as u64 != self.headers[id.0] {
            return Ok(None);
        }
        let mut pieces = vec![(at.objects[id.0], header)];
        if let Some(bytes) = self.encode_dense(id.0, at)? {
            pieces.push((at.dense[id.0], bytes));
        }
        Ok(Some(pieces))
    }

    fn encode_dense(&self, i: usize, at: &Addresses) -> Result<Option<Vec<u8>>> {
        let Some(dense) = &self.dense[i] else { return Ok(None) };
        Ok(Some(dense::encode(dense, at.dense[i], &self.attributes(i, at)?)))
    }

    /// Bytes of an object's chunk index as it is now, and as it was placed; `None` for what has no chunks.
    pub(crate) fn tree_sizes(&self, id: ObjectId) -> Option<(u64, u64)> {
        Some((self.trees[id.0].as_ref()?.size(), self.rooms[id.0]))
    }

    /// Emits an object's chunk index, which begins at `base`, node by node.
    pub(crate) fn write_tree(
        &self,
        id: ObjectId,
        base: u64,
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (Kind::Dataset(d), Some(tree)) = (&self.image.objects[id.0].kind, &self.trees[id.0]) else {
            return Ok(());
        };
        let Layout::Chunked { chunk, element_size, chunks } = &d.layout else { return Ok(()) };
        btree::write(tree, base, chunk, *element_size, &**chunks, out)
    }
}

/// Zeros up to `target`.
fn pad(written: &mut u64, target: u64, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let gap = target.saturating_sub(*written);
    *written += gap;
    out(&[0; ALIGN as usize][..gap.min(ALIGN) as usize])
}

fn tree_plan(object: &Object) -> Option<TreePlan> {
    match &object.kind {
        Kind::Dataset(d) => match &d.layout {
            Layout::Chunked { chunk, chunks, .. } => Some(TreePlan::new(chunk.len(), chunks.count())),
            _ => None,
        },
        _ => None,
    }
}

fn step(at: u64, size: u64) -> Result<u64> {
    at.checked_add(size)
        .and_then(|a| a.checked_next_multiple_of(ALIGN))
        .ok_or_else(|| Error::TooLarge("metadata of more than 2^64 bytes".into()))
}
