"""A parser for VirtualiZarr: netCDF files, classic and netCDF-4, as virtual Zarr stores.

>>> from ncforge.virtualizarr import Parser
>>> from virtualizarr import open_virtual_dataset  # doctest: +SKIP
>>> open_virtual_dataset("file:///data/sst.nc", registry=registry, parser=Parser())  # doctest: +SKIP

It needs VirtualiZarr 2.5 or newer, and ``obstore`` for its registry. Files are parsed without the interpreter's lock, so that
threads parse several at once. Variables that virtual arrays cannot express are left out, each with a warning that has its name
and the reason; strings of variable length need VirtualiZarr 2.6.1 or newer, whose manifests hold chunks in memory.
"""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Iterable
from functools import lru_cache
from inspect import signature
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import numpy as np

from ncforge import _core
from ncforge._dataset.remote import reader_of

try:
    from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore
    from virtualizarr.manifests.utils import create_v3_array_metadata
except ImportError as e:
    raise ImportError("ncforge.virtualizarr needs VirtualiZarr: pip install virtualizarr") from e

if TYPE_CHECKING:
    from obspec_utils.registry import ObjectStoreRegistry

    from ncforge._core import File

__all__ = ["Parser"]

#: Whether manifests hold chunks in memory.
_INLINES = "inlined" in signature(ChunkManifest.from_arrays).parameters


class Parser:
    """Parses a netCDF file: a callable for ``parser=`` of ``open_virtual_dataset`` and its relatives.

    Parameters
    ----------
    group
        The group that becomes the root of the store; the file's root by default.
    drop_variables
        Names of variables that are left out.
    """

    def __init__(self, group: str | None = None, drop_variables: Iterable[str] | None = None) -> None:
        self.group = (group or "").strip("/")
        self.drop_variables = frozenset(drop_variables or ())

    def __call__(self, url: str, registry: ObjectStoreRegistry) -> ManifestStore:
        """The virtual store of the file at `url`, a ``file://`` URL or one for which the registry has a store."""
        file = _opened(url, registry)
        try:
            text, arrays = _core.file_arrays(file, _location(url), None)
        finally:
            file.close()
        about = json.loads(text)
        tree = _Tree(about["groups"])
        for path, zarray, zattrs, files, offsets, lengths, inlined in arrays:
            name = path.rsplit("/", 1)[-1]
            if name in self.drop_variables:
                continue
            if inlined and not _INLINES:
                _leave_out(
                    path, "its values are not ranges of bytes, and manifests of this VirtualiZarr hold nothing else"
                )
                continue
            metadata, grid = _metadata(zarray, zattrs)
            manifest = _manifest(_location(url), grid, files, offsets, lengths, inlined)
            tree.add(path, ManifestArray(metadata=metadata, chunkmanifest=manifest))
        for one in about["left_out"]:
            if one["name"].rsplit("/", 1)[-1] not in self.drop_variables:
                _leave_out(one["name"], one["why"])
        return ManifestStore(group=tree.group(self.group), registry=registry)

    def __repr__(self) -> str:
        return f"Parser(group={self.group!r}, drop_variables={sorted(self.drop_variables)})"


def _leave_out(name: str, why: str) -> None:
    warnings.warn(f"`{name}` is not in the virtual store: {why}", stacklevel=4)


def _opened(url: str, registry: ObjectStoreRegistry) -> File:
    """The file; one that is not local is read by the registry's store, with its credentials."""
    parts = urlparse(url)
    if parts.scheme in ("", "file"):
        return _core.File.open(unquote(parts.path) if parts.scheme else url)
    store, path = registry.resolve(url)
    reader = reader_of(store, path)
    return _core.File.open_reader(url, reader.state[0], reader)


def _location(url: str) -> str:
    """The URL as manifests have it: local paths become URLs."""
    if urlparse(url).scheme:
        return url
    from pathlib import Path

    return Path(url).absolute().as_uri()


class _Tree:
    """Groups and their arrays, by path."""

    def __init__(self, groups: list[dict[str, str]]) -> None:
        self._attrs = {g["path"]: g["zattrs"] for g in groups}
        self._arrays: dict[str, dict[str, ManifestArray]] = {path: {} for path in self._attrs}

    def add(self, path: str, array: ManifestArray) -> None:
        group, _, name = path.rpartition("/")
        self._arrays[group][name] = array

    def group(self, path: str) -> ManifestGroup:
        if path not in self._attrs:
            raise KeyError(f"there is no group `{path}`")
        above = f"{path}/" if path else ""
        below = [p for p in self._attrs if p and p.startswith(above) and "/" not in p[len(above) :]]
        return ManifestGroup(
            arrays=self._arrays[path],
            groups={p[len(above) :]: self.group(p) for p in below},
            attributes=json.loads(self._attrs[path]),
        )


@lru_cache(maxsize=4096)
def _metadata(zarray: str, zattrs: str) -> tuple[Any, tuple[int, ...]]:
    """The metadata of an array, and the shape of its chunk grid. Those of equal variables in many files are one object."""
    array, attributes = json.loads(zarray), json.loads(zattrs)
    dims = attributes.pop("_ARRAY_DIMENSIONS")
    codecs = [_codec(c) for c in array["filters"] or []]
    strings = array["dtype"] == "|O"
    dtype = np.dtypes.StringDType() if strings else np.dtype(array["dtype"])
    metadata = create_v3_array_metadata(
        shape=tuple(array["shape"]),
        data_type=dtype,  # type: ignore[arg-type]
        chunk_shape=tuple(array["chunks"]),
        fill_value=_fill(array["fill_value"], dtype),
        codecs=codecs,
        attributes=attributes,
        dimension_names=dims,
    )
    return metadata, tuple(-(-n // c) for n, c in zip(array["shape"], array["chunks"], strict=True))


def _codec(config: dict[str, Any]) -> dict[str, Any]:
    """A codec of numcodecs as Zarr version 3 names it."""
    name = config["id"]
    configuration = {key: value for key, value in config.items() if key != "id"}
    return {"name": name if name == "vlen-utf8" else f"numcodecs.{name}", "configuration": configuration}


def _fill(value: Any, dtype: Any) -> Any:
    if value is None:
        return None
    if dtype.kind == "S":
        return np.bytes_(base64.standard_b64decode(value))
    return float(value) if dtype.kind == "f" else value


def _manifest(
    location: str, grid: tuple[int, ...], files: Any, offsets: Any, lengths: Any, inlined: dict[int, bytes]
) -> ChunkManifest:
    paths = np.full(grid, location, dtype=np.dtypes.StringDType())
    if (absent := files < 0).any():
        paths[absent.reshape(grid)] = ""
    rest: dict[str, Any] = {}
    if inlined:
        at = {tuple(int(i) for i in np.unravel_index(n, grid)): data for n, data in inlined.items()}
        for index in at:
            paths[index] = _inlined_path()
        rest["inlined"] = at
    return ChunkManifest.from_arrays(
        paths=paths, offsets=offsets.reshape(grid), lengths=lengths.reshape(grid), validate_paths=False, **rest
    )


def _inlined_path() -> str:
    from virtualizarr.manifests import manifest

    return str(manifest.INLINED_CHUNK_PATH)
