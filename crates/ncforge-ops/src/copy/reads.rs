//! The effect of a copy's chunks on the usual reads.

use serde::Serialize;

use ncforge::model::{Filter, VarId};
use ncforge::raw::{Chunks, Runs};
use ncforge::{Dataset, Result};
use ncforge_tune::words::shape;
use ncforge_tune::{Access, Choice, Coding, Grid, Machine, Pattern, Roles, Slower};

/// Reads that take this many times as long are named.
const REPORTED: f64 = 1.5;
/// A read that takes less than this afterwards is quick enough.
const QUICK: f64 = 10e-3;

/// Chunks that a copy chose for a variable, and what they are bad for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChosenChunks {
    /// The variable's path.
    pub variable: String,
    /// Chunk lengths.
    pub chunks: Vec<u64>,
    /// Usual reads that take longer with them than with the source's storage.
    pub slower: Vec<Slower>,
}

impl ChosenChunks {
    /// A sentence.
    pub fn words(&self) -> String {
        let text = format!("{}: chunks of {}", self.variable, shape(&self.chunks));
        match Slower::words(&self.slower) {
            Some(slower) => format!("{text}; {slower}"),
            None => text,
        }
    }

    /// The effect on a variable of the source whose copy has these chunks and filters.
    pub(super) fn of(
        variable: &str,
        choice: &Choice,
        source: &Dataset,
        var: VarId,
        filters: &[Filter],
        machine: &Machine,
    ) -> Result<Self> {
        let schema = source.schema();
        let axes = Roles::of(schema).axes_of(schema, var);
        let lens: Vec<u64> = axes.iter().map(|a| a.len.max(1)).collect();
        let layout = source.layout(var)?;
        let element = layout.element.size as u64;
        // A record is a piece of its own.
        let mut record = lens.clone();
        record.iter_mut().take(1).for_each(|n| *n = 1);
        let (chunk, coded) = match (layout.place.chunks(), layout.runs()) {
            (Some(Chunks { chunk, codecs, .. }), _) => (Some(chunk), codecs.filters()),
            (None, Some(Runs { stride: Some(_), .. })) => (Some(&record[..]), &[][..]),
            _ => (None, &[][..]),
        };
        let before = Grid { lens: &lens, chunk, element, coding: Coding::of_chain(coded) };
        let after =
            Grid { lens: &lens, chunk: Some(&choice.chunks), element, coding: Coding::written(filters) };
        let mut slower = Vec::new();
        for pattern in Pattern::bind(&Access::usual(), &axes) {
            let (now, then) = (before.read(&pattern, machine).seconds, after.read(&pattern, machine).seconds);
            if then > REPORTED * now && then > QUICK {
                slower.push(Slower { read: pattern.name, now, then });
            }
        }
        Ok(ChosenChunks { variable: variable.to_owned(), chunks: choice.chunks.clone(), slower })
    }
}
