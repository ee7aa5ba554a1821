//! The description of an examined file, to be compared with others: the file is closed by then.

use std::sync::Arc;

use super::facts::{Facts, VarFacts};
use crate::describe::attribute_words;
use ncforge::codec::FilterChain;
use ncforge::model::Filter;
use ncforge::model::agreement::Class;
use ncforge::store::remote::shown_path;
use ncforge_tune::words::shape;
use ncforge_tune::{Axis, Role};

/// A file.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) path: String,
    /// Whether its format is classic.
    pub(super) classic: bool,
    /// Variables; those that are as in the file before are one with them.
    pub(super) vars: Vec<Arc<DescribedVar>>,
}

/// A variable.
#[derive(Debug, PartialEq)]
pub(super) struct DescribedVar {
    pub(super) path: String,
    pub(super) axes: Vec<Axis>,
    /// Stored bytes of an element.
    pub(super) element: u64,
    pub(super) chunk: Option<Vec<u64>>,
    pub(super) filters: Vec<Filter>,
    /// The properties that must agree, in words.
    pub(super) dtype: String,
    pub(super) dims: String,
    pub(super) packing: String,
    pub(super) units: String,
}

impl Described {
    /// Describes a file; `before` is the one before.
    pub(super) fn of(facts: &Facts, before: Option<&Described>) -> Described {
        let vars = facts.vars.iter().enumerate().map(|(i, v)| {
            let new = DescribedVar::of(facts, v);
            match before.and_then(|b| b.vars.get(i)).filter(|b| ***b == new) {
                Some(same) => Arc::clone(same),
                None => Arc::new(new),
            }
        });
        Described {
            path: shown_path(facts.dataset.path()),
            classic: facts.schema().format.is_classic(),
            vars: vars.collect(),
        }
    }

    /// A variable by its path.
    pub(super) fn var(&self, path: &str) -> Option<&DescribedVar> {
        self.vars.iter().find(|v| v.path == path).map(|v| &**v)
    }
}

impl DescribedVar {
    fn of(facts: &Facts, v: &VarFacts) -> DescribedVar {
        DescribedVar {
            path: v.path.clone(),
            axes: v.axes.clone(),
            element: v.element,
            chunk: v.chunk.clone(),
            filters: v.filters.clone(),
            dtype: facts.schema().type_name(facts.var(v).dtype).to_owned(),
            dims: dims(facts, v),
            packing: attrs(facts, v, Class::Packing),
            units: attrs(facts, v, Class::Units),
        }
    }

    /// Its chunks in words.
    pub(super) fn chunks(&self) -> String {
        self.chunk.as_deref().map_or_else(|| "none".to_owned(), shape)
    }

    pub(super) fn filter_words(&self) -> String {
        FilterChain::from(&self.filters[..]).words()
    }
}

/// Names and lengths of the dimensions; along time, and where it can grow, any length will do.
fn dims(f: &Facts, v: &VarFacts) -> String {
    let schema = f.schema();
    let along = |d: usize| v.axes[d].role == Role::Time || v.axes[d].unlimited;
    let words: Vec<String> = (schema.var(v.id).dims.iter().enumerate())
        .map(|(d, id)| match along(d) {
            true => schema.dim(*id).name.clone(),
            false => format!("{}={}", schema.dim(*id).name, schema.dim(*id).len),
        })
        .collect();
    format!("({})", words.join(", "))
}

/// The attributes of a class, in words.
fn attrs(f: &Facts, v: &VarFacts, class: Class) -> String {
    let found: Vec<String> = (class.names())
        .filter_map(|n| f.var(v).attr(n))
        .map(|a| format!("{}={}", a.name, attribute_words(f.schema(), a)))
        .collect();
    if found.is_empty() { "none".into() } else { found.join(" ") }
}
