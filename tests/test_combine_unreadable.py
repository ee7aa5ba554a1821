"""``ncforge combine`` and ``ncforge split``: what they cannot read or place is an error or a note, never lost in silence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from commands import ncforge
from datasets import created

Change = Callable[[netCDF4.Dataset, int], object]


def _tiles(folder: Path, change: Change | None = None, model: str = "NETCDF4") -> list[Path]:
    """Two tiles of NEMO, each in a folder of its own, so that neither is found by the other."""
    paths = []
    for rank in range(2):
        path = folder / str(rank) / f"t_{rank:04d}.nc"
        path.parent.mkdir(parents=True)
        with created(path, format=model, x=4, y=2) as ds:
            ds.createVariable("v", "f4", ("y", "x"))[:] = rank + 1
            for name, value in {
                "number_total": 2,
                "number": rank,
                "dimensions_ids": [1, 2],
                "size_global": [4, 4],
                "size_local": [4, 2],
                "position_first": [1, 1 + 2 * rank],
                "position_last": [4, 2 + 2 * rank],
            }.items():
                ds.setncattr(f"DOMAIN_{name}", np.array(value, "i4"))
            if change is not None:
                change(ds, rank)
        paths.append(path)
    return paths


def _first(folder: Path, change: Change | None = None, model: str = "NETCDF4") -> tuple[Path, Path]:
    """An output with the first of two tiles in it, and the other tile."""
    one, other = _tiles(folder, change, model)
    ncforge("combine", one, "-o", folder / "out.nc", "--allow-missing")
    return folder / "out.nc", other


def _damage(path: Path, name: str) -> None:
    """Changes the header of a variable: its checksum does not match any more."""
    with h5py.File(path) as file:
        at = h5py.h5o.get_info(file[name].id).addr
    data = bytearray(path.read_bytes())
    data[at + 20] ^= 0xFF
    data[at + 24] ^= 0x55
    path.write_bytes(data)


def _refused(out: Path, tile: Path, *said: str) -> None:
    """Appending is refused with these words; the file is as it was, and the tile stays."""
    before = out.read_bytes()
    error = ncforge("combine", tile, "-o", out, "--append", "--delete-tiles", code=4).stderr
    assert [word for word in (out.name, *said) if word not in error] == [], error
    assert out.read_bytes() == before
    assert tile.exists()


@pytest.mark.parametrize("shared", [True, False])
def test_a_damaged_output_is_not_replaced(tmp_path: Path, shared: bool) -> None:
    def precious(ds: netCDF4.Dataset, _rank: int) -> None:
        ds.createVariable("precious", "f4", ("y", "x"))[:] = 5

    out, other = _first(tmp_path, precious if shared else None)
    if not shared:
        with netCDF4.Dataset(out, "a") as ds:
            precious(ds, 0)
    _damage(out, "precious")
    _refused(out, other, "precious")


def test_a_cut_output_is_not_replaced(tmp_path: Path) -> None:
    out, other = _first(tmp_path, model="NETCDF3_CLASSIC")
    out.write_bytes(out.read_bytes()[:-20])
    _refused(out, other, "20 bytes shorter")


def test_what_only_the_output_has_is_not_lost(tmp_path: Path) -> None:
    changes: dict[str, Callable[[netCDF4.Dataset], object]] = {
        "/notes": lambda ds: ds.createGroup("notes").setncattr("who", "me"),
        "extra": lambda ds: ds.createDimension("extra", 5),
        "kind": lambda ds: ds.createEnumType("i1", "kind", {"a": 1}),
    }
    out, other = _first(tmp_path)
    for name, change in changes.items():
        changed = tmp_path / "changed.nc"
        shutil.copy(out, changed)
        with netCDF4.Dataset(changed, "a") as ds:
            change(ds)
        _refused(changed, other, name)
    with h5py.File(out, "a") as file:
        file["weights"] = np.array([1.5], "longdouble")
    _refused(out, other, "weights")


def test_variables_that_were_not_chosen_are_not_lost(tmp_path: Path) -> None:
    out, other = _first(tmp_path, lambda ds, _: ds.createVariable("w", "f4", ("y", "x")))
    before = out.read_bytes()
    assert "`w`" in ncforge("combine", other, "-o", out, "--append", "--vars", "v", code=4).stderr
    assert out.read_bytes() == before
    ncforge("combine", other, "-o", out, "--append", "--vars", "v,w")


def _enum(ds: netCDF4.Dataset, rank: int) -> None:
    kind = ds.createEnumType("u1", "kind", {"land": rank, "sea": 1 - rank})
    ds.createVariable("c", kind, ("y", "x"))[:] = np.full((2, 4), rank, "u1")


def _swapped(ds: netCDF4.Dataset, rank: int) -> None:
    kind = ds.createCompoundType(np.dtype([("ab"[rank], "i4"), ("ba"[rank], "i4")]), "pair")
    ds.createVariable("c", kind, ("y", "x"))


def _nested(ds: netCDF4.Dataset, rank: int) -> None:
    inner = ds.createCompoundType(np.dtype([("ab"[rank], "i4"), ("ba"[rank], "i4")]), "inner")
    ds.createVariable("c", ds.createCompoundType(np.dtype([("p", inner.dtype)]), "outer"), ("y", "x"))


@pytest.mark.parametrize("change", [_enum, _swapped, _nested])
def test_types_of_one_name_that_differ(tmp_path: Path, change: Change) -> None:
    """Members and fields decide, nested ones too: in OUT, and between tiles."""
    out, other = _first(tmp_path, change)
    _refused(out, other, "type")
    tiles = [tmp_path / "0" / "t_0000.nc", other]
    error = ncforge("combine", *tiles, "-o", tmp_path / "both.nc", "--delete-tiles", code=4).stderr
    assert "`c`" in error
    assert all(tile.exists() for tile in tiles)


def test_attributes_of_the_output_stay(tmp_path: Path) -> None:
    """Those of groups too, and those of types that the tiles number otherwise."""

    def typed(ds: netCDF4.Dataset, rank: int) -> None:
        names = ("first", "second")
        kinds = {n: ds.createEnumType("u1", n, {f"{n}_a": 1, f"{n}_b": 2}) for n in names[:: 1 - 2 * rank]}
        group = ds.createGroup("g")
        group.who = "tile"
        group.createVariable("w", kinds["first"], ("y", "x"))[:] = np.full((2, 4), 1 + rank, "u1")

    out, other = _first(tmp_path, typed)
    with netCDF4.Dataset(out, "a") as ds:
        ds["g"].who = "edited"
    with h5py.File(out, "a") as file:
        file["v"].attrs.create("quality", 2, dtype=file["second"])
    ncforge("combine", other, "-o", out, "--append")
    with netCDF4.Dataset(out) as ds:
        assert ds["g"].who == "edited"
        assert ds["v"][:, 0].tolist() == [1, 1, 2, 2]
        assert ds["g/w"][:, 0].tolist() == [1, 1, 2, 2]
    with h5py.File(out) as file:
        assert h5py.check_enum_dtype(file["v"].attrs.get_id("quality").dtype) == {"second_a": 1, "second_b": 2}


def test_a_later_tile_has_a_variable_with_a_type_of_its_own(tmp_path: Path) -> None:
    def own(ds: netCDF4.Dataset, rank: int) -> None:
        first = {"p": 1, "q": 2}
        if rank == 0:
            ds.createEnumType("i1", "first", first)
            return
        ds.createEnumType("i1", "other", {"a": 1, "b": 2})
        ds.createVariable("only", "i4", ("y", "x"))[:] = 3

    tiles = _tiles(tmp_path, own)
    with h5py.File(tiles[1], "a") as file:
        file["only"].attrs.create("flag", 2, dtype=file["other"])
    error = ncforge("combine", *tiles, "-o", tmp_path / "out.nc", code=4).stderr
    assert "`flag`" in error
    assert tiles[1].name in error


def test_what_a_later_tile_has_and_cannot_be_read(tmp_path: Path) -> None:
    """A note, and the tile stays; an error where the first tile has it as a variable."""
    tiles = _tiles(tmp_path, lambda ds, rank: ds.createVariable("w", "f8", ("x",)) if rank == 0 else None)
    with h5py.File(tiles[1], "a") as file:
        file["extra"] = np.array([1.5], "longdouble")
    done = ncforge("combine", *tiles, "-o", tmp_path / "out.nc", "--delete-tiles")
    assert "`/extra` of" in done.stderr
    assert tiles[1].exists()
    assert not tiles[0].exists()
    tiles = _tiles(tmp_path / "b", lambda ds, rank: ds.createVariable("w", "f8", ("x",)) if rank == 0 else None)
    with h5py.File(tiles[1], "a") as file:
        file["w"] = np.arange(4, dtype="longdouble")
    assert "`/w`" in ncforge("combine", *tiles, "-o", tmp_path / "b.nc", code=1).stderr


def test_coordinates_of_a_cut_file(tmp_path: Path) -> None:
    def longitudes(ds: netCDF4.Dataset, rank: int) -> None:
        ds.createVariable("nav_lon", "f4", ("y", "x"))[:] = rank

    one, _ = _tiles(tmp_path, longitudes, "NETCDF3_CLASSIC")
    coords = tmp_path / "coords.nc"
    with created(coords, format="NETCDF3_CLASSIC", x=4, y=4) as ds:
        ds.createVariable("nav_lon", "f4", ("y", "x"))[:] = 7
    words = [one, "-o", tmp_path / "out.nc", "--allow-missing", "--coords", coords]
    ncforge("combine", *words)
    coords.write_bytes(coords.read_bytes()[:-8])
    assert "8 bytes shorter" in ncforge("combine", *words, "-O", code=4).stderr
