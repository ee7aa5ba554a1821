//! Dates in the [calendars](ncforge::model::calendar) of the CF conventions as numbers of coordinates, exactly: [`units`].

mod rebase;
pub(crate) mod units;

pub(crate) use ncforge::model::calendar::{CALENDARS, Calendar, Date};
pub(crate) use rebase::Rebase;
