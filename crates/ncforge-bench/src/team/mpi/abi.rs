//! The functions and handles of an MPI library, of either family.
//!
//! Handles travel as `usize`: an address in Open MPI; in MPICH a number of 32 bits, in the lower half of the register (little-endian memory) that
//! the callee looks at, on the 64-bit platforms that both run on.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::error::{Error, Result};

/// The environment variable with the path of the MPI library.
pub const LIBRARY_VARIABLE: &str = "NCFORGE_MPI";

/// A communicator, a datatype, an info object, a file.
pub(super) type Handle = usize;

/// The kind of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::team) enum Family {
    /// Addresses.
    OpenMpi,
    /// Numbers.
    Mpich,
}

impl Family {
    /// Names that the system's loader may find.
    fn names(self) -> &'static [&'static str] {
        match self {
            Family::OpenMpi => &["libmpi.so.40", "libmpi.so.80", "libmpi.so"],
            Family::Mpich => &["libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so.0"],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Family::OpenMpi => "Open MPI (Debian: libopenmpi3)",
            Family::Mpich => "the MPICH family (Debian: libmpich12)",
        }
    }
}

macro_rules! calls {
    ($($field:ident: $symbol:literal = fn($($arg:ty),*);)*) => {
        /// Addresses of functions; all of them give an error code.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> c_int,)*
        }

        impl Calls {
            fn find(library: &Library) -> std::result::Result<Self, libloading::Error> {
                Ok(Calls {
                    // SAFETY: the types are those of mpi.h, with handles as said above.
                    $($field: *unsafe { library.get($symbol) }?,)*
                })
            }
        }
    };
}

calls! {
    init: b"MPI_Init\0" = fn(*mut c_int, *mut c_void);
    finalize: b"MPI_Finalize\0" = fn();
    abort: b"MPI_Abort\0" = fn(Handle, c_int);
    comm_rank: b"MPI_Comm_rank\0" = fn(Handle, *mut c_int);
    comm_size: b"MPI_Comm_size\0" = fn(Handle, *mut c_int);
    comm_split_type: b"MPI_Comm_split_type\0" = fn(Handle, c_int, c_int, Handle, *mut Handle);
    comm_free: b"MPI_Comm_free\0" = fn(*mut Handle);
    barrier: b"MPI_Barrier\0" = fn(Handle);
    allgather: b"MPI_Allgather\0" = fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
    allgatherv: b"MPI_Allgatherv\0" =
        fn(*const c_void, c_int, Handle, *mut c_void, *const c_int, *const c_int, Handle, Handle);
    library_version: b"MPI_Get_library_version\0" = fn(*mut c_char, *mut c_int);
    error_string: b"MPI_Error_string\0" = fn(c_int, *mut c_char, *mut c_int);
    type_create_subarray: b"MPI_Type_create_subarray\0" =
        fn(c_int, *const c_int, *const c_int, *const c_int, c_int, Handle, *mut Handle);
    type_contiguous: b"MPI_Type_contiguous\0" = fn(c_int, Handle, *mut Handle);
    type_commit: b"MPI_Type_commit\0" = fn(*mut Handle);
    type_free: b"MPI_Type_free\0" = fn(*mut Handle);
    file_open: b"MPI_File_open\0" = fn(Handle, *const c_char, c_int, Handle, *mut Handle);
    file_set_view: b"MPI_File_set_view\0" = fn(Handle, i64, Handle, Handle, *const c_char, Handle);
    // Functions that write take constant memory; here all four have one type.
    file_write_at_all: b"MPI_File_write_at_all\0" = fn(Handle, i64, *mut c_void, c_int, Handle, usize);
    file_read_at_all: b"MPI_File_read_at_all\0" = fn(Handle, i64, *mut c_void, c_int, Handle, usize);
    file_write_at: b"MPI_File_write_at\0" = fn(Handle, i64, *mut c_void, c_int, Handle, usize);
    file_read_at: b"MPI_File_read_at\0" = fn(Handle, i64, *mut c_void, c_int, Handle, usize);
    file_close: b"MPI_File_close\0" = fn(*mut Handle);
    file_get_info: b"MPI_File_get_info\0" = fn(Handle, *mut Handle);
    info_create: b"MPI_Info_create\0" = fn(*mut Handle);
    info_set: b"MPI_Info_set\0" = fn(Handle, *const c_char, *const c_char);
    info_count: b"MPI_Info_get_nkeys\0" = fn(Handle, *mut c_int);
    info_key: b"MPI_Info_get_nthkey\0" = fn(Handle, c_int, *mut c_char);
    info_get: b"MPI_Info_get\0" = fn(Handle, *const c_char, c_int, *mut c_char, *mut c_int);
    info_free: b"MPI_Info_free\0" = fn(*mut Handle);
}

/// The functions that move bytes between memory and a file.
pub(super) type Transfer = unsafe extern "C" fn(Handle, i64, *mut c_void, c_int, Handle, usize) -> c_int;

/// A loaded MPI library.
#[derive(Debug)]
pub(super) struct Abi {
    pub(super) calls: Calls,
    pub(super) family: Family,
    /// The name that it was found under.
    pub(super) path: String,
    /// `MPI_COMM_WORLD`.
    pub(super) world: Handle,
    /// `MPI_COMM_SELF`.
    pub(super) own: Handle,
    /// `MPI_INFO_NULL`.
    pub(super) info_null: Handle,
    /// `MPI_BYTE`.
    pub(super) byte: Handle,
    /// Never unloaded: its threads and exit handlers may run until the end.
    _library: ManuallyDrop<Library>,
}

impl Abi {
    /// Loads the library that `NCFORGE_MPI` names, or one of the family that the system's loader finds.
    pub(super) fn load(family: Family) -> Result<Self> {
        let asked = std::env::var(LIBRARY_VARIABLE).ok().filter(|v| !v.is_empty());
        let names: Vec<String> = match asked {
            Some(path) => vec![path],
            None => family.names().iter().map(|&n| n.to_owned()).collect(),
        };
        let mut why = Vec::new();
        for name in names {
            match Self::load_one(&name) {
                Ok(abi) => return Ok(abi),
                Err(e) => why.push(e.to_string()),
            }
        }
        Err(Error::Missing(format!(
            "the process was started by the launcher of {}, but its library cannot be loaded; install it, or name it by {LIBRARY_VARIABLE} ({})",
            family.title(),
            why.join("; ")
        )))
    }

    fn load_one(name: &str) -> std::result::Result<Self, libloading::Error> {
        // Its plug-ins look for symbols of the library: they must be visible to all.
        // SAFETY: loading an MPI library runs its initialisers, which ask nothing of us.
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }?;
        let calls = Calls::find(&library)?;
        let address = |symbol: &[u8]| {
            // SAFETY: only the address is taken, of an object that lives as long as the library.
            unsafe { library.get::<*mut c_void>(symbol) }.ok().map(|s| s.as_raw_ptr() as usize)
        };
        let open = (
            address(b"ompi_mpi_comm_world\0"),
            address(b"ompi_mpi_comm_self\0"),
            address(b"ompi_mpi_info_null\0"),
            address(b"ompi_mpi_byte\0"),
        );
        let (family, world, own, info_null, byte) = match open {
            (Some(world), Some(own), Some(info), Some(byte)) => (Family::OpenMpi, world, own, info, byte),
            // The numbers of MPICH's ABI, which its descendants share.
            _ => (Family::Mpich, 0x4400_0000, 0x4400_0001, 0x1c00_0000, 0x4c00_010d),
        };
        Ok(Abi {
            calls,
            family,
            path: name.to_owned(),
            world,
            own,
            info_null,
            byte,
            _library: ManuallyDrop::new(library),
        })
    }

    /// `MPI_COMM_TYPE_SHARED`.
    pub(super) fn shared_kind(&self) -> c_int {
        match self.family {
            Family::OpenMpi => 0,
            Family::Mpich => 1,
        }
    }

    /// `MPI_ORDER_C`.
    pub(super) fn order_c(&self) -> c_int {
        match self.family {
            Family::OpenMpi => 0,
            Family::Mpich => 56,
        }
    }

    /// `MPI_STATUS_IGNORE`.
    pub(super) fn status_ignore(&self) -> usize {
        match self.family {
            Family::OpenMpi => 0,
            Family::Mpich => 1,
        }
    }

    /// An error unless the code is 0.
    pub(super) fn check(&self, code: c_int, what: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut text = vec![0u8; 1024];
        let mut len = 0;
        // SAFETY: MPI_MAX_ERROR_STRING is 256 in Open MPI, 512 in MPICH.
        unsafe { (self.calls.error_string)(code, text.as_mut_ptr().cast(), &mut len) };
        let text = String::from_utf8_lossy(&text[..(len.max(0) as usize).min(1024)]).into_owned();
        Err(Error::Library(format!("MPI: {what}: {} ({code})", text.trim_end_matches('\0'))))
    }
}
