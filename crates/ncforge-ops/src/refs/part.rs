//! The part of each file that is selected: along the joined dimension of all files together.

use ncforge::store::remote::shown_path;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::gather::Inputs;
use super::options::RefsOptions;
use crate::select::{Along, Coordinate, dimensions, places};
use ncforge::model::{Attribute, DimId, Schema, VarId};
use ncforge::raw::{Ranges, View};
use ncforge::{Dataset, Error, Result};

/// The indices of a file that are selected, by the path of the dimension.
type Picked = HashMap<String, Ranges>;

/// The files of which something is selected.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Their numbers.
    pub(super) files: Vec<usize>,
    /// For each of them; nothing is there where all is wanted.
    picked: Vec<Picked>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

impl Parts {
    /// The part of an open file, which is the `i`th of them.
    pub(super) fn of_file(&self, i: usize, dataset: Dataset) -> Dataset {
        let Some(picked) = self.picked.get(i).filter(|picked| !picked.is_empty()) else { return dataset };
        let schema = dataset.schema();
        let ranges = (0..schema.dims.len()).map(|d| picked.get(&path(schema, DimId(d))).cloned()).collect();
        dataset.view(View::of(schema, ranges))
    }

    /// What is selected of the files, which are joined along a dimension of this name if there are several.
    pub(super) fn of(
        inputs: &Inputs<'_>,
        first: &Dataset,
        along: Option<&str>,
        options: &RefsOptions,
    ) -> Result<Parts> {
        let count = inputs.names.len();
        let mut parts = Parts { files: (0..count).collect(), ..Parts::default() };
        if options.select.is_empty() {
            return Ok(parts);
        }
        let schema = first.schema();
        let used = used(first, options)?;
        let (mut all, mut joined) = (Picked::new(), Vec::new());
        for (name, pick) in options.select.picks() {
            for dim in dimensions(schema, name, &inputs.names[0])? {
                if !used.contains(&dim) {
                    continue;
                }
                let is_joined = count > 1 && along == Some(schema.dim(dim).name.as_str());
                let lens = if is_joined { lens(inputs, first, dim)? } else { vec![schema.dim(dim).len] };
                let along = match is_joined {
                    true => joined_along(inputs, first, dim, lens.iter().sum()),
                    false => Along::of(first, dim),
                };
                let found = places(&along, pick, &mut parts.notes)?;
                if is_joined && found.spans().len() > 1 {
                    return Err(along.error("the files are joined along it, in their order"));
                }
                if all.insert(path(schema, dim), found).is_some() {
                    return Err(along.error("it is selected twice"));
                }
                if is_joined {
                    joined.push((path(schema, dim), ranges(&lens)));
                }
            }
        }
        let of_file = |file: usize| -> Picked {
            let mut own = all.clone();
            for (path, files) in &joined {
                if let Some(ranges) = own.get_mut(path) {
                    *ranges = ranges.within(files[file].clone());
                }
            }
            own
        };
        let has_some =
            |own: &Picked| joined.is_empty() || joined.iter().any(|(path, _)| !own[path].is_empty());
        let (files, picked) = (0..count).map(|i| (i, of_file(i))).filter(|(_, own)| has_some(own)).unzip();
        Ok(Parts { files, picked, notes: parts.notes })
    }
}

/// The dimensions of the variables that are wanted.
fn used(first: &Dataset, options: &RefsOptions) -> Result<BTreeSet<DimId>> {
    let schema = first.schema();
    let vars: Vec<VarId> = match &options.vars {
        Some(names) => names.iter().map(|name| first.var(name)).collect::<Result<_>>()?,
        None => return Ok((0..schema.dims.len()).map(DimId).collect()),
    };
    Ok(vars.iter().flat_map(|&v| schema.var(v).dims.iter().copied()).collect())
}

fn path(schema: &Schema, dim: DimId) -> String {
    format!("{}/{}", schema.group_path(schema.dim(dim).group).trim_end_matches('/'), schema.dim(dim).name)
}

/// The dimension of the same path in another file.
fn same_dim(schema: &Schema, dim: DimId, other: &Dataset) -> Result<DimId> {
    let own = schema.dim(dim);
    let group = other.schema().find_group(&schema.group_path(own.group));
    let found =
        group.and_then(|g| other.schema().dims_in(g).find(|d| other.schema().dim(*d).name == own.name));
    found.ok_or_else(|| other.schema().no_dimension("dimension", &own.name, &shown_path(other.path())))
}

/// The lengths of a dimension in all files.
fn lens(inputs: &Inputs<'_>, first: &Dataset, dim: DimId) -> Result<Vec<u64>> {
    let of_file = |i: usize| {
        let dataset = if i == 0 { first.clone() } else { (inputs.open)(i)? };
        Ok(dataset.schema().dim(same_dim(first.schema(), dim, &dataset)?).len)
    };
    (0..inputs.names.len()).map(of_file).collect()
}

fn ranges(lens: &[u64]) -> Vec<Range<u64>> {
    let mut end = 0u64;
    let mut next = |len: &u64| {
        let begin = end;
        end = end.saturating_add(*len);
        begin..end
    };
    lens.iter().map(&mut next).collect()
}

/// A dimension of all files one behind the other, with the values of all.
fn joined_along<'a>(inputs: &'a Inputs<'_>, first: &'a Dataset, dim: DimId, len: u64) -> Along<'a> {
    let schema = first.schema();
    let coordinate = move |dataset: &Dataset| -> Result<Option<VarId>> {
        let (own, dim) = (dataset.schema(), same_dim(schema, dim, dataset)?);
        let name = &own.dim(dim).name;
        Ok(own.vars_in(own.dim(dim).group).find(|v| own.var(*v).name == *name && own.var(*v).dims == [dim]))
    };
    let units = coordinate(first).ok().flatten().and_then(|v| schema.var(v).attr("units"));
    let is_time = units.and_then(Attribute::as_text).is_some_and(Along::is_time);
    let read = move || -> Result<std::result::Result<Coordinate, String>> {
        let mut all: Option<Coordinate> = None;
        for i in 0..inputs.names.len() {
            let dataset = if i == 0 { first.clone() } else { (inputs.open)(i)? };
            let Some(v) = coordinate(&dataset)? else {
                return Ok(Err(format!("`{}` has no coordinate of it", inputs.names[i])));
            };
            let next = match Coordinate::read(&dataset, v)? {
                Ok(next) => next,
                Err(why) => return Ok(Err(why)),
            };
            match &mut all {
                None => all = Some(next),
                Some(all) => {
                    if let Err(why) = all.append(&next) {
                        return Ok(Err(why));
                    }
                }
            }
        }
        all.ok_or(Error::NoInput("files")).map(Ok)
    };
    Along::new(schema.dim(dim).name.clone(), len, is_time, read)
}
