"""Several files as one dataset, with netCDF4-python's names.

For work that is larger than memory, ``xarray.open_mfdataset(paths, engine="ncforge")`` is the better tool.

Examples
--------
>>> ds = MFDataset("run_*.nc")              # doctest: +SKIP
>>> ds["tas"][:, 20, 30]                    # doctest: +SKIP
>>> MFTime(ds["time"])[:]                   # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import glob
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, cast

import numpy as np

from ncforge import _core
from ncforge._dataset.attributes import put_own
from ncforge._dataset.handle import most_open
from ncforge._dataset.index import expand
from ncforge._dataset.locks import ForkedLock
from ncforge._dataset.pieces import gathered
from ncforge._dataset.view import Layout
from ncforge.dataset import Dataset
from ncforge.dimension import Dimension
from ncforge.errors import InvalidError, IoError, UnsupportedCallError
from ncforge.variable import Variable, of_group

__all__ = ["MFDataset", "MFTime"]


class MFDataset(Dataset):
    """Files that continue one another along a dimension, as one dataset for reading.

    Variables with that dimension are joined from all files, one after the other; everything else is that of the first file,
    or of ``master_file``. Each file's numbers are masked and scaled by that file's own attributes. ``file_format``,
    ``data_model`` and ``disk_format`` are lists, with a word for each file. An array in which nothing is masked is not a
    masked array.

    In addition to netCDF4-python's class, this one supports files of the model "NETCDF4" (their root group), negative steps,
    and variables whose dimension is not the first one.

    Parameters
    ----------
    files
        Paths, in their order, or a pattern such as ``"run_*.nc"``, whose matches are sorted.
    check
        Whether to check here that variables are alike in all files (names, dimensions, lengths, types), with an ``OSError`` if
        not; else differences are errors when the variables are read.
    aggdim
        The dimension; by default the unlimited one.
    exclude
        Variables that are read from the master only.
    master_file
        The one of ``files`` that defines the contents.

    Raises
    ------
    OSError
        If there are no files, one cannot be read or is not like the master, or the master has no such dimension or no variable
        that has it.
    ValueError
        If ``master_file`` is not one of ``files``.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for year in (1, 2):
    ...     with Dataset(os.path.join(folder, f"{year}.nc"), "w") as ds:
    ...         _ = ds.createDimension("time", None)
    ...         ds.createVariable("n", "i4", "time")[:] = [10 * year, 10 * year + 1]
    >>> with MFDataset(os.path.join(folder, "*.nc")) as ds:
    ...     ds["n"].shape, ds["n"][1:].tolist()
    ((4,), [11, 20, 21])
    """

    __slots__ = ("_along", "_excluded", "_made", "_master", "_parts", "_starts")

    _along: str
    _excluded: frozenset[str]
    _made: dict[str, Variable]
    _master: int
    _parts: Parts
    _starts: list[int]

    def __init__(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        check: bool = False,
        aggdim: str | None = None,
        exclude: Iterable[str] = (),
        master_file: str | os.PathLike[str] | None = None,
    ) -> None:
        paths = _paths(files)
        if not paths:
            raise IoError("no files: nothing is given, or the pattern matches nothing")
        master = 0
        if master_file is not None:
            if os.fspath(master_file) not in paths:
                raise InvalidError(f"master_file `{os.fspath(master_file)}` is not one of the files")
            master = paths.index(os.fspath(master_file))
        self._join(Parts.of(paths), master, aggdim, exclude, check)

    def _join(self, parts: Parts, master: int, along: str | None, exclude: Iterable[str], check: bool = False) -> None:
        first = parts.held(master)
        if along is None:
            along = next((name for name, dim in first.dimensions.items() if dim.isunlimited()), None)
        if along is None or along not in first.dimensions:
            raise IoError(f"`{first.filepath()}` has no dimension to join along{f' (`{along}`)' if along else ''}")
        put_own(self, _parts=parts, _master=master, _along=along, _excluded=frozenset(exclude))
        self._is(first._place, False, True)
        self._fill(first._core, first._types, first._contents, None, 0, "/")
        lengths = []
        for part in parts:
            if along not in part.dimensions:
                raise IoError(f"`{part.filepath()}` has no dimension `{along}`, which `{first.filepath()}` has")
            lengths.append(len(part.dimensions[along]))
        put_own(self, _starts=[0, *accumulate(lengths)])
        made = {
            name: MFVariable._over(self, v) if along in v.dimensions and name not in self._excluded else v
            for name, v in first.variables.items()
        }
        put_own(self, _made=made)
        joined = [v for v in made.values() if isinstance(v, MFVariable)]
        if not joined:
            raise IoError(f"`{first.filepath()}` has no variable with the dimension `{along}`")
        for at in range(len(parts)) if check else ():
            for variable in joined:
                with variable._part(at):
                    pass

    @property
    def variables(self) -> Mapping[str, Variable]:
        """The variables, by name, in the order of the master. The same objects each time."""
        return self._made

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """The dimensions, by name; the length of the joined one is the sum over all files."""
        found = super().dimensions
        there = found[self._along]
        return {**found, self._along: _Joined(self, there._id, there.name, True)}

    @property
    def data_model(self) -> list[str]:  # type: ignore[override]
        """The format of each file."""
        return [part.data_model for part in self._parts]

    file_format = data_model  # type: ignore[assignment]

    @property
    def disk_format(self) -> list[str]:  # type: ignore[override]
        """The file format of each file: "HDF5" or "NETCDF3"."""
        return [part.disk_format for part in self._parts]

    def isopen(self) -> bool:
        """Whether all files are open."""
        return self._parts.isopen()

    def close(self) -> None:
        """Closes all files."""
        self._parts.close()

    def _title(self) -> str:
        return f"ncforge.MFDataset of {len(self._parts)} files · {self.filepath()}"

    def __reduce__(self) -> Any:
        return _joined, (self._parts, self._master, self._along, self._excluded)


class Parts:
    """The files of a dataset. A file is opened when it is read, and stays open as long as there are places for it.

    For the next one, that which was opened last is closed, unless it is being read: a walk over all files, variable after variable, would
    find each closed that was read longest ago.
    """

    __slots__ = ("__weakref__", "_again", "_closed", "_open", "_readers")

    def __init__(self, again: list[tuple[Any, ...]]) -> None:
        self._again = again
        """How to open each of them: a function and its arguments."""
        self._open: dict[int, Dataset] = {}
        """In the order in which they were opened."""
        self._readers: Counter[int] = Counter()
        self._closed = False

    @classmethod
    def of(cls, paths: Iterable[str]) -> Parts:
        """Opens files. From then on, another file under its name is an error."""
        new = cls([(Dataset, (path,)) for path in paths])
        for at, part in enumerate(new):
            new._again[at] = part.__reduce__()
        return new

    def __len__(self) -> int:
        return len(self._again)

    def __iter__(self) -> Iterator[Dataset]:
        for at in range(len(self)):
            with self.reading(at) as part:
                yield part

    @contextlib.contextmanager
    def reading(self, at: int) -> Iterator[Dataset]:
        """One of them, open until the block ends."""
        part = self.held(at)
        try:
            yield part
        finally:
            with _lock:
                self._readers[at] -= 1

    def held(self, at: int) -> Dataset:
        """One of them, open until all are closed."""
        with _lock:
            part = self._open.get(at)
            if part is None and not self._closed:
                self._make_room()
                opens, arguments = self._again[at]
                _all.add(self)
                part = self._open[at] = opens(*arguments)
            if part is None or self._closed:
                self.close()
                raise InvalidError("the dataset is closed")
            self._readers[at] += 1
            return part

    def _make_room(self) -> None:
        """Closes files, first of its own, until there is a place, or all that are open are being read."""
        for parts in (self, *_all):
            for at in reversed([*parts._open]):
                if sum(len(each._open) for each in _all) < _PLACES:
                    return
                if not parts._readers[at]:
                    parts._open.pop(at).close()

    def isopen(self) -> bool:
        """Whether they can be read."""
        return not self._closed and all(part.isopen() for part in [*self._open.values()])

    def close(self) -> None:
        """Closes them."""
        with _lock:
            self._closed = True
            while self._open:
                self._open.popitem()[1].close()

    def __reduce__(self) -> Any:
        return Parts, (self._again,)


_PLACES = most_open(3 / 8)
"""How many files of all datasets may be open at a time; more only if more are read at a time."""

_all: weakref.WeakSet[Parts] = weakref.WeakSet()
"""Those that have opened files."""

_lock = ForkedLock()
"""Whoever opens, closes or counts files holds it."""


class _Joined(Dimension):
    """The dimension along which files are joined."""

    @property
    def size(self) -> int:
        """Its length in all files together."""
        return cast(MFDataset, self._group)._starts[-1]


class MFVariable(Variable):
    """A variable of :class:`MFDataset`: one array from several files. Its attributes are the master's."""

    __slots__ = ("_axis", "_like", "_master")

    _axis: int
    _master: Variable
    """The variable of the master."""
    _like: set[int]
    """The positions of files that were found to have a variable that is like it."""

    @classmethod
    def _over(cls, dataset: MFDataset, of: Variable) -> MFVariable:
        new = cls.__new__(cls)
        new._fill(dataset, of._var_id, of.name, of._kind, of._dims)
        new._spread(of)
        return new

    def _spread(self, of: Variable) -> None:
        dataset = self._of()
        put_own(self, _axis=of.dimensions.index(dataset._along), _master=of, _like={dataset._master})

    def _of(self) -> MFDataset:
        return cast(MFDataset, self._group)

    @contextlib.contextmanager
    def _part(self, at: int) -> Iterator[Variable]:
        """The variable in one of the files, which is open until the block ends."""
        dataset = self._of()
        with dataset._parts.reading(at) as part:
            if at not in self._like:
                self._check(part)
                self._like.add(at)
            found = self._master if at == dataset._master else part.variables[self.name]
            # One set of switches: they hold for all files of this variable, also of those that were opened again.
            found._contents.set_switches(found._var_id, self._switches)
            yield found

    def _check(self, part: Dataset) -> None:
        """An error if the variable of this file is not like it."""
        dataset, master = self._of(), self._master
        where = f"`{self.name}` in `{part.filepath()}`"
        if self.name not in part.variables:
            raise IoError(f"{where}: there is no such variable; `{dataset.filepath()}` has it")
        found = part.variables[self.name]
        if found.dimensions != master.dimensions or _stored(found) != _stored(master):
            raise IoError(f"{where} is {_said(found)}, in `{dataset.filepath()}` it is {_said(master)}")
        lengths, wanted = list(found.shape), list(master.shape)
        lengths[self._axis] = wanted[self._axis] = 0
        if lengths != wanted:
            raise IoError(f"{where} has lengths {found.shape}, in `{dataset.filepath()}` {master.shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape over all files."""
        shape = list(super().shape)
        shape[self._axis] = self._of()._starts[-1]
        return tuple(shape)

    def get_dims(self) -> tuple[Dimension, ...]:
        """Its dimensions, slowest first."""
        dims = self._of().dimensions
        return tuple(dims[name] for name in self.dimensions)

    @property
    def layout(self) -> Layout:
        """An ``OSError``: each file has a layout of its own, see ``Dataset(path)[name].layout``."""
        raise UnsupportedCallError(f"`{self.name}` is stored in several files, each with a layout of its own: open one")

    def __getitem__(self, key: Any) -> Any:
        data = self._gathered(key, self._values_of)
        if isinstance(data, np.ma.MaskedArray) and data is not np.ma.masked and not np.ma.is_masked(data):
            return data.data
        return data

    def _values_of(self, at: int, key: tuple[Any, ...]) -> Any:
        with self._part(at) as part:
            return part[key]

    def read(self, key: Any = ..., *, out: np.ndarray | None = None) -> Any:
        """Read a selection as stored: nothing is masked, scaled or joined to text. See :meth:`Variable.read`."""
        return self._gathered(key, self._stored_of) if out is None else self.read_into(out, key)

    def _stored_of(self, at: int, key: tuple[Any, ...]) -> Any:
        with self._part(at) as part:
            return part.read(key)

    def read_into(self, out: np.ndarray, key: Any = ...) -> np.ndarray:
        """Read a selection into an existing array, and return it. See :meth:`Variable.read_into`."""
        data = self.read(key)
        if out.dtype != data.dtype or out.shape != data.shape:
            raise ValueError(
                f"{self.name!r}: the selection is {data.dtype} of shape {data.shape}, "
                f"the destination {out.dtype} of shape {out.shape}"
            )
        out[...] = data
        return out

    def _gathered(self, key: Any, values_of: Callable[[int, Any], Any]) -> Any:
        """The parts of the selection in each file, joined."""
        return gathered(expand(key, self.shape, self.name), self._axis, self._of()._starts, values_of, self.name)

    def __reduce__(self) -> Any:
        how = self._switches
        return of_group, (self._group, self.name, (how.mask, how.scale, how.always_mask, how.chartostring))

    def _repr_html_(self) -> str | None:
        return None


class MFTime(MFVariable):
    """Times of :class:`MFDataset` converted to one unit.

    Parameters
    ----------
    time
        A variable of an ``MFDataset`` with the times of several files.
    units
        Such as "days since 1979-01-01"; by default the master's.
    calendar
        The calendar of all files; by default each file must have the attribute, and all name the same calendar.

    Raises
    ------
    ValueError
        If a file has no calendar, or another one, and none is given; if ``time`` is of no ``MFDataset``.
    ImportError
        If the package ``cftime`` is not installed.

    Examples
    --------
    >>> times = MFTime(ds["time"], calendar="standard")      # doctest: +SKIP
    >>> ncforge.num2date(times[:], times.units, times.calendar)   # doctest: +SKIP
    """

    __slots__ = ("_calendar", "_units")

    _calendar: str
    _units: str

    def __init__(self, time: Variable, units: str | None = None, calendar: str | None = None) -> None:
        if not isinstance(time, MFVariable):
            raise InvalidError(f"`{time.name}` is no variable of several files (of an MFDataset)")
        dataset = time._of()
        self._fill(dataset, time._var_id, time.name, time._kind, time._dims)
        self._spread(time._master)
        if calendar is None:
            calendars = [self._text(at, "calendar") for at in range(len(dataset._parts))]
            if "" in calendars:
                raise InvalidError(f"`{time.name}` has no attribute `calendar` in some file; pass it: calendar=...")
            calendar = calendars[0]
            if not all(_core.same_calendar(calendar, other) for other in calendars):
                names = ", ".join(sorted(set(calendars)))
                raise InvalidError(f"`{time.name}` has several calendars ({names}); pass one: calendar=...")
        put_own(self, _calendar=str(calendar), _units=units or str(time.getncattr("units")))

    def _text(self, at: int, name: str) -> str:
        with self._part(at) as part:
            return str(getattr(part, name, ""))

    @property
    def units(self) -> str:
        """The unit of all values."""
        return self._units

    @property
    def calendar(self) -> str:
        """The calendar of all files."""
        return self._calendar

    def _values_of(self, at: int, key: tuple[Any, ...]) -> Any:
        from ncforge._dataset.times import converted

        with self._part(at) as part:
            return converted(part[key], str(part.getncattr("units")), self._units, self._calendar)

    def __reduce__(self) -> Any:
        return MFTime, (self._group.variables[self.name], self._units, self._calendar)


def _paths(files: Any) -> list[str]:
    if isinstance(files, str | os.PathLike):
        pattern = os.fspath(files)
        return sorted(glob.glob(pattern)) or ([pattern] if os.path.exists(pattern) else [])
    return [os.fspath(path) for path in files]


def _joined(parts: Parts, master: int, along: str, exclude: Iterable[str]) -> MFDataset:
    new = MFDataset.__new__(MFDataset)
    new._join(parts, master, along, exclude)
    return new


def _stored(variable: Variable) -> Any:
    """The type of its values, in whatever byte order they are stored."""
    return variable._types.dtype(variable._kind)


def _said(variable: Variable) -> str:
    return f"{variable.dtype} of {variable.dimensions}"
