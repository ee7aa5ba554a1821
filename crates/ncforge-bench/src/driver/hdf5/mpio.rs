//! HDF5 files that several ranks of an MPI job have open: the driver `mpio` of HDF5, with independent or collective transfers.
//!
//! Changes of a file's description are made by all ranks together, as parallel HDF5 wants it: datasets are as long as they will be from the
//! beginning, so that no rank enlarges one while others write. Values of chunks with filters are written together, too.

use std::ffi::c_int;
use std::rc::Rc;

use super::calls::{Calls, Handle, Id, check};
use crate::driver::{Access, FileSpec};
use crate::error::{Error, Result};

/// `H5FD_MPIO_INDEPENDENT`, `H5FD_MPIO_COLLECTIVE`.
const TRANSFER: [c_int; 2] = [0, 1];

/// The properties by which a file is shared.
pub(super) struct Shared {
    file: Handle,
    transfer: Handle,
}

/// The reason why a library cannot share such a file in this way; `None` also where nobody shares it.
pub(super) fn refuses(calls: &Calls, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    let team = access.several()?;
    let Some(mpi) = team.mpi() else {
        return Some(
            "HDF5 shares a file between processes of an MPI job only; start the command by mpiexec, or take --io-type file".into(),
        );
    };
    if calls.parallel.is_none() {
        return Some(
            "this is a serial build of HDF5; name a parallel one by --library (Debian: libhdf5_openmpi.so.103 of the package libhdf5-openmpi-103-1), or take --io-type file".into(),
        );
    }
    if let Some(family) = mpi.foreign_family() {
        return Some(format!(
            "this library was built for {family}, the job runs under {}",
            crate::team::Team::kind(mpi)
        ));
    }
    let together = access.is_collective();
    if !together && (spec.is_unlimited() || spec.var.coding.is_filtered()) {
        return Some("HDF5 enlarges datasets, and writes compressed chunks, by collective calls only; take --io-type coll".into());
    }
    None
}

impl Shared {
    /// The properties of a shared file; `None` for others.
    pub(super) fn of(calls: &Rc<Calls>, access: &Access<'_>) -> Result<Option<Self>> {
        let Some(team) = access.several() else { return Ok(None) };
        let (Some(mpi), Some((set_file, set_transfer))) = (team.mpi(), calls.parallel) else {
            return Err(Error::Library("this build of HDF5 cannot share a file here".into()));
        };
        let list = |class: &str| -> Result<Handle> {
            let class = calls.number(class)?;
            // SAFETY: a class of properties.
            Handle::new(calls, unsafe { (calls.plist_create)(class) }, calls.plist_close, "properties")
        };
        let file = list("H5P_CLS_FILE_ACCESS_ID_g")?;
        // SAFETY: open properties; handles of the MPI library that this build was made for, which is the job's.
        check(unsafe { set_file(file.id, mpi.world(), mpi.info()) }, "MPI-IO for a file")?;
        let transfer = list("H5P_CLS_DATASET_XFER_ID_g")?;
        let kind = TRANSFER[usize::from(access.is_collective())];
        // SAFETY: open properties and a plain number.
        check(unsafe { set_transfer(transfer.id, kind) }, "the kind of transfer")?;
        Ok(Some(Shared { file, transfer }))
    }

    /// Properties to open the file with.
    pub(super) fn file(&self) -> Id {
        self.file.id
    }

    /// Properties to move values with.
    pub(super) fn transfer(&self) -> Id {
        self.transfer.id
    }
}
