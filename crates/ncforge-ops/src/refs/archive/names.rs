//! The names of fragments, and of the conventions.

use std::path::{Component, Path, PathBuf};

use ncforge::model::Attribute;
use ncforge::raw::put_attribute;
use ncforge::store::remote::shown_path;
use ncforge::store::remote::url_of;
use ncforge::{Error, Op, Result};

use super::super::make::location;

/// The version of the conventions in which aggregation variables are.
const VERSION: &str = "CF-1.13";

/// The URI of a file for an aggregation file at `output`: relative to it, unless it is a URL.
pub(super) fn uri(file: &Path, output: &Path, base: Option<&str>) -> Result<String> {
    if base.is_some() || url_of(file).is_some() {
        return location(file, base);
    }
    let absolute =
        |p: &Path| std::path::absolute(p).map_err(|e| Error::io(Op::Other("find"), shown_path(p), e));
    let (file, output) = (absolute(file)?, absolute(output)?);
    let relative = relative(&file, output.parent().unwrap_or(Path::new("/")));
    let text = relative.to_str().map(str::to_owned);
    let text = text.ok_or_else(|| Error::Invalid(format!("`{}` is not text", shown_path(file))))?;
    // What has a colon in its first part is a URI with a scheme.
    let first = text.split('/').next().unwrap_or_default();
    Ok(if first.contains(':') { format!("./{text}") } else { text })
}

/// The way from a folder to a file.
fn relative(file: &Path, folder: &Path) -> PathBuf {
    let (file, folder) = (lexical(file), lexical(folder));
    let common = file.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = (common..folder.len()).map(|_| Component::ParentDir.as_os_str());
    up.chain(file[common..].iter().map(|part| Component::Normal(part).as_os_str())).collect()
}

/// The parts of an absolute path, without those that lead back.
fn lexical(path: &Path) -> Vec<&std::ffi::OsStr> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part),
            _ => {}
        }
    }
    parts
}

/// Names the version of the conventions in the attributes of a file, among others that it follows.
pub(super) fn conventions(attrs: &mut Vec<Attribute>) {
    let old = attrs.iter().find(|a| a.name == "Conventions").and_then(Attribute::as_text).unwrap_or_default();
    let separator = if old.contains(',') { ", " } else { " " };
    let others = old.split([',', ' ']).filter(|name| !name.is_empty() && !name.starts_with("CF-"));
    let all: Vec<&str> = std::iter::once(VERSION).chain(others).collect();
    put_attribute(attrs, Attribute::text("Conventions", &all.join(separator)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_relative() {
        for (file, output, want) in [
            ("/d/a.nc", "/d/all.nc", "a.nc"),
            ("/d/e/a.nc", "/d/all.nc", "e/a.nc"),
            ("/d/a.nc", "/d/f/g/all.nc", "../../a.nc"),
            ("/d/x/../a.nc", "/d/all.nc", "a.nc"),
            ("/d/12:00.nc", "/d/all.nc", "./12:00.nc"),
            ("s3://b/a.nc", "/d/all.nc", "s3://b/a.nc"),
        ] {
            assert_eq!(uri(file.as_ref(), output.as_ref(), None).unwrap(), want);
        }
        assert_eq!(uri("/d/a.nc".as_ref(), "/e/all.nc".as_ref(), Some("../x/")).unwrap(), "../x/a.nc");
    }

    #[test]
    fn other_conventions_stay() {
        for (old, new) in
            [("CF-1.7 ACDD-1.3", "CF-1.13 ACDD-1.3"), ("COARDS, CF-1.6", "CF-1.13, COARDS"), ("", "CF-1.13")]
        {
            let mut attrs = vec![Attribute::text("Conventions", old)];
            conventions(&mut attrs);
            assert_eq!(attrs[0].as_text(), Some(new));
        }
    }
}
