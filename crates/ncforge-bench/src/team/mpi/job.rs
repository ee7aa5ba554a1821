//! The job that this process is a rank of, as MPI knows it.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};
use std::io::Write;
use std::path::Path;
use std::rc::Rc;

use super::abi::{Abi, Family, Handle, LIBRARY_VARIABLE};
use super::hints::{self, Info, IoLayer};
use crate::error::{Error, Result};
use crate::team::launcher;

/// A rank of an MPI job. MPI ends when this is dropped.
#[derive(Debug)]
pub struct MpiJob {
    pub(super) abi: Rc<Abi>,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) nodes: usize,
    version: String,
    /// Hints for who opens files.
    info: RefCell<Option<Info>>,
}

impl MpiJob {
    /// The job that this process is a rank of; `None` when it was not started by an MPI launcher.
    ///
    /// # Errors
    /// [`Error::Missing`] when it was, and no MPI library of the launcher's family can be loaded.
    pub fn from_environment() -> Result<Option<Self>> {
        let Some((expected, family)) = launcher::launched(&launcher::environment) else { return Ok(None) };
        let load = || match family {
            Some(family) => Abi::load(family),
            // With the library of the wrong family a rank finds itself alone, which is an error below.
            None => Abi::load(Family::OpenMpi).or_else(|_| Abi::load(Family::Mpich)),
        };
        if expected <= 1 && std::env::var_os(LIBRARY_VARIABLE).is_none() && load().is_err() {
            // One rank needs no word with anybody.
            return Ok(None);
        }
        let team = Self::start(load()?)?;
        if team.size != expected {
            return Err(Error::Missing(format!(
                "the launcher started {expected} processes, but `{}` sees {}: it belongs to another MPI; name the launcher's library by {LIBRARY_VARIABLE}{}",
                team.version,
                team.size,
                if family.is_none() { ", or start them by `srun --mpi=pmix` or `--mpi=pmi2`" } else { "" }
            )));
        }
        Ok(Some(team))
    }

    /// The MPI library that would be used, if one can be loaded, for reports on the machine.
    pub fn found() -> Vec<(String, String)> {
        [Family::OpenMpi, Family::Mpich]
            .into_iter()
            .filter_map(|f| Abi::load(f).ok())
            .map(|abi| (abi.path.clone(), abi.version()))
            .collect()
    }

    fn start(abi: Abi) -> Result<Self> {
        let check = |code: c_int, what: &str| abi.check(code, what);
        // SAFETY: MPI_Init takes null for both since MPI 2.
        check(unsafe { (abi.calls.init)(std::ptr::null_mut(), std::ptr::null_mut()) }, "MPI_Init")?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI runs now; memory for one number each.
        check(unsafe { (abi.calls.comm_rank)(abi.world, &mut rank) }, "MPI_Comm_rank")?;
        // SAFETY: as above.
        check(unsafe { (abi.calls.comm_size)(abi.world, &mut size) }, "MPI_Comm_size")?;
        let version = abi.version();
        let info = RefCell::new(None);
        let mut team =
            MpiJob { info, rank: rank as usize, size: size as usize, nodes: 1, version, abi: Rc::new(abi) };
        team.nodes = team.count_nodes()?;
        Ok(team)
    }

    /// Groups of ranks that share memory are nodes.
    fn count_nodes(&self) -> Result<usize> {
        let abi = &self.abi;
        let mut local: Handle = 0;
        // SAFETY: memory for a handle of either family; the key orders ranks as they are.
        let code = unsafe {
            let (kind, key) = (abi.shared_kind(), self.rank as c_int);
            (abi.calls.comm_split_type)(abi.world, kind, key, abi.info_null, &mut local)
        };
        abi.check(code, "MPI_Comm_split_type")?;
        let mut at = 0;
        // SAFETY: the communicator was just made, and is freed once.
        let codes = unsafe { [(abi.calls.comm_rank)(local, &mut at), (abi.calls.comm_free)(&mut local)] };
        for code in codes {
            abi.check(code, "the ranks of a node")?;
        }
        let firsts = self.all_gather(&[u8::from(at == 0)])?;
        Ok(firsts.iter().filter(|b| b.first() == Some(&1)).count().max(1))
    }

    /// The communicator of all ranks, as the library's functions take it.
    pub fn world(&self) -> usize {
        self.abi.world
    }

    /// The other family, where a library of it was loaded as well: what was built for that cannot take this job's handles.
    pub fn foreign_family(&self) -> Option<&'static str> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        match self.abi.family {
            Family::OpenMpi => maps.contains("/libmpich.so").then_some("MPICH"),
            Family::Mpich => maps.contains("/libopen-pal.so").then_some("Open MPI"),
        }
    }

    /// Sets the hints of files that are opened from now on.
    ///
    /// # Errors
    /// [`Error::Invalid`] for keys and values that MPI does not take.
    pub fn set_hints(&self, hints: &[(String, String)]) -> Result<()> {
        if !hints.is_empty() {
            // The former info object is freed.
            *self.info.borrow_mut() = Some(Info::of(&self.abi, hints)?);
        }
        Ok(())
    }

    /// The hints, as the library's functions take them.
    pub fn info(&self) -> usize {
        self.info.borrow().as_ref().map_or(self.abi.info_null, |info| info.handle)
    }

    /// The layer of the MPI library that serves a file next to this one, opened by this rank alone with the job's hints, and removed.
    /// `None` where no file can be made there.
    pub fn io_layer(&self, path: &Path) -> Option<IoLayer> {
        hints::io_layer(&self.abi, self.info(), path)
    }

    /// Waits until every rank is here.
    pub(super) fn barrier(&self) -> Result<()> {
        // SAFETY: MPI runs.
        self.abi.check(unsafe { (self.abi.calls.barrier)(self.abi.world) }, "MPI_Barrier")
    }

    /// The bytes of every rank, in the order of the ranks.
    pub(super) fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let abi = &self.abi;
        let too_long = || Error::TooLarge("ranks exchange more than 2 GiB".into());
        let len = c_int::try_from(mine.len()).map_err(|_| too_long())?;
        let mut lens = vec![0 as c_int; self.size];
        let four = size_of::<c_int>() as c_int;
        // SAFETY: four bytes of every rank, and memory for those of all.
        let code = unsafe {
            (abi.calls.allgather)(
                (&raw const len).cast(),
                four,
                abi.byte,
                lens.as_mut_ptr().cast(),
                four,
                abi.byte,
                abi.world,
            )
        };
        abi.check(code, "MPI_Allgather")?;
        let mut at = Vec::with_capacity(self.size);
        let mut total: c_int = 0;
        for &n in &lens {
            at.push(total);
            total = total.checked_add(n).ok_or_else(too_long)?;
        }
        let mut all = vec![0u8; total as usize];
        // SAFETY: as many bytes as were announced, and memory for those of all ranks.
        let code = unsafe {
            (abi.calls.allgatherv)(
                mine.as_ptr().cast(),
                len,
                abi.byte,
                all.as_mut_ptr().cast(),
                lens.as_ptr(),
                at.as_ptr(),
                abi.byte,
                abi.world,
            )
        };
        abi.check(code, "MPI_Allgatherv")?;
        Ok(at.iter().zip(&lens).map(|(&a, &n)| all[a as usize..(a + n) as usize].to_vec()).collect())
    }

    /// Ends the job, in which others may be waiting inside a library for this rank: nothing else reaches them.
    pub(super) fn abort(&self, error: &Error) {
        // Whether or not somebody reads it: `eprintln!` would panic, and the others wait on.
        let _ = writeln!(std::io::stderr().lock(), "ncforge: rank {}: {error}", self.rank);
        // Other ranks may be waiting inside a library for this one: only the end of the job reaches them.
        // SAFETY: MPI runs; this does not return.
        unsafe { (self.abi.calls.abort)(self.abi.world, c_int::from(error.exit_code())) };
    }

    /// The library's description of itself: "Open MPI v4.1.4 …".
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl Drop for MpiJob {
    fn drop(&mut self) {
        // Before MPI ends.
        drop(self.info.take());
        // SAFETY: MPI runs until here. Nothing can be done about an error at the very end.
        unsafe { (self.abi.calls.finalize)() };
    }
}

impl Abi {
    fn version(&self) -> String {
        let mut text = vec![0u8; 8192];
        let mut len = 0;
        // SAFETY: MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in MPICH; may be called at any time.
        unsafe { (self.calls.library_version)(text.as_mut_ptr().cast::<c_char>(), &mut len) };
        let text = String::from_utf8_lossy(&text[..(len.max(0) as usize).min(8192)]).into_owned();
        let text = text.trim_end_matches('\0').trim();
        match text.split_once("MPICH Version:") {
            // A page of lines.
            Some((_, rest)) => {
                format!("MPICH {}", rest.split_whitespace().next().unwrap_or("of unknown version"))
            }
            None => text.lines().next().unwrap_or("").split(", package").next().unwrap_or("").to_owned(),
        }
    }
}
