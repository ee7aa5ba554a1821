//! The request with its bounds worked out: which shapes are allowed, and what each costs.

use super::super::axes::{Axis, Role};
use super::super::coding::Coding;
use super::super::cost::Grid;
use super::super::pattern::Pattern;
use super::super::search::{candidates, nearest};
use super::request::{Limits, Request};
use crate::rates::Machine;
use ncforge::model::shape;
use ncforge::{Error, Result};

/// HDF5 stores the size of a chunk in 32 bits.
const FORMAT_LIMIT: u64 = (1 << 32) - 1;
/// A chunk along a dimension that grows has this many bytes at least, even when it is still short.
const MIN_RECORDS: u64 = 8 << 10;
/// The weight of a stored byte more than needed against a read that takes longer by the same share.
pub(super) const SIZE_WEIGHT: f64 = 0.5;
/// The factor by which a chunk below the least size is dearer, and more the smaller it is.
const TOO_SMALL: f64 = 10.0;

/// The price of a shape.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    /// Seconds of each read.
    pub(super) seconds: Vec<f64>,
    /// The factor of all times, for stored bytes and small chunks.
    pub(super) factor: f64,
}

impl Priced {
    /// The price for a mix: a weight a read, in the same order.
    pub(super) fn of(&self, mix: &[f64]) -> f64 {
        let reads = mix.iter().zip(&self.seconds).filter(|(w, _)| **w > 0.0);
        reads.map(|(w, s)| w * s).sum::<f64>() * self.factor
    }
}

/// The request with its bounds worked out.
pub(super) struct Problem<'a> {
    pub(super) axes: Vec<Axis>,
    pub(super) lens: Vec<u64>,
    pub(super) element: u64,
    coding: Coding,
    machine: &'a Machine,
    pub(super) bytes: (u64, u64),
    limits: Limits,
    pub(super) lists: Vec<Vec<u64>>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(request: &Request<'a>) -> Result<Self> {
        let element = request.element.max(1);
        let limits = &request.limits;
        let most = limits.max_bytes.clamp(1, FORMAT_LIMIT).max(element);
        if element > FORMAT_LIMIT {
            return Err(Error::TooLarge(format!(
                "an element of {element} bytes is larger than a chunk may be ({FORMAT_LIMIT} bytes)"
            )));
        }
        let mut axes = request.axes.to_vec();
        for a in &mut axes {
            a.len = a.len.max(1);
        }
        let total = |axes: &[Axis]| shape::product(axes.iter().map(|a| a.len)).saturating_mul(element);
        // Dimensions that have just begun to grow: enough of them for a chunk worth its name. Of several, nobody knows which will be long.
        let mut growing = axes.iter().filter(|a| a.unlimited && a.given.is_none()).count() as i32;
        let mut row = total(&axes);
        for a in axes.iter_mut().filter(|a| a.unlimited && a.given.is_none()) {
            let missing = MIN_RECORDS / (row / a.len).max(1);
            let own = (missing as f64 / a.len as f64).powf(1.0 / f64::from(growing)) * a.len as f64;
            let len = a.len.max(own.round() as u64);
            row = (row / a.len).saturating_mul(len);
            (a.len, growing) = (len, growing - 1);
        }
        let given =
            shape::product(axes.iter().filter_map(|a| a.given).map(|c| c.max(1))).saturating_mul(element);
        if given > FORMAT_LIMIT {
            return Err(Error::TooLarge(format!(
                "the given chunk lengths alone make {given} bytes, the format's limit is {FORMAT_LIMIT}"
            )));
        }
        let most = most.max(given);
        let least = limits.least(total(&axes), element, &request.coding);
        // Space between the bounds, so that shapes stay free.
        let least = least.min((most / 4).max(element));
        let lists = axes
            .iter()
            .map(|a| match a.given {
                Some(c) => vec![if a.unlimited { c.max(1) } else { c.clamp(1, a.len) }],
                None if a.role == Role::Corner => vec![a.len],
                None => candidates(a.len, (most / element).max(1)),
            })
            .collect();
        let lens = axes.iter().map(|a| a.len).collect();
        Ok(Problem {
            lens,
            axes,
            element,
            coding: request.coding,
            machine: request.machine,
            bytes: (least, most),
            limits: *limits,
            lists,
        })
    }

    pub(super) fn grid<'b>(&'b self, chunks: &'b [u64]) -> Grid<'b> {
        Grid { lens: &self.lens, chunk: Some(chunks), element: self.element, coding: self.coding }
    }

    pub(super) fn places(&self, lens: impl Iterator<Item = f64>) -> Vec<usize> {
        lens.zip(&self.lists).map(|(c, list)| nearest(list, c.max(1.0))).collect()
    }

    /// Shortens the longest chunk length until it is within the bounds, so that the way down begins inside.
    pub(super) fn legal(&self, mut at: Vec<usize>) -> Vec<usize> {
        loop {
            let lens: Vec<u64> = at.iter().zip(&self.lists).map(|(&i, l)| l[i]).collect();
            if self.allowed(&lens) {
                return at;
            }
            let Some(d) = (0..at.len()).filter(|&d| at[d] > 0).max_by_key(|&d| lens[d]) else { return at };
            at[d] -= 1;
        }
    }

    pub(super) fn volume(&self, chunks: &[u64]) -> u64 {
        shape::bytes(chunks, self.element)
    }

    pub(super) fn allowed(&self, chunks: &[u64]) -> bool {
        self.volume(chunks) <= self.bytes.1 && self.limits.can_append(&self.axes, self.element, chunks)
    }

    /// The price of a shape.
    pub(super) fn priced(&self, chunks: &[u64], patterns: &[Pattern]) -> Priced {
        let grid = self.grid(chunks);
        // Stored bytes beyond those of the array in the largest chunks.
        let needed = self.lens.iter().map(|&l| l as f64).product::<f64>() * self.element as f64;
        let stored = self.stored(chunks, &self.coding);
        let excess = (stored / self.coding.stored(needed).max(1.0) - 1.0).max(0.0);
        Priced {
            seconds: patterns.iter().map(|p| grid.read(p, self.machine).seconds).collect(),
            factor: 1.0 + SIZE_WEIGHT * excess.min(10.0) + self.smallness(chunks),
        }
    }

    /// Stored bytes of the array.
    pub(super) fn stored(&self, chunks: &[u64], coding: &Coding) -> f64 {
        let count: f64 = self.lens.iter().zip(chunks).map(|(l, c)| l.div_ceil(*c) as f64).product();
        count * coding.stored(self.volume(chunks) as f64)
    }

    /// Chunks below the least size are allowed where nothing else is, and are dearer than any other.
    pub(super) fn smallness(&self, chunks: &[u64]) -> f64 {
        let volume = self.volume(chunks);
        if volume >= self.bytes.0 {
            return 0.0;
        }
        TOO_SMALL + 4.0 * (self.bytes.0 as f64 / volume as f64 - 1.0)
    }
}
