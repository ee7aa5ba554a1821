//! Remedies for errors, in the words of the command: its options, and the commands that show more.
//!
//! The grammar of a hint: no capital, no full stop.

use std::borrow::Cow;
use std::io::ErrorKind;

use ncforge::store::remote;
use ncforge::{Error, Op, TileFault, TileOption};

/// The remedy for an error of the library.
pub(crate) fn of(e: &Error) -> Cow<'static, str> {
    match e {
        Error::NotFound { nearest: Some(name), .. } => {
            format!("did you mean `{name}`? `ncforge info FILE` lists the names").into()
        }
        _ => usual(e).into(),
    }
}

/// The remedy for an error of this kind.
fn usual(e: &Error) -> &'static str {
    match e {
        Error::Io { path, source, .. }
            if source.kind() == ErrorKind::NotFound && has_unknown_scheme(path) =>
        {
            "no such scheme; known: s3://, gs://, az://, https://, http://"
        }
        Error::Io { op: Op::Create, source, .. } if source.kind() == ErrorKind::NotFound => {
            "a file is made only in a folder that exists: make it (`mkdir -p`), or look at its name"
        }
        Error::Io { path, source, .. } => match remote::url_of(path.as_ref()) {
            Some(url) => of_url(url, source),
            None => of_io(source),
        },
        Error::Corrupt { .. } => "get the file anew from where it came",
        Error::NotNetcdf { .. } => {
            "ncforge reads netCDF classic, netCDF-4 and zipped files; `file NAME` may tell what this is"
        }
        Error::NotHdf5 { .. } => {
            "virtual datasets and external links lead to HDF5 files only: `ncforge copy -4 FILE` makes one of a classic or zipped file"
        }
        Error::WriteToUrl { .. } => {
            "write a local file, and upload it by `ncforge copy FILE URL` or a tool of the store"
        }
        Error::NoRanges { .. } => "download the file first, and read the local copy",
        Error::Unsupported { .. } => {
            "docs/formats.md lists what is supported; other variables can be copied with --vars"
        }
        Error::NotFound { .. } => "`ncforge info FILE` lists the names",
        Error::NotRepresentable { .. } | Error::Limit { .. } => {
            "--format netcdf4 holds everything that netCDF knows"
        }
        Error::Tiles(_) => {
            "give all tiles of one run and one date (`ncforge info TILE` shows what each is); --scheme generic takes tiles of any model"
        }
        Error::TilesUnless { unless, .. } => of_tiles(*unless),
        Error::BadTile { fault: TileFault::Changed, .. } => {
            "combine the tiles as the model wrote them, and cut the output; or say by --scheme generic --place where each file lies"
        }
        Error::BadTile { .. } => {
            "if it is none, move it away, or name the tiles alone (a quoted pattern such as 'TILE_000[0-3].nc' does); else get it anew"
        }
        Error::Exists(_) => "give -O to overwrite it",
        Error::Appeared { .. } => {
            "give the new file another name (`mv`); or run the same command with --resume -O, which replaces the old one"
        }
        Error::Locked { .. } => {
            "wait until the other program has closed it; HDF5_USE_FILE_LOCKING=FALSE takes no locks, where you know that nobody writes"
        }
        Error::Inherited { .. } => "open it again in this process, once it is closed there",
        Error::Lost { .. } => {
            "make space if the disk is full, and write the values again; what is not named was written"
        }
        Error::Changed { .. } => "run the command again: it reads what is there now",
        Error::Memory { .. } => "select less at a time, or give a smaller --memory",
        Error::Budget { .. } => "give a larger --memory, or smaller chunks",
        Error::NotUploaded { .. } => "start the same command again: an upload begins anew",
        Error::Interrupted(_) => "run the same command with --resume to go on",
        Error::Verify(_) => "do not use the output; make it again, and report it when that fails, too",
        Error::Internal(_) => {
            "this is a defect of ncforge: please report it, with the command and the file if you can"
        }
        Error::BadOption { option: "memory" | "threads", .. } => {
            "give a number, by --memory (such as 4G) or --threads; both count before NCFORGE_MEMORY and NCFORGE_THREADS"
        }
        Error::CannotResume { .. } => {
            "without --resume the output is begun anew, and what was done before is removed"
        }
        Error::OutputIsInput { .. } => "give -o the name of another file",
        Error::BadOption { option: "output", .. } => {
            "give it a name that ends in .nc; `ncforge refs` makes what readers of Zarr open, and `ncforge dump` prints CDL"
        }
        Error::BadOption { option: "along", .. } => "--along DIM names it",
        Error::BadOption { option: "dims", .. } => "--dims X,Y names the dimensions to split",
        Error::CannotRedefine(_) => "`ncforge copy` makes a file that has it",
        Error::Order { .. } => {
            "give the files in the order of their coordinates, each once; --unsorted joins them as they are given"
        }
        Error::BadOption { option: "select", .. } => {
            "`ncforge dump -v DIM -t FILE` shows the values of a coordinate; docs/reference/select.md has what can be selected"
        }
        Error::BadOption { option: "URL", .. } => {
            "a URL is s3://bucket/key, gs://, az://, https:// or http://"
        }
        Error::BadOption { option: "endpoint", .. } => "`--storage-option endpoint=http://minio:9000` is one",
        Error::BadOption { option: "storage option", .. } => {
            "docs/how-to/object-stores.md has the names; they are those of the Rust crate object_store"
        }
        // The library may get more kinds; what is left are wrong requests.
        _ => "`ncforge COMMAND --help` lists the options of a command, with examples",
    }
}

/// Whether a path was meant as a URL, and is none: `s4://bucket/a.nc`, `s3:/bucket/a.nc`.
fn has_unknown_scheme(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(":/") else { return false };
    let is_word = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    is_word
        && remote::url_of(path.as_ref()).is_none()
        && (rest.starts_with('/') || remote::url_of(format!("{scheme}:///").as_ref()).is_some())
}

/// The remedy when a server refuses something, or none is reached.
fn of_url(url: &str, e: &std::io::Error) -> &'static str {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    match (e.kind(), scheme.as_str()) {
        (ErrorKind::PermissionDenied, "s3" | "s3a") => {
            "check the credentials of the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY); --anonymous reads what is public"
        }
        (ErrorKind::PermissionDenied, "gs") => {
            "check the credentials of the environment (GOOGLE_APPLICATION_CREDENTIALS); --anonymous reads what is public"
        }
        (ErrorKind::PermissionDenied, "http" | "https") => {
            "the server wants to know who asks: check the URL, and whether it is still valid"
        }
        (ErrorKind::PermissionDenied, _) => {
            "check the credentials of the environment (AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY); --anonymous reads what is public"
        }
        (ErrorKind::NotFound, "http" | "https") => "check the address",
        (ErrorKind::NotFound, _) => "check the names of the bucket and of the object, and the endpoint",
        (ErrorKind::ConnectionAborted, _) => "write http:// instead of https://",
        (
            ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::TimedOut,
            "http" | "https",
        ) => "check the server's name, its port, and whether it is http or https",
        (ErrorKind::UnexpectedEof | ErrorKind::InvalidData, _) => {
            "the server is at fault, or a proxy before it: try again, or download the file first"
        }
        _ => {
            "check the endpoint (--storage-option endpoint=https://…, or AWS_ENDPOINT_URL), its scheme, and the credentials"
        }
    }
}

fn of_tiles(unless: TileOption) -> &'static str {
    match unless {
        TileOption::AllowMissing => {
            "give all tiles; --allow-missing fills the places of those that are not there"
        }
        TileOption::AllowRagged => "--allow-ragged fills the records that some tiles lack",
        TileOption::DifferingFirst => {
            "give tiles of one run and one date; --differing first takes the first tile's"
        }
        TileOption::HolesFill => "--holes fill fills them; else give the tiles that are missing",
        _ => "give all tiles of one run and one date",
    }
}

/// The remedy when the system refuses something.
pub(crate) fn of_io(e: &std::io::Error) -> &'static str {
    match e.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            return "`ulimit -n` shows how many files may be open at a time; raise it (`ulimit -n 1024`)";
        }
        // `ErrorKind::FileTooLarge` has a name only in later versions of the standard library.
        Some(libc::EFBIG) => {
            return "`ulimit -f` shows how large files may become; raise it (`ulimit -f unlimited`)";
        }
        Some(libc::ENAMETOOLONG) => {
            return "name a shorter one: most file systems have names of at most 255 bytes";
        }
        _ => {}
    }
    match e.kind() {
        ErrorKind::NotFound => {
            "check the name; a relative path begins in the folder from which the command runs, a URL names its bucket and object"
        }
        ErrorKind::PermissionDenied => {
            "ask the owner of the file or folder for permission (`ls -l` shows who that is)"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room there, or name an output on another disk"
        }
        ErrorKind::ReadOnlyFilesystem => "name an output on a file system that can be written to",
        ErrorKind::IsADirectory => "name a file, not a folder",
        ErrorKind::NotSeekable => {
            "netCDF files are not read or written from beginning to end: name a file on a disk"
        }
        ErrorKind::NotADirectory => "a part of the path is a file where a folder must be",
        ErrorKind::UnexpectedEof => "the file became shorter while it was read: is somebody writing it?",
        _ => "the system refused it; if it does so again, the disk or the file server may be at fault",
    }
}

/// The remedy for an error of a measurement.
pub(crate) fn of_bench(e: &ncforge_bench::Error) -> Cow<'static, str> {
    use ncforge_bench::Error as Bench;
    let hint = match e {
        Bench::Ncforge(e) => return of(e),
        Bench::Io { source, .. } | Bench::Place { source, .. } => of_io(source),
        Bench::Library(_) => {
            "`ncforge bench doctor` lists the libraries of this machine; --driver chooses others"
        }
        Bench::Missing(_) => "`ncforge bench doctor` tells what this machine has",
        Bench::Unreadable(_) => "make the file anew, or name another one",
        Bench::Rank { .. } => "--ranks 1 shows whether it fails alone, too",
        Bench::Stopped => "run it again; --json keeps the results of what was finished",
        _ => "`ncforge bench WORKLOAD --help` tells what goes together",
    };
    hint.into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ncforge::Stale;

    use super::*;

    #[test]
    fn what_differs_in_what_can_be_done_has_a_hint_of_its_own() {
        let text = || "x".to_owned();
        let all = [
            Error::io(Op::Open, "x", ErrorKind::NotFound.into()),
            Error::io(Op::Create, "x", ErrorKind::NotFound.into()),
            Error::io(Op::Write, "x", ErrorKind::StorageFull.into()),
            Error::corrupt("x", None, "y"),
            Error::NotNetcdf { path: text(), what: text() },
            Error::NotHdf5 { path: text(), from: text() },
            Error::Unsupported { path: text(), what: text() },
            Error::NotFound { kind: "variable", name: text(), path: text(), nearest: None },
            Error::Invalid(text()),
            Error::NotRepresentable { format: "classic", what: text() },
            Error::Tiles(text()),
            Error::BadTile { path: text(), what: text(), fault: TileFault::NoTile },
            Error::BadTile { path: text(), what: text(), fault: TileFault::Changed },
            Error::TilesUnless { what: text(), unless: TileOption::AllowMissing },
            Error::TilesUnless { what: text(), unless: TileOption::AllowRagged },
            Error::TilesUnless { what: text(), unless: TileOption::DifferingFirst },
            Error::TilesUnless { what: text(), unless: TileOption::HolesFill },
            Error::io(Op::Open, "x", std::io::Error::from_raw_os_error(libc::EMFILE)),
            Error::io(Op::Write, "x", std::io::Error::from_raw_os_error(libc::EFBIG)),
            Error::bad_option("memory", "x"),
            Error::CannotResume { partial: text(), why: Stale::Source },
            Error::OutputIsInput { output: "x".into(), input: "tile" },
            Error::bad_option("along", text()),
            Error::bad_option("output", text()),
            Error::WriteToUrl { url: text() },
            Error::NoRanges { url: text() },
            Error::Exists("x".into()),
            Error::Appeared { path: "x".into(), partial: ".x".into() },
            Error::Locked { path: text(), what: text() },
            Error::Inherited { path: text() },
            Error::Lost { path: text(), what: text() },
            Error::Budget { what: text(), needed: 2, budget: 1 },
            Error::Memory { bytes: 1 },
            Error::Interrupted(text()),
            Error::NotUploaded { url: text() },
            Error::bad_option("endpoint", text()),
            Error::bad_option("storage option", text()),
            Error::bad_option("URL", text()),
            Error::Order { before: text(), after: text(), ends: text() },
            Error::io(Op::Open, "s4://b/a.nc", ErrorKind::NotFound.into()),
            Error::io(Op::Open, "s3://b/a.nc", ErrorKind::NotFound.into()),
            Error::io(Op::Open, "https://h/a.nc", ErrorKind::NotFound.into()),
            Error::io(Op::Open, "s3://b/a.nc", ErrorKind::PermissionDenied.into()),
            Error::io(Op::Open, "gs://b/a.nc", ErrorKind::PermissionDenied.into()),
            Error::io(Op::Open, "az://b/a.nc", ErrorKind::PermissionDenied.into()),
            Error::io(Op::Open, "s3://b/a.nc", ErrorKind::ConnectionRefused.into()),
            Error::io(Op::Open, "https://h/a.nc", ErrorKind::ConnectionRefused.into()),
            Error::io(Op::Open, "https://h/a.nc", ErrorKind::ConnectionAborted.into()),
            Error::Verify(text()),
            Error::Internal(text()),
        ];
        let hints: HashSet<Cow<'static, str>> = all.iter().map(of).collect();
        assert_eq!(hints.len(), all.len());
        for hint in hints {
            assert!(!hint.ends_with('.') && !hint.starts_with(char::is_uppercase), "{hint}");
        }
        for path in ["s4://b/a.nc", "ftp://h/a.nc", "s3:/b/a.nc"] {
            assert!(has_unknown_scheme(path), "{path}");
        }
        for path in ["a.nc", "s3://b/a.nc", "C:/a.nc", "run:/1.nc", "dir/a://b"] {
            assert!(!has_unknown_scheme(path), "{path}");
        }
    }
}
