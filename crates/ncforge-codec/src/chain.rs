//! The filters of a variable, ready to run over chunks.

use std::ops::Range;
use std::sync::Arc;

use super::deflate::Segments;
use super::deflate::access::{AccessPoints, Disagreement, FOOTER, Tail};
use super::padded::PaddedInput;
use super::scratch::{grow, zeros};
use super::step::Step;
use super::widen::Widen;
use super::{Scratch, Stage, damaged, deflate, filters, fletcher32};
use crate::error::{Error, Result};
use crate::types::Filter;

/// A chunk's mask has 32 bits, and HDF5 allows no more filters than that.
const MAX_FILTERS: usize = 32;

/// The filters of a variable, ready to run. Cheap to clone; any number of threads may use one chain.
#[derive(Clone, Debug, Default)]
pub struct CodecChain {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    filters: Vec<Filter>,
    steps: Vec<Step>,
    element_size: usize,
    widened: Option<Widened>,
}

impl Inner {
    /// Says which access points deflate streams get.
    fn cut(&mut self, segments: Segments) {
        for step in &mut self.steps {
            if let Step::Deflate { segments: own, .. } = step {
                *own = segments;
            }
        }
    }
}

/// The place of a chunk's access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmented {
    /// Byte planes: bytes of an element; one if these are not shuffled.
    pub planes: usize,
    /// Bytes of checksums behind the table's footer.
    pub behind: usize,
}

impl Segmented {
    /// Bytes of a plane in a segment, as the last bytes of a chunk say; `None` if it has no access points.
    pub fn segment(&self, tail: &[u8]) -> Option<usize> {
        AccessPoints::segment_of(self.before(tail)?, self.planes)
    }

    /// Bytes of the end of a chunk that the other questions need.
    pub fn tail(&self) -> usize {
        FOOTER + self.behind
    }

    /// Bytes of table and footer, as the last bytes of a chunk say; `None` if it has no access points.
    pub fn table(&self, tail: &[u8]) -> Option<usize> {
        AccessPoints::table_of(self.before(tail)?, self.planes)
    }

    /// Whether a chunk ends as one with access points, whether they can be read or not.
    pub fn is_marked(&self, tail: &[u8]) -> bool {
        self.before(tail).is_some_and(AccessPoints::are_in)
    }

    /// Compares the access points of an encoded chunk with the chunk as it was decoded whole.
    ///
    /// # Errors
    /// The first place where they disagree.
    pub fn check(&self, encoded: &[u8], whole: &[u8]) -> std::result::Result<(), Disagreement> {
        AccessPoints::check(self.before(encoded).unwrap_or_default(), whole, self.planes)
    }

    /// The bytes before the checksums of other filters.
    fn before<'a>(&self, tail: &'a [u8]) -> Option<&'a [u8]> {
        Some(&tail[..tail.len().checked_sub(self.behind)?])
    }

    /// Reads the access points of a chunk of `len` bytes, which are `encoded` in the store, from its last ones.
    pub fn points(&self, tail: &[u8], encoded: u64, len: usize) -> Tail {
        let (Some(tail), Some(encoded)) = (self.before(tail), encoded.checked_sub(self.behind as u64)) else {
            return Tail::None;
        };
        match AccessPoints::read(tail, encoded, len, self.planes) {
            Tail::Longer(need) => Tail::Longer(need + self.behind),
            other => other,
        }
    }
}

/// Chunks of numbers that are read as others.
#[derive(Debug)]
struct Widened {
    widen: Widen,
    /// The chain that decodes the numbers.
    from: CodecChain,
    /// Edge chunks may be stored without the elements beyond the extent of the array.
    may_end: bool,
}

impl Widened {
    /// Bytes of numbers that take `len` bytes when they are read.
    fn stored_len(&self, len: usize) -> usize {
        len / self.widen.size() * self.widen.stored_size()
    }

    fn decode(&self, encoded: PaddedInput<'_>, mask: u32, out: &mut [u8]) -> Result<()> {
        let mut narrow = zeros(self.stored_len(out.len()))?;
        let end = if self.may_end { encoded.len().min(narrow.len()) } else { narrow.len() };
        self.from.decode_padded(encoded, mask, &mut narrow[..end])?;
        self.widen.widen(&narrow, out)
    }
}

/// The number of bytes between two filters.
#[derive(Clone, Copy)]
enum Length {
    Exactly(usize),
    AtMost(usize),
}

impl CodecChain {
    /// No filter at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The chain for a variable's filters; element size is in bytes.
    ///
    /// Fails with [`Error::Unsupported`] if any filter cannot be decoded; the message names it.
    pub fn new(filters: &[Filter], element_size: usize) -> Result<Self> {
        if filters.len() > MAX_FILTERS {
            return Err(damaged("filters", format!("{} of them, the format allows 32", filters.len())));
        }
        let mut steps = filters.iter().map(|f| Step::new(f, element_size)).collect::<Result<Vec<_>>>()?;
        for i in 1..steps.len() {
            if let [Step::Shuffle { size }, Step::Deflate { planes, .. }] = &mut steps[i - 1..=i] {
                *planes = *size;
            }
        }
        let inner = Inner { filters: filters.to_vec(), steps, element_size, widened: None };
        Ok(Self { inner: Arc::new(inner) }.with_segments(Segments::Auto))
    }

    /// The chain that decodes numbers with `from`, and converts them to those that they are read as. It cannot encode. With
    /// `may_end`, chunks may be stored without the elements beyond the extent of the array.
    pub fn widened(from: CodecChain, widen: Widen, may_end: bool) -> Self {
        let own = Filter { id: filters::WIDEN, params: widen.params(), optional: false };
        let filters = std::iter::once(own).chain(from.filters().iter().cloned()).collect();
        let element_size = widen.size();
        let widened = Some(Widened { widen, from, may_end });
        Self { inner: Arc::new(Inner { filters, steps: Vec::new(), element_size, widened }) }
    }

    /// The chain, whose deflate streams get these access points where they can be read ([`CodecChain::segmented`]).
    #[must_use]
    pub fn with_segments(mut self, segments: Segments) -> Self {
        if self.segmented(0).is_none() {
            return self;
        }
        match Arc::get_mut(&mut self.inner) {
            Some(inner) => inner.cut(segments),
            None => {
                let Inner { filters, steps, element_size, .. } = &*self.inner;
                let (filters, steps) = (filters.clone(), steps.clone());
                let mut inner = Inner { filters, steps, element_size: *element_size, widened: None };
                inner.cut(segments);
                self.inner = Arc::new(inner);
            }
        }
        self
    }

    /// The filters, in writing order.
    pub fn filters(&self) -> &[Filter] {
        &self.inner.filters
    }

    /// Whether numbers are read as others than are stored ([`CodecChain::widened`]).
    pub fn is_widened(&self) -> bool {
        self.inner.widened.is_some()
    }

    /// Whether the chain does not change bytes.
    pub fn is_empty(&self) -> bool {
        self.inner.filters.is_empty()
    }

    /// Whether `encoded_len` stored bytes can hold a chunk of `len` bytes at all. Call it before allocating memory for a chunk
    /// whose size comes from a file; decoding calls it by itself.
    pub fn check_len(&self, encoded_len: usize, mask: u32, len: usize) -> Result<()> {
        if let Some(w) = &self.inner.widened {
            return if w.may_end { Ok(()) } else { w.from.check_len(encoded_len, mask, w.stored_len(len)) };
        }
        let most = self.active(mask).fold(encoded_len, |n, (_, step)| {
            // A header or two may encode a few hundred bytes.
            n.saturating_mul(step.max_expansion()).saturating_add(1024)
        });
        if len > most {
            return Err(damaged(
                "filters",
                format!("{encoded_len} stored bytes cannot hold a chunk of {len} bytes"),
            ));
        }
        Ok(())
    }

    /// Decodes one chunk into exactly `out.len()` bytes. `mask` bit i set: filter i was skipped.
    ///
    /// A damaged chunk, or one of another length, is an [`Error::Corrupt`] without a path: the caller adds the
    /// file and the offset. The contents of `out` are then undefined.
    pub fn decode(&self, encoded: &[u8], mask: u32, out: &mut [u8]) -> Result<()> {
        self.decode_padded(PaddedInput::unpadded(encoded), mask, out)
    }

    /// As [`CodecChain::decode`], for a chunk that may have padding.
    pub fn decode_padded(&self, encoded: PaddedInput<'_>, mask: u32, out: &mut [u8]) -> Result<()> {
        if let Some(w) = &self.inner.widened {
            return w.decode(encoded, mask, out);
        }
        let Some((first, step)) = self.active(mask).next() else {
            return copy_exact(&encoded, out);
        };
        self.check_len(encoded.len(), mask, out.len())?;
        Scratch::with(|scratch| {
            let src = self.unwind(encoded, mask, out.len(), first + 1, scratch)?;
            if let Step::Fletcher32 = step {
                return copy_exact(fletcher32::verify(&src)?, out);
            }
            let n = step.decode(src, out)?;
            exact(step, n, out.len())
        })
    }

    /// Decodes one chunk of `len` bytes, but leaves a shuffle of whole elements in place, so that
    /// [`Stage::read`] can unshuffle and reorder bytes on their way to the destination. The result borrows from
    /// `encoded` or from `scratch`; nothing is copied without need.
    ///
    /// ```
    /// # use ncforge_codec::{CodecChain, Scratch, Stage, filters};
    /// # use ncforge_codec::Element;
    /// # use ncforge_codec::{Atomic, Endian};
    /// let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(1)], 4)?;
    /// let raw: Vec<u8> = [10u32, 20, 30, 40].iter().flat_map(|v| v.to_le_bytes()).collect();
    /// let (encoded, mask) = chain.encode(&raw)?;
    ///
    /// let mut scratch = Scratch::new();
    /// let stage = chain.decode_staged(&encoded, mask, raw.len(), &mut scratch)?;
    /// assert!(matches!(stage, Stage::Shuffled(_, 4)));
    /// let mut row = [0; 8];
    /// stage.read(&Element::atomic(Atomic::UInt, Endian::Little), 1, &mut row);
    /// assert_eq!(row[..4], 20u32.to_ne_bytes());
    /// # Ok::<(), ncforge_codec::Error>(())
    /// ```
    pub fn decode_staged<'a>(
        &self,
        encoded: &'a [u8],
        mask: u32,
        len: usize,
        scratch: &'a mut Scratch,
    ) -> Result<Stage<'a>> {
        self.decode_staged_padded(PaddedInput::unpadded(encoded), mask, len, scratch)
    }

    /// As [`CodecChain::decode_staged`], for a chunk that may have padding.
    pub fn decode_staged_padded<'a>(
        &self,
        encoded: PaddedInput<'a>,
        mask: u32,
        len: usize,
        scratch: &'a mut Scratch,
    ) -> Result<Stage<'a>> {
        self.check_len(encoded.len(), mask, len)?;
        if let Some(w) = &self.inner.widened {
            let [out, _] = scratch.buffers.each_mut();
            grow(out, len)?;
            w.decode(encoded, mask, &mut out[..len])?;
            return Ok(Stage::Plain(&out[..len]));
        }
        let (from, planes) = match self.active(mask).next() {
            Some((i, Step::Shuffle { size })) if *size > 1 && *size == self.inner.element_size => {
                (i + 1, Some(*size))
            }
            _ => (0, None),
        };
        let bytes = self.unwind(encoded, mask, len, from, scratch)?.bytes();
        if bytes.len() != len {
            return Err(damaged("filters", format!("{} bytes where a chunk of {len} belongs", bytes.len())));
        }
        Ok(match planes {
            Some(size) if len.is_multiple_of(size) => Stage::Shuffled(bytes, size),
            Some(_) => return Err(damaged("shuffle", "the chunk is not a whole number of elements")),
            None => Stage::Plain(bytes),
        })
    }

    /// Whether there may be chunks for [`CodecChain::inflate_in_turn`].
    pub fn inflates_in_turn(&self) -> bool {
        self.inner.steps.iter().any(|s| matches!(s, Step::Deflate { planes: 2.., .. }))
    }

    /// Undoes deflate of shuffled chunks, each with its mask, two at a time: that takes less time than one after the other. Calls `done` with the
    /// number of a chunk, the mask with which it is decoded further, and its bytes, which fill one of the buffers; in any order, while `done`
    /// returns true. Chunks for which it is not called must be decoded as they are: other filters, damage, and whatever is unusual.
    pub fn inflate_in_turn(
        &self,
        chunks: &[(PaddedInput<'_>, u32)],
        buffers: [&mut [u8]; 2],
        mut done: impl FnMut(usize, u32, &[u8]) -> bool,
    ) {
        let Some((_, mask)) = chunks.first() else { return };
        let Some((at, Step::Deflate { planes: 2.., .. })) = self.active(*mask).last() else { return };
        let len = buffers[0].len();
        let exact = matches!(self.length_before(at, *mask, len), Length::Exactly(n) if n == len);
        if exact && buffers[1].len() == len && chunks.iter().all(|(_, other)| other == mask) {
            let streams: Vec<_> = chunks.iter().map(|(encoded, _)| *encoded).collect();
            deflate::inflate_in_turn(&streams, buffers, |i, bytes| done(i, mask | 1 << at, bytes));
        }
    }

    /// How parts of a chunk can be decoded, if it has access points: all that its filters do is shuffle whole elements, or not, deflate, and
    /// perhaps add a checksum.
    pub fn segmented(&self, mask: u32) -> Option<Segmented> {
        let mut steps = self.active(mask).map(|(_, step)| step).peekable();
        let planes = match steps.next_if(|step| matches!(step, Step::Shuffle { .. })) {
            Some(Step::Shuffle { size }) => *size,
            _ => 1,
        };
        let Some(Step::Deflate { .. }) = steps.next() else { return None };
        let behind = match (steps.next(), steps.next()) {
            (None, None) => 0,
            (Some(Step::Fletcher32), None) => 4,
            _ => return None,
        };
        (planes == 1 || planes == self.inner.element_size).then_some(Segmented { planes, behind })
    }

    /// A chunk of `len` decoded bytes, encoded again with access points; `None` if it has some, can have none, cannot be decoded, or is not
    /// worth them.
    pub fn add_segments(&self, encoded: &[u8], mask: u32, len: usize) -> Option<(Vec<u8>, u32)> {
        self.segmented(mask).filter(|own| own.segment(encoded).is_none())?;
        self.check_len(encoded.len(), mask, len).ok()?;
        let mut raw = zeros(len).ok()?;
        self.decode(encoded, mask, &mut raw).ok()?;
        let (bytes, mask) = self.encode(&raw).ok()?;
        self.segmented(mask).and_then(|own| own.segment(&bytes)).map(|_| (bytes, mask))
    }

    /// Encodes one chunk; returns the bytes and the mask of filters that were skipped.
    ///
    /// A filter is skipped only if it is optional, does not make the chunk smaller, and cannot store it
    /// uncompressed.
    pub fn encode(&self, raw: &[u8]) -> Result<(Vec<u8>, u32)> {
        if let Some(w) = &self.inner.widened {
            return Err(Error::Unsupported(format!("writing {}", w.widen.name())));
        }
        Scratch::with(|scratch| {
            let [mut current, mut free] = scratch.buffers.each_mut();
            let mut filtered: Option<usize> = None;
            let mut mask = 0;
            for (i, step) in self.inner.steps.iter().enumerate() {
                let src = filtered.map_or(raw, |n| &current[..n]);
                match step.encode(src, free)? {
                    Some(n) => {
                        std::mem::swap(&mut current, &mut free);
                        filtered = Some(n);
                    }
                    None if self.inner.filters[i].optional => mask |= 1 << i,
                    None => {
                        let what = format!("a chunk that filter {} cannot make smaller", step.name());
                        return Err(Error::Unsupported(what));
                    }
                }
            }
            Ok((filtered.map_or(raw, |n| &current[..n]).to_vec(), mask))
        })
    }

    /// The name of a filter that can only be decoded: no chunk can be encoded with it.
    pub fn not_written(&self) -> Option<&'static str> {
        self.inner.steps.iter().find(|step| !step.is_written()).map(Step::name)
    }

    /// Whether the checksum at the end of an encoded chunk agrees with its bytes; true where it has none, as where netCDF-C computed it of
    /// values before their compression. Nothing is decoded.
    pub fn is_intact(&self, encoded: &[u8], mask: u32) -> bool {
        match self.active(mask).last() {
            Some((_, Step::Fletcher32)) => fletcher32::verify(encoded).is_ok(),
            _ => true,
        }
    }

    /// The steps that were applied to a chunk and change bytes, in writing order.
    fn active(&self, mask: u32) -> impl Iterator<Item = (usize, &Step)> {
        let changes =
            move |&(i, step): &(usize, &Step)| mask & (1 << i) == 0 && !matches!(step, Step::Identity { .. });
        self.inner.steps.iter().enumerate().filter(changes)
    }

    /// The length of the input of filter `at` on writing, for a chunk of `len` bytes.
    fn length_before(&self, at: usize, mask: u32, len: usize) -> Length {
        let known =
            self.active(mask).take_while(|(i, _)| *i < at).try_fold(len, |n, (_, s)| s.encoded_len(n));
        // Encoders store incompressible bytes with a small overhead; none doubles the size.
        known.map_or(Length::AtMost(len.saturating_mul(2).saturating_add(1 << 16)), Length::Exactly)
    }

    /// Decodes the filters `from..`, last first.
    fn unwind<'a>(
        &self,
        encoded: PaddedInput<'a>,
        mask: u32,
        len: usize,
        from: usize,
        scratch: &'a mut Scratch,
    ) -> Result<PaddedInput<'a>> {
        let [mut current, mut free] = scratch.buffers.each_mut();
        let mut in_scratch = false;
        let mut range: Range<usize> = 0..encoded.len();
        for at in (from..self.inner.steps.len()).rev() {
            let step = &self.inner.steps[at];
            if mask & (1 << at) != 0 || matches!(step, Step::Identity { .. }) {
                continue;
            }
            let src = match in_scratch {
                true => PaddedInput::within(current, range.clone()),
                false => encoded.part(range.clone()),
            };
            let length = self.length_before(at, mask, len);
            let n = if let Step::Fletcher32 = step {
                // The data are already in the buffer: only the end moves.
                let n = fletcher32::verify(&src)?.len();
                range.end = range.start + n;
                n
            } else {
                let (Length::Exactly(most) | Length::AtMost(most)) = length;
                grow(free, most)?;
                let n = step.decode(src, &mut free[..most])?;
                std::mem::swap(&mut current, &mut free);
                (in_scratch, range) = (true, 0..n);
                n
            };
            if let Length::Exactly(want) = length {
                exact(step, n, want)?;
            }
        }
        Ok(if in_scratch { PaddedInput::within(current, range) } else { encoded.part(range) })
    }
}

fn exact(step: &Step, got: usize, want: usize) -> Result<()> {
    if got == want { Ok(()) } else { Err(damaged(step.name(), format!("{got} bytes where {want} belong"))) }
}

fn copy_exact(src: &[u8], out: &mut [u8]) -> Result<()> {
    if src.len() != out.len() {
        return Err(damaged(
            "filters",
            format!("{} bytes where a chunk of {} belongs", src.len(), out.len()),
        ));
    }
    out.copy_from_slice(src);
    Ok(())
}
