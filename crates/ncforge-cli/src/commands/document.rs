//! The JSON documents of the commands: each says what it is, and in which version. docs/reference/json.md tells what is in them.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::printer::Printer;

/// Version of all documents but those of benchmarks, which have one of their own. It counts up when a member goes away or changes its
/// meaning; new members may come at any time.
const VERSION: u32 = 1;

/// Prints the members of `body` as the document of this name: "copy", "bench-compare".
pub(super) fn print(name: &str, body: &impl Serialize, printer: &Printer) {
    let mut document = Map::new();
    document.insert("schema".into(), format!("ncforge.{name}").into());
    document.insert("version".into(), VERSION.into());
    if let Value::Object(members) = serde_json::to_value(body).expect("a report is plain data") {
        document.extend(members);
    }
    printer.json(&Value::Object(document));
}

/// What stands in a list of files for one that could not be looked at.
pub(super) fn failed(file: &Path, failure: &Failure) -> Value {
    json!({
        "file": file.display().to_string(),
        "error": {
            "message": failure.message,
            "hint": failure.hint,
            "exit_code": failure.exit as u8,
        },
    })
}
