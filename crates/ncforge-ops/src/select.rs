//! Subsets: indices along dimensions, by number, by the values of coordinates, by dates.
//!
//! A [`Selection`] is what a user writes. A source gives it indices: those of coordinates as they are meant, unpacked, in their units
//! and their calendar. What follows from the dimensions follows by itself: bounds, cell measures, every variable that has them.
//!
//! | text | indices along `DIM` |
//! |---|---|
//! | `DIM=5`, `DIM=-1` | one, counted from 0 or from the end; the dimension stays, with length 1 |
//! | `DIM=3:21`, `DIM=:10`, `DIM=-12:`, `DIM=::3` | as in Python; the step is at least 1 |
//! | `DIM=-10..10`, `DIM=..10` | those with values of the coordinate between these, both included |
//! | `DIM==350..360` | those with values between these as they are stored; where the first is larger, from it to the end, and from the beginning to the second |
//! | `DIM=350..10` of a longitude | eastward from the first to the second, whichever of 360 degrees the file counts from |
//! | `DIM=2000-01..2000-06-15`, `DIM=2000-02`, `DIM=2000` | dates; a part of a date is its whole span, four digits are a year |
//!
//! `DIM` is every dimension of that name that the variables of interest have; `/group/DIM` is one.

mod coordinate;
mod places;
mod words;

use std::collections::BTreeSet;

use ncforge::model::DimId;
use ncforge::raw::{Ranges, Remark, View};
use ncforge::{Dataset, Result};

use places::{Along, dimensions, places};
pub use words::{End, Pick, Selection};

/// The indices of a source that are selected.
#[derive(Debug)]
pub(crate) struct Selected {
    /// By dimension; `None`: all.
    ranges: Vec<Option<Ranges>>,
    notes: Vec<String>,
}

impl Selected {
    /// The view with these indices of the source that they are of.
    pub(crate) fn view(self, source: &Dataset) -> Dataset {
        let remarks = self.notes.iter().map(Remark::of_file).collect();
        source.view(View::of(source.schema(), self.ranges).with_remarks(remarks))
    }
}

impl Selection {
    /// What this is of a source, along these dimensions (`None`: all); `None` if nothing was selected.
    ///
    /// # Errors
    /// A dimension that is not there, a coordinate whose values cannot be selected, no index.
    pub(crate) fn of(&self, source: &Dataset, used: Option<&BTreeSet<DimId>>) -> Result<Option<Selected>> {
        self.of_where(source, used, |_| Ok(true))
    }

    /// The same, but for dimensions that are not `wanted`, along which all is taken.
    pub(crate) fn of_where(
        &self,
        source: &Dataset,
        used: Option<&BTreeSet<DimId>>,
        wanted: impl Fn(DimId) -> Result<bool>,
    ) -> Result<Option<Selected>> {
        if self.is_empty() {
            return Ok(None);
        }
        let schema = source.schema();
        let mut ranges = vec![None; schema.dims.len()];
        let mut notes = Vec::new();
        for (name, pick) in self.picks() {
            let mut dims = dimensions(schema, name, &source.name())?;
            dims.retain(|dim| used.is_none_or(|used| used.contains(dim)));
            if dims.is_empty() {
                notes.push(format!("no variable that is copied has the dimension `{name}`"));
            }
            for dim in dims {
                if !wanted(dim)? {
                    continue;
                }
                let along = Along::of(source, dim);
                let found = places(&along, pick, &mut notes)?;
                if ranges[dim.0].replace(found).is_some() {
                    return Err(along.error("it is selected twice"));
                }
            }
        }
        Ok(Some(Selected { ranges, notes }))
    }
}
