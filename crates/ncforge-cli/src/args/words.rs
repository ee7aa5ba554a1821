//! Options whose values are words: the list is the request's, clap gets it from there.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ncforge_tune::vocabulary::Words;

/// The parser of an option whose values are words.
pub(crate) fn word<T: Words>() -> impl TypedValueParser<Value = T> {
    let known = T::WORDS.iter().map(|w| PossibleValue::new(w.name).aliases(w.aliases).help(w.about));
    PossibleValuesParser::new(known).try_map(|text| T::named(&text))
}
