//! What mends a finding: options of `ncforge copy`, put together to one command line.

use std::path::{Path, PathBuf};

use crate::words::quoted;
use ncforge::codec::filters::{DEFLATE, ZSTD};
use ncforge::codec::{filter_name, filters};
use ncforge::model::Filter;

/// Chunk lengths are written for so many variables, at most; for more, `auto` says it shorter.
const MOST_SPEC: usize = 12;

/// Options that store all variables anew.
const STORING: [&str; 2] = ["--chunks auto", "--codec deflate"];

/// Options of `ncforge copy` that mend something. Several make one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mend {
    /// Chunk lengths for variables.
    pub chunks: Vec<(String, Vec<u64>)>,
    /// Filters for variables, as `--filters` takes them.
    pub filters: Vec<(String, String)>,
    /// Only these variables.
    pub vars: Vec<String>,
    /// Options without a variable: `--endian native`.
    pub options: Vec<&'static str>,
}

impl Mend {
    /// An option, or several words of one; nothing for a plain copy.
    pub(super) fn option(words: &'static str) -> Self {
        Mend { options: vec![words], ..Mend::default() }
    }

    /// A copy without options mends it.
    pub(super) fn plain() -> Self {
        Mend::default()
    }

    /// Other chunks for one variable.
    pub(super) fn chunks(var: &str, lens: &[u64]) -> Self {
        // A specification cannot say such a name; the general choice mends the variable, too.
        if var.contains(';') {
            return Mend::option(STORING[0]);
        }
        Mend { chunks: vec![(var.to_owned(), lens.to_vec())], ..Mend::default() }
    }

    /// Other filters for one variable.
    pub(super) fn filters(var: &str, chain: &[Filter]) -> Self {
        if var.contains([',', '|', '&']) {
            // A specification cannot say such a name: shuffle and deflate 1 for all.
            return Mend::option(STORING[1]);
        }
        Mend { filters: vec![(var.to_owned(), chain_text(chain))], ..Mend::default() }
    }

    /// The same, in netCDF-4.
    pub(super) fn in_netcdf4(mut self, needed: bool) -> Self {
        if needed {
            self.options.insert(0, "--format netcdf4");
        }
        self
    }

    /// Whether it changes how a variable's values are stored.
    pub(super) fn stores_anew(&self) -> bool {
        !self.chunks.is_empty()
            || !self.filters.is_empty()
            || self.options.iter().any(|o| STORING.contains(o))
    }

    /// Both at once. What was there first stays where both say something of the same variable.
    pub fn and(&mut self, other: &Mend) {
        for (var, lens) in &other.chunks {
            if !self.chunks.iter().any(|(v, _)| v == var) {
                self.chunks.push((var.clone(), lens.clone()));
            }
        }
        for (var, text) in &other.filters {
            if !self.filters.iter().any(|(v, _)| v == var) {
                self.filters.push((var.clone(), text.clone()));
            }
        }
        if self.vars.is_empty() {
            self.vars.clone_from(&other.vars);
        }
        for option in &other.options {
            if !self.options.contains(option) {
                self.options.push(option);
            }
        }
    }

    /// The command, as a shell takes it. The output lies beside the input, under a new name.
    ///
    /// ```
    /// use ncforge_ops::doctor::Mend;
    /// let mut mend = Mend { chunks: vec![("tas".into(), vec![100, 8, 16])], ..Mend::default() };
    /// mend.and(&Mend { options: vec!["--endian native"], ..Mend::default() });
    /// assert_eq!(
    ///     mend.command("in.nc"),
    ///     "ncforge copy in.nc in-mended.nc --endian native --chunks tas:100,8,16"
    /// );
    /// ```
    pub fn command(&self, input: &str) -> String {
        let mut out = format!("ncforge copy {} {}", name_word(input), name_word(&mended(input)));
        for option in &self.options {
            out.push(' ');
            out.push_str(option);
        }
        // `auto` and lengths of single variables cannot be asked for at once; the former covers the latter.
        if self.chunks.len() > MOST_SPEC && !self.options.contains(&"--chunks auto") {
            out.push_str(" --chunks auto");
        } else if !self.chunks.is_empty() && !self.options.contains(&"--chunks auto") {
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

/// The name of the mended file: `in-mended.nc` beside `in.nc`.
pub(super) fn mended(input: &str) -> String {
    let path = Path::new(input);
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match path.extension() {
        Some(e) => format!("{stem}-mended.{}", e.to_string_lossy()),
        None => format!("{stem}-mended"),
    };
    let out: PathBuf = path.with_file_name(name);
    out.display().to_string()
}

/// Filters as `--filters` takes them: `shuffle|deflate,1`.
pub(super) fn chain_text(chain: &[Filter]) -> String {
    if chain.is_empty() {
        return "none".into();
    }
    let one = |f: &Filter| match f.id {
        DEFLATE | ZSTD => {
            let level = f.params.first().copied().unwrap_or(1).cast_signed();
            format!("{},{level}", filter_name(f.id))
        }
        filters::SHUFFLE | filters::FLETCHER32 => filter_name(f.id).to_owned(),
        id => {
            let params: Vec<String> = f.params.iter().map(|p| format!(",{p}")).collect();
            format!("{id}{}", params.concat())
        }
    };
    chain.iter().map(one).collect::<Vec<_>>().join("|")
}
