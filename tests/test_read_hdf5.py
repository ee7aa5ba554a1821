"""ncforge reads the values of netCDF-4 and HDF5 files that netCDF4-python and h5py read.

The files are made by ``make_hdf5_cases.py``; ncforge's reading comes from the example ``dump_json``, which
prints schema and values from layouts and chunk records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from commands import execute
from conftest import built_example

# netCDF4-python warns of types that it leaves out.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ROOT = Path(__file__).resolve().parent.parent
ATOMIC = {
    "byte": "i1",
    "char": "S1",
    "short": "i2",
    "int": "i4",
    "float": "f4",
    "double": "f8",
    "ubyte": "u1",
    "ushort": "u2",
    "uint": "u4",
    "int64": "i8",
    "uint64": "u8",
}
HIDDEN = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid"}
HIDDEN |= {"_NCProperties", "_nc3_strict"}


@pytest.fixture(scope="session")
def dump_json() -> Path:
    """The example that prints a file, built if need be."""
    return built_example("dump_json")


def dump(program: Path, path: Path) -> dict[str, Any]:
    """A file as ncforge sees it."""
    out = execute(program, path).stdout
    dumped: dict[str, Any] = json.loads(out)
    return dumped


class Seen:
    """A dump with its types turned into numpy's."""

    def __init__(self, dumped: dict[str, Any]) -> None:
        self.dumped = dumped

    def dtype(self, name: Any) -> np.dtype:
        """The numpy type of a type of fixed size."""
        if isinstance(name, str):
            return np.dtype(ATOMIC[name])
        kind = self.dumped["types"][name["user"]]["kind"]
        if "enum" in kind:
            return np.dtype(ATOMIC[kind["enum"]])
        if "opaque" in kind:
            return np.dtype(f"V{kind['opaque']}")
        fields = kind["fields"]
        return np.dtype(
            {
                "names": [f["name"] for f in fields],
                "formats": [(self.dtype(f["dtype"]), tuple(f["shape"])) for f in fields],
                "offsets": [f["offset"] for f in fields],
                "itemsize": kind["compound"],
            }
        )

    def fixed(self, name: Any, values: dict[str, Any]) -> np.ndarray:
        """Values of fixed size."""
        return np.frombuffer(bytes.fromhex(values["hex"]), self.dtype(name))

    def row_type(self, name: dict[str, Any]) -> np.dtype:
        """The type of a ragged row's elements."""
        return self.dtype(self.dumped["types"][name["user"]]["kind"]["vlen"])


def same(ours: np.ndarray, theirs: Any) -> None:
    """Equal bit for bit, field for field; NaN equal to NaN."""
    theirs = np.ma.getdata(theirs) if isinstance(theirs, np.ma.MaskedArray) else np.asarray(theirs)
    if ours.dtype.names:
        if theirs.dtype.names is None:  # complex numbers
            theirs = theirs.view([("r", theirs.real.dtype), ("i", theirs.real.dtype)])
        assert ours.dtype.names == theirs.dtype.names
        for name in ours.dtype.names:
            same(ours[name], theirs[name])
        return
    if ours.dtype == "S1" and theirs.dtype != "S1":
        # Fixed-length text in a compound.
        theirs = np.ascontiguousarray(theirs)
        theirs = theirs.view("S1").reshape(*theirs.shape, theirs.dtype.itemsize)
    assert ours.size == theirs.size
    theirs = theirs.reshape(ours.shape)
    if ours.dtype.kind == "V":
        assert ours.tobytes() == theirs.tobytes()
        return
    if theirs.dtype == bool:
        theirs = theirs.astype("i1")
    np.testing.assert_array_equal(ours, theirs)
    if ours.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


def text(value: Any) -> str:
    """Text of a string as any reader gives it; a null string is empty."""
    if value is None:
        return ""
    return value.decode("utf-8", "replace").rstrip("\0") if isinstance(value, bytes) else str(value)


def check_values(seen: Seen, name: Any, values: dict[str, Any], theirs: Any) -> None:
    """Values of any type against an array of numpy."""
    if "hex" in values:
        same(seen.fixed(name, values), theirs)
        return
    ours = values["heap"]
    theirs = np.asarray(theirs)
    if theirs.dtype.kind == "U" or theirs.dtype.kind == "S" or name == "string":
        assert ours == [None] * 0 + [o if o is None else text(o) for o in ours]
        assert [text(o) for o in ours] == [text(t) for t in theirs.ravel()]
        return
    if theirs.dtype.names:
        for i, field in enumerate(theirs.dtype.names):
            for one, their in zip(ours, theirs.ravel()[field], strict=True):
                if isinstance(one[i], str):
                    assert one[i] == text(their)
                else:
                    assert bytes.fromhex(one[i]["hex"]) == np.asarray(their).tobytes()
        return
    assert theirs.dtype == object
    for one, their in zip(ours, theirs.ravel(), strict=True):
        row = np.frombuffer(bytes.fromhex(one["row"]), seen.row_type(name))
        their = np.zeros(0, row.dtype) if their is None else their
        np.testing.assert_array_equal(row, their)


def check_with_h5py(seen: Seen, path: Path) -> int:
    """All values against h5py; gives the number of variables compared."""
    compared = 0
    with h5py.File(path, "r") as f:
        for v in seen.dumped["vars"]:
            inside = f"{v['group'].rstrip('/')}/{v['name']}"
            prefixed = f"{v['group'].rstrip('/')}/_nc4_non_coord_{v['name']}"
            d = f[prefixed] if prefixed in f else f[inside]
            if "error" in v["values"]:
                error = v["values"]["error"]
                assert "virtual" in error, error
                continue
            try:
                theirs = d[()]
            except OSError:
                # A filter that this h5py has not, strings that were never written: netCDF4 reads those.
                continue
            if v["name"] == "short_unfilled":
                # Beyond the dataset's end is netCDF's default fill value, of which h5py knows nothing.
                continue
            if list(d.shape) != v["shape"]:
                # Elements beyond the dataset's own extent read as its fill value.
                whole = np.full(v["shape"], d.fillvalue, d.dtype)
                whole[tuple(slice(n) for n in d.shape)] = theirs
                theirs = whole
            check_values(seen, v["dtype"], v["values"], theirs)
            compared += 1
    return compared


def check_with_netcdf(seen: Seen, path: Path) -> int:
    """Dimensions, variables, types, attributes and values against netCDF4-python."""
    compared = 0
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_maskandscale(False)
        nc.set_auto_chartostring(False)
        groups = {g["path"]: g for g in seen.dumped["groups"]}
        walked = {}

        def walk(g: netCDF4.Dataset) -> None:
            walked[g.path] = g
            for child in g.groups.values():
                walk(child)

        walk(nc)
        assert list(walked) == list(groups)
        for where, g in walked.items():
            dims = [d for d in seen.dumped["dims"] if d["group"] == where]
            theirs = [(d.name, len(d), d.isunlimited()) for d in g.dimensions.values()]
            assert [(d["name"], d["len"], d["unlimited"]) for d in dims] == theirs
            check_attrs(seen, groups[where]["attrs"], g)
            ours = [v for v in seen.dumped["vars"] if v["group"] == where]
            # netCDF4-python has no opaque types, and no strings in compounds. netCDF-C takes a 2-byte float for a string.
            ours = [v for v in ours if v["name"] not in {"opaque", "text_in_compound", "half"}]
            names = [name for name in g.variables if name != "half"]
            assert [v["name"] for v in ours] == names
            for v in ours:
                var = g.variables[v["name"]]
                assert v["dims"] == list(var.dimensions)
                check_attrs(seen, v["attrs"], var)
                compared += 1
                # netCDF-C gets these wrong: where an unlimited dimension is longer than a dataset that has it
                # inside, or has two of them, it appends fill values (too few of them) to the end of the data.
                # Of text in a compound it sees the first byte.
                wrong = (path.name == "nc_unlimited.nc" and v["name"] in {"late", "a"}) or v["name"] == "mixed"
                if "error" not in v["values"] and not wrong:
                    check_values(seen, v["dtype"], v["values"], var[...])
    return compared


def check_attrs(seen: Seen, ours: list[dict[str, Any]], g: Any) -> None:
    """Attributes: names, order, values. What netCDF-C cannot name, it leaves out."""
    names = g.ncattrs()
    left_out = [a["name"] for a in ours if isinstance(a["dtype"], dict) or a["name"] == "half"]
    mine = [a for a in ours if a["name"] in names or a["name"] not in left_out]
    assert [a["name"] for a in mine] == names
    for a in mine:
        theirs = g.getncattr(a["name"])
        if a["dtype"] == "char":
            assert bytes.fromhex(a["values"]["hex"]).decode("utf-8", "replace").rstrip("\0") == text(theirs)
        elif a["dtype"] == "string":
            theirs = [theirs] if isinstance(theirs, str) else theirs
            assert [text(o) for o in a["values"]["heap"]] == [text(t) for t in theirs]
        else:
            check_values(seen, a["dtype"], a["values"], theirs)


@pytest.fixture(scope="session")
def cases(hdf5_cases: Path) -> list[Path]:
    """The files."""
    return sorted(p for p in hdf5_cases.iterdir() if p.suffix in {".nc", ".h5", ".hdf5", ".nc4"})


def test_h5py_reads_the_same(cases: list[Path], dump_json: Path) -> None:
    """Every value of every file."""
    failed = []
    for path in cases:
        try:
            seen = Seen(dump(dump_json, path))
            assert "error" not in seen.dumped, seen.dumped
            check_with_h5py(seen, path)
        except Exception as e:
            failed.append(f"{path.name}: {e!r}")
    assert not failed, "\n".join(failed)


def test_netcdf_reads_the_same(cases: list[Path], dump_json: Path) -> None:
    """Names, dimensions, attributes and values of every file that netCDF-C opens."""
    failed, opened = [], 0
    for path in cases:
        try:
            netCDF4.Dataset(path).close()
        except (OSError, TypeError, ValueError):
            continue
        try:
            seen = Seen(dump(dump_json, path))
            assert "error" not in seen.dumped, seen.dumped
            check_with_netcdf(seen, path)
            opened += 1
        except Exception as e:
            failed.append(f"{path.name}: {e!r}")
    assert not failed, "\n".join(failed)
    assert opened > 0
