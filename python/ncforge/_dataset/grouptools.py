"""Methods of groups as in netCDF4-python: properties of the file, switches for all variables, renaming, searching."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ncforge._core import File
from ncforge._missing import not_found
from ncforge.errors import UnsupportedCallError

if TYPE_CHECKING:
    from ncforge._dataset.contents import Contents
    from ncforge.dimension import Dimension
    from ncforge.variable import Variable


class GroupTools:
    """Methods for everything in a group."""

    __slots__ = ()

    if TYPE_CHECKING:
        _core: File
        _group_id: int
        _var_id: int | None
        _contents: Contents

        def _changing(self) -> File: ...
        @property
        def variables(self) -> Mapping[str, Variable]: ...
        @property
        def groups(self) -> Mapping[str, Any]: ...
        @property
        def dimensions(self) -> Mapping[str, Dimension]: ...

    @property
    def auto_complex(self) -> bool:
        """Whether the dataset was opened with ``auto_complex``."""
        return self._contents.auto_complex

    @property
    def keepweakref(self) -> bool:
        """Whether groups and variables refer weakly to their dataset: they never do."""
        return False

    def filepath(self, encoding: str | None = None) -> str:
        """The path that the dataset was opened with, decoded with this encoding (by default the system's)."""
        path = self._core.path
        return path if encoding is None else os.fsencode(path).decode(encoding)

    @property
    def data_model(self) -> str:
        """Its format, with the names of the argument ``format``."""
        return self._core.format()

    file_format = data_model

    def isopen(self) -> bool:
        """True while the file is open."""
        return self._core.is_open()

    def close(self) -> memoryview | None:
        """A group is closed with its dataset: an ``OSError``. See :meth:`Dataset.close`."""
        raise UnsupportedCallError("a group is closed with its dataset")

    def sync(self) -> None:
        """Makes everything written so far durable; a new file gets its name. (After ``close`` of a new file, the system decides
        when to write it to disk.)"""
        self._core.sync()

    @property
    def disk_format(self) -> str:
        """The file format: "HDF5" or "NETCDF3"."""
        return "NETCDF3" if self.data_model.startswith("NETCDF3") else "HDF5"

    def has_zstd_filter(self) -> bool:
        """Whether zstd can be read and written: it can."""
        return True

    def has_bzip2_filter(self) -> bool:
        """Whether bzip2 can be read and written: it can."""
        return True

    def has_blosc_filter(self) -> bool:
        """Whether blosc can be read and written: it can."""
        return True

    def has_szip_filter(self) -> bool:
        """Whether szip can be read *and* written: it is only read."""
        return False

    def _all_variables(self) -> Iterator[Variable]:
        yield from self.variables.values()
        for below in self.groups.values():
            yield from below._all_variables()

    def set_auto_mask(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_auto_mask` for every variable that this group, and the groups below it, have now."""
        for variable in self._all_variables():
            variable.set_auto_mask(true_or_false)

    def set_auto_scale(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_auto_scale` for every variable."""
        for variable in self._all_variables():
            variable.set_auto_scale(true_or_false)

    def set_auto_maskandscale(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_auto_maskandscale` for every variable."""
        for variable in self._all_variables():
            variable.set_auto_maskandscale(true_or_false)

    def set_always_mask(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_always_mask` for every variable."""
        for variable in self._all_variables():
            variable.set_always_mask(true_or_false)

    def set_auto_chartostring(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_auto_chartostring` for every variable."""
        for variable in self._all_variables():
            variable.set_auto_chartostring(true_or_false)

    def set_fill_on(self) -> None:
        """Values that are never written are filled (the default, unless ``set_fill_off`` was called)."""
        self._changing()
        self._contents.fills = True

    def set_fill_off(self) -> None:
        """Values that are never written are not filled in variables that are created from now on.

        Existing variables do not change, and keep their fill values.
        """
        self._changing()
        self._contents.fills = False

    def renameDimension(self, oldname: str, newname: str) -> None:
        """Gives a dimension another name."""
        self._rename("dimension", _known(self.dimensions, oldname, "dimension")._id, newname)

    def renameVariable(self, oldname: str, newname: str) -> None:
        """Gives a variable another name."""
        self._rename("variable", _known(self.variables, oldname, "variable")._var_id, newname)

    def renameGroup(self, oldname: str, newname: str) -> None:
        """Gives a group another name."""
        self._rename("group", _known(self.groups, oldname, "group")._group_id, newname)

    def _rename(self, kind: str, ident: int, name: str) -> None:
        self._contents.rename(self._changing(), kind, ident, name)

    def get_variables_by_attributes(self, **conditions: Any) -> list[Variable]:
        """The variables whose attributes have these values, or satisfy these functions.

        >>> ds.get_variables_by_attributes(axis="X")                       # doctest: +SKIP
        >>> ds.get_variables_by_attributes(units=lambda u: u is not None)  # doctest: +SKIP
        """
        return [v for v in self.variables.values() if all(_meets(v, k, c) for k, c in conditions.items())]


def _known(among: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in among:
        raise not_found(what, name, "", among)
    return among[name]


def _meets(variable: Variable, name: str, condition: Any | Callable[[Any], bool]) -> bool:
    value = variable.getncattr(name) if name in variable.ncattrs() else None
    if callable(condition):
        return bool(condition(value))
    return value is not None and bool(value == condition)
