"""The contents of an open file, by name."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import Any, Generic, TypeVar

from ncforge._core import File
from ncforge._dataset.masking import Rules, Switches
from ncforge._dataset.text import normalized
from ncforge._dataset.values import TypeName

Facts = tuple[int, TypeName, list[int]]
"""A variable: its position, type and dimensions."""
Length = tuple[int, bool]
"""A dimension: its position, and whether it is unlimited."""
Of = TypeVar("Of")
Has = TypeVar("Has")


def by_group(core: File) -> dict[int, dict[str, Facts]]:
    """The variables of a file by group and name, in the order of the file."""
    found: dict[int, dict[str, Facts]] = {}
    for i, (name, of, kind, dims) in enumerate(core.vars()):
        found.setdefault(of, {})[name] = (i, kind, dims)
    return found


class Contents:
    """The names in one open file. They are cached if the file is open for reading only, else looked up each time: one by one, so
    that a look at one object does not cost more the more there are.
    """

    def __init__(self, core: File) -> None:
        self._names = core.contents()
        self._vars: dict[int, dict[str, Facts]] = {}
        self._dims: dict[int, dict[str, Length]] = {}
        self._groups: dict[int, dict[str, int]] = {}
        self._each_dim: dict[int, tuple[str, int, bool]] = {}
        self.settled = core.is_reading()
        """Whether nothing can change them."""
        self.known: dict[int, dict[str, Any]] = {}
        """Attributes that were requested, by the key of their object."""
        self._switches: dict[int, Switches] = {}
        self._changes = core.changes
        self._rules: dict[int, Rules] = {}
        self._rules_after = 0
        self.fills = True
        """Whether variables that are defined from now on are filled where nothing was written."""
        self.auto_complex = False
        """Whether pairs of a real and an imaginary part are complex numbers."""
        self._strings: set[int] = set()
        self._caches: dict[int, tuple[int, int, float]] = {}
        self._renamed: dict[tuple[str, int], str] = {}

    def name(self, kind: str, ident: int, first: str) -> str:
        """The name of an object that had the name ``first`` when somebody looked at it first."""
        return self._renamed.get((kind, ident), first) if self._renamed else first

    def rename(self, core: File, kind: str, ident: int, name: str) -> None:
        """Gives an object another name, by which all know it that hold it."""
        core.rename(kind, ident, name)
        self._renamed[kind, ident] = normalized(name)

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
        """The rules that a variable's attributes give for its values; cached until a definition is changed."""
        changes = self._changes()
        if changes != self._rules_after:
            self._rules, self._rules_after = {}, changes
        rules = self._rules
        found = rules.get(var)
        if found is None:
            found = rules[var] = make()
        return found

    def keep(self, key: int, values: dict[str, Any]) -> bool:
        """Caches the attributes of an object, if nothing can change them."""
        if self.settled:
            self.known[key] = values
        return self.settled

    def forget(self) -> None:
        """Clears all caches: the file is closed."""
        self.settled = False
        for values in self.known.values():
            values.clear()
        self.known.clear()

    def vars(self, group: int) -> dict[str, Facts]:
        """The variables of a group, in the order of the file."""
        return self._kept(self._vars, group, lambda: dict(self._names.vars(group)))

    def dims(self, group: int) -> dict[str, Length]:
        """The dimensions that a group defines, in the order of the file."""
        return self._kept(self._dims, group, lambda: {name: (i, grows) for i, name, grows in self._names.dims(group)})

    def groups(self, group: int) -> dict[str, int]:
        """The positions of the groups below a group, in the order of the file."""
        return self._kept(self._groups, group, lambda: {name: i for i, name in self._names.groups(group)})

    def var(self, group: int, name: str) -> Facts | None:
        """A variable of a group."""
        return self.vars(group).get(name) if self.settled else self._names.var(group, name)

    def dim_of(self, group: int, name: str) -> Length | None:
        """A dimension that a group defines."""
        if self.settled:
            return self.dims(group).get(name)
        found = self._names.visible_dim(group, name)
        if found is None:
            return None
        _, of, grows = self._names.dim(found)
        return (found, grows) if of == group else None

    def group(self, group: int, name: str) -> int | None:
        """A group below a group."""
        return self.groups(group).get(name) if self.settled else self._names.group(group, name)

    def dim(self, dim: int) -> tuple[str, int, bool]:
        """Name, group and whether it is unlimited, of a dimension."""
        return self._kept(self._each_dim, dim, lambda: self._names.dim(dim))

    def _kept(self, among: dict[int, Has], key: int, ask: Callable[[], Has]) -> Has:
        if not self.settled:
            return ask()
        found = among.get(key)
        if found is None:
            found = among[key] = ask()
        return found


class _Values(ValuesView[Has]):
    """Makes them one after the other, without a lookup by name for each."""

    _mapping: Members[Any, Has]

    def __iter__(self) -> Iterator[Has]:
        return (made for _, made in self._mapping._made())


class _Items(ItemsView[str, Has]):
    """Makes them one after the other, without a lookup by name for each."""

    _mapping: Members[Any, Has]

    def __iter__(self) -> Iterator[tuple[str, Has]]:
        return self._mapping._made()


class Members(Mapping[str, Has], Generic[Of, Has]):
    """The objects of one kind in a group, by name. Like a ``dict`` that makes its values when they are requested.

    Parameters
    ----------
    all_of
        The facts of all of them, in the order of the file.
    one
        Those of one; ``None`` if it is not there.
    make
        An object, from its name and facts.
    missing
        What raises another error than ``KeyError`` for a name that is not there.
    """

    def __init__(
        self,
        all_of: Callable[[], dict[str, Of]],
        one: Callable[[str], Of | None],
        make: Callable[[str, Of], Has],
        missing: Callable[[str], object] | None = None,
    ) -> None:
        self._all, self._one, self._make, self._missing = all_of, one, make, missing

    def __getitem__(self, name: str) -> Has:
        facts = self._one(name)
        if facts is None:
            if self._missing is not None:
                self._missing(name)
            raise KeyError(name)
        return self._make(name, facts)

    def values(self) -> ValuesView[Has]:
        """The objects, in the order of the file."""
        return _Values(self)

    def items(self) -> ItemsView[str, Has]:
        """Names and objects, in the order of the file."""
        return _Items(self)

    def copy(self) -> dict[str, Has]:
        """All of them."""
        return dict(self._made())

    def _made(self) -> Iterator[tuple[str, Has]]:
        make = self._make
        return ((name, make(name, facts)) for name, facts in self._all().items())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._one(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self.copy())
