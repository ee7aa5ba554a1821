"""Digests of what files say: ``ncforge digest`` as a function."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ncforge import _core
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ncforge._ops.options import EngineOptions


@dataclass(frozen=True)
class Digest:
    """The digests of a file. ``str()`` is the line that the command prints."""

    file: str
    digest: str
    """Of all that the file says."""
    variables: dict[str, str]
    """Of each variable, by path: its type, dimensions, attributes and values."""
    values: dict[str, str]
    """Of the values of each variable alone."""
    notes: list[str] = field(default_factory=list)
    """Objects in the file that do not count: netCDF has no equivalent of them."""

    def __str__(self) -> str:
        return f"{self.digest}  {self.file}"


def digest(path: Path, *, progress: Progress | bool | None = None, **options: Unpack[EngineOptions]) -> Digest:
    """Digests of what a file says, not of how it is stored.

    Names, types, dimensions, attributes and every bit of every value count. Format, chunks, compression, byte order and the
    order of definitions do not, nor do the global attributes ``history``, ``NCO``, ``CDO`` and ``CDI``. The options are
    ``threads`` and ``memory``.

    Raises
    ------
    NotNetcdfError
        If the file is not a netCDF file.
    CorruptError
        If a part of the file is damaged or missing.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ncforge.Dataset(f"{folder}/a.nc", "w", format="NETCDF3_CLASSIC") as ds:
    ...     _ = ds.createDimension("x", 3000)
    ...     ds.createVariable("v", "f8", ("x",))[:] = 1.5
    >>> report = ncforge.copy(f"{folder}/a.nc", f"{folder}/b.nc", format="netcdf4", codec="deflate")
    >>> a, b = (ncforge.digest(f"{folder}/{name}.nc") for name in "ab")
    >>> a.digest == b.digest, a.variables == b.variables
    (True, True)
    >>> with ncforge.Dataset(f"{folder}/b.nc", "a") as ds:
    ...     ds["v"].units = "m"
    >>> c = ncforge.digest(f"{folder}/b.nc")
    >>> c.digest == b.digest, c.values == b.values
    (False, True)
    """
    with reporter(progress) as report:
        raw = json.loads(_core.digest(path, given(options), report))
    found = {
        kind: {v["name"]: v[key] for v in raw["variables"]}
        for kind, key in (("variables", "digest"), ("values", "values"))
    }
    return only(Digest, {**raw, **found})
