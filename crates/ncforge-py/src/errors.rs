//! Errors of the library as Python exceptions, and the wall that panics do not pass.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ncforge::store::Warning;
use ncforge::{Error, ErrorClass, TileOption};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Runs `work` without the interpreter; an error, or a panic, becomes a Python exception.
pub(crate) fn outside<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> ncforge::Result<T> + Send,
) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    // A signal's exception is taken before anything calls Python, which would raise it in the midst of that; it is more than all others.
    let signal = py.check_signals();
    let done = raised(py, done);
    // Those of work that failed are its own, too; its error is more than theirs.
    let warned = warned(py);
    signal?;
    match warned {
        Err(error) if done.is_ok() => Err(error),
        _ => done,
    }
}

/// Issues the warnings of files.
fn warned(py: Python<'_>) -> PyResult<()> {
    for warning in ncforge::store::take_warnings() {
        let category = match warning {
            Warning::Unlocked(_) => "UnlockedWarning",
            Warning::Damaged(_) => "DamagedWarning",
        };
        py.import("ncforge.errors")?.getattr("warn")?.call1((category, warning.to_string()))?;
    }
    Ok(())
}

/// Runs `work` that takes less than letting go of the interpreter does; an error, or a panic, becomes a Python
/// exception.
pub(crate) fn inside<T>(py: Python<'_>, work: impl FnOnce() -> ncforge::Result<T>) -> PyResult<T> {
    raised(py, catch_unwind(AssertUnwindSafe(work)))
}

fn raised<T>(py: Python<'_>, done: std::thread::Result<ncforge::Result<T>>) -> PyResult<T> {
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(to_python(py, &error)),
        Err(panic) => {
            let what = panic
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Err(exception(py, "InternalError", &format!("a bug in ncforge: {what}"), None, None))
        }
    }
}

/// The Python exception of an error.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let mut message = error.to_string();
    if let Some(hint) = hint(error) {
        message.push_str(" (hint: ");
        message.push_str(&hint);
        message.push(')');
    }
    let errno = match error {
        Error::Io { source, .. } => number(source),
        _ => None,
    };
    exception(py, named(error.class()), &message, errno, error.subject())
}

/// The name of the class of `ncforge.errors`.
fn named(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Io => "IoError",
        ErrorClass::Corrupt => "CorruptError",
        ErrorClass::NotNetcdf => "NotNetcdfError",
        ErrorClass::Unsupported => "UnsupportedError",
        ErrorClass::NotFound => "NotFoundError",
        ErrorClass::NotRepresentable => "NotRepresentableError",
        ErrorClass::Exists => "ExistsError",
        ErrorClass::Changed => "ChangedError",
        ErrorClass::Locked => "LockedError",
        ErrorClass::ReadOnly => "ReadOnlyError",
        ErrorClass::FixedAttribute => "FixedAttributeError",
        ErrorClass::Budget => "BudgetError",
        ErrorClass::OutOfMemory => "OutOfMemoryError",
        ErrorClass::Interrupted => "InterruptedCopyError",
        ErrorClass::Verify => "VerifyError",
        ErrorClass::Internal => "InternalError",
        _ => "InvalidError",
    }
}

/// The system's number of an error; a server's refusal gets the number of what it means.
fn number(error: &std::io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| match error.kind() {
        std::io::ErrorKind::NotFound => Some(libc::ENOENT),
        std::io::ErrorKind::PermissionDenied => Some(libc::EACCES),
        std::io::ErrorKind::TimedOut => Some(libc::ETIMEDOUT),
        _ => None,
    })
}

/// The remedy for the caller, in the words of the Python package.
fn hint(error: &Error) -> Option<Cow<'static, str>> {
    if let Error::NotFound { nearest: Some(name), .. } = error {
        return Some(format!("did you mean `{name}`?").into());
    }
    let hint = match error {
        Error::Exists(_) => Some("overwrite=True replaces it; of Dataset, clobber=True"),
        Error::Locked { .. } => {
            Some("close it there first; locking=False takes no lock, where you know that nobody else writes")
        }
        Error::Inherited { .. } => Some("open it here once it is closed there"),
        Error::Changed { .. } => Some("open it again"),
        Error::Memory { .. } => Some("select less at a time"),
        Error::Budget { .. } => Some("give a larger memory=, or smaller chunks"),
        Error::TilesUnless { unless: TileOption::AllowMissing, .. } => {
            Some("give all tiles; allow_missing=True fills the places of those that are not there")
        }
        Error::TilesUnless { unless: TileOption::AllowRagged, .. } => Some(
            "allow_ragged=True of combine fills the records that some tiles lack; files of concat and open_many differ along one dimension only",
        ),
        Error::TilesUnless { unless: TileOption::DifferingFirst, .. } => {
            Some("differing=\"first\" takes what the first has")
        }
        Error::TilesUnless { unless: TileOption::HolesFill, .. } => Some("holes=\"fill\" fills them"),
        Error::TilesUnless { unless: TileOption::Decode, .. } => {
            Some("decode=True unpacks a variable with another scale_factor or add_offset")
        }
        Error::Interrupted(_) => Some("the same call with resume=True goes on"),
        Error::CannotResume { .. } => Some("without resume=True the output is begun anew"),
        _ => None,
    };
    hint.map(Cow::Borrowed)
}

/// An exception made by `ncforge.errors.build`, which knows the classes.
fn exception(py: Python<'_>, class: &str, message: &str, errno: Option<i32>, path: Option<&str>) -> PyErr {
    let made = py
        .import("ncforge.errors")
        .and_then(|module| module.getattr("build"))
        .and_then(|build| build.call1((class, message, errno, path)));
    match made {
        Ok(instance) => PyErr::from_value(instance),
        // The package is not importable (the module alone was copied somewhere): the message still counts.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// The known name that is most like `name`, if one is like it.
#[pyfunction]
pub(crate) fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    ncforge::nearest(name, known)
}

/// A wrong request.
pub(crate) fn invalid(what: impl Into<String>) -> Error {
    Error::Invalid(what.into())
}
