//! The functions of HDF5 that are used: those of the very library that netCDF-C calls, found when the hook is installed.
//!
//! Names and signatures are those of HDF5's public headers, from version 1.10.3 on (the first with `H5Dwrite_chunk`).

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ncforge::store::Identity;

use crate::imports::symbol;
use crate::libraries::object_of;
use crate::writers::FileNumber;

/// `hid_t`, 64 bits wide since 1.10.
pub(super) type Id = i64;

/// Most dimensions (`H5S_MAX_RANK`).
pub(super) const MAX_RANK: usize = 32;
/// `H5P_DEFAULT`, `H5S_SELECT_SET`: both zero.
pub(super) const DEFAULT: Id = 0;
const SELECT_SET: c_int = 0;

pub(super) type Transfer = unsafe extern "C" fn(Id, Id, Id, Id, Id, *const c_void) -> c_int;
pub(super) type Close = unsafe extern "C" fn(Id) -> c_int;
pub(super) type Flush = unsafe extern "C" fn(Id, c_int) -> c_int;

/// What HDF5 does at this moment with the chunks that its cache has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// At a sync, when a dataset is closed, where there are too many.
    Written,
    Kept,
}

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions, with the four that are replaced in netCDF-C.
        pub(super) struct Hdf5 {
            pub(super) write: Transfer,
            pub(super) read: Transfer,
            pub(super) close: Close,
            pub(super) flush: Flush,
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Hdf5 {
            /// The functions of the object that has `write`.
            ///
            /// # Safety
            /// The four are `H5Dwrite`, `H5Dread`, `H5Dclose` and `H5Fflush`.
            pub(super) unsafe fn of(write: Transfer, read: Transfer, close: Close, flush: Flush) -> Result<Self, &'static str> {
                let object = object_of(write as *const c_void).and_then(|o| CString::new(o).ok()).ok_or(UNKNOWN)?;
                $(
                    let at = symbol(&object, $symbol);
                    if at.is_null() {
                        return Err(UNKNOWN);
                    }
                    // SAFETY: HDF5's function of this name, and its signature.
                    let $name = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(at)
                    };
                )*
                Ok(Self { write, read, close, flush, $($name,)* })
            }
        }
    };
}

const UNKNOWN: &str = "its HDF5 is not known";

functions! {
    version = c"H5get_libversion": fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
    write_chunk = c"H5Dwrite_chunk": fn(Id, Id, u32, *const u64, usize, *const c_void) -> c_int;
    chunk_size = c"H5Dget_chunk_storage_size": fn(Id, *const u64, *mut u64) -> c_int;
    storage_size = c"H5Dget_storage_size": fn(Id) -> u64;
    space = c"H5Dget_space": fn(Id) -> Id;
    data_type = c"H5Dget_type": fn(Id) -> Id;
    creation = c"H5Dget_create_plist": fn(Id) -> Id;
    access = c"H5Dget_access_plist": fn(Id) -> Id;
    chunk_cache = c"H5Pget_chunk_cache": fn(Id, *mut usize, *mut usize, *mut f64) -> c_int;
    layout = c"H5Pget_layout": fn(Id) -> c_int;
    chunk = c"H5Pget_chunk": fn(Id, c_int, *mut u64) -> c_int;
    filters = c"H5Pget_nfilters": fn(Id) -> c_int;
    filter = c"H5Pget_filter2": fn(Id, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    fill_time = c"H5Pget_fill_time": fn(Id, *mut c_int) -> c_int;
    fill_defined = c"H5Pfill_value_defined": fn(Id, *mut c_int) -> c_int;
    fill_value = c"H5Pget_fill_value": fn(Id, Id, *mut c_void) -> c_int;
    chunk_options = c"H5Pget_chunk_opts": fn(Id, *mut c_uint) -> c_int;
    class = c"H5Tget_class": fn(Id) -> c_int;
    size = c"H5Tget_size": fn(Id) -> usize;
    same_type = c"H5Tequal": fn(Id, Id) -> c_int;
    extent = c"H5Sget_simple_extent_dims": fn(Id, *mut u64, *mut u64) -> c_int;
    points = c"H5Sget_select_npoints": fn(Id) -> i64;
    regular = c"H5Sget_regular_hyperslab": fn(Id, *mut u64, *mut u64, *mut u64, *mut u64) -> c_int;
    simple = c"H5Screate_simple": fn(c_int, *const u64, *const u64) -> Id;
    select = c"H5Sselect_hyperslab": fn(Id, c_int, *const u64, *const u64, *const u64, *const u64) -> c_int;
    close_space = c"H5Sclose": fn(Id) -> c_int;
    close_type = c"H5Tclose": fn(Id) -> c_int;
    close_list = c"H5Pclose": fn(Id) -> c_int;
    file_of = c"H5Iget_file_id": fn(Id) -> Id;
    file_name = c"H5Fget_name": fn(Id, *mut c_char, usize) -> isize;
    file_size = c"H5Fget_filesize": fn(Id, *mut u64) -> c_int;
    close_file = c"H5Fclose": fn(Id) -> c_int;
}

/// An identifier that is given back when it is dropped.
pub(super) struct Owned {
    pub(super) id: Id,
    close: Close,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the identifier is from HDF5, and is given back once, by the function for its kind.
        unsafe { (self.close)(self.id) };
    }
}

fn owned(id: Id, close: Close) -> Option<Owned> {
    (id >= 0).then_some(Owned { id, close })
}

/// A box of elements, and the array that it lies in.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) start: &'a [u64],
    pub(super) count: &'a [u64],
}

// SAFETY (of all calls below): HDF5's functions with identifiers that they check, and buffers of the lengths that their
// documentation asks for. They run on the program's thread, inside a call of HDF5 that netCDF-C makes.
impl Hdf5 {
    /// Whether its version is one that has everything.
    pub(super) fn is_known(&self) -> bool {
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: see above.
        let code = unsafe { (self.version)(&raw mut major, &raw mut minor, &raw mut release) };
        code >= 0 && (major, minor, release) >= (1, 10, 3) && major <= 2
    }

    /// The type of a dataset's elements.
    pub(super) fn type_of(&self, dataset: Id) -> Option<Owned> {
        // SAFETY: see above.
        owned(unsafe { (self.data_type)(dataset) }, self.close_type)
    }

    pub(super) fn class_and_size(&self, kind: &Owned) -> (c_int, usize) {
        // SAFETY: see above.
        unsafe { ((self.class)(kind.id), (self.size)(kind.id)) }
    }

    pub(super) fn is_same_type(&self, one: Id, other: Id) -> bool {
        // SAFETY: see above.
        unsafe { (self.same_type)(one, other) > 0 }
    }

    /// The creation properties of a dataset.
    pub(super) fn creation_of(&self, dataset: Id) -> Option<Owned> {
        // SAFETY: see above.
        owned(unsafe { (self.creation)(dataset) }, self.close_list)
    }

    /// Bytes of a dataset's chunks that HDF5 would keep in memory.
    pub(super) fn cache_of(&self, dataset: Id) -> Option<u64> {
        let (mut slots, mut bytes, mut preemption) = (0, 0, 0.0);
        // SAFETY: see above.
        let code = unsafe {
            let access = owned((self.access)(dataset), self.close_list)?;
            (self.chunk_cache)(access.id, &raw mut slots, &raw mut bytes, &raw mut preemption)
        };
        // One that has no places for chunks keeps none.
        (code >= 0).then_some(if slots == 0 { 0 } else { bytes as u64 })
    }

    /// Chunk lengths; `None` if it is not chunked.
    pub(super) fn chunk_of(&self, creation: &Owned) -> Option<Vec<u64>> {
        const CHUNKED: c_int = 2;
        let mut chunk = [0; MAX_RANK];
        // SAFETY: see above.
        unsafe {
            if (self.layout)(creation.id) != CHUNKED {
                return None;
            }
            let rank = (self.chunk)(creation.id, MAX_RANK as c_int, chunk.as_mut_ptr());
            let rank = usize::try_from(rank).ok().filter(|r| (1..=MAX_RANK).contains(r))?;
            Some(chunk[..rank].to_vec())
        }
    }

    /// Whether chunks at the edge are stored in another way.
    pub(super) fn has_chunk_options(&self, creation: &Owned) -> bool {
        let mut options = 0;
        // SAFETY: see above.
        unsafe { (self.chunk_options)(creation.id, &raw mut options) < 0 || options != 0 }
    }

    /// Its filters: number, parameters, whether it is optional.
    pub(super) fn filters_of(&self, creation: &Owned) -> Option<Vec<(u16, Vec<u32>, bool)>> {
        const OPTIONAL: c_uint = 1;
        // SAFETY: see above.
        let n = c_uint::try_from(unsafe { (self.filters)(creation.id) }).ok()?;
        let filter = |i| {
            let (mut flags, mut words, mut config) = (0, [0; 64], 0);
            let mut len = words.len();
            let mut name: [c_char; 1] = [0];
            // SAFETY: see above.
            let number = unsafe {
                (self.filter)(
                    creation.id,
                    i,
                    &raw mut flags,
                    &raw mut len,
                    words.as_mut_ptr(),
                    name.len(),
                    name.as_mut_ptr(),
                    &raw mut config,
                )
            };
            let number = u16::try_from(number).ok()?;
            Some((number, words.get(..len)?.to_vec(), flags & OPTIONAL != 0))
        };
        (0..n).map(filter).collect()
    }

    /// The element that HDF5 fills new chunks with: zeros where it does not fill.
    pub(super) fn fill_of(&self, creation: &Owned, kind: &Owned, size: usize) -> Option<Vec<u8>> {
        const NEVER: c_int = 1;
        const IF_SET: c_int = 2;
        const USER: c_int = 2;
        let (mut time, mut defined) = (0, 0);
        let mut fill = vec![0; size];
        // SAFETY: see above; the buffer has the size of the type.
        unsafe {
            if (self.fill_time)(creation.id, &raw mut time) < 0
                || (self.fill_defined)(creation.id, &raw mut defined) < 0
                || !(0..=IF_SET).contains(&time)
            {
                return None;
            }
            // The default is zero.
            if time != NEVER
                && defined == USER
                && (self.fill_value)(creation.id, kind.id, fill.as_mut_ptr().cast()) < 0
            {
                return None;
            }
        }
        Some(fill)
    }

    /// Bytes that the chunks of a dataset take.
    pub(super) fn stored_bytes(&self, dataset: Id) -> u64 {
        // SAFETY: see above.
        unsafe { (self.storage_size)(dataset) }
    }

    /// Lengths now, and at most.
    pub(super) fn extent_of(&self, dataset: Id) -> Option<(Vec<u64>, Vec<u64>)> {
        let (mut now, mut most) = ([0; MAX_RANK], [0; MAX_RANK]);
        // SAFETY: see above.
        let rank = unsafe {
            let space = owned((self.space)(dataset), self.close_space)?;
            (self.extent)(space.id, now.as_mut_ptr(), most.as_mut_ptr())
        };
        let rank = usize::try_from(rank).ok().filter(|&r| r <= MAX_RANK)?;
        Some((now[..rank].to_vec(), most[..rank].to_vec()))
    }

    /// The identifier of the file that an object is in: the one that netCDF-C opened.
    pub(super) fn file_of(&self, object: Id) -> Option<Id> {
        // SAFETY: see above. NetCDF-C has the file open, so its identifier stays.
        owned(unsafe { (self.file_of)(object) }, self.close_file).map(|file| file.id)
    }

    /// The file that an object is in, as far as its name tells.
    pub(super) fn number_of(&self, object: Id) -> Option<FileNumber> {
        let mut name = vec![0; libc::PATH_MAX as usize];
        // SAFETY: see above; the length is that of the buffer.
        let len = unsafe { (self.file_name)(object, name.as_mut_ptr().cast(), name.len()) };
        name.truncate(usize::try_from(len).ok()?);
        Some(Identity::at(Path::new(OsStr::from_bytes(&name)))?.file())
    }

    /// Number of elements that are selected.
    pub(super) fn points_of(&self, space: Id) -> i64 {
        // SAFETY: see above.
        unsafe { (self.points)(space) }
    }

    /// A selection that is one pattern: start, stride, count, block.
    pub(super) fn pattern_of(&self, space: Id) -> Option<[[u64; MAX_RANK]; 4]> {
        let mut all = [[0; MAX_RANK]; 4];
        let [start, stride, count, block] = &mut all;
        // SAFETY: see above.
        let code = unsafe {
            (self.regular)(
                space,
                start.as_mut_ptr(),
                stride.as_mut_ptr(),
                count.as_mut_ptr(),
                block.as_mut_ptr(),
            )
        };
        (code >= 0).then_some(all)
    }

    /// Stores an encoded chunk whose first element is at `at`.
    pub(super) fn store_chunk(&self, dataset: Id, at: &[u64], mask: u32, bytes: &[u8]) -> Result<(), ()> {
        // SAFETY: see above.
        let code = unsafe {
            (self.write_chunk)(dataset, DEFAULT, mask, at.as_ptr(), bytes.len(), bytes.as_ptr().cast())
        };
        if code < 0 { Err(()) } else { Ok(()) }
    }

    /// Bytes that the chunk at `at` takes; `None` if the file does not have it.
    pub(super) fn stored_chunk(&self, dataset: Id, at: &[u64]) -> Option<u64> {
        let mut bytes = 0;
        // SAFETY: see above.
        let code = unsafe { (self.chunk_size)(dataset, at.as_ptr(), &raw mut bytes) };
        (code >= 0 && bytes > 0).then_some(bytes)
    }

    /// The end of what is used of a file.
    pub(super) fn end_of(&self, file: Id) -> Option<u64> {
        let mut end = 0;
        // SAFETY: see above.
        let code = unsafe { (self.file_size)(file, &raw mut end) };
        (code >= 0).then_some(end)
    }

    /// Moves a block of elements between a dataset and the beginning of an array of this shape in memory.
    ///
    /// # Safety
    /// `memory` has all elements of the array, and `transfer` may write to it if it reads.
    pub(super) unsafe fn transfer(
        &self,
        transfer: Transfer,
        dataset: Id,
        kind: Id,
        block: Block<'_>,
        array: &[u64],
        memory: *const c_void,
    ) -> Result<(), ()> {
        let rank = array.len() as c_int;
        let zeros = [0; MAX_RANK];
        let null = std::ptr::null();
        // SAFETY: see above, and the caller's promise.
        unsafe {
            let file = owned((self.space)(dataset), self.close_space).ok_or(())?;
            let inside = owned((self.simple)(rank, array.as_ptr(), null), self.close_space).ok_or(())?;
            let (start, count) = (block.start.as_ptr(), block.count.as_ptr());
            if (self.select)(file.id, SELECT_SET, start, null, count, null) < 0
                || (self.select)(inside.id, SELECT_SET, zeros.as_ptr(), null, count, null) < 0
                || transfer(dataset, kind, inside.id, file.id, DEFAULT, memory) < 0
            {
                return Err(());
            }
        }
        Ok(())
    }
}

/// The functions of netCDF-C's imports that are replaced, in the order of [`Hdf5`].
pub(super) const REPLACED: [&CStr; 4] = [c"H5Dwrite", c"H5Dread", c"H5Dclose", c"H5Fflush"];
