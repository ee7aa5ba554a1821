//! Many files that are read as one: opened side by side, and compared with the first of them.
//!
//! Files of a series (a day each, a year each) have the same description but for the length of a dimension and a few
//! attributes. One description is enough for them. [`look`] opens files and tells which are [alike](Alike) and
//! in what they differ; [`equal`] tells which variables hold the same values in all of them.
//!
//! Guarantees: files are found alike only if groups, types, dimensions (but for their lengths) and variables
//! (but for attributes and storage) are the same, in the same order. A file that cannot be opened is an error of its own.
//!
//! ```
//! use ncforge::{CreateOptions, DatasetMut, OpenOptions};
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
//! use ncforge_ops::alike::{Candidate, look};
//!
//! let dir = tempfile::tempdir().unwrap();
//! let paths: Vec<_> = [3, 5].iter().map(|len| dir.path().join(format!("{len}.nc"))).collect();
//! for (path, len) in paths.iter().zip([3, 5]) {
//!     let mut schema = Schema::new(Format::Cdf2);
//!     schema.dims.push(Dimension::new("x", len, false));
//!     schema.vars.push(Variable::new("v", Atomic::Short, vec![DimId(0)]));
//!     DatasetMut::create(path, schema, CreateOptions::default())?.close()?;
//! }
//! let first = ncforge::Dataset::open(&paths[0])?;
//! let found = look(&paths[1..], Some(&first), Schema::ROOT, &OpenOptions::default());
//! let Ok(Candidate { alike: Some(alike), .. }) = &found[0] else { panic!() };
//! assert_eq!(alike.lens, [5]);
//! assert!(alike.attributes.is_empty());
//! # Ok::<(), ncforge::Error>(())
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ncforge::model::agreement::{Difference, differences, group_differences, same_objects};
use ncforge::model::equality::Equality;
use ncforge::model::{Atomic, DType, GroupId, Schema, Storage, Values, VarId};
use ncforge::store::remote::url_of;
use ncforge::{Dataset, Engine, OpenOptions, Result};

/// URLs that are opened at the same time.
const REQUESTS: usize = 32;

/// A file that was looked at.
#[derive(Debug)]
pub struct Candidate {
    /// The file, open.
    pub dataset: Dataset,
    /// The differences from the file that it was compared with; `None` if it is not alike.
    pub alike: Option<Alike>,
}

/// The differences of a file from one that it is like.
#[derive(Debug)]
pub struct Alike {
    /// The lengths of all dimensions.
    pub lens: Vec<u64>,
    /// A number that is the same for files whose variables are cut into the same chunks.
    pub chunks: u64,
    /// Attributes with other values, or that only one of the two has: of a variable of the group, or of the group itself.
    pub attributes: Vec<(Option<VarId>, String)>,
    /// The coordinates of the group (numbers along a dimension of their own name), with their values where these are not the
    /// ones of the other file.
    pub coordinates: Vec<(VarId, Option<Values>)>,
}

/// Opens files and compares them with one; without one, each with itself, which tells its coordinates. `group` has to be there
/// in that one. One result a path, in order. `options` are those of opening.
pub fn look<P: AsRef<Path> + Sync>(
    paths: &[P],
    like: Option<&Dataset>,
    group: GroupId,
    options: &OpenOptions,
) -> Vec<Result<Candidate>> {
    // Where those of the one cannot be read, all of the others are listed.
    let known = like.map(|like| (like, coordinates(like, group).unwrap_or_default()));
    let most = if are_remote(paths) { REQUESTS } else { threads() };
    side_by_side(most, paths.len(), |i| {
        let dataset = Dataset::open_options(&paths[i], options)?;
        let alike = match &known {
            None => Some(itself(&dataset, group)?),
            Some((like, _)) if !same_description(like.schema(), dataset.schema()) => None,
            Some((like, known)) => Some(compared(like, known, &dataset, group)?),
        };
        Ok(Candidate { dataset, alike })
    })
}

/// Whether each of these variables holds the same values in all files as in the first. Files that are not
/// [alike](Candidate::alike) give answers that mean nothing.
pub fn equal(first: &Dataset, others: &[Dataset], vars: &[VarId]) -> Result<Vec<bool>> {
    vars.iter()
        .map(|&var| {
            let shape = first.schema().shape(var);
            if others.iter().any(|d| d.schema().shape(var) != shape) {
                return Ok(false);
            }
            let values = first.read_all(var)?;
            let same = side_by_side(threads(), others.len(), |i| {
                Ok(same_values((&others[i], var, &others[i].read_all(var)?), (first, var, &values)))
            });
            same.into_iter().try_fold(true, |all, one| one.map(|one| all && one))
        })
        .collect()
}

/// Whether values of a variable of one file are those of another file's.
fn same_values((a, v, x): (&Dataset, VarId, &Values), (b, w, y): (&Dataset, VarId, &Values)) -> bool {
    let of = |d: &'_ Dataset, v: VarId| d.schema().var(v).dtype;
    Equality::new((a.schema(), of(a, v)), (b.schema(), of(b, w)), None).same_values(x, y)
}

/// Whether files are on servers, for which threads wait: these need not be as few as processors.
fn are_remote<P: AsRef<Path>>(paths: &[P]) -> bool {
    paths.first().is_some_and(|path| url_of(path.as_ref()).is_some())
}

/// Runs `work` for each of these files on the engine's threads, or on as many as servers may be asked by at a time. Of several errors the
/// first file's is returned; what is not begun then is left out.
pub(crate) fn each(
    paths: &[PathBuf],
    engine: &Engine,
    work: impl Fn(usize) -> Result<()> + Sync,
) -> Result<()> {
    if !are_remote(paths) {
        return engine.for_each(paths.len(), work);
    }
    let has_failed = AtomicBool::new(false);
    let run = |i: usize| match has_failed.load(Ordering::Relaxed) {
        true => Ok(()),
        false => work(i).inspect_err(|_| has_failed.store(true, Ordering::Relaxed)),
    };
    side_by_side(REQUESTS, paths.len(), run).into_iter().collect()
}

fn threads() -> usize {
    Engine::global().threads()
}

/// Does work on files by threads of its own. The engine's threads decode, and would wait for each other.
pub(crate) fn side_by_side<T: Send + Sync>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let done: Vec<OnceLock<Result<T>>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(i) else { break };
            let _ = place.set(work(i));
        }
    };
    let threads = threads.min(count);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}

fn itself(dataset: &Dataset, group: GroupId) -> Result<Alike> {
    let schema = dataset.schema();
    let found = coordinates(dataset, group)?.into_iter().map(|(var, values)| (var, Some(values))).collect();
    Ok(Alike { lens: lens(schema), chunks: chunks(schema), attributes: Vec::new(), coordinates: found })
}

fn compared(like: &Dataset, known: &[(VarId, Values)], dataset: &Dataset, group: GroupId) -> Result<Alike> {
    let (a, b) = (like.schema(), dataset.schema());
    let named = |of: Option<VarId>, found: Vec<Difference<'_>>| -> Vec<(Option<VarId>, String)> {
        found.iter().map(|d| (of, d.name.to_owned())).collect()
    };
    let mut attributes = named(None, group_differences((a, group), (b, group)));
    for var in a.vars_in(group) {
        attributes.extend(named(Some(var), differences((a, var), (b, var))));
    }
    let is_known = |var, values: &Values| {
        known.iter().any(|(v, theirs)| *v == var && same_values((like, var, theirs), (dataset, var, values)))
    };
    let coordinates = coordinates(dataset, group)?
        .into_iter()
        .map(|(var, values)| (var, (!is_known(var, &values)).then_some(values)))
        .collect();
    Ok(Alike { lens: lens(b), chunks: chunks(b), attributes, coordinates })
}

fn lens(schema: &Schema) -> Vec<u64> {
    schema.dims.iter().map(|d| d.len).collect()
}

/// The values of variables that are numbers along a dimension of their own name.
fn coordinates(dataset: &Dataset, group: GroupId) -> Result<Vec<(VarId, Values)>> {
    let schema = dataset.schema();
    schema
        .vars_in(group)
        .filter(|&id| {
            let var = schema.var(id);
            let is_number = matches!(var.dtype, DType::Atomic(a) if a != Atomic::Char);
            is_number && matches!(var.dims[..], [dim] if schema.dim(dim).name == var.name)
        })
        .map(|id| Ok((id, dataset.read_all(id)?)))
        .collect()
}

/// A number for how the variables are cut into chunks.
fn chunks(schema: &Schema) -> u64 {
    let mut hasher = DefaultHasher::new();
    for var in &schema.vars {
        match &var.storage {
            Storage::Chunked { chunks, .. } => chunks.hash(&mut hasher),
            Storage::Contiguous | Storage::Compact => 0u8.hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Whether two descriptions are the same but for lengths, attributes and storage.
fn same_description(a: &Schema, b: &Schema) -> bool {
    let skipped = |s: &Schema| s.skipped.iter().map(|s| s.path.clone()).collect::<Vec<_>>();
    same_objects(a, b) && skipped(a) == skipped(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Attribute, DimId, Dimension, Format, Variable};
    use ncforge::{CreateOptions, DatasetMut, Hyperslab};

    /// A file of `time` records from `first` on; `lat` is two numbers.
    fn make(path: &Path, first: f64, time: u64, lat: [f64; 2], change: impl FnOnce(&mut Schema)) {
        let mut schema = Schema::new(Format::Cdf2);
        schema.dims = vec![Dimension::new("time", 0, true), Dimension::new("lat", 2, false)];
        let mut axis = Variable::new("time", Atomic::Double, vec![DimId(0)]);
        axis.attrs.push(Attribute::text("units", &format!("days since 2000-01-{:02}", first as u64 + 1)));
        schema.vars.push(axis);
        schema.vars.push(Variable::new("lat", Atomic::Double, vec![DimId(1)]));
        schema.vars.push(Variable::new("tas", Atomic::Float, vec![DimId(0), DimId(1)]));
        change(&mut schema);
        let mut new = DatasetMut::create(path, schema, CreateOptions::default()).unwrap();
        let bytes = |v: &[f64]| v.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>();
        let times: Vec<f64> = (0..time).map(|t| first + t as f64).collect();
        new.write_bytes(VarId(0), &Hyperslab::all(&[time]), &bytes(&times)).unwrap();
        new.write_bytes(VarId(1), &Hyperslab::all(&[2]), &bytes(&lat)).unwrap();
        new.close().unwrap();
    }

    #[test]
    fn what_differs_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        make(&path("a"), 0.0, 2, [1.0, f64::NAN], |_| {});
        make(&path("b"), 2.0, 3, [1.0, f64::NAN], |s| s.vars[2].attrs.push(Attribute::text("note", "x")));
        make(&path("c"), 5.0, 2, [1.0, 2.5], |s| s.groups[0].attrs.push(Attribute::text("history", "c")));
        make(&path("d"), 5.0, 2, [1.0, 2.0], |s| s.vars[2].name = "pr".into());
        let first = Dataset::open(path("a")).unwrap();
        let found =
            look(&["b", "c", "d", "e"].map(path), Some(&first), Schema::ROOT, &OpenOptions::default());
        let alike = |i: usize| found[i].as_ref().unwrap().alike.as_ref();

        let b = alike(0).unwrap();
        assert_eq!(b.lens, [3, 2]);
        let names = |list: &[(Option<VarId>, String)]| {
            list.iter().map(|(v, n)| (v.map(|v| v.0), n.clone())).collect::<Vec<_>>()
        };
        assert_eq!(names(&b.attributes), [(Some(0), "units".into()), (Some(2), "note".into())]);
        assert_eq!(b.coordinates.len(), 2);
        assert!(b.coordinates[0].1.is_some() && b.coordinates[1].1.is_none(), "NaN is the same as NaN");

        let c = alike(1).unwrap();
        assert_eq!(names(&c.attributes)[0], (None, "history".into()));
        assert!(c.coordinates[1].1.is_some());
        assert!(alike(2).is_none());
        assert!(found[3].is_err());

        let (b, c) = (&found[0].as_ref().unwrap().dataset, &found[1].as_ref().unwrap().dataset);
        assert_eq!(equal(&first, std::slice::from_ref(b), &[VarId(0), VarId(1)]).unwrap(), [false, true]);
        assert_eq!(equal(&first, &[b.clone(), c.clone()], &[VarId(1)]).unwrap(), [false]);
    }

    #[test]
    fn one_alone_tells_its_coordinates() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        make(&path, 0.0, 2, [1.0, 2.0], |_| {});
        let found = look(&[path], None, Schema::ROOT, &OpenOptions::default());
        let alike = found[0].as_ref().unwrap().alike.as_ref().unwrap();
        assert!(alike.coordinates.iter().all(|(_, values)| values.is_some()));
    }
}
