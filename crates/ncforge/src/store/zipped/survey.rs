//! Statistics and verification of a zipped file: the sizes of its parts, and damage.

use super::format::{Entry, Kind, Over, ROOT, ROOT_PLACES, SLOT};
use super::image::{Reach, RunOver, tree_pieces};
use super::open::{Copy, FIRST, lost_place, lost_root, roots};
use super::read::{Fetch, load_block};
use super::{ZippedStore, choice};
use crate::error::{Error, Result};

/// How some bytes of the image are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Blocks that take space.
    pub blocks: u64,
    /// Blocks of zeros only, or of repetitions of one value, that take none (zeros that were never written are not
    /// counted).
    pub constant: u64,
    /// Bytes that the blocks decode to.
    pub bytes: u64,
    /// Bytes that are stored for them.
    pub stored: u64,
    /// Bytes of the file that they take, in whole slots.
    pub space: u64,
}

impl Summary {
    fn add(&mut self, entry: &Entry, block: u64) {
        if entry.extent().is_some() {
            self.blocks += 1;
            self.stored += u64::from(entry.len);
            self.space += entry.slots() * SLOT;
        } else {
            self.constant += 1;
        }
        self.bytes += block;
    }
}

/// Statistics of a zipped file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Everything.
    pub total: Summary,
    /// Index pages, and the bytes of the file that they and the map take.
    pub pages: u64,
    /// Bytes of the file for index pages and the map.
    pub index: u64,
    /// Unused bytes of the file: free for the next writer, and released by compacting.
    pub wasted: u64,
    /// Bytes of the file.
    pub file: u64,
    /// Bytes of the image.
    pub image: u64,
    /// Ranges of the image with trees of their own, for records each column: first byte, byte after the last, bytes of
    /// the elements that its blocks are split into (1: they are not), and how it is stored.
    pub stretches: Vec<(u64, u64, u16, Summary)>,
}

/// Something in a zipped file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// A description of the damage, its location, and how it was detected.
    pub what: String,
    /// The bytes of the image that cannot be read because of it; `None` if no data are lost.
    pub image: Option<Reach>,
}

impl ZippedStore {
    /// Counts the stored bytes of the open state. Reads the index, but no blocks. For a file that is being written:
    /// the last commit and the bytes stored since.
    pub fn survey(&self) -> Result<Survey> {
        let core = self.core();
        let fetch = Fetch { backing: &*self.backing };
        let mut survey = Survey { file: self.backing.len(), image: core.map.len, ..Survey::default() };
        let mut by_tree = vec![Summary::default(); core.trees.len()];
        for (tree, summary) in core.trees.iter().zip(&mut by_tree) {
            tree.visit(&fetch, &mut |block, entry| {
                if block.is_some() {
                    summary.add(entry, 1 << self.shift);
                    survey.total.add(entry, 1 << self.shift);
                } else if let Some((_, slots)) = entry.extent() {
                    survey.pages += 1;
                    survey.index += slots * SLOT;
                }
                Ok(())
            })?;
        }
        let map = roots(&*self.backing)?
            .into_iter()
            .filter_map(|copy| copy.root)
            .find(|r| r.sequence == core.sequence);
        survey.index += map.and_then(|r| r.map.extent()).map_or(0, |(_, slots)| slots * SLOT);
        let used = survey.total.space + survey.index + ROOT_PLACES.len() as u64 * 2 * SLOT;
        survey.wasted = survey.file.saturating_sub(used);
        for (i, w) in core.map.windows.iter().enumerate() {
            let end = core.map.end_of(i).min(core.map.len);
            if w.start >= end {
                continue;
            }
            let trees: Vec<u32> = match w.over {
                Over::Tree(tree) => vec![tree],
                Over::Table(n) => core.map.tables[n as usize].columns.iter().map(|c| c.tree).collect(),
            };
            for tree in trees {
                let width = choice::width(&core.trees[tree as usize].head, 1 << self.shift);
                survey.stretches.push((w.start, end, width, by_tree[tree as usize]));
            }
        }
        Ok(survey)
    }

    /// Bytes stored for some bytes of the image: for a block that contains others, too, their part of it.
    pub fn stored_for(&self, from: u64, to: u64) -> Result<u64> {
        let mut stored = 0.0;
        self.each_block(from, to, &mut |entry, bytes, whole| {
            stored += f64::from(entry.len) * bytes as f64 / whole.max(bytes).max(1) as f64;
        })?;
        Ok(stored.round() as u64)
    }

    /// Bytes stored for `run` bytes of each of `n` records of `stride` bytes, the first of them at `offset`.
    pub fn stored_for_records(&self, offset: u64, run: u64, stride: u64, n: u64) -> Result<u64> {
        let column = self.core().map.column(offset, run, stride, n);
        let Some((tree, from)) = column else {
            let all = self.stored_for(offset, offset.saturating_add(n.saturating_mul(stride)))?;
            return Ok((all as f64 * (run as f64 / stride.max(1) as f64).min(1.0)).round() as u64);
        };
        let core = self.core();
        let fetch = Fetch { backing: &*self.backing };
        let mut stored = 0;
        let last = from + (n * run).saturating_sub(1);
        for block in from >> self.shift..=last >> self.shift {
            stored += u64::from(core.trees[tree as usize].get(block, &fetch)?.len);
        }
        Ok(stored)
    }

    /// The storage of the blocks with some bytes of the image. Blocks at the ends may contain others, too.
    pub fn survey_range(&self, from: u64, to: u64) -> Result<Summary> {
        let mut summary = Summary::default();
        self.each_block(from, to, &mut |entry, _, _| {
            if entry.kind != Kind::Zero {
                summary.add(entry, 1 << self.shift);
            }
        })?;
        Ok(summary)
    }

    /// Visits the blocks with some bytes of the image: the entry, how many of the bytes, how many bytes of the
    /// image in total.
    fn each_block(&self, from: u64, to: u64, f: &mut dyn FnMut(&Entry, u64, u64)) -> Result<()> {
        let core = self.core();
        let fetch = Fetch { backing: &*self.backing };
        let to = to.min(core.map.len);
        let mut at = from;
        while at < to {
            let len = (to - at).min(1 << 30) as usize;
            for run in core.map.runs(at, len) {
                let parts: Vec<(u32, u64, u64)> = match &run.over {
                    RunOver::Tree(tree) => vec![(*tree, run.place, run.place + run.len as u64)],
                    RunOver::Table(table) => {
                        let end = run.place + run.len as u64;
                        let part = |c| (table.before(c, run.place), table.before(c, end));
                        table.columns.iter().map(|c| (c.tree, part(c).0, part(c).1)).collect()
                    }
                };
                for (tree, from, to) in parts {
                    // The last block of a tree is not full.
                    let extent = core.map.extent_of(tree);
                    for piece in tree_pieces(tree, from, (to - from) as usize, self.shift) {
                        let entry = core.trees[tree as usize].get(piece.block, &fetch)?;
                        let whole = extent.saturating_sub(piece.block << self.shift).min(1 << self.shift);
                        f(&entry, piece.len as u64, whole);
                    }
                }
            }
            at += len as u64;
        }
        Ok(())
    }

    /// Reads everything that is stored and checks it: roots, map, index pages, every block decoded. `progress` is
    /// called with the number of bytes of the file that were read.
    pub fn verify(&self, progress: &mut dyn FnMut(u64) -> Result<()>) -> Result<Vec<Damage>> {
        let mut found = Vec::new();
        let core = self.core();
        let fetch = Fetch { backing: &*self.backing };
        let copies = roots(&*self.backing)?;
        let lost = lost_place(&copies);
        if let Some(place) = lost {
            let what = format!("{}; commit {} is read", lost_root(place), core.sequence);
            found.push(Damage { what, image: None });
        }
        for Copy { at, root, bytes } in copies {
            // The second commit is the first one in its place: while it lacks its second copy, nothing is there.
            let is_empty = match core.sequence {
                FIRST => at < ROOT_PLACES[1],
                sequence => sequence == FIRST + 1 && at == ROOT_PLACES[0] + ROOT as u64 && bytes == [0; ROOT],
            };
            if root.is_none() && !is_empty && lost.is_none() {
                let what = format!("the copy of a root at byte {at} is damaged (another one is whole)");
                found.push(Damage { what, image: None });
            }
        }
        let mut buffer = vec![0; 1 << self.shift];
        for (number, tree) in core.trees.iter().enumerate() {
            let number = number as u32;
            // A damaged page must not hide later ones: blocks are then read one by one.
            let mut blocks = Vec::new();
            let mut pages = Vec::new();
            let whole = tree.visit(&fetch, &mut |block, entry| {
                match block {
                    Some(block) => blocks.push((block, *entry)),
                    None => pages.push(*entry),
                }
                Ok(())
            });
            if whole.is_err() {
                blocks.clear();
                self.blocks_around_damage(&core, number, &mut blocks, &mut found);
            }
            for page in pages {
                progress(u64::from(page.len))?;
            }
            for (block, entry) in blocks {
                let name = || core.name_of(number, block, self.shift);
                if let Err(e) = load_block(&*self.backing, &entry, &mut buffer, &name) {
                    if !matches!(e, Error::Corrupt { .. } | Error::Io { .. }) {
                        return Err(e);
                    }
                    let image = core.map.bytes_of(number, block, self.shift);
                    found.push(Damage { what: e.to_string(), image });
                }
                progress(u64::from(entry.len))?;
            }
        }
        Ok(found)
    }

    /// The blocks of a tree of which some index pages are damaged.
    fn blocks_around_damage(
        &self,
        core: &super::Core,
        number: u32,
        blocks: &mut Vec<(u64, Entry)>,
        found: &mut Vec<Damage>,
    ) {
        let fetch = Fetch { backing: &*self.backing };
        let tree = &core.trees[number as usize];
        let end = core.map.extent_of(number);
        let mut last: Option<String> = None;
        for block in 0..end.div_ceil(1 << self.shift) {
            match tree.get(block, &fetch) {
                Ok(entry) if entry.kind == Kind::Zero => {}
                Ok(entry) => blocks.push((block, entry)),
                Err(e) => {
                    let what = e.to_string();
                    let image = core.map.bytes_of(number, block, self.shift);
                    match (found.last_mut(), &last) {
                        (Some(Damage { image: Some(Reach { to, .. }), .. }), Some(l)) if *l == what => {
                            *to = image.map_or(*to, |reach| reach.to.max(*to));
                        }
                        _ => found.push(Damage { what: what.clone(), image }),
                    }
                    last = Some(what);
                }
            }
        }
    }

    /// Reads the stored bytes of every block and page once, for tests of checksums.
    #[cfg(test)]
    pub(super) fn touch_all(&self) -> Result<()> {
        let core = self.core();
        let fetch = Fetch { backing: &*self.backing };
        for tree in &core.trees {
            tree.visit(&fetch, &mut |_, entry| {
                if entry.extent().is_some() {
                    super::read::stored_bytes(&*self.backing, entry, &String::new)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
