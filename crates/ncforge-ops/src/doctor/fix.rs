//! Fixes of findings: copies, as a user asks for them. A front writes them as its command, or makes them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Profile;
use crate::copy::{ChunkChoice, ChunkSpec, CopyRequest, FilterSpec, Switches, VarChunks};
use crate::request::{EndianChoice, FormatChoice, options_of};
use ncforge::codec::FilterChain;
use ncforge::model::{Endian, Filter, Format};
use ncforge::store::zipped::is_named_zipped;

/// The number of variables for which chunk lengths are named, at most; for more, `auto` is shorter.
const MOST_NAMED: usize = 12;

/// A copy that fixes something. Several make one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fix(CopyRequest);

/// The copy of files that fixes findings about them.
#[derive(Debug)]
pub struct Repair<'a> {
    /// The files.
    pub inputs: Vec<&'a str>,
    /// The new file; for several, the folder of the new files, with a slash at its end.
    pub output: String,
    /// How they are copied.
    pub fix: &'a Fix,
}

/// The commands of a front.
pub trait Commands {
    /// The command that makes this copy.
    fn copy(&self, repair: &Repair<'_>) -> String;
}

impl Fix {
    /// A copy without options fixes it.
    pub(super) fn plain() -> Self {
        Fix::default()
    }

    /// Other chunks for one variable.
    pub(super) fn chunks(var: &str, lens: &[u64]) -> Self {
        let vars = vec![(var.to_owned(), VarChunks::Lens(lens.to_vec()))];
        let spec = ChunkSpec { vars, ..ChunkSpec::default() };
        Fix(CopyRequest { chunks: Some(ChunkChoice::Spec(spec)), ..CopyRequest::default() })
    }

    /// Other chunks for all variables.
    pub(super) fn all_chunks() -> Self {
        Fix(CopyRequest { chunks: Some(ChunkChoice::Auto(None)), ..CopyRequest::default() })
    }

    /// Other filters for one variable.
    pub(super) fn filters(var: &str, chain: &[Filter]) -> Self {
        // Without parameters that follow from the variable.
        let short = FilterChain::from(chain).to_string().parse::<FilterChain>();
        let filters = short.map_or_else(|_| chain.to_vec(), Vec::from);
        let one = FilterSpec { vars: Some(vec![var.to_owned()]), filters };
        Fix(CopyRequest { filters: vec![one], ..CopyRequest::default() })
    }

    /// Only these variables.
    pub(super) fn only(vars: Vec<String>) -> Self {
        let mut fix = Fix::default();
        fix.0.run.vars = Some(vars);
        fix
    }

    /// The layout of a profile.
    pub(super) fn profile(profile: Profile) -> Self {
        Fix(CopyRequest { profile: Some(profile), ..CopyRequest::default() })
    }

    /// Numbers in this machine's byte order.
    pub(super) fn native() -> Self {
        Fix(CopyRequest { endian: EndianChoice(Some(Endian::Native)), ..CopyRequest::default() })
    }

    /// Options that are on or off.
    pub(super) fn switched(switches: Switches) -> Self {
        Fix(CopyRequest { switches, ..CopyRequest::default() })
    }

    /// The fix with netCDF-4 output, if needed.
    pub(super) fn in_netcdf4(mut self, needed: bool) -> Self {
        if needed {
            self.0.coding.format = FormatChoice(Some(Format::Netcdf4));
        }
        self
    }

    /// What is asked of the copy.
    pub fn request(&self) -> &CopyRequest {
        &self.0
    }

    /// The options of the copy, by name.
    pub fn options(&self) -> Map<String, Value> {
        options_of(&self.0)
    }

    /// True if the fix changes how a variable's values are stored.
    pub(super) fn stores_anew(&self) -> bool {
        self.0.chunks.is_some() || !self.0.filters.is_empty()
    }

    /// Whether it cuts variables anew.
    pub(super) fn cuts(&self) -> bool {
        self.0.chunks.is_some()
    }

    /// Whether it encodes this variable anew.
    pub(super) fn encodes(&self, var: &str) -> bool {
        self.0.filters.iter().any(|f| f.names(var))
    }

    /// Adds another fix. Where both concern the same variable, the first one stays.
    pub fn and(&mut self, other: &Fix) {
        let (own, other) = (&mut self.0, &other.0);
        own.chunks = match (own.chunks.take(), &other.chunks) {
            (Some(ChunkChoice::Spec(one)), Some(ChunkChoice::Spec(two))) => Some(both_chunks(one, two)),
            // Lengths of single variables and `auto` cannot be asked for at once; the latter covers the former.
            (Some(ChunkChoice::Spec(_)), Some(auto)) => Some(auto.clone()),
            (own, other) => own.or_else(|| other.clone()),
        };
        for spec in &other.filters {
            add_filters(&mut own.filters, spec);
        }
        own.run.vars = own.run.vars.take().or_else(|| other.run.vars.clone());
        own.coding.format.0 = own.coding.format.0.or(other.coding.format.0);
        own.endian.0 = own.endian.0.or(other.endian.0);
        own.profile = own.profile.or(other.profile);
        own.switches.skip_fill |= other.switches.skip_fill;
        own.switches.add_access_points |= other.switches.add_access_points;
    }

    /// The copies that fix several files: one for each folder in which they lie. A single output lies beside its input, under a new
    /// name. Several outputs have the names of their inputs, in a folder `fixed` there, so that patterns (`*.nc`) that meant the inputs
    /// mean them still.
    ///
    /// ```
    /// use ncforge_ops::doctor::Fix;
    /// let fix = Fix::default();
    /// let outputs = |files: &[&str]| fix.repairs(files).into_iter().map(|r| r.output).collect::<Vec<_>>();
    /// assert_eq!(outputs(&["d/1.nc", "d/2.nc"]), ["d/fixed/"]);
    /// assert_eq!(outputs(&["1.nc"]), ["1-fixed.nc"]);
    /// assert_eq!(outputs(&["https://host/1.nc?version=2"]), ["1-fixed.nc"]);
    /// ```
    pub fn repairs<'a, S: AsRef<str>>(&'a self, files: &'a [S]) -> Vec<Repair<'a>> {
        let mut folders: Vec<(PathBuf, Vec<&str>)> = Vec::new();
        for file in files.iter().map(|f| -> &str { f.as_ref() }) {
            let path = Path::new(file);
            // Of URLs a folder here: what is written is made here in any case.
            let folder = match ncforge::store::remote::url_of(path) {
                Some(_) => PathBuf::from("fixed"),
                None => path.with_file_name("fixed"),
            };
            match folders.iter_mut().find(|(f, _)| *f == folder) {
                Some((_, list)) => list.push(file),
                None => folders.push((folder, vec![file])),
            }
        }
        let one = |(folder, inputs): (PathBuf, Vec<&'a str>)| {
            let output = match inputs[..] {
                [file] => fixed(file, self.makes_netcdf4()),
                _ => format!("{}/", folder.display()),
            };
            Repair { inputs, output, fix: self }
        };
        folders.into_iter().map(one).collect()
    }

    /// The copies' commands, as a front writes them.
    pub fn commands<S: AsRef<str>>(&self, files: &[S], front: &(impl Commands + ?Sized)) -> Vec<String> {
        self.repairs(files).iter().map(|repair| front.copy(repair)).collect()
    }

    /// Whether the output must be netCDF-4, which no zipped file is.
    fn makes_netcdf4(&self) -> bool {
        self.0.coding.format.0 == Some(Format::Netcdf4) || self.0.profile.is_some() || self.stores_anew()
    }
}

/// The chunks of two specifications, in one order, whichever came first.
fn both_chunks(mut own: ChunkSpec, other: &ChunkSpec) -> ChunkChoice {
    let new = other.vars.iter().filter(|(var, _)| own.var(var).is_none()).cloned();
    let new: Vec<_> = new.collect();
    own.vars.extend(new);
    own.vars.sort_by(|a, b| a.0.cmp(&b.0));
    match own.vars.len() {
        // The lengths were chosen for it, too.
        n if n > MOST_NAMED => ChunkChoice::Auto(None),
        _ => ChunkChoice::Spec(own),
    }
}

/// Adds the filters of variables that have none yet. Variables with the same filters share a specification.
fn add_filters(own: &mut Vec<FilterSpec>, spec: &FilterSpec) {
    let given = spec.vars.iter().flatten();
    let new: Vec<String> = given.filter(|var| !own.iter().any(|f| f.names(var))).cloned().collect();
    if new.is_empty() {
        return;
    }
    match own.iter_mut().find(|f| f.filters == spec.filters) {
        Some(FilterSpec { vars: Some(vars), .. }) => {
            vars.extend(new);
            vars.sort();
        }
        _ => own.push(FilterSpec { vars: Some(new), filters: spec.filters.clone() }),
    }
    own.sort_by(|a, b| a.vars.cmp(&b.vars));
}

/// The name of the fixed file: `in-fixed.nc` for `in.nc`, and for `s3://bucket/in.nc`; for `in.ncz`, if it becomes netCDF-4.
fn fixed(input: &str, netcdf4: bool) -> String {
    // Of a URL a file here, as above.
    let url = ncforge::store::remote::url_of(input.as_ref());
    let path = Path::new(url.map_or(input, ncforge::store::remote::file_name));
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match path.extension() {
        Some(_) if netcdf4 && is_named_zipped(path) => format!("{stem}-fixed.nc"),
        Some(e) => format!("{stem}-fixed.{}", e.to_string_lossy()),
        None => format!("{stem}-fixed"),
    };
    path.with_file_name(name).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(text: &str) -> Vec<Filter> {
        text.parse::<FilterChain>().unwrap().into()
    }

    #[test]
    fn the_first_of_two_fixes_of_a_variable_stays() {
        let mut fix = Fix::chunks("b", &[1, 2]);
        fix.and(&Fix::chunks("a;x", &[3]));
        fix.and(&Fix::chunks("b", &[9, 9]));
        fix.and(&Fix::filters("b", &chain("shuffle|deflate,1")));
        fix.and(&Fix::filters("a,x", &chain("shuffle|deflate,1")));
        fix.and(&Fix::filters("b", &chain("zstd,3")));
        fix.and(&Fix::native());
        let options = fix.options();
        assert_eq!(options["chunks"], r"a\;x:3;b:1,2");
        assert_eq!(options["filters"], serde_json::json!([r"a\,x|b,shuffle|deflate,1"]));
        assert_eq!((&options["endian"], options.len()), (&"native".into(), 3));
    }

    #[test]
    fn chunks_of_many_variables_are_chosen_by_the_copy() {
        let mut fix = Fix::default();
        for i in 0..=MOST_NAMED {
            assert!(i == 0 || matches!(fix.request().chunks, Some(ChunkChoice::Spec(_))));
            fix.and(&Fix::chunks(&format!("v{i}"), &[i as u64 + 1]));
        }
        assert_eq!(fix.options()["chunks"], "auto");
        fix.and(&Fix::chunks("w", &[7]));
        assert_eq!(fix.options()["chunks"], "auto");
    }
}
