"""The contents of an open file, by name."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

from ncforge._core import File
from ncforge._masking import Rules, Switches
from ncforge._missing import not_found
from ncforge._values import TypeName
from ncforge.variable import Variable

if TYPE_CHECKING:
    from ncforge.dataset import Group

Facts = tuple[int, TypeName, list[int]]
"""A variable: its position, type and dimensions."""


def by_group(core: File) -> dict[int, dict[str, Facts]]:
    """The variables of a file by group and name, in the order of the file."""
    found: dict[int, dict[str, Facts]] = {}
    for i, (name, of, kind, dims) in enumerate(core.vars()):
        found.setdefault(of, {})[name] = (i, kind, dims)
    return found


class Contents:
    """The names in one open file. They are cached if the file is open for reading only, else looked up each time."""

    def __init__(self, core: File) -> None:
        self._core = core
        self._vars: dict[int, dict[str, Facts]] | None = None
        self._dims: list[tuple[str, int, bool]] | None = None
        self._settled = core.is_reading()
        self.known: dict[int, dict[str, Any]] = {}
        """Attributes that were requested, by the key of their object."""
        self._switches: dict[int, Switches] = {}
        self._rules: dict[int, Rules] = {}
        self.fills = True
        """Whether variables that are defined from now on are filled where nothing was written."""
        self.auto_complex = False
        """Whether pairs of a real and an imaginary part are complex numbers."""
        self._strings: set[int] = set()
        self._caches: dict[int, tuple[int, int, float]] = {}

    def chunk_cache(self, var: int) -> tuple[int, int, float] | None:
        """The settings of a variable's chunk cache."""
        return self._caches.get(var)

    def set_chunk_cache(self, var: int, how: tuple[int, int, float]) -> None:
        """Records them."""
        self._caches[var] = how

    def strings(self, key: int) -> bool:
        """Whether text becomes ``string`` in attributes of this object."""
        return key in self._strings

    def set_strings(self, key: int, on: bool) -> None:
        """Changes it."""
        (self._strings.add if on else self._strings.discard)(key)

    def switches(self, var: int) -> Switches:
        """How a variable's values are converted in reads and writes."""
        return self._switches.setdefault(var, Switches())

    def set_switches(self, var: int, how: Switches) -> None:
        """Changes them."""
        self._switches[var] = how

    def rules(self, var: int, make: Callable[[], Rules]) -> Rules:
        """The rules that a variable's attributes give for its values; cached if nothing can change them."""
        if not self._settled:
            return make()
        if var not in self._rules:
            self._rules[var] = make()
        return self._rules[var]

    def keep(self, key: int, values: dict[str, Any]) -> bool:
        """Caches the attributes of an object, if nothing can change them."""
        if self._settled:
            self.known[key] = values
        return self._settled

    def forget(self) -> None:
        """Clears all caches: the file is closed."""
        self._settled = False
        for values in self.known.values():
            values.clear()
        self.known.clear()

    def vars(self, group: int) -> dict[str, Facts]:
        """The variables of a group, in the order of the file."""
        found = self._vars
        if found is None or not self._settled:
            found = self._vars = by_group(self._core)
        return found.get(group, {})

    def dims(self) -> list[tuple[str, int, bool]]:
        """Name, group and whether it is unlimited, of every dimension."""
        found = self._dims
        if found is None or not self._settled:
            found = self._dims = self._core.dims()
        return found


class _Values(ValuesView[Variable]):
    """Makes them one after the other, without a lookup by name for each."""

    _mapping: Variables

    def __iter__(self) -> Iterator[Variable]:
        return (variable for _, variable in self._mapping._made())


class _Items(ItemsView[str, Variable]):
    """Makes them one after the other, without a lookup by name for each."""

    _mapping: Variables

    def __iter__(self) -> Iterator[tuple[str, Variable]]:
        return self._mapping._made()


class Variables(Mapping[str, Variable]):
    """The variables of a group, by name. Like a ``dict`` that makes its values when they are requested."""

    def __init__(self, group: Group, facts: dict[str, Facts]) -> None:
        self._group = group
        self._facts = facts

    def __getitem__(self, name: str) -> Variable:
        facts = self._facts.get(name)
        if facts is None:
            # An error that says so if it exists, but is damaged or not supported.
            self._group._core.explain(f"{self._group.path.rstrip('/')}/{name}")
            raise not_found("variable", name, f" in `{self._group.path}`", self._facts)
        return self._group._variable(facts[0], name, facts[1], facts[2])

    def get(self, name: str, default: Any = None) -> Any:
        """A variable, or the default."""
        return self[name] if name in self._facts else default

    def values(self) -> ValuesView[Variable]:
        """The variables, in the order of the file."""
        return _Values(self)

    def items(self) -> ItemsView[str, Variable]:
        """Names and variables, in the order of the file."""
        return _Items(self)

    def _made(self) -> Iterator[tuple[str, Variable]]:
        make = self._group._variable
        return ((name, make(ident, name, kind, dims)) for name, (ident, kind, dims) in self._facts.items())

    def __contains__(self, name: object) -> bool:
        return name in self._facts

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return repr(dict(self))
