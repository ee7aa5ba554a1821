//! `ncforge info`: a file's header as CDL and how it is stored.

use std::path::Path;

use ncforge::Dataset;
use ncforge::store::remote::shown_path;
use ncforge_ops::describe::{self, CdlOptions};
use ncforge_ops::doctor::{ReaderCache, anatomy};
use ncforge_ops::progress::Progress;
use serde_json::json;

use super::{Context, document, page, requests};
use crate::args::InfoArgs;
use crate::exit::{Exit, Failure, Result};

/// `ncdump -v NAMES FILE`, under this name.
const AS_NCDUMP: &str = "-v is --verbose here; `ncforge dump -v VARIABLES FILE` prints values";

/// Shows one file after the other. With several, all are tried; the first failure gives the exit code.
pub(crate) fn run(args: &InfoArgs, cx: &Context<'_>) -> Result {
    if args.html.is_some() {
        return draw(args, cx);
    }
    if args.requests {
        return requests::run(args, cx);
    }
    let engine = cx.engine()?;
    let mut worst = Exit::Ok;
    let mut documents = Vec::new();
    let progress = cx.printer.progress("info");
    for (i, path) in args.files.iter().enumerate() {
        progress.item(&shown_path(path));
        let dataset = match Dataset::open_with(path, &engine) {
            Ok(d) => d,
            Err(e) => {
                let mut failure = Failure::from(e);
                if i == 0 && args.files.len() > 1 && args.global.verbose > 0 && !path.exists() {
                    failure.hint = AS_NCDUMP.to_owned();
                }
                documents.push(document::failed(path, &failure));
                progress.aside(|| cx.printer.failure(&failure));
                worst = if worst == Exit::Ok { failure.exit } else { worst };
                continue;
            }
        };
        if args.written.json.is_some() {
            documents.push(describe::json(dataset.container()));
        }
        if args.written.takes_stdout() {
            continue;
        }
        let text = text(args, path, &dataset);
        progress.aside(|| {
            if i > 0 && !args.kind {
                cx.printer.line("");
            }
            cx.printer.bytes(&text);
        });
    }
    progress.finish();
    document::put("info", &json!({ "files": documents }), &args.written, cx.printer)?;
    Ok(worst)
}

/// A page about all files; with several, all are tried.
fn draw(args: &InfoArgs, cx: &Context<'_>) -> Result {
    let Some(out) = &args.html else { return Ok(Exit::Ok) };
    page::check(out, args.written.overwrite, cx.named)?;
    let options = args.request()?.options(ReaderCache::default());
    let engine = cx.engine()?;
    let progress = cx.printer.progress("info");
    let (mut files, mut worst) = (Vec::new(), Exit::Ok);
    for path in &args.files {
        progress.item(&shown_path(path));
        match anatomy(path, &options, &engine) {
            Ok((_, file)) => files.push(file),
            Err(e) if args.files.len() == 1 => return Err(e.into()),
            Err(e) => {
                let failure = Failure::from(e);
                progress.aside(|| cx.printer.failure(&failure));
                worst = if worst == Exit::Ok { failure.exit } else { worst };
            }
        }
    }
    progress.finish();
    // Where no file was read, there is nothing to draw.
    if files.is_empty() {
        return Ok(worst);
    }
    page::write(out, &ncforge_view::info_page(&files), args.written.overwrite, cx.printer)?;
    Ok(worst)
}

/// The printed description of a file: bytes, since text of old files need not be UTF-8.
fn text(args: &InfoArgs, path: &Path, dataset: &Dataset) -> Vec<u8> {
    let container = dataset.container();
    if args.kind {
        return format!("{}\n", container.schema().format.kind()).into_bytes();
    }
    let mut text = Vec::new();
    if !args.storage {
        let name = args.name.clone().unwrap_or_else(|| dataset_name(path));
        let special = !args.header;
        text = describe::cdl(container, &CdlOptions { name, special });
    }
    if !args.header && !args.special {
        let table = describe::table(container, &describe::storage(container));
        text.extend_from_slice(table.as_bytes());
    }
    text
}

/// The dataset's name as `ncdump` makes it: the file's name without its last extension.
pub(super) fn dataset_name(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default();
    let name = ncforge::model::decode_name(file.as_encoded_bytes());
    match name.rfind('.') {
        Some(at) => name[..at].to_owned(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_are_called_after_their_files() {
        for (path, name) in [("/a/b.c/sst.2020.nc", "sst.2020"), ("plain", "plain"), (".hidden", "")] {
            assert_eq!(dataset_name(Path::new(path)), name);
        }
    }
}
