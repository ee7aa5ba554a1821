//! How the numbers of a variable count: its units and its calendar. Bounds take what they lack from the variable whose bounds they are.

use std::collections::BTreeSet;

use crate::calendar::Rebase;
use ncforge::model::calendar::Calendar;
use ncforge::model::{Attribute, Schema, VarId};

/// The units and the calendar of a variable of a file.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) units: Option<String>,
    calendar: Option<String>,
    /// Calendars of others in the file, if it is not sure that the one without a name is CF's.
    others: BTreeSet<String>,
    is_packed: bool,
}

impl Clock {
    /// That of a variable, which may have bounds of `parent`.
    pub(super) fn of(schema: &Schema, v: VarId, parent: Option<VarId>) -> Clock {
        let text = |name: &str| said(schema, v, name).or_else(|| said(schema, parent?, name));
        let calendar = text("calendar");
        let counted = parent.unwrap_or(v);
        // CF says `standard` where no calendar is named, and a coordinate means it. FMS names the calendar at the coordinate alone, and means it
        // for `average_T1`, too: programs disagree on such a variable.
        let is_sure = calendar.is_some() || schema.coordinate_dim(counted).is_some();
        let others = || schema.var_ids().filter_map(|other| said(schema, other, "calendar")).collect();
        Clock {
            units: text("units"),
            calendar,
            others: if is_sure { BTreeSet::new() } else { others() },
            is_packed: ["scale_factor", "add_offset"].iter().any(|name| schema.var(v).attr(name).is_some()),
        }
    }

    /// Whether two say of units, or of a calendar, the same.
    pub(super) fn agrees(&self, other: &Clock, name: &str) -> bool {
        match name {
            "units" => self.units == other.units,
            "calendar" => Calendar::same(self.calendar.as_deref(), other.calendar.as_deref()),
            _ => false,
        }
    }

    /// The change from these units to wanted ones.
    pub(super) fn to(&self, wanted: &Clock) -> Change {
        let (Some(from), Some(to)) = (&self.units, &wanted.units) else { return Change::None };
        // Packed times are what `scale_factor` makes of them.
        if self.is_packed || wanted.is_packed {
            return Change::None;
        }
        let between = |a: Option<&str>, b: Option<&str>| Rebase::between((from, a), (to, b));
        let Some(change) = between(self.calendar.as_deref(), wanted.calendar.as_deref()) else {
            return Change::None;
        };
        let mut others = self.others.iter().filter(|_| wanted.calendar.is_none()).chain(&wanted.others);
        let is_unnamed = self.calendar.is_none();
        let differing = others.find(|name| is_unnamed && between(Some(name), Some(name)) != Some(change));
        match differing {
            Some(name) => Change::Unsure(name.clone()),
            None => Change::By(change),
        }
    }
}

/// The change from one way of counting to another.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// These are not times of one calendar.
    None,
    /// It depends on which calendar is meant: none is named, and others of the file have this one.
    Unsure(String),
    By(Rebase),
}

impl Change {
    pub(super) fn known(&self) -> Option<Rebase> {
        match self {
            Change::By(change) => Some(*change),
            Change::None | Change::Unsure(_) => None,
        }
    }
}

/// The text of an attribute; blanks say nothing.
pub(super) fn said(schema: &Schema, v: VarId, name: &str) -> Option<String> {
    let text = schema.var(v).attr(name).and_then(Attribute::as_text)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
