//! The mappings of a virtual dataset: an object of the global heap (format specification, "Global Heap Block for Virtual Datasets").
//!
//! Version 0 names the file and the dataset of each mapping. Version 1 (HDF5 2.0) may refer to names of earlier mappings, and says
//! without a name that the source is in the same file.

use std::sync::Arc;

use super::checksum;
use super::cursor::Cursor;
use super::file::File;
use super::selection::Selection;
use crate::error::Result;

/// The file name that means the file itself.
const SAME_FILE: &[u8] = b".";

/// Elements of a dataset that are those of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Name of the source's file.
    pub file: Pattern,
    /// Path of the source in it.
    pub dataset: Pattern,
    /// The elements of the source.
    pub from: Selection,
    /// The elements that they are here, in the same order.
    pub to: Selection,
}

impl Mapping {
    /// Whether names are made of the numbers of blocks.
    pub(crate) fn is_numbered(&self) -> bool {
        self.file.is_numbered() || self.dataset.is_numbered()
    }
}

/// A name, with places for a number: `%b`; `%%` is a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Arc<[Vec<u8>]>);

impl Pattern {
    fn parse(name: &[u8]) -> Option<Self> {
        let mut pieces = vec![Vec::new()];
        let mut rest = name.iter();
        while let Some(&b) = rest.next() {
            match (b, if b == b'%' { rest.next() } else { None }) {
                (b'%', Some(b'b')) => pieces.push(Vec::new()),
                (b'%', Some(b'%')) => pieces.last_mut()?.push(b'%'),
                (b'%', _) => return None,
                (b, _) => pieces.last_mut()?.push(b),
            }
        }
        Some(Pattern(pieces.into()))
    }

    fn is_numbered(&self) -> bool {
        self.0.len() > 1
    }

    /// Whether it is the name that means the file itself.
    pub(crate) fn is_same_file(&self) -> bool {
        matches!(&*self.0, [one] if one == SAME_FILE)
    }

    /// The name with a number.
    pub(crate) fn name(&self, number: u64) -> Vec<u8> {
        self.0.join(number.to_string().as_bytes())
    }
}

impl File {
    /// The mappings of a virtual dataset, which lie in the global heap; `None`: there are none.
    pub(crate) fn mappings(&self, place: Option<(u64, u32)>) -> Result<Vec<Mapping>> {
        let Some((address, index)) = place else { return Ok(Vec::new()) };
        let collection = self.heap.collection(&self.source, address)?;
        let Some(block) = collection.get(index) else {
            return Err(self
                .source
                .fail(address, format!("no object {index} in this part of the global heap")));
        };
        let fine = block
            .split_last_chunk::<4>()
            .is_some_and(|(body, sum)| checksum::matches(body, u32::from_le_bytes(*sum)));
        if !fine {
            return Err(self
                .source
                .fail(address, "the checksum of the mappings of a virtual dataset does not match"));
        }
        parse(&mut self.source.cursor(&block[..block.len() - 4], address))
    }
}

fn parse(c: &mut Cursor<'_>) -> Result<Vec<Mapping>> {
    let version = c.version("the mappings of a virtual dataset", 0..=1)?;
    let count = c.length()?;
    let mut all: Vec<Mapping> = Vec::new();
    for _ in 0..count {
        let flags = if version == 0 { 0 } else { c.u8()? };
        let file = match flags & 5 {
            0 => pattern(c)?,
            1 => earlier(c, &all)?.file.clone(),
            4 => Pattern([SAME_FILE.to_vec()].into()),
            _ => return Err(c.fail("a mapping whose file is named twice")),
        };
        let dataset = if flags & 2 == 0 { pattern(c)? } else { earlier(c, &all)?.dataset.clone() };
        all.push(Mapping { file, dataset, from: Selection::parse(c)?, to: Selection::parse(c)? });
    }
    Ok(all)
}

fn pattern(c: &mut Cursor<'_>) -> Result<Pattern> {
    let here = *c;
    let name = c.cstr()?;
    Pattern::parse(name).ok_or_else(|| {
        here.fail(format!(
            "`{}` is not the name of a source: a percent sign is written `%%`",
            name.escape_ascii()
        ))
    })
}

/// The mapping before that a name is shared with.
fn earlier<'a>(c: &mut Cursor<'_>, all: &'a [Mapping]) -> Result<&'a Mapping> {
    let number = c.length()?;
    let found = usize::try_from(number).ok().and_then(|n| all.get(n));
    found.ok_or_else(|| {
        c.fail(format!("a name of mapping {number}, which is not before mapping {}", all.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::cursor::Sizes;

    const ALL: [u8; 16] = [3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    fn read(bytes: &[u8]) -> Result<Vec<Mapping>> {
        parse(&mut Cursor::new("v.h5", bytes, 0, Sizes::default()))
    }

    fn names(all: &[Mapping]) -> Vec<(Vec<u8>, Vec<u8>)> {
        all.iter().map(|m| (m.file.name(3), m.dataset.name(3))).collect()
    }

    #[test]
    fn names_of_both_versions() {
        let first = [&[0u8][..], &1u64.to_le_bytes(), b"a%b.h5\0", b"/d%%\0", &ALL, &ALL].concat();
        let all = read(&first).unwrap();
        assert_eq!(names(&all), [(b"a3.h5".to_vec(), b"/d%".to_vec())]);
        assert!(all[0].is_numbered() && all[0].from == Selection::All);
        let second = [
            &[1u8][..],
            &3u64.to_le_bytes(),
            &[0],
            b"a.h5\0/d\0",
            &ALL,
            &ALL,
            &[3],
            &0u64.to_le_bytes(),
            &0u64.to_le_bytes(),
            &ALL,
            &ALL,
            &[4],
            b"/e\0",
            &ALL,
            &ALL,
        ]
        .concat();
        let all = read(&second).unwrap();
        let (a, d) = (b"a.h5".to_vec(), b"/d".to_vec());
        assert_eq!(names(&all), [(a.clone(), d.clone()), (a, d), (b".".to_vec(), b"/e".to_vec())]);
        assert!(all[2].file.is_same_file() && !all[0].file.is_same_file());
        for end in 0..second.len() {
            assert!(read(&second[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_cannot_be_is_damage() {
        let odd = [&[0u8][..], &1u64.to_le_bytes(), b"a%d.h5\0", b"/d\0", &ALL, &ALL].concat();
        assert!(read(&odd).unwrap_err().to_string().contains("percent"));
        let many = [&[0u8][..], &u64::MAX.to_le_bytes(), b"a\0", b"/d\0", &ALL, &ALL].concat();
        assert!(read(&many).is_err(), "more mappings than bytes");
        let later =
            [&[1u8][..], &1u64.to_le_bytes(), &[1], &0u64.to_le_bytes(), b"/d\0", &ALL, &ALL].concat();
        assert!(read(&later).unwrap_err().to_string().contains("not before"));
    }
}
