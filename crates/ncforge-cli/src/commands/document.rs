//! The JSON documents of the commands: each says what it is, and in which version. docs/reference/json.md tells what is in them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::page;
use crate::args::WrittenArgs;
use crate::exit::{Failure, Result};
use crate::printer::Printer;
use ncforge::store::remote::shown_path;

/// Version of all documents but those of benchmarks, which have one of their own. It counts up when a member goes away or changes its
/// meaning; new members may come at any time.
const VERSION: u32 = 1;

/// Says that the document cannot be written, before any work is done.
pub(super) fn check(written: &WrittenArgs, named: &[PathBuf]) -> Result<(), Failure> {
    written.json.as_deref().map_or(Ok(()), |out| page::check(out, written.overwrite, named))
}

/// Writes the members of `body` as the document of this name ("copy", "bench-compare") to where it was asked for, if it was. Whether
/// the command's text goes to stdout all the same.
pub(super) fn put(
    name: &str,
    body: &impl Serialize,
    written: &WrittenArgs,
    printer: &Printer,
) -> Result<bool, Failure> {
    let Some(out) = &written.json else { return Ok(true) };
    let mut document = Map::new();
    document.insert("schema".into(), format!("ncforge.{name}").into());
    document.insert("version".into(), VERSION.into());
    if let Value::Object(members) = serde_json::to_value(body).expect("a report is plain data") {
        document.extend(members);
    }
    let text =
        serde_json::to_string_pretty(&Value::Object(document)).expect("a JSON value always has a text");
    page::write(out, &format!("{text}\n"), written.overwrite, printer)?;
    Ok(!written.takes_stdout())
}

/// The entry in a list of files for one that could not be examined.
pub(super) fn failed(file: &Path, failure: &Failure) -> Value {
    json!({
        "file": shown_path(file),
        "error": {
            "kind": failure.class,
            "message": failure.message,
            "hint": failure.hint,
            "exit_code": failure.exit as u8,
        },
    })
}
