"""Tiles as models write them, cut out of a global field with netCDF4-python: what `ncforge combine` is held against.

Nothing here knows ncforge. The conventions are written down from the models' own documentation and sources.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
#: One-dimensional parts: first point and length.
Parts = list[tuple[int, int]]


def parts(n: int, k: int) -> Parts:
    """``n`` points in ``k`` parts whose lengths differ by one at most."""
    edges = [round(i * n / k) for i in range(k + 1)]
    return [(a, b - a) for a, b in itertools.pairwise(edges)]


@dataclass
class Field:
    """A variable of the whole."""

    dims: tuple[str, ...]
    values: Array
    attrs: dict[str, Any] = field(default_factory=dict)
    fill: Any = None


@dataclass
class Whole:
    """All variables of a file, and which of its dimensions are unlimited."""

    fields: dict[str, Field]
    unlimited: tuple[str, ...] = ("t",)
    attrs: dict[str, Any] = field(default_factory=dict)

    def dims(self) -> dict[str, int]:
        """Dimensions and lengths, in the order of first use."""
        out: dict[str, int] = {}
        for f in self.fields.values():
            for name, n in zip(f.dims, f.values.shape, strict=True):
                out.setdefault(name, n)
        return out


@dataclass
class Tile:
    """Where one tile lies: by dimension the range of the whole that its file holds, halo included."""

    spans: dict[str, tuple[int, int]]
    attrs: dict[str, Any]
    var_attrs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Storage:
    """How tiles are stored."""

    format: str = "NETCDF3_64BIT_OFFSET"
    zlib: bool = False
    chunks: dict[str, int] | None = None
    fletcher32: bool = False
    endian: str = "native"


def write(
    path: Path,
    whole: Whole,
    tile: Tile,
    storage: Storage,
    first_dims: Iterable[tuple[str, int]] = (),
    only: Callable[[str], bool] = lambda _name: True,
) -> None:
    """Writes one tile."""
    kind_of_file: Any = storage.format
    with netCDF4.Dataset(path, "w", format=kind_of_file) as ds:
        ds.set_auto_maskandscale(False)
        for name, n in first_dims:
            ds.createDimension(name, n)
        fields = {k: f for k, f in whole.fields.items() if only(k)}
        for name, n in whole.dims().items():
            if not any(name in f.dims for f in fields.values()):
                continue
            low, high = tile.spans.get(name, (0, n))
            ds.createDimension(name, None if name in whole.unlimited else high - low)
        for name, f in fields.items():
            lens = [tile.spans.get(d, (0, n)) for d, n in zip(f.dims, f.values.shape, strict=True)]
            chunks = None
            if storage.chunks is not None and f.dims:
                chunks = [
                    min(storage.chunks.get(d, b - a), max(b - a, 1)) for d, (a, b) in zip(f.dims, lens, strict=True)
                ]
            options: dict[str, Any] = {}
            if storage.format.startswith("NETCDF4") and f.dims and f.values.dtype != object:
                options = {
                    "zlib": storage.zlib,
                    "shuffle": storage.zlib,
                    "complevel": 1,
                    "chunksizes": chunks,
                    "fletcher32": storage.fletcher32,
                    "endian": storage.endian,
                }
            kind: Any = str if f.values.dtype == object else f.values.dtype
            if kind is not str and storage.endian == "big":
                kind = kind.newbyteorder(">")
            v = ds.createVariable(name, kind, f.dims, fill_value=f.fill, **options)
            v.set_auto_maskandscale(False)
            for k, value in {**f.attrs, **tile.var_attrs.get(name, {})}.items():
                v.setncattr(k, value)
            part = f.values[tuple(slice(a, b) for a, b in lens)]
            v[...] = part if f.dims else part[()]
        for k, value in {**whole.attrs, **tile.attrs}.items():
            ds.setncattr(k, value)


@dataclass
class Mosaic:
    """A set of tiles on disk."""

    paths: list[Path]
    #: By tile: ranges of the whole that it gives, by dimension (halo not included).
    given: list[dict[str, tuple[int, int]]]


def expected(whole: Whole, mosaic: Mosaic, name: str, hole: Any) -> Array:
    """The values of a variable, with ``hole`` where no tile is."""
    f = whole.fields[name]
    split = {d for g in mosaic.given for d in g} & set(f.dims)
    if not split:
        return f.values
    out = np.full_like(f.values, hole)
    for given in mosaic.given:
        box = tuple(slice(*given.get(d, (0, n))) for d, n in zip(f.dims, f.values.shape, strict=True))
        out[box] = f.values[box]
    return out


def nemo(
    folder: Path,
    whole: Whole,
    tiling: tuple[int, int],
    storage: Storage,
    *,
    halo: int = 0,
    land: Iterable[int] = (),
    width: int = 4,
    first_dims: Iterable[tuple[str, int]] = (),
    base: str = "nemo",
    dims: tuple[str, str] = ("x", "y"),
    start: int = 0,
) -> Mosaic:
    """NEMO / XIOS: rows of ``tiling[1]`` tiles, ``land`` ones left out; ``halo`` points at inner edges."""
    nx, ny = (whole.dims()[d] for d in dims)
    boxes = [(y, x) for y in parts(ny, tiling[0]) for x in parts(nx, tiling[1])]
    boxes = [b for i, b in enumerate(boxes) if i not in set(land)]
    order = [name for name, _ in first_dims] + list(whole.dims())
    out = Mosaic([], [])
    for rank, ((y0, yn), (x0, xn)) in enumerate(boxes):
        low = [min(halo, x0), min(halo, y0)]
        high = [min(halo, nx - x0 - xn), min(halo, ny - y0 - yn)]
        spans = {dims[0]: (x0 - low[0], x0 + xn + high[0]), dims[1]: (y0 - low[1], y0 + yn + high[1])}
        ints = lambda values: np.array(list(values), np.int32)  # noqa: E731
        attrs = {
            "DOMAIN_number_total": np.int32(len(boxes)),
            "DOMAIN_number": np.int32(rank),
            "DOMAIN_dimensions_ids": ints(order.index(d) + 1 for d in dims),
            "DOMAIN_size_global": ints((nx, ny)),
            "DOMAIN_size_local": ints(spans[d][1] - spans[d][0] for d in dims),
            "DOMAIN_position_first": ints(spans[d][0] + 1 for d in dims),
            "DOMAIN_position_last": ints(spans[d][1] for d in dims),
            "DOMAIN_halo_size_start": ints(low),
            "DOMAIN_halo_size_end": ints(high),
            "DOMAIN_type": "BOX",
            "file_name": f"{base}_{rank:0{width}d}.nc",
        }
        path = folder / f"{base}_{rank + start:0{width}d}.nc"
        write(path, whole, Tile(spans, attrs), storage, first_dims)
        out.paths.append(path)
        out.given.append({dims[0]: (x0, x0 + xn), dims[1]: (y0, y0 + yn)})
    return out


def fms(
    folder: Path,
    whole: Whole,
    tiling: tuple[int, int],
    storage: Storage,
    *,
    masked: Iterable[int] = (),
    width: int = 4,
    first: tuple[int, int] = (1, 1),
    symmetric: bool = False,
    base: str = "ocean.nc",
) -> Mosaic:
    """FMS: dimensions ``x``, ``y`` and, if ``symmetric``, corners ``xq``, ``yq`` one point longer. The coordinate
    variables must be among the fields. Numbers are those of the ranks that are not masked."""
    n = whole.dims()
    boxes = [(y, x) for y in parts(n["y"], tiling[0]) for x in parts(n["x"], tiling[1])]
    boxes = [b for i, b in enumerate(boxes) if i not in set(masked)]
    out = Mosaic([], [])
    for rank, ((y0, yn), (x0, xn)) in enumerate(boxes):
        spans = {"x": (x0, x0 + xn), "y": (y0, y0 + yn)}
        if symmetric:
            # The first process has the point before the first one, too.
            spans["xq"] = (x0 + (x0 > 0), x0 + xn + 1)
            spans["yq"] = (y0 + (y0 > 0), y0 + yn + 1)
        var_attrs = {}
        for d, (a, b) in spans.items():
            g0 = first[0] if d.startswith("x") else first[1]
            var_attrs[d] = {"domain_decomposition": np.array([g0, g0 + n[d] - 1, g0 + a, g0 + b - 1], np.int32)}
        attrs = {"filename": base, "NumFilesInSet": np.int32(len(boxes))}
        path = folder / f"{base}.{rank:0{width}d}"
        write(path, whole, Tile(spans, attrs, var_attrs), storage)
        out.paths.append(path)
        out.given.append(spans)
    return out


def roms(folder: Path, whole: Whole, tiling: tuple[int, int], storage: Storage, *, base: str = "roms_his") -> Mosaic:
    """ROMS (UCLA): ``xi_rho``, ``eta_rho``, and ``xi_u``, ``eta_v`` one point shorter."""
    n = whole.dims()
    boxes = [(y, x) for y in parts(n["eta_rho"], tiling[0]) for x in parts(n["xi_rho"], tiling[1])]
    digits = len(str(len(boxes) - 1))
    out = Mosaic([], [])
    for node, ((y0, yn), (x0, xn)) in enumerate(boxes):
        spans = {"xi_rho": (x0, x0 + xn), "eta_rho": (y0, y0 + yn)}
        if "xi_u" in n:
            spans["xi_u"] = (max(x0 - 1, 0), x0 + xn - 1)
        if "eta_v" in n:
            spans["eta_v"] = (max(y0 - 1, 0), y0 + yn - 1)
        attrs = {"partition": np.array([node, len(boxes), x0 + 1, y0 + 1], np.int32)}
        path = folder / f"{base}.{node:0{digits}d}.nc"
        write(path, whole, Tile(spans, attrs), storage)
        out.paths.append(path)
        out.given.append(spans)
    return out


def wrf(folder: Path, whole: Whole, tiling: tuple[int, int], storage: Storage) -> Mosaic:
    """WRF: ``west_east``, ``south_north``, ``bottom_top`` (not split) and their staggered ones."""
    n = whole.dims()
    nx, ny, nz = n["west_east"], n["south_north"], n.get("bottom_top", 1)
    boxes = [(y, x) for y in parts(ny, tiling[0]) for x in parts(nx, tiling[1])]
    out = Mosaic([], [])
    for rank, ((y0, yn), (x0, xn)) in enumerate(boxes):
        spans = {
            "west_east": (x0, x0 + xn),
            "south_north": (y0, y0 + yn),
            "west_east_stag": (x0, x0 + xn + (x0 + xn == nx)),
            "south_north_stag": (y0, y0 + yn + (y0 + yn == ny)),
        }
        attrs: dict[str, Any] = {}
        for name, dim, points in (("WEST-EAST", "west_east", nx), ("SOUTH-NORTH", "south_north", ny)):
            attrs[f"{name}_GRID_DIMENSION"] = np.int32(points + 1)
            for kind, end in (("UNSTAG", ""), ("STAG", "_stag")):
                a, b = spans[dim + end]
                attrs[f"{name}_PATCH_START_{kind}"] = np.int32(a + 1)
                attrs[f"{name}_PATCH_END_{kind}"] = np.int32(b)
        attrs["BOTTOM-TOP_GRID_DIMENSION"] = np.int32(nz + 1)
        for kind, extra in (("UNSTAG", 0), ("STAG", 1)):
            attrs[f"BOTTOM-TOP_PATCH_START_{kind}"] = np.int32(1)
            attrs[f"BOTTOM-TOP_PATCH_END_{kind}"] = np.int32(nz + extra)
        path = folder / f"wrfout_d01_2001-01-01_00:00:00_{rank:04d}"
        write(path, whole, Tile(spans, attrs), storage)
        out.paths.append(path)
        out.given.append(spans)
    return out


def mitgcm(folder: Path, whole: Whole, tiling: tuple[int, int], storage: Storage) -> Mosaic:
    """MITgcm's MNC: equal tiles; ``X``, ``Y`` and corners ``Xp1``, ``Yp1`` that neighbours share."""
    n = whole.dims()
    sy, sx = n["Y"] // tiling[0], n["X"] // tiling[1]
    out = Mosaic([], [])
    for t in range(tiling[0] * tiling[1]):
        y0, x0 = t // tiling[1] * sy, t % tiling[1] * sx
        spans = {"X": (x0, x0 + sx), "Y": (y0, y0 + sy), "Xp1": (x0, x0 + sx + 1), "Yp1": (y0, y0 + sy + 1)}
        one = {"sNx": sx, "sNy": sy, "OLx": 3, "OLy": 3, "nSx": 1, "nSy": 1, "nPx": tiling[1], "nPy": tiling[0]}
        attrs = {k: np.int32(v) for k, v in one.items()}
        attrs |= {"tile_number": np.int32(t + 1), "bi": np.int32(1), "bj": np.int32(1)}
        attrs |= {"Nx": np.int32(n["X"]), "Ny": np.int32(n["Y"]), "Nr": np.int32(1)}
        path = folder / f"state.0000000000.t{t + 1:03d}.nc"
        write(path, whole, Tile(spans, attrs), storage)
        out.paths.append(path)
        out.given.append(spans)
    return out


def check(path: Path, whole: Whole, mosaic: Mosaic, holes: dict[str, Any] | None = None) -> None:
    """Asserts that a file is the whole, bit by bit, in values, types, dimensions and attributes."""
    with netCDF4.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        ds.set_auto_chartostring(False)
        lens = {d: len(x) for d, x in ds.dimensions.items()}
        for d, n in whole.dims().items():
            assert lens[d] == n, (d, lens[d], n)
            assert ds.dimensions[d].isunlimited() == (d in whole.unlimited), d
        for name, f in whole.fields.items():
            v = ds.variables[name]
            assert v.dimensions == f.dims, name
            got = np.asarray(v[...])
            got = got.astype(got.dtype.newbyteorder("="))
            want = expected(whole, mosaic, name, (holes or {}).get(name, 0))
            if want.dtype != object:
                assert got.dtype == want.dtype, (name, v.dtype, want.dtype)
            same = (
                got.tobytes() == np.ascontiguousarray(want).tobytes() if want.dtype != object else (got == want).all()
            )
            assert same, f"{name}: {np.argwhere(got != want)[:3].tolist()}"
            for k, value in f.attrs.items():
                assert np.array_equal(v.getncattr(k), value), (name, k)
