//! Fixes of findings: options of `ncforge copy`, put together to one command line.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::words::quoted;
use ncforge::codec::FilterChain;
use ncforge::model::Filter;
use ncforge::store::zipped::is_named_zipped;

/// The number of variables for which chunk lengths are written, at most; for more, `auto` is shorter.
const MOST_SPEC: usize = 12;

/// Options that store all variables anew.
const STORING: [&str; 2] = ["--chunks auto", "--codec deflate"];

/// Options of `ncforge copy` that fix something. Several make one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// Chunk lengths for variables.
    pub chunks: Vec<(String, Vec<u64>)>,
    /// Filters for variables, as `--filters` takes them.
    pub filters: Vec<(String, String)>,
    /// Only these variables.
    pub vars: Vec<String>,
    /// Options without a variable: `--endian native`.
    pub options: Vec<Cow<'static, str>>,
}

impl Fix {
    /// An option, or several words of one; nothing for a plain copy.
    pub(super) fn option(words: &'static str) -> Self {
        Fix { options: vec![words.into()], ..Fix::default() }
    }

    /// A copy without options fixes it.
    pub(super) fn plain() -> Self {
        Fix::default()
    }

    /// Other chunks for one variable.
    pub(super) fn chunks(var: &str, lens: &[u64]) -> Self {
        // A specification cannot say such a name; the general choice fixes the variable, too.
        if var.contains(';') {
            return Fix::option(STORING[0]);
        }
        Fix { chunks: vec![(var.to_owned(), lens.to_vec())], ..Fix::default() }
    }

    /// Other filters for one variable.
    pub(super) fn filters(var: &str, chain: &[Filter]) -> Self {
        if var.contains([',', '|', '&']) {
            // A specification cannot say such a name: shuffle and deflate 1 for all.
            return Fix::option(STORING[1]);
        }
        Fix { filters: vec![(var.to_owned(), FilterChain::from(chain).to_string())], ..Fix::default() }
    }

    /// The fix with netCDF-4 output, if needed.
    pub(super) fn in_netcdf4(mut self, needed: bool) -> Self {
        if needed {
            self.options.insert(0, "--format netcdf4".into());
        }
        self
    }

    /// True if the fix changes how a variable's values are stored.
    pub(super) fn stores_anew(&self) -> bool {
        !self.chunks.is_empty() || !self.filters.is_empty() || STORING.iter().any(|o| self.has(o))
    }

    /// Whether this option is among its options.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|o| o == option)
    }

    /// Adds another fix. Where both concern the same variable, the first one stays.
    pub fn and(&mut self, other: &Fix) {
        // In one order, whichever of several findings came first.
        fn join<T: Clone + Ord>(own: &mut Vec<(String, T)>, others: &[(String, T)]) {
            let new = others.iter().filter(|(var, _)| !own.iter().any(|(v, _)| v == var)).cloned();
            own.extend(new.collect::<Vec<_>>());
            own.sort();
        }
        join(&mut self.chunks, &other.chunks);
        join(&mut self.filters, &other.filters);
        if self.vars.is_empty() {
            self.vars.clone_from(&other.vars);
        }
        for option in &other.options {
            if !self.options.contains(option) {
                self.options.push(option.clone());
            }
        }
    }

    /// The command, as a shell takes it. The output lies in the folder of the input, under a new name.
    ///
    /// ```
    /// use ncforge_ops::doctor::Fix;
    /// let mut fix = Fix { chunks: vec![("tas".into(), vec![100, 8, 16])], ..Fix::default() };
    /// fix.and(&Fix { options: vec!["--endian native".into()], ..Fix::default() });
    /// assert_eq!(
    ///     fix.command("in.nc"),
    ///     "ncforge copy in.nc in-fixed.nc --endian native --chunks tas:100,8,16"
    /// );
    /// ```
    pub fn command(&self, input: &str) -> String {
        let out = fixed(input, self.makes_netcdf4());
        format!("ncforge copy {} {}{}", name_word(input), name_word(&out), self.options_text())
    }

    /// The commands for several files: one for each folder in which they lie. The outputs have the names of the inputs, in a folder
    /// `fixed` there, so that patterns (`*.nc`) that meant the inputs mean them still.
    ///
    /// ```
    /// use ncforge_ops::doctor::Fix;
    /// let fix = Fix { options: vec!["--chunks auto".into()], ..Fix::default() };
    /// assert_eq!(fix.commands(&["d/1.nc", "d/2.nc"]), ["ncforge copy d/1.nc d/2.nc d/fixed/ --chunks auto"]);
    /// assert_eq!(fix.commands(&["1.nc"]), ["ncforge copy 1.nc 1-fixed.nc --chunks auto"]);
    /// ```
    pub fn commands<S: AsRef<str>>(&self, files: &[S]) -> Vec<String> {
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
        let one = |(folder, files): (PathBuf, Vec<&str>)| match files[..] {
            [file] => self.command(file),
            _ => {
                let names: Vec<String> = files.iter().map(|f| name_word(f)).collect();
                let folder = name_word(&format!("{}/", folder.display()));
                format!("ncforge copy {} {folder}{}", names.join(" "), self.options_text())
            }
        };
        folders.into_iter().map(one).collect()
    }

    /// Whether the output must be netCDF-4, which no zipped file is.
    fn makes_netcdf4(&self) -> bool {
        let options =
            self.options.iter().any(|o| o.starts_with("--format netcdf4") || o.starts_with("--profile"));
        options || self.stores_anew()
    }

    /// The options behind the names of the files in the command, with a space before them.
    pub(super) fn options_text(&self) -> String {
        let mut out = String::new();
        for option in &self.options {
            out.push(' ');
            out.push_str(option);
        }
        // `auto` and lengths of single variables cannot be asked for at once; the former covers the latter.
        if self.chunks.len() > MOST_SPEC && !self.has("--chunks auto") {
            // The lengths were chosen for it, too.
            out.push_str(" --chunks auto");
        } else if !self.chunks.is_empty() && !self.has("--chunks auto") {
            let list: Vec<String> = (self.chunks.iter())
                .map(|(var, lens)| {
                    let lens: Vec<String> = lens.iter().map(u64::to_string).collect();
                    format!("{var}:{}", lens.join(","))
                })
                .collect();
            out.push_str(&format!(" --chunks {}", quoted(&list.join(";"))));
        }
        if !self.filters.is_empty() {
            // Variables with the same filters share a specification.
            let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
            for (var, text) in &self.filters {
                match kinds.iter_mut().find(|(t, _)| t == text) {
                    Some((_, vars)) => vars.push(var),
                    None => kinds.push((text, vec![var])),
                }
            }
            for (text, vars) in kinds {
                out.push_str(&format!(" --filters {}", quoted(&format!("{},{text}", vars.join("|")))));
            }
        }
        if !self.vars.is_empty() {
            out.push_str(&format!(" --vars {}", quoted(&self.vars.join(","))));
        }
        out
    }
}

/// A file's name as a word that is no option.
fn name_word(name: &str) -> String {
    if name.starts_with('-') { quoted(&format!("./{name}")) } else { quoted(name) }
}

/// The name of the fixed file: `in-fixed.nc` for `in.nc`, and for `s3://bucket/in.nc`; for `in.ncz`, if it becomes netCDF-4.
fn fixed(input: &str, netcdf4: bool) -> String {
    let path = Path::new(input);
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match path.extension() {
        Some(_) if netcdf4 && is_named_zipped(path) => format!("{stem}-fixed.nc"),
        Some(e) => format!("{stem}-fixed.{}", e.to_string_lossy()),
        None => format!("{stem}-fixed"),
    };
    // Of a URL a file here, as above.
    let out: PathBuf = match ncforge::store::remote::url_of(path) {
        Some(_) => name.into(),
        None => path.with_file_name(name),
    };
    out.display().to_string()
}
