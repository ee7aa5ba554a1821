"""Programs that define much, or little at a time: the same for every library with netCDF4-python's interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Module = Any


def variables(lib: Module, path: str, count: int) -> None:
    """Variables with an attribute each, ten of a dimension."""
    with lib.Dataset(path, "w") as new:
        for i in range(count // 10):
            new.createDimension(f"x{i}", 2)
        for i in range(count):
            new.createVariable(f"v{i}", "f4", (f"x{i % (count // 10)}",)).units = "K"


def attributes(lib: Module, path: str, count: int) -> None:
    """Attributes of a file, set and looked at."""
    with lib.Dataset(path, "w") as new:
        for i in range(count):
            new.setncattr(f"a{i}", i)
    with lib.Dataset(path) as data:
        for name in data.ncattrs():
            data.getncattr(name)


def groups(lib: Module, path: str, count: int) -> None:
    """Groups, made and walked."""
    with lib.Dataset(path, "w") as new:
        for i in range(count):
            new.createGroup(f"g{i}")
    with lib.Dataset(path) as data:
        for group in data.groups.values():
            assert not group.groups and not group.variables and group.parent.path == "/"


def groups_in_turn(lib: Module, path: str, count: int) -> None:
    """Groups, each filled before the next one is made."""
    with lib.Dataset(path, "w") as new:
        for i in range(count):
            group = new.createGroup(f"g{i}")
            group.createDimension("x", 3)
            group.createVariable("v", "f4", ("x",))[:] = i


def dimensions_in_turn(lib: Module, path: str, count: int) -> None:
    """Dimensions, each with a variable that is filled before the next one is made."""
    with lib.Dataset(path, "w") as new:
        for i in range(count):
            new.createDimension(f"x{i}", 3)
            new.createVariable(f"v{i}", "f4", (f"x{i}",))[:] = i


def attributes_in_turn(lib: Module, path: str, count: int) -> None:
    """Attributes, each set after a value was written."""
    with lib.Dataset(path, "w") as new:
        new.createDimension("x", 3)
        var = new.createVariable("v", "f4", ("x",))
        for i in range(count):
            var[0] = i
            new.setncattr(f"a{i}", i)


def synced(lib: Module, path: str, count: int) -> float:
    """A hundred syncs after one of so many variables was written, in seconds for all of them."""
    with lib.Dataset(path, "w") as new:
        new.createDimension("t", None)
        new.createDimension("x", 20)
        every = [new.createVariable(f"v{i}", "f4", ("t", "x"), chunksizes=(50, 20)) for i in range(count)]
        for var in every:
            var[0] = 0
        new.sync()
        start = time.perf_counter()
        for i in range(100):
            every[0][i] = i
            new.sync()
        return time.perf_counter() - start


TASKS: dict[str, Callable[[Module, str, int], float | None]] = {
    "variables": variables,
    "attributes": attributes,
    "groups": groups,
    "groups in turn": groups_in_turn,
    "dimensions in turn": dimensions_in_turn,
    "attributes in turn": attributes_in_turn,
    "synced": synced,
}
