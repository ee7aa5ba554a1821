"""Methods of groups that netCDF4-python's users know: switches for all variables, new names, searching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ncforge._core import File
from ncforge.errors import NotFoundError

if TYPE_CHECKING:
    from ncforge._contents import Contents
    from ncforge.dimension import Dimension
    from ncforge.variable import Variable


class GroupTools:
    """What a group can do with all that is in it."""

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

    def _all_variables(self) -> Iterator[Variable]:
        yield from self.variables.values()
        for below in self.groups.values():
            yield from below._all_variables()

    def set_auto_mask(self, true_or_false: bool) -> None:
        """:meth:`Variable.set_auto_mask` for every variable that it, and the groups below it, have now."""
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
        """Values that nobody writes are filled (they are, unless ``set_fill_off`` was called)."""
        self._set_fill(True)

    def set_fill_off(self) -> None:
        """Values that nobody writes are not filled, in the variables that there are and in those that come."""
        self._set_fill(False)

    def _set_fill(self, on: bool) -> None:
        core = self._changing()
        for variable in self._all_variables():
            core.set_fill(variable._var_id, on)
        self._contents.fills = on

    def renameDimension(self, oldname: str, newname: str) -> None:
        """Gives a dimension another name."""
        self._changing().rename("dimension", _known(self.dimensions, oldname, "dimension")._id, newname)

    def renameVariable(self, oldname: str, newname: str) -> None:
        """Gives a variable another name."""
        self._changing().rename("variable", _known(self.variables, oldname, "variable")._var_id, newname)

    def renameGroup(self, oldname: str, newname: str) -> None:
        """Gives a group another name."""
        self._changing().rename("group", _known(self.groups, oldname, "group")._group_id, newname)

    def get_variables_by_attributes(self, **conditions: Any) -> list[Variable]:
        """The variables whose attributes have these values, or pass these functions.

        >>> ds.get_variables_by_attributes(axis="X")                       # doctest: +SKIP
        >>> ds.get_variables_by_attributes(units=lambda u: u is not None)  # doctest: +SKIP
        """
        return [v for v in self.variables.values() if all(_meets(v, k, c) for k, c in conditions.items())]


def _known(among: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in among:
        raise NotFoundError(f"no {what} `{name}`")
    return among[name]


def _meets(variable: Variable, name: str, condition: Any | Callable[[Any], bool]) -> bool:
    value = variable.getncattr(name) if name in variable.ncattrs() else None
    if callable(condition):
        return bool(condition(value))
    return value is not None and bool(value == condition)
