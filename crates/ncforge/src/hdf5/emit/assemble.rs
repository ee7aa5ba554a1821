//! Sizes, addresses, bytes: the three passes over an image.

use super::btree::{self, TreePlan};
use super::bytes::UNDEFINED;
use super::datatype::encode_datatype;
use super::dense::{self, Dense};
use super::header::{self, Attributes, MAX_MESSAGE, Message};
use super::heap::{Content, HeapPlan};
use super::image::{Dataset, Image, Kind, Layout, Object};
use super::messages::{self, DenseAddresses, flag, kind};
use crate::error::{Error, Result};

/// Headers and trees start on multiples of this.
const ALIGN: u64 = 8;

/// An image with everything in its place, relative to the start of the block.
struct Placed<'i, 'a> {
    image: &'i Image<'a>,
    /// Attribute contents per object.
    contents: Vec<Vec<Content>>,
    heap: HeapPlan,
    /// How many links lead to each object.
    links: Vec<u32>,
    dense: Vec<Option<Dense>>,
    trees: Vec<Option<TreePlan>>,
    addresses: Addresses,
    size: u64,
}

#[derive(Default)]
struct Addresses {
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
}

impl Image<'_> {
    /// Exact size in bytes of the metadata block.
    pub(crate) fn size(&self) -> Result<u64> {
        Ok(Placed::new(self)?.size)
    }

    /// Emits the metadata block for address `base`, in pieces from first byte to last; gives the address of the
    /// root group's header.
    pub(crate) fn write(&self, base: u64, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        Placed::new(self)?.write(base, out)
    }
}

impl<'i, 'a> Placed<'i, 'a> {
    fn new(image: &'i Image<'a>) -> Result<Self> {
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
        let mut placed = Placed {
            image,
            contents,
            heap,
            links,
            dense: Vec::new(),
            trees,
            addresses: Addresses::default(),
            size: 0,
        };
        placed.place()?;
        Ok(placed)
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
            at = step(at, self.header(i, &zeros)?.len() as u64)?;
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
            at = step(at, tree.as_ref().map_or(0, TreePlan::size))?;
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
    fn header(&self, i: usize, at: &Addresses) -> Result<Vec<u8>> {
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

    fn dataset(&self, i: usize, d: &Dataset<'_>, at: &Addresses, list: &mut Vec<Message>) -> Result<()> {
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

    fn write(&self, base: u64, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        if base.checked_add(self.size).is_none() {
            return Err(Error::Internal(format!("metadata of {} bytes at byte {base}", self.size)));
        }
        let at = self.addresses.moved_by(base);
        let mut written = 0u64;
        let mut put = |bytes: &[u8], target: u64| -> Result<()> {
            let gap = target - base - written;
            out(&[0; ALIGN as usize][..gap as usize])?;
            out(bytes)?;
            written += gap + bytes.len() as u64;
            Ok(())
        };
        for i in 0..self.image.objects.len() {
            put(&self.header(i, &at)?, at.objects[i])?;
        }
        for (i, dense) in self.dense.iter().enumerate() {
            let Some(dense) = dense else { continue };
            let attrs = self.attributes(i, &at)?;
            put(&dense::encode(dense, at.dense[i], &attrs), at.dense[i])?;
        }
        for (bytes, &target) in self.heap.encode(&at.objects, &at.collections).zip(&at.collections) {
            put(&bytes, target)?;
        }
        for (i, (object, tree)) in self.image.objects.iter().zip(&self.trees).enumerate() {
            let (Kind::Dataset(d), Some(tree)) = (&object.kind, tree) else { continue };
            let Layout::Chunked { chunk, element_size, chunks } = &d.layout else { continue };
            let mut target = at.trees[i];
            btree::write(tree, target, chunk, *element_size, *chunks, &mut |bytes| {
                put(bytes, target)?;
                target += bytes.len() as u64;
                Ok(())
            })?;
        }
        put(&[], base + self.size)?;
        Ok(at.objects[0])
    }
}

fn tree_plan(object: &Object<'_>) -> Option<TreePlan> {
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
