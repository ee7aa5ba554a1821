"""Sizes, folders and the few helpers that all rows use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.data import Data, Slabs, dtype_of, nbytes, offset_of_values
from harness.model import Entry, Fields, FileSpec
from harness.processes import BENCHES

MIB = 1 << 20


@dataclass(frozen=True)
class Plan:
    """The input of the rows."""

    data: Data
    # The `ncforge` command.
    command: Path
    # The factor of all sizes. With less than 1, numbers mean little: it is to see that everything works.
    scale: float = 1.0

    @property
    def steps(self) -> int:
        """Time steps of the AR-5 study's variable."""
        return max(int(1560 * self.scale), 8)

    def count(self, full: int) -> int:
        """How many of so many small things there are."""
        return max(int(full * self.scale), 1)

    def shape(self, kind: str) -> tuple[int, ...]:
        """The shape of a 200 MB variable."""
        return (self.steps * 4 // dtype_of(kind).itemsize, 128, 256)

    def file(self, name: str, kind: str, chunks: tuple[int, ...] | None = None, **more: object) -> FileSpec:
        """A file of the data folder. Chunks are cut to the shape."""
        shape: Any = more.pop("shape", None) or self.shape(kind)
        chunks = chunks and tuple(map(min, chunks, shape))
        spec: dict[str, object] = {"path": self.data.folder / f"{name}.nc", "kind": kind, "shape": shape}
        return FileSpec(**(spec | {"chunks": chunks} | more))  # type: ignore[arg-type]

    def output(self, name: str) -> Path:
        """A file that a contestant makes."""
        return self.data.folder / f"out-{name}.nc"

    def slabs(self, name: str, slabs: Slabs) -> Path:
        """A list of hyperslabs, in a file."""
        return self.data.slabs(name, slabs)


def read(backend: str, spec: FileSpec, **fields: object) -> Entry:
    """All of the variable of a file."""
    request: Fields = {"do": "read", "path": spec.path, "var": "v"}
    return Entry(backend, request | fields)


def read_bare(backend: str, spec: FileSpec) -> Entry:
    """The values' bytes of a file without chunks, read without a netCDF library."""
    order = "<" if spec.format == "netcdf4" else ">"
    fields = {"type": order + dtype_of(spec.kind).str[1:], "offset": lambda: offset_of_values(spec)}
    return read(backend, spec, nbytes=nbytes(spec.kind, spec.shape), **fields)


def write(backend: str, spec: FileSpec, plan: Plan, **fields: object) -> Entry:
    """A file like this, written."""
    path = plan.output(f"{spec.path.stem}-{backend}")
    source = plan.data.source_path(spec.kind, spec.shape)
    request: Fields = {"do": "write", "path": path, "var": "v", "source": source}
    request |= {"type": dtype_of(spec.kind).str[1:]} | spec.layout()
    return Entry(backend, request | fields, output=path)


def netcdf_c_cache(size: int) -> Fields:
    """A setting of netcdf-c's chunk cache, with slots for any number of chunks."""
    return {"cache": size, "slots": 100_003, "setting": f"cache of {size / MIB:.4g} MiB"}


def locked_version(crate: str) -> str:
    """The version of a crate that the workers are built with."""
    lock = (BENCHES.parent / "Cargo.lock").read_text()
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock)
    return f"({crate} {found[1]})" if found else ""


def chunk_name(chunks: tuple[int, ...], kind: str) -> str:
    """The bytes of a chunk as people write them."""
    size = dtype_of(kind).itemsize
    for n in chunks:
        size *= n
    return f"{size // MIB}MiB" if size >= MIB else f"{size // 1024}KiB"
