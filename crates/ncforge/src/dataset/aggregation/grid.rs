//! The array of fragments: which of them have elements in a box.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::canonical::{Target, canonical};
use super::fragments::{Constant, Fragment, Fragments};
use super::instructions::{Instructions, Named};
use super::stored::Stored;
use crate::error::Result;
use crate::layout::{ArrayPart, Convert, PartAxis, PartIndex, PartSource};
use crate::model::{Atomic, DType, Number, Schema, Value, Values, VarId, shape};
use crate::select::coordinates;

/// The fragments of an aggregation variable.
#[derive(Debug)]
pub(super) struct Grid {
    fragments: Arc<Fragments>,
    target: Arc<Target>,
    named: Named,
    /// For each dimension, where each fragment ends.
    ends: Vec<Vec<u64>>,
    /// The names of all fragments, or their values, which are read when they are first needed.
    content: OnceLock<Content>,
}

#[derive(Debug)]
enum Content {
    Names { uris: Texts, identifiers: Texts },
    Values(Values),
}

impl Grid {
    /// The fragments of an array of this shape. Reads their sizes.
    pub(super) fn new(
        fragments: &Arc<Fragments>,
        instructions: &Instructions,
        target: Arc<Target>,
        shape: &[u64],
    ) -> Result<Self> {
        let file = &fragments.file;
        let rows = sizes(file, instructions.map, shape.len(), &target)?;
        let mut ends = Vec::with_capacity(shape.len());
        for (d, row) in rows.iter().enumerate() {
            let mut end = 0u64;
            let all: Option<Vec<u64>> = row
                .iter()
                .map(|n| {
                    end = end.checked_add(*n)?;
                    Some(end)
                })
                .collect();
            let fits = all.filter(|_| end == shape[d]);
            ends.push(fits.ok_or_else(|| {
                target.damaged(&format!(
                    "its fragments have {row:?} elements along a dimension of {}",
                    shape[d]
                ))
            })?);
        }
        let grid = Self {
            fragments: fragments.clone(),
            target,
            named: instructions.fragments,
            ends,
            content: OnceLock::new(),
        };
        grid.check()?;
        Ok(grid)
    }

    /// An error unless names, or values, are of an array of the right shape.
    fn check(&self) -> Result<()> {
        let want: Vec<u64> = self.ends.iter().map(|e| e.len() as u64).collect();
        let schema = &self.fragments.file.schema;
        let check = |var: VarId, may_be_one: bool| {
            let mut shape = schema.shape(var);
            if schema.var(var).dtype == Atomic::Char.into() && self.named_by_text(var) {
                shape.pop();
            }
            if shape == want || (may_be_one && shape.is_empty()) {
                return Ok(());
            }
            let name = schema.var_path(var);
            Err(self.target.damaged(&format!("`{name}` has the shape {shape:?}, the fragments {want:?}")))
        };
        match self.named {
            Named::Files { uris, identifiers } => check(uris, false).and_then(|()| check(identifiers, true)),
            Named::Values(values) => check(values, false),
        }
    }

    /// Whether a variable has names, which characters make up where there are no strings.
    fn named_by_text(&self, var: VarId) -> bool {
        !matches!(self.named, Named::Values(values) if values == var)
    }

    fn content(&self) -> Result<&Content> {
        if let Some(content) = self.content.get() {
            return Ok(content);
        }
        // Threads of the engine may ask at the same time: nobody waits for another one here.
        let file = &self.fragments.file;
        let content = match self.named {
            Named::Files { uris, identifiers } => Content::Names {
                uris: Texts::read(file, uris, &self.target)?,
                identifiers: Texts::read(file, identifiers, &self.target)?,
            },
            Named::Values(values) => {
                let change = canonical(&file.schema, values, &self.target);
                let change = change.map_err(|what| self.target.unsupported(&what))?;
                let stored = file.all(values)?;
                Content::Values(match (change, stored.bytes()) {
                    (Some(change), Some(bytes)) => {
                        let n = shape::elements(&file.schema.shape(values)) as usize;
                        let mut made = crate::buffer::filled(0, n.saturating_mul(self.target.element.size))?;
                        change.convert(bytes, &mut made)?;
                        Values::fixed(&made)
                    }
                    _ => stored,
                })
            }
        };
        Ok(self.content.get_or_init(|| content))
    }

    /// The source of a fragment; `None` if it names no file: it has no values.
    fn source(&self, at: &[u64], counts: Vec<u64>) -> Result<Option<Arc<dyn PartSource>>> {
        let i = at.iter().zip(&self.ends).fold(0, |i, (a, e)| i * e.len() + *a as usize);
        Ok(match self.content()? {
            Content::Names { uris, .. } if uris.get(i).is_empty() => None,
            Content::Names { uris, identifiers } => Some(Arc::new(Fragment {
                fragments: self.fragments.clone(),
                target: self.target.clone(),
                uri: uris.get(i).to_vec(),
                identifier: identifiers.get(i).to_vec(),
                counts,
            })),
            Content::Values(values) => {
                let size = self.target.element.size;
                let (bytes, value) = match values {
                    Values::Fixed(all) => (all.chunks_exact(size).nth(i).unwrap_or_default().to_vec(), None),
                    Values::Heap(all) => (vec![0; size], all.get(i).cloned()),
                };
                Some(Arc::new(Constant::new(&self.target, counts, bytes, value)))
            }
        })
    }

    /// The fragment at these coordinates of the array of fragments; `None` if it has no values.
    fn part(&self, at: &[u64]) -> Result<Option<ArrayPart>> {
        let begin = |d: usize| at[d].checked_sub(1).map_or(0, |before| self.ends[d][before as usize]);
        let counts: Vec<u64> = (0..at.len()).map(|d| self.ends[d][at[d] as usize] - begin(d)).collect();
        if counts.contains(&0) {
            return Ok(None);
        }
        let axes = (0..at.len()).map(|d| PartAxis::run(d, begin(d), 0, counts[d])).collect();
        let Some(source) = self.source(at, counts)? else { return Ok(None) };
        Ok(Some(ArrayPart { axes, origin: vec![0; at.len()], source }))
    }

    /// The fragments at these coordinates.
    fn parts<'a>(&'a self, ranges: &'a [Range<u64>]) -> impl Iterator<Item = Result<ArrayPart>> + 'a {
        coordinates(ranges).filter_map(|at| self.part(&at).transpose())
    }
}

impl PartIndex for Grid {
    fn meeting(&self, within: &[Range<u64>]) -> Result<Vec<Cow<'_, ArrayPart>>> {
        let ranges: Vec<_> = (self.ends.iter().zip(within))
            .map(|(ends, within)| {
                let from = ends.partition_point(|end| *end <= within.start);
                let before = ends.partition_point(|end| *end < within.end);
                let to = if within.is_empty() { from } else { (before + 1).min(ends.len()) };
                from as u64..to as u64
            })
            .collect();
        self.parts(&ranges).map(|part| Ok(Cow::Owned(part?))).collect()
    }

    fn sources(&self) -> Result<Vec<Arc<dyn PartSource>>> {
        if let Content::Values(_) = self.content()? {
            return Ok(Vec::new());
        }
        let all: Vec<_> = self.ends.iter().map(|ends| 0..ends.len() as u64).collect();
        self.parts(&all).map(|part| Ok(part?.source)).collect()
    }
}

/// The sizes of fragments along each dimension: rows of integers, which end with missing values.
fn sizes(file: &Stored, map: VarId, rank: usize, target: &Target) -> Result<Vec<Vec<u64>>> {
    let (schema, shape) = (&file.schema, file.schema.shape(map));
    let path = schema.var_path(map);
    let kind = match schema.var(map).dtype {
        DType::Atomic(kind) if !matches!(kind, Atomic::Char | Atomic::Float | Atomic::Double) => kind,
        _ => return Err(target.damaged(&format!("`{path}` has no integers"))),
    };
    // Of a scalar: one fragment.
    if rank == 0 {
        return Ok(Vec::new());
    }
    if shape.len() != 2 || shape[0] != rank as u64 {
        return Err(target.damaged(&format!("`{path}` has the shape {shape:?}, not {rank} rows")));
    }
    let missing = schema.missing_elements(schema.var(map));
    let values = file.all(map)?;
    let mut rows = Vec::with_capacity(rank);
    for row in
        values.bytes().unwrap_or_default().chunks(((shape[1] as usize) * kind.size()).max(1)).take(rank)
    {
        let mut sizes = Vec::new();
        for one in row.chunks_exact(kind.size()).filter(|one| !missing.iter().any(|m| m == one)) {
            let size = Number::read(kind, one).and_then(Number::integer).and_then(|n| u64::try_from(n).ok());
            sizes.push(size.ok_or_else(|| target.damaged(&format!("`{path}` has a size that is none")))?);
        }
        rows.push(sizes);
    }
    rows.resize(rank, Vec::new());
    Ok(rows)
}

/// Texts in one piece of memory.
#[derive(Debug)]
struct Texts {
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Texts {
    fn read(file: &Stored, var: VarId, target: &Target) -> Result<Self> {
        let mut texts = Self { bytes: Vec::new(), ends: Vec::new() };
        let schema: &Schema = &file.schema;
        match (file.all(var)?, schema.var(var).dtype) {
            (Values::Heap(all), DType::String) => {
                let fill = schema.var(var).attr("_FillValue").and_then(|a| a.as_text()).unwrap_or_default();
                all.iter().for_each(|value| match value {
                    Value::String(Some(text)) if text != fill.as_bytes() => texts.push(text),
                    _ => texts.push(&[]),
                });
            }
            (Values::Fixed(all), DType::Atomic(Atomic::Char)) => {
                let len = schema.shape(var).last().map_or(1, |n| *n as usize);
                let rows = all.chunks(len.max(1));
                rows.for_each(|row| {
                    texts.push(row.split(|b| *b == 0).next().unwrap_or_default().trim_ascii_end());
                });
                if len == 0 {
                    let rows =
                        shape::elements(&schema.shape(var)[..schema.shape(var).len().saturating_sub(1)]);
                    (0..rows).for_each(|_| texts.push(&[]));
                }
            }
            _ => return Err(target.damaged(&format!("`{}` has no text", schema.var_path(var)))),
        }
        Ok(texts)
    }

    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// The text of a fragment; one may be that of all.
    fn get(&self, i: usize) -> &[u8] {
        let i = if self.ends.len() == 1 { 0 } else { i };
        let from = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.get(i).map_or(&[], |&end| &self.bytes[from..end])
    }
}
