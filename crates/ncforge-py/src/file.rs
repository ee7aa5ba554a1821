//! The class `ncforge._core.File`: one open file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ncforge::model::{DimId, Fill, GroupId, VarId};
use ncforge::store::remote::shown_path;
use ncforge::{CreateOptions, Hyperslab};
use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{self, LockingArgument, format_name, format_of};
use crate::attributes;
use crate::choosing::{ChoosingRequest, Planned};
use crate::contents::Contents;
use crate::define::{self, StorageRequest, TypeName, UserTypeRequest, owner};
use crate::describe;
use crate::errors::{inside, outside};
use crate::memory::to_array;
use crate::picks::{self, Axes};
use crate::remote::remote_options;
use crate::state::{Shared, State};
use crate::store::{BytesStore, ObjectStore, RangesStore};
use crate::unpacking::{self, Rules, UnpackedArrays};
use crate::values::{checked, from_python, row_type, to_objects, types_only, variable};

type Dims = Vec<u64>;

/// One open file. Groups, dimensions, types and variables are named by their position.
#[pyclass(frozen, module = "ncforge._core")]
pub(crate) struct File {
    state: Shared,
}

impl File {
    /// A dataset that is open for reading.
    pub(crate) fn over(dataset: ncforge::Dataset, path: PathBuf) -> Self {
        File::of(State::over(dataset, path))
    }

    fn of(state: State) -> Self {
        File { state: Arc::new(state) }
    }

    /// The dataset, if it is open for reading.
    pub(crate) fn reading(&self) -> Option<ncforge::Dataset> {
        self.state.reading()
    }

    /// A copy of a part of the description. Taken outside the interpreter where there may be something to wait
    /// for.
    fn look<T: Send>(
        &self,
        py: Python<'_>,
        part: impl FnOnce(&ncforge::Schema) -> ncforge::Result<T> + Send,
    ) -> PyResult<T> {
        match self.state.reading() {
            Some(dataset) => inside(py, || part(dataset.schema())),
            None => outside(py, || self.state.schema(part)),
        }
    }
}

#[pymethods]
impl File {
    /// Opens a file for reading. `follow`: whether it may lead to other files.
    #[staticmethod]
    #[pyo3(signature = (path, locking=None, follow=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        locking: Option<LockingArgument>,
        follow: Option<bool>,
    ) -> PyResult<Self> {
        outside(py, || State::read(path, LockingArgument::locking(locking)?, follow)).map(File::of)
    }

    /// Opens a file whose bytes Python holds, for reading.
    #[staticmethod]
    fn open_bytes(py: Python<'_>, name: String, data: PyBackedBytes) -> PyResult<Self> {
        let store = Arc::new(BytesStore::new(name, data));
        outside(py, || State::read_store(store)).map(File::of)
    }

    /// Opens a file that a Python object with `read`, `seek` and `tell` gives, for reading.
    #[staticmethod]
    fn open_object(py: Python<'_>, name: String, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let store = Arc::new(ObjectStore::new(name, object)?);
        outside(py, || State::read_store(store)).map(File::of)
    }

    /// Opens a URL for reading: anonymously or not, with options by the names of the crate `object_store`.
    #[staticmethod]
    #[pyo3(signature = (url, anonymous, options, follow=None))]
    fn open_url(
        py: Python<'_>,
        url: PathBuf,
        anonymous: bool,
        options: BTreeMap<String, String>,
        follow: Option<bool>,
    ) -> PyResult<Self> {
        outside(py, || State::read_url(url, remote_options(anonymous, options), follow)).map(File::of)
    }

    /// Opens a file of so many bytes that a Python object with `get_ranges(starts, ends)` gives, for reading.
    #[staticmethod]
    fn open_reader(py: Python<'_>, name: String, size: u64, reader: Py<PyAny>) -> PyResult<Self> {
        let store = Arc::new(RangesStore::new(name, size, reader));
        outside(py, || State::read_store(store)).map(File::of)
    }

    /// Opens a file for updates in place.
    #[staticmethod]
    #[pyo3(signature = (path, locking=None, durable=false))]
    fn update(
        py: Python<'_>,
        path: PathBuf,
        locking: Option<LockingArgument>,
        durable: bool,
    ) -> PyResult<Self> {
        outside(py, || State::update(path, LockingArgument::locking(locking)?.unwrap_or_default(), durable))
            .map(File::of)
    }

    /// Begins a new file; it gets its name when it is synced or closed.
    #[staticmethod]
    #[pyo3(signature = (path, format, overwrite, memory=None, alignment=None, locking=None, durable=false))]
    #[allow(clippy::too_many_arguments, reason = "as Python calls it")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        overwrite: bool,
        memory: Option<u64>,
        alignment: Option<(u64, u64)>,
        locking: Option<LockingArgument>,
        durable: bool,
    ) -> PyResult<Self> {
        let (format, alignment) = (format_of(format), alignment.map(arguments::alignment));
        let locking = LockingArgument::locking(locking).map(Option::unwrap_or_default);
        let options =
            |locking| CreateOptions { overwrite, alignment, locking, durable, ..CreateOptions::default() };
        outside(py, || State::create(path, format?, memory, options(locking?))).map(File::of)
    }

    /// Begins a new file in memory; `close` gives its bytes.
    #[staticmethod]
    #[pyo3(signature = (name, format, alignment=None))]
    fn create_in_memory(
        py: Python<'_>,
        name: String,
        format: &str,
        alignment: Option<(u64, u64)>,
    ) -> PyResult<Self> {
        let format = inside(py, || format_of(format))?;
        Ok(File::of(State::create_in_memory(name, format, alignment.map(arguments::alignment))))
    }

    /// Size, time of the last change in nanoseconds, and inode, when it was opened for reading; `None` for what is
    /// no file.
    fn identity(&self) -> Option<(u64, i128, u64)> {
        self.state.reading()?.id().map(|id| (id.size, id.modified_ns, id.inode))
    }

    /// The path as it was given, as text: a path of Python would make one slash of the two of a URL.
    #[getter]
    fn path(&self) -> OsString {
        self.state.path().clone().into_os_string()
    }

    /// Whether it is open.
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        outside(py, || Ok(self.state.is_open()))
    }

    /// Whether it is open for reading only.
    fn is_reading(&self) -> bool {
        self.state.reading().is_some()
    }

    /// How often its definition was changed: what was derived from it holds as long as this is the same.
    fn changes(&self) -> u64 {
        self.state.changes()
    }

    /// Raises what is wrong with an object that the file has and that was left out.
    fn explain(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let file = shown_path(self.state.path());
        self.look(py, |s| s.find_skipped(path).map_or(Ok(()), |skipped| Err(skipped.error(&file))))
    }

    /// Brings everything so far into the file.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        outside(py, || self.state.sync())
    }

    /// Completes and closes the file. One in memory gives its bytes.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = outside(py, || self.state.close())?;
        Ok(bytes.map(|b| PyBytes::new(py, &b)))
    }

    /// Closes the file without completing it: a new one leaves nothing behind.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        outside(py, || {
            self.state.abandon();
            Ok(())
        })
    }

    /// Its objects, by group and name.
    fn contents(&self) -> Contents {
        Contents(Arc::clone(&self.state))
    }

    /// The format, in netCDF4-python's words.
    fn format(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.look(py, |s| Ok(format_name(s.format)))
    }

    /// Name and parent of every group; the root is first.
    fn groups(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<usize>)>> {
        self.look(py, |s| Ok(describe::groups(s)))
    }

    /// Name, group and whether it is unlimited, of every dimension.
    fn dims(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, bool)>> {
        self.look(py, |s| Ok(describe::dims(s)))
    }

    /// Current length of a dimension.
    fn dim_len(&self, py: Python<'_>, dim: usize) -> PyResult<u64> {
        self.look(py, |s| describe::dim_len(s, dim))
    }

    /// The user-defined types.
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let types = self.look(py, |s| Ok(s.types.clone()))?;
        types.iter().map(|t| describe::user_type(py, t)).collect()
    }

    /// Name, group, type and dimensions of every variable.
    fn vars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let vars = self.look(py, |s| Ok(s.vars.iter().map(describe::VarFacts::of).collect::<Vec<_>>()))?;
        describe::vars(py, vars)
    }

    /// Current shape of a variable.
    fn shape(&self, py: Python<'_>, var: usize) -> PyResult<Dims> {
        self.look(py, |s| describe::shape(s, var))
    }

    /// How a variable is stored.
    fn storage<'py>(&self, py: Python<'py>, var: usize) -> PyResult<Bound<'py, PyDict>> {
        let (format, var) = self.look(py, |s| Ok((s.format, variable(s, var)?.clone())))?;
        describe::storage(py, format, &var)
    }

    /// Type and values of an attribute; `None` if there is no such attribute.
    fn attr<'py>(
        &self,
        py: Python<'py>,
        group: usize,
        var: Option<usize>,
        name: &str,
    ) -> PyResult<Option<attributes::Typed<'py>>> {
        let found = outside(py, || self.state.named(|s, names| owner(group, var).named(s, names, name)))?;
        found.map(|a| attributes::typed(py, &a)).transpose()
    }

    /// All attributes of a variable, or of a group, or the one of this name: a dictionary, and the names in it whose values are
    /// still what `attr` gives.
    #[pyo3(signature = (group, var=None, name=None))]
    fn attrs<'py>(
        &self,
        py: Python<'py>,
        group: usize,
        var: Option<usize>,
        name: Option<&str>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
        let owner = owner(group, var);
        if let Some(name) = name {
            let one = outside(py, || self.state.named(|s, names| owner.named(s, names, name)))?;
            return attributes::all(py, one.as_slice());
        }
        match self.state.reading() {
            Some(dataset) => attributes::all(py, inside(py, || owner.attributes(dataset.schema()))?),
            None => attributes::all(py, &self.look(py, |s| owner.attributes(s).cloned())?),
        }
    }

    /// Sets an attribute.
    fn set_attr(
        &self,
        py: Python<'_>,
        group: usize,
        var: Option<usize>,
        name: &str,
        dtype: TypeName,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (dtype, schema) = self.look(py, |s| Ok((dtype.resolve(s)?, types_only(s))))?;
        let new = attributes::from_python(&schema, name, dtype, values)?;
        outside(py, || self.state.define(|d| d.put_attribute(owner(group, var), new)))
    }

    /// Removes an attribute.
    fn del_attr(&self, py: Python<'_>, group: usize, var: Option<usize>, name: &str) -> PyResult<()> {
        outside(py, || self.state.define(|d| d.delete_attribute(owner(group, var), name)))
    }

    /// Defines a dimension; without a length it is unlimited.
    #[pyo3(signature = (group, name, len=None))]
    fn def_dim(&self, py: Python<'_>, group: usize, name: &str, len: Option<u64>) -> PyResult<usize> {
        outside(py, || self.state.define(|d| Ok(d.dimension(GroupId(group), name, len)?.0)))
    }

    /// Defines a group; an existing one is given back.
    fn def_group(&self, py: Python<'_>, parent: usize, name: &str) -> PyResult<usize> {
        outside(py, || self.state.define(|d| Ok(d.require_group(GroupId(parent), name)?.0)))
    }

    /// Defines a type.
    fn def_type(&self, py: Python<'_>, group: usize, name: &str, new: UserTypeRequest) -> PyResult<usize> {
        outside(py, || self.state.define(|d| define::user_type(d, GroupId(group), name, new)))
    }

    /// Defines a variable.
    fn def_var(
        &self,
        py: Python<'_>,
        group: usize,
        name: &str,
        dtype: TypeName,
        dims: Vec<usize>,
        storage: StorageRequest,
    ) -> PyResult<usize> {
        let group = GroupId(group);
        outside(py, || self.state.define(|d| define::variable(d, group, name, &dtype, dims, storage)))
    }

    /// Chunk lengths for a variable that is about to be defined; `None` if it needs no chunks. `coordinates` are text
    /// attributes by the name of a dimension, which say what it is; `lengths` those that unlimited dimensions will have.
    #[allow(clippy::too_many_arguments, reason = "as Python calls it")]
    fn choose_chunks(
        &self,
        py: Python<'_>,
        dtype: TypeName,
        dims: Vec<usize>,
        storage: StorageRequest,
        request: ChoosingRequest,
        coordinates: Vec<(String, Vec<(String, String)>)>,
        lengths: Vec<(String, u64)>,
    ) -> PyResult<Option<Vec<u64>>> {
        self.look(py, |s| {
            let (dtype, dims, storage) = (&dtype, &dims[..], &storage);
            let file = shown_path(self.state.path());
            Planned { dtype, dims, storage, coordinates, lengths }.chunks(s, &file, &request)
        })
    }

    /// Values that are written to a variable lose bits from now on.
    fn quantize(&self, py: Python<'_>, var: usize, mode: &str, digits: u32) -> PyResult<()> {
        let how = inside(py, || define::quantize(mode, digits))?;
        outside(py, || self.state.define(|d| d.quantize(VarId(var), how)))
    }

    /// Reads values of fixed size into the bytes of an array.
    fn read_fixed(
        &self,
        py: Python<'_>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
        mut out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        outside(py, || self.state.read_bytes(VarId(var), &Hyperslab { start, count, stride }, out))
    }

    /// Reads values of fixed size into a new array of bytes, in memory that goes back to the engine with it.
    fn read_new<'py>(
        &self,
        py: Python<'py>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let values = outside(py, || self.state.read_values(VarId(var), &Hyperslab { start, count, stride }))?;
        to_array(py, values)
    }

    /// Reads numbers and unpacks them by `rules`: an array of the results' bytes, and one that tells by 1 which are
    /// missing, or `None` if none is (or they have become NaN).
    fn read_unpacked<'py>(
        &self,
        py: Python<'py>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
        rules: Rules,
    ) -> PyResult<UnpackedArrays<'py>> {
        let slab = Hyperslab { start, count, stride };
        let unpacked = outside(py, || self.state.read_unpacked(VarId(var), &slab, &rules.unpacking()?))?;
        unpacking::to_arrays(py, unpacked)
    }

    /// Reads strings and ragged rows of numbers as an array of objects; other rows, and compounds of them, as a list.
    fn read_heap<'py>(
        &self,
        py: Python<'py>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = outside(py, || self.state.read_values(VarId(var), &Hyperslab { start, count, stride }))?;
        to_objects(py, self.look(py, |s| row_type(s, var))?, &values)
    }

    /// Reads picked positions of a variable of fixed size into the bytes of an array.
    fn read_picks(
        &self,
        py: Python<'_>,
        var: usize,
        axes: Axes<'_>,
        mut out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let (picks, out) = (picks::of(&axes)?, out.as_slice_mut()?);
        outside(py, || self.state.read_picks_bytes(VarId(var), &picks?, out))
    }

    /// Reads picked values as `read_heap` does.
    fn read_picks_heap<'py>(
        &self,
        py: Python<'py>,
        var: usize,
        axes: Axes<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let picks = picks::of(&axes)?;
        let values = outside(py, || self.state.read_picks(VarId(var), &picks?))?;
        to_objects(py, self.look(py, |s| row_type(s, var))?, &values)
    }

    /// Where a variable lies: "records" or "virtual" if it is one of these; bytes; of what is stored row by row, the first byte and the
    /// bytes from one record to the next (0 if it has no records); of each stored chunk, in the order of the file, grid coordinates, byte
    /// offset, bytes, and the mask of skipped filters.
    fn stored(&self, py: Python<'_>, var: usize) -> PyResult<describe::Stored> {
        outside(py, || self.state.container(|c| describe::stored(c, VarId(var))))
    }

    /// Sets the length of an unlimited dimension; it never shrinks.
    fn grow(&self, py: Python<'_>, dim: usize, len: u64) -> PyResult<()> {
        self.look(py, |s| checked(&s.dims, dim, "dimension"))?;
        outside(py, || self.state.grow(DimId(dim), len))
    }

    /// Renames a dimension, variable, group (by its position), or attribute.
    fn rename(&self, py: Python<'_>, what: &str, at: usize, name: &str) -> PyResult<()> {
        outside(py, || self.state.define(|d| define::rename(d, what, at, name)))
    }

    /// Renames an attribute.
    fn rename_attr(
        &self,
        py: Python<'_>,
        group: usize,
        var: Option<usize>,
        name: &str,
        to: &str,
    ) -> PyResult<()> {
        outside(py, || self.state.define(|d| d.rename_attribute(owner(group, var), name, to)))
    }

    /// Whether values that nobody writes are filled.
    fn fills(&self, py: Python<'_>, var: usize) -> PyResult<bool> {
        self.look(py, |s| Ok(variable(s, var)?.fill == Fill::Default))
    }

    /// One element as it reads where nobody wrote it, in native byte order; `None` where there are several such values.
    fn absent<'py>(&self, py: Python<'py>, var: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.look(py, |s| variable(s, var).map(|_| ()))?;
        let one = outside(py, || self.state.container(|c| Ok(c.layout(VarId(var))?.one_absent())))?;
        Ok(one.map(|one| PyBytes::new(py, &one)))
    }

    /// Writes values of fixed size from the bytes of an array.
    fn write_fixed(
        &self,
        py: Python<'_>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
        data: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        // Straight from the array: a copy would cost as much as writing to the system's cache does.
        let bytes = data.as_slice()?;
        outside(py, || self.state.write_bytes(VarId(var), &Hyperslab { start, count, stride }, bytes))
    }

    /// Writes strings, ragged rows and compounds of them, from a list.
    fn write_heap(
        &self,
        py: Python<'_>,
        var: usize,
        start: Dims,
        count: Dims,
        stride: Dims,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (schema, dtype) = self.look(py, |s| Ok((types_only(s), variable(s, var)?.dtype)))?;
        let values = from_python(&schema, dtype, data)?;
        outside(py, || self.state.write(VarId(var), &Hyperslab { start, count, stride }, &values))
    }
}
