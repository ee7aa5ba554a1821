"""Digests of files, computed with netCDF4-python from docs/reference/digest.md alone: what ``ncforge digest`` is compared with."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from blake3 import blake3
from numpy.lib.recfunctions import repack_fields

KINDS = ["S1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
CDL = ["char", "byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double"]
NAMES = dict(zip(KINDS, CDL, strict=True))
#: Of storage, and of netCDF itself, which shows the latter in classic files alone.
LEFT_OUT = {
    *("_ChunkSizes", "_DeflateLevel", "_Endianness", "_Filter", "_Fletcher32", "_NoFill", "_Shuffle", "_Storage"),
    *("CLASS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_Format", "_NCProperties", "_Netcdf4Dimid", "_nc3_strict"),
}
OF_FILE = {"history", "NCO", "CDO", "CDI"}


def record(*entries: Any) -> str:
    return blake3(json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def structure(t: Any) -> Any:
    if t is str:
        return "string"
    if isinstance(t, netCDF4.VLType):
        return ["vlen", structure(t.dtype)]
    if isinstance(t, netCDF4.EnumType):
        return ["enum", structure(t.dtype), sorted([name, int(value)] for name, value in t.enum_dict.items())]
    dtype = np.dtype(t.dtype) if isinstance(t, netCDF4.CompoundType) else np.dtype(t)
    if dtype.names:
        return ["compound", [[name, structure(dtype[name].base), list(dtype[name].shape)] for name in dtype.names]]
    return NAMES[dtype.kind + str(dtype.itemsize)]


def canonical(values: Any, t: Any) -> bytes:
    if t is str:
        texts = [text.encode() for text in np.asarray(values, object).flat]
        return b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    if isinstance(t, netCDF4.VLType):
        return b"".join(len(row).to_bytes(8, "little") + canonical(row, t.dtype) for row in values.flat)
    values = np.asarray(values)
    packed = repack_fields(values, recurse=True) if values.dtype.names else values
    return packed.astype(packed.dtype.newbyteorder("<")).tobytes()


def tile(shape: tuple[int, ...]) -> list[int]:
    lens = [1] * len(shape)
    while math.prod(lens) < 8192 and (free := [d for d in range(len(shape)) if lens[d] < shape[d]]):
        lens[min(free, key=lambda d: (d == 0 and lens[d] >= 8, lens[d], -d))] *= 2
    return lens


def attributes(owner: Any, left_out: set[str], fill: Any = None) -> list[Any]:
    """The attributes that count; ``_FillValue`` has the type of its variable."""
    found = []
    for name in sorted(set(owner.ncattrs()) - left_out):
        value = owner.getncattr(name, encoding="latin-1")
        if isinstance(value, str):
            found.append([name, "text", blake3(value.rstrip("\0").encode("latin-1")).hexdigest()])
        else:
            t = fill if name == "_FillValue" else str if isinstance(value, list) else np.asarray(value).dtype
            found.append([name, structure(t), blake3(canonical(value, t)).hexdigest()])
    return found


def reduced(hashes: list[bytes]) -> bytes:
    while len(hashes) > 1:
        hashes = [blake3(b"".join(hashes[i : i + 1024])).digest() for i in range(0, len(hashes), 1024)]
    return hashes[0]


def variable(var: Any) -> tuple[str, str]:
    """The digest of a variable, and that of its values."""
    t = str if var.dtype is str else var.datatype
    lens = tile(var.shape)
    hashes = []
    for start in itertools.product(*(range(0, n, step) for n, step in zip(var.shape, lens, strict=True))):
        box = tuple(slice(a, min(a + step, n)) for a, step, n in zip(start, lens, var.shape, strict=True))
        hashes.append(blake3(canonical(var[box] if box else var[...], t)).digest())
    for n, step in reversed(list(zip(var.shape, lens, strict=True))):
        count = -(-n // step)
        hashes = [reduced(hashes[i : i + count]) for i in range(0, len(hashes), max(count, 1))]
    values = (hashes[0] if hashes else blake3().digest()).hex()
    dims = [[f"{d.group().path.rstrip('/')}/{d.name}", len(d)] for d in var.get_dims()]
    name = getattr(t, "name", None) if isinstance(structure(t), list) else structure(t)
    return record(name, structure(t), dims, attributes(var, LEFT_OUT, t), values), values


def digest(path: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """The digest of a file; those of its variables, and of their values, by path."""
    groups: dict[str, list[Any]] = {}
    found: dict[str, tuple[str, str]] = {}
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        todo: list[Any] = [file]
        while todo:
            group = todo.pop()
            todo += group.groups.values()
            own = {name: variable(var) for name, var in sorted(group.variables.items())}
            found |= {(f"{group.path}/{name}" if group.parent else name): digests for name, digests in own.items()}
            types = sorted({**group.cmptypes, **group.vltypes, **group.enumtypes}.items())
            groups[group.path] = [
                group.path,
                [[name, len(dim)] for name, dim in sorted(group.dimensions.items())],
                [[name, structure(t)] for name, t in types],
                attributes(group, LEFT_OUT if group.parent else LEFT_OUT | OF_FILE),
                [[name, digest] for name, (digest, _) in own.items()],
            ]
    digest = record("ncforge-digest-1", [group for _, group in sorted(groups.items())])
    return digest, {path: d for path, (d, _) in found.items()}, {path: v for path, (_, v) in found.items()}
