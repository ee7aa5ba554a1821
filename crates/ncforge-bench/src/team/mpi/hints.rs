//! Hints for MPI's input and output (`MPI_Info`): given to whoever opens a file, and asked back from one that is open.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::rc::Rc;

use super::abi::{Abi, Family, Handle};
use crate::error::{Error, Result};

/// Longest key that every MPI takes (Open MPI's `MPI_MAX_INFO_KEY`, less the zero behind it).
const KEY: usize = 35;
/// Longest value.
const VALUE: usize = 255;
/// Memory for a key or a value of any MPI.
const MEMORY: usize = 2048;
/// `MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE`.
const PROBE: c_int = 1 | 8 | 16;

/// The part of an MPI library that does input and output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoLayer {
    /// Its name: "OMPIO", "ROMIO".
    pub name: String,
    /// The hints of an open file.
    pub hints: Vec<(String, String)>,
}

/// The functions of an MPI library for info objects.
pub(super) trait InfoCalls {
    /// A new one.
    fn create(&self) -> Result<Handle>;
    /// Puts a hint into one that is open.
    fn set(&self, info: Handle, key: &CString, value: &CString) -> Result<()>;
    /// Gives an open one back, which nobody uses again.
    fn free(&self, info: Handle);
}

impl InfoCalls for Abi {
    fn create(&self) -> Result<Handle> {
        let mut info: Handle = 0;
        // SAFETY: memory for a handle of either family.
        self.check(unsafe { (self.calls.info_create)(&mut info) }, "hints")?;
        Ok(info)
    }

    fn set(&self, info: Handle, key: &CString, value: &CString) -> Result<()> {
        // SAFETY: an open info object, strings that end with zero.
        self.check(unsafe { (self.calls.info_set)(info, key.as_ptr(), value.as_ptr()) }, "a hint")
    }

    fn free(&self, mut info: Handle) {
        // SAFETY: an open info object, not used again. Files that were opened with it keep what they need.
        unsafe { (self.calls.info_free)(&mut info) };
    }
}

/// An info object, given back at the end: also where one of several hints is refused.
#[derive(Debug)]
pub(super) struct Info<C: InfoCalls = Abi> {
    calls: Rc<C>,
    pub(super) handle: Handle,
}

impl<C: InfoCalls> Info<C> {
    /// One that holds these hints.
    pub(super) fn of(calls: &Rc<C>, hints: &[(String, String)]) -> Result<Self> {
        let info = Info { handle: calls.create()?, calls: Rc::clone(calls) };
        for (key, value) in hints {
            let c_string = |text: &str, most: usize| match CString::new(text) {
                Ok(s) if (1..=most).contains(&text.len()) => Ok(s),
                _ => Err(Error::bad_option(
                    "hint",
                    format!("MPI takes no hint `{key}={value}`: {KEY} and {VALUE} bytes at most"),
                )),
            };
            calls.set(info.handle, &c_string(key, KEY)?, &c_string(value, VALUE)?)?;
        }
        Ok(info)
    }
}

impl<C: InfoCalls> Drop for Info<C> {
    fn drop(&mut self) {
        self.calls.free(self.handle);
    }
}

/// The layer that serves a file next to this one, opened by one rank with these hints, and removed.
pub(super) fn io_layer(abi: &Abi, hints: Handle, path: &Path) -> Option<IoLayer> {
    let probe = path.with_extension("ncforge-mpi");
    let name = CString::new(probe.as_os_str().as_encoded_bytes()).ok()?;
    let (mut file, mut info): (Handle, Handle) = (0, 0);
    // SAFETY: a string that ends with zero, memory for handles of either family; what was opened is closed.
    let found = unsafe {
        if (abi.calls.file_open)(abi.own, name.as_ptr(), PROBE, hints, &mut file) != 0 {
            return None;
        }
        let listed_ok = (abi.calls.file_get_info)(file, &mut info) == 0;
        let hints = if listed_ok { listed(abi, info) } else { Vec::new() };
        if listed_ok && info != abi.info_null {
            (abi.calls.info_free)(&mut info);
        }
        let loaded = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        (abi.calls.file_close)(&mut file);
        IoLayer { name: layer(abi.family, &loaded).to_owned(), hints }
    };
    Some(found)
}

/// The layer that has opened a file, by the libraries loaded then (`/proc/self/maps`). MPICH has one alone. Open MPI has two of them as
/// plug-ins, and OMPIO loads its own plug-ins for file systems when it is the one.
fn layer(family: Family, loaded: &str) -> &'static str {
    let romio = loaded.contains("/mca_io_romio") && !loaded.contains("/mca_fs_");
    if romio || family == Family::Mpich { "ROMIO" } else { "OMPIO" }
}

/// The entries of an info object.
///
/// # Safety
/// `info` is an open info object of the library.
unsafe fn listed(abi: &Abi, info: Handle) -> Vec<(String, String)> {
    if info == abi.info_null {
        return Vec::new();
    }
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let mut count = 0;
    // SAFETY: memory for one number.
    if unsafe { (abi.calls.info_count)(info, &mut count) } != 0 {
        return Vec::new();
    }
    let mut out = Vec::new();
    for i in 0..count {
        let (mut key, mut value, mut there) = (vec![0u8; MEMORY], vec![0u8; MEMORY], 0);
        // SAFETY: memory that is larger than the longest key and value of any MPI, and ends with a zero.
        let codes = unsafe {
            let code = (abi.calls.info_key)(info, i, key.as_mut_ptr().cast());
            (
                code,
                (abi.calls.info_get)(
                    info,
                    key.as_ptr().cast(),
                    VALUE as c_int,
                    value.as_mut_ptr().cast(),
                    &mut there,
                ),
            )
        };
        if codes == (0, 0) && there != 0 {
            out.push((text(&key), text(&value)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Counts the info objects that nobody has given back; one hint is refused.
    #[derive(Default)]
    struct Counting(std::cell::Cell<i32>);

    impl InfoCalls for Counting {
        fn create(&self) -> Result<Handle> {
            self.0.set(self.0.get() + 1);
            Ok(7)
        }

        fn set(&self, _info: Handle, key: &CString, _value: &CString) -> Result<()> {
            if key.as_bytes() == b"refused" { Err(Error::Library("MPI: a hint".into())) } else { Ok(()) }
        }

        fn free(&self, info: Handle) {
            assert_eq!(info, 7);
            self.0.set(self.0.get() - 1);
        }
    }

    #[test]
    fn info_objects_are_given_back_when_a_hint_is_refused_and_when_others_take_their_place() {
        let calls = Rc::new(Counting::default());
        let hints = |more: &[(&str, &str)]| {
            let all = [&[("cb_nodes", "1")], more].concat();
            let owned: Vec<_> = all.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Info::of(&calls, &owned)
        };
        let current = RefCell::new(Some(hints(&[]).unwrap()));
        assert_eq!(calls.0.get(), 1);
        let long = "x".repeat(VALUE + 1);
        for bad in [("refused", "1"), ("", "1"), ("a\0b", "1"), ("key", &long)] {
            assert!(hints(&[bad]).is_err());
            assert_eq!(calls.0.get(), 1, "{bad:?}");
        }
        *current.borrow_mut() = Some(hints(&[("key", "2")]).unwrap());
        assert_eq!(calls.0.get(), 1);
        drop(current);
        assert_eq!(calls.0.get(), 0);
    }

    #[test]
    fn layers_are_known_by_what_is_loaded() {
        let both = "/lib/mca_io_romio321.so\n/lib/mca_io_ompio.so\n/lib/mca_fs_ufs.so";
        assert_eq!(layer(Family::OpenMpi, both), "OMPIO");
        assert_eq!(layer(Family::OpenMpi, "/lib/mca_io_romio321.so"), "ROMIO");
        assert_eq!(layer(Family::OpenMpi, "/lib/libmpi.so.40"), "OMPIO");
        assert_eq!(layer(Family::Mpich, ""), "ROMIO");
    }
}
