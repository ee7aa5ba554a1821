"""Random arrays of which only a part is stored: what nobody wrote reads alike by all libraries, whatever is done with the file.

h5py, netCDF4 and ncforge write boxes of arrays with every kind of fill value, or none; arrays are also shorter than their unlimited
dimension. netCDF4 and h5py judge what ncforge reads, copies (moved as they are and encoded again), changes in place, compares,
combines, zips, and what references say.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ncforge
from peers import CLASSIC
from virtual import opened

pytest.importorskip("zarr")

#: Two tiles lie side by side along `y`.
ROWS, COLUMNS = 3, 2
#: How a copy is stored.
COPIES: list[dict[str, Any]] = [
    {},
    {"format": "netcdf4", "codec": "deflate"},
    {"format": "netcdf4", "chunks": "t/2,y/3,x/1"},
    {"format": "netcdf4", "chunks": "t/1,y/2,x/2", "codec": "zstd"},
    {"format": "netcdf4", "chunks": "t/2,y/2,x/2", "skip_fill": True},
    {"format": "cdf5"},
    {"format": "netcdf4-classic", "chunks": "/"},
]
ENUM = {"no": 0, "yes": 1}

Box = tuple[slice, ...]


@dataclass(frozen=True)
class Part:
    """An array, and what is written of it."""

    kind: str
    dims: tuple[str, ...]
    #: `None`: netCDF's default, and no value at all of h5py's. `False`: not filled.
    fill: Any
    chunks: tuple[int, ...] | None
    deflated: bool
    #: By tile.
    boxes: tuple[tuple[Box, ...], ...]
    #: Of a dataset of h5py's along `t`.
    length: int

    def size(self, records: int) -> tuple[int, ...]:
        """Its lengths."""
        lens = {"t": records, "y": ROWS, "x": COLUMNS}
        return tuple(lens[d] for d in self.dims)


@dataclass(frozen=True)
class Case:
    """How a file is made."""

    writer: str
    format: Any
    records: int
    parts: dict[str, Part]

    def known(self, name: str, tile: int) -> Any:
        """The elements that have a value: of an array that is not filled, those that were written."""
        part = self.parts[name]
        known = np.full(part.size(self.records), part.fill is not False)
        for box in part.boxes[tile]:
            known[box] = True
        return known


def value(kind: str, at: int) -> Any:
    """Some value of a type, never a fill value."""
    return {"S1": b"abc"[at % 3 : at % 3 + 1], "str": f"word {at}", "enum": 1}.get(kind, at % 5 + 1)


@st.composite
def boxes(draw: st.DrawFn, lens: tuple[int, ...]) -> Box:
    if 0 in lens:
        return tuple(slice(0, 0) for _ in lens)
    starts = [draw(st.integers(0, n - 1)) for n in lens]
    return tuple(slice(a, draw(st.integers(a + 1, n))) for a, n in zip(starts, lens, strict=True))


@st.composite
def arrays(draw: st.DrawFn, writer: str, format: str, records: int) -> Part:
    classic = format in CLASSIC
    kinds = ["i1", "i2", "f4", "f8", "S1"]
    if format in {"NETCDF4", "NETCDF3_64BIT_DATA"}:
        kinds += ["u1", "i8"]
    if format == "NETCDF4":
        kinds += ["enum", ">f8"]
        kinds += ["str"] if writer != "h5py" else []
    kind = draw(st.sampled_from(kinds))
    dims = draw(st.sampled_from([("t",), ("y", "x"), ("t", "y"), ("t", "y", "x")]))
    fills: list[Any] = [None, None, 9 if kind not in {"S1", "str", "enum"} else None]
    if writer != "h5py":
        fills.append(False)
    elif kind not in {"S1", "enum"}:
        fills += [0, "default"]
    length = draw(st.integers(0, records)) if writer == "h5py" else records
    most = {"t": length, "y": ROWS, "x": COLUMNS}
    lens = tuple(most[d] for d in dims)
    chunks = None
    if not classic and kind != "str" and ("t" in dims or draw(st.booleans())):
        chunks = tuple(draw(st.integers(1, 3 if d == "t" else most[d])) for d in dims)
    written = [tuple(draw(st.lists(boxes(lens), max_size=2))) for _ in range(2 if "y" in dims else 1)]
    return Part(
        kind,
        dims,
        draw(st.sampled_from(fills)),
        chunks,
        chunks is not None and draw(st.booleans()),
        (written[0], written[-1]),
        length,
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    writer = draw(st.sampled_from(["h5py", "netCDF4", "ncforge"]))
    format = (
        "NETCDF4" if writer == "h5py" else draw(st.sampled_from([*CLASSIC, "NETCDF4_CLASSIC", "NETCDF4", "NETCDF4"]))
    )
    records = draw(st.integers(1, 7))
    parts = draw(st.lists(arrays(writer, format, records), min_size=1, max_size=4))
    return Case(writer, format, records, {f"v{i}": part for i, part in enumerate(parts)})


# Writers


def make(case: Case, folder: Path, tile: int) -> Path:
    """A tile of FMS's."""
    path = folder / f"made.nc.{tile:04}"
    (_by_h5py if case.writer == "h5py" else _by_netcdf)(case, path, tile)
    return path


def rows(tile: int) -> Any:
    return np.arange(ROWS, dtype="f8") + tile * ROWS


def domain(tile: int) -> Any:
    return np.array([1, 2 * ROWS, tile * ROWS + 1, (tile + 1) * ROWS], "i4")


def _by_netcdf(case: Case, path: Path, tile: int) -> None:
    lib = {"netCDF4": netCDF4, "ncforge": ncforge}[case.writer]
    with lib.Dataset(path, "w", format=case.format) as ds:
        ds.NumFilesInSet = np.int32(2)
        for name, length in (("t", None), ("y", ROWS), ("x", COLUMNS)):
            ds.createDimension(name, length)
        ds.createVariable("y", "f8", ("y",))[:] = rows(tile)
        ds["y"].domain_decomposition = domain(tile)
        kinds: dict[str, Any] = {"str": str, ">f8": "f8"}
        if any(part.kind == "enum" for part in case.parts.values()):
            kinds["enum"] = ds.createEnumType("i2", "enum_t", ENUM)
        for name, part in case.parts.items():
            how: dict[str, Any] = {"fill_value": part.fill}
            if case.format not in CLASSIC:
                how |= {"chunksizes": part.chunks, "zlib": part.deflated}
                how |= {"endian": "big"} if part.kind == ">f8" else {}
            ds.createVariable(name, kinds.get(part.kind, part.kind), part.dims, **how).set_auto_maskandscale(False)
        ds.createVariable("t", "f8", ("t",))[:] = np.arange(case.records)
        for name, part in case.parts.items():
            for i, box in enumerate(part.boxes[tile]):
                ds[name][box] = _filled(part, box, i)


def _by_h5py(case: Case, path: Path, tile: int) -> None:
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["NumFilesInSet"] = np.int32(2)
        file.create_dataset("t", data=np.arange(float(case.records)), maxshape=(None,), chunks=(2,))
        file["y"] = rows(tile)
        file["y"].attrs["domain_decomposition"] = domain(tile)
        file["x"] = np.arange(float(COLUMNS))
        for name in "tyx":
            file[name].make_scale(name)
        kinds = {"enum": h5py.enum_dtype(ENUM, basetype="i2")}
        for name, part in case.parts.items():
            shape = part.size(part.length)
            most = tuple(None if d == "t" else n for d, n in zip(part.dims, shape, strict=True))
            how: dict[str, Any] = {"chunks": part.chunks, "maxshape": most} if part.chunks else {}
            fill = netCDF4.default_fillvals[np.dtype(part.kind).str[1:]] if part.fill == "default" else part.fill
            compression = "gzip" if part.deflated else None
            v = file.create_dataset(
                name, shape, kinds.get(part.kind, part.kind), fillvalue=fill, compression=compression, **how
            )
            if part.fill not in (None, 0):
                v.attrs["_FillValue"] = np.array([fill], part.kind)
            for d, dim in enumerate(part.dims):
                v.dims[d].attach_scale(file[dim])
            for i, box in enumerate(part.boxes[tile]):
                v[box] = _filled(part, box, i)


def _filled(part: Part, box: Box, seed: int) -> Any:
    shape = tuple(s.stop - s.start for s in box)
    if part.kind == "str":
        return np.full(shape, value("str", seed), object)
    return np.full(shape, value(part.kind, seed), "i2" if part.kind == "enum" else part.kind)


# Judges


def held(path: Path, lib: Any) -> dict[str, Any]:
    """All values of a file, as stored."""
    with lib.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        ds.set_auto_chartostring(False)
        return {name: np.asarray(v[...]) for name, v in ds.variables.items()}


def check(got: dict[str, Any], want: dict[str, Any], known: dict[str, Any], where: Any) -> None:
    """Values are equal, where they are known."""
    assert got.keys() >= want.keys(), where
    for name, values in want.items():
        assert got[name].shape == values.shape, (where, name)
        of = known.get(name, np.full(values.shape, True))
        np.testing.assert_array_equal(got[name][of], values[of], f"{where} {name}")


def check_by_h5py(path: Path, want: dict[str, Any], known: dict[str, Any], where: Any) -> None:
    """HDF5's part of each array is what netCDF has there."""
    with h5py.File(path) as file:
        for name, values in want.items():
            v = file[name]
            inside = tuple(slice(n) for n in v.shape)
            got = v.asstr()[...] if values.dtype == object else v[...]
            of = known.get(name, np.full(values.shape, True))[inside]
            np.testing.assert_array_equal(got[of], values[inside][of], f"{where} {name}")


def is_hdf5(path: Path) -> bool:
    return bool(h5py.is_hdf5(path))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """zarr-python warns of types without a specification."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def copies(case: Case, path: Path, want: dict[str, Any], known: dict[str, Any]) -> None:
    for number, how in enumerate(COPIES):
        if how.get("format") in {"cdf5", "netcdf4-classic"} and any(
            part.kind in {"enum", "str"} for part in case.parts.values()
        ):
            continue
        if how.get("format") == "netcdf4-classic" and any(p.kind in {"u1", "i8"} for p in case.parts.values()):
            continue
        out = path.with_name(f"copy{number}.nc")
        ncforge.copy(path, out, verify=True, **how)
        check(held(out, netCDF4), want, known, how)
        check(held(out, ncforge), want, known, how)
        if is_hdf5(out):
            check_by_h5py(out, want, known, how)
        if all(of.all() for of in known.values()):
            assert ncforge.compare(path, out), how


def differences(case: Case, path: Path, data: st.DataObject) -> None:
    """One value more is one difference, wherever it is."""
    names = [n for n, p in case.parts.items() if p.fill is not False and 0 not in p.size(case.records)]
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    at = tuple(data.draw(st.integers(0, n - 1)) for n in case.parts[name].size(case.records))
    other = path.with_name("other.nc")
    ncforge.copy(path, other)
    new = {"S1": b"z", "str": "other", "enum": 1}.get(case.parts[name].kind, 77)
    with netCDF4.Dataset(other, "a") as ds:
        ds.set_auto_maskandscale(False)
        same = np.asarray(ds[name][at]) == np.asarray(new)
        ds[name][at] = new
    for pair in ((path, other), (other, path)):
        report = ncforge.compare(*pair)
        assert report.same == bool(same), (name, at, pair)
        assert report.differing_values == int(not same), (name, at, pair)


def updates(case: Case, path: Path, want: dict[str, Any], known: dict[str, Any], data: st.DataObject) -> None:
    """A session that writes no value, and one that writes the same values by both libraries."""
    ours, theirs = path.with_name("ours.nc"), path.with_name("theirs.nc")
    shutil.copy(path, ours)
    with ncforge.Dataset(ours, "a") as ds:
        ds.title = "changed"
        ds.set_auto_maskandscale(False)
        ds.set_auto_chartostring(False)
        check({n: np.asarray(v[...]) for n, v in ds.variables.items()}, want, known, "while it is changed")
    check(held(ours, netCDF4), want, known, "a title")
    if is_hdf5(ours):
        check_by_h5py(ours, want, known, "a title")
    name = data.draw(st.sampled_from([*case.parts, "t"]))
    dims = ("t",) if name == "t" else case.parts[name].dims
    grown = case.records + data.draw(st.integers(0, 3))
    lens = tuple({"t": grown, "y": ROWS, "x": COLUMNS}[d] for d in dims)
    box = data.draw(boxes(lens))
    part = case.parts.get(name, Part("f8", dims, None, None, False, ((), ()), 0))
    shutil.copy(path, theirs)
    shutil.copy(path, ours)
    for lib, written in ((ncforge, ours), (netCDF4, theirs)):
        with lib.Dataset(written, "a") as ds:
            ds[name][box] = _filled(part, box, 7)
    want = held(theirs, netCDF4)
    known = {
        n: _grown(of, want[n].shape, n in case.parts and case.parts[n].fill is not False) for n, of in known.items()
    }
    if name in known:
        known[name][box] = True
    check(held(ours, netCDF4), want, known, ("written", name, box))
    check(held(ours, ncforge), want, known, ("written", name, box))
    if is_hdf5(ours):
        check_by_h5py(ours, want, known, ("written", name, box))


def _grown(known: Any, shape: tuple[int, ...], new: bool) -> Any:
    out = np.full(shape, new)
    out[tuple(slice(n) for n in known.shape)] = known
    return out


def references(path: Path, want: dict[str, Any], known: dict[str, Any]) -> None:
    for inline in (0, "64K"):
        group = opened(ncforge.references(path, inline=inline))
        got = {name: np.asarray(group[name][...]) for name in want if want[name].dtype != object}
        check(got, {name: want[name] for name in got}, known, "references")


def combined(case: Case, tiles: list[Path]) -> None:
    split = [n for n, p in case.parts.items() if "y" in p.dims]
    if not split:
        return
    want = [held(tile, netCDF4) for tile in tiles]
    known = {}
    for name in split:
        axis = case.parts[name].dims.index("y")
        known[name] = np.concatenate([case.known(name, tile) for tile in range(2)], axis)
    dims = {d for name in split for d in case.parts[name].dims}
    chunks = ",".join(f"{d}/{n}" for d, n in (("t", 2), ("y", 2), ("x", 1)) if d in dims)
    ways: list[dict[str, Any]] = [
        {},
        {"format": "netcdf4", "codec": "deflate"},
        {"format": "netcdf4", "chunks": chunks},
    ]
    for how in ways:
        out = tiles[0].with_name("whole.nc")
        ncforge.combine(
            tiles,
            out,
            overwrite=True,
            verify=True,
            vars=[*split, "y", *(["x"] if case.writer == "h5py" else [])],
            **how,
        )
        whole = {"y": np.concatenate([w["y"] for w in want])}
        for name in split:
            axis = case.parts[name].dims.index("y")
            whole[name] = np.concatenate([w[name] for w in want], axis)
        check(held(out, netCDF4), whole, known, ("combined", how))
        check(held(out, ncforge), whole, known, ("combined", how))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.data())
def test_absent_elements(case: Case, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tiles = [make(case, Path(folder), tile) for tile in range(2)]
        path = tiles[0]
        known = {name: case.known(name, 0) for name in case.parts}
        want = held(path, netCDF4)
        check(held(path, ncforge), want, known, "read")
        if is_hdf5(path):
            check_by_h5py(path, want, known, "read")
        else:
            ncforge.zip(path, path.with_name("zipped.ncz"))
            check(held(path.with_name("zipped.ncz"), ncforge), want, known, "zipped")
        copies(case, path, want, known)
        differences(case, path, data)
        updates(case, path, want, known, data)
        references(path, want, known)
        combined(case, tiles)
