"""``ncforge combine``: sets of tiles that do not make one whole."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, fms_whole, ocean, shorten
from commands import ncforge
from datasets import created


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_bad_sets_are_reported(tmp_path: Path, storage: tl.Storage) -> None:
    """Each a message that names the files, exit code 4, and nothing under the final name."""
    out = tmp_path / "out.nc"

    def refused(mosaic: tl.Mosaic, *names: Path, words: tuple[object, ...] = ()) -> None:
        done = combine(mosaic, out, *words, code=4)
        for name in names:
            assert name.name in done.stderr, done.stderr
        assert not out.exists()
        assert not list(tmp_path.glob("**/.*ncforge*"))

    def fresh(name: str) -> tl.Mosaic:
        folder = tmp_path / name
        folder.mkdir()
        return tl.nemo(folder, ocean(), (2, 3), storage)

    m = fresh("truncated")
    shorten(m.paths[4], 200)
    refused(m, m.paths[4])

    m = fresh("missing")
    m.paths[3].unlink()
    refused(m, m.paths[3])
    combine(m, out, "--allow-missing")
    given = tl.Mosaic(m.paths, [g for i, g in enumerate(m.given) if i != 3])
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        want = tl.expected(ocean(), given, "votemper", np.float32(1e20))
        assert ds["votemper"][:].tobytes() == want.tobytes()
    out.unlink()

    m = fresh("claimed")
    with netCDF4.Dataset(m.paths[1], "a") as ds:
        for a in ("DOMAIN_position_first", "DOMAIN_position_last"):
            ds.setncattr(a, ds.getncattr(a) - np.array([1, 0], np.int32))
    refused(m, m.paths[0], m.paths[1])

    m = fresh("mixed")
    rest = tl.fms(tmp_path / "mixed", fms_whole(), (1, 2), storage, base="nemo")
    done = ncforge("combine", *m.paths, rest.paths[0], "-o", out, code=4)
    assert rest.paths[0].name in done.stderr

    m = fresh("count")
    with netCDF4.Dataset(m.paths[2], "a") as ds:
        ds.DOMAIN_number_total = np.int32(12)
    refused(m, m.paths[2])

    m = fresh("date")
    with netCDF4.Dataset(m.paths[5], "a") as ds:
        ds["t"][:] = [10, 11, 12]
    refused(m, m.paths[0], m.paths[5])
    combine(m, out, "--differing", "first")
    out.unlink()

    m = fresh("records")
    with netCDF4.Dataset(m.paths[2], "a") as ds:
        n = len(ds.dimensions["t"])
        ds["t"][n] = 3.0
    refused(m, m.paths[2])
    combine(m, out, "--allow-ragged")
    with netCDF4.Dataset(out) as ds:
        assert ds["t"][:].tolist() == [0, 1, 2, 3]
        ds.set_auto_mask(False)
        assert ds["votemper"][:3].tobytes() == ocean().fields["votemper"].values.tobytes()
        assert (ds["votemper"][3] == np.float32(1e20)).all()


@pytest.mark.parametrize("owner", ["mesh2d_flowelem_domain", "FlowElemDomain", None], ids=str)
def test_partitions_of_a_mesh_are_refused(tmp_path: Path, owner: str | None) -> None:
    """They hold no boxes of a whole. The message says so, and names the tool where the model is known: exit code 1, as
    of all that is not supported."""
    for rank in range(2):
        with created(tmp_path / f"m_{rank:04}_map.nc", nFaces=3) as ds:
            ds.createVariable("mesh2d", "i4").setncatts({"cf_role": "mesh_topology", "topology_dimension": 2})
            ds.createVariable("s1", "f8", "nFaces")[:] = rank
            if owner:
                ds.createVariable(owner, "i4", "nFaces")[:] = rank
    out = tmp_path / "out.nc"
    for words in (["m_0000_map.nc"], ["m_0000_map.nc", "m_0001_map.nc"], ["m_*_map.nc"]):
        done = ncforge("combine", *(tmp_path / w for w in words), "-o", out, code=1)
        assert "m_0000_map.nc" in done.stderr
        assert "combining the partitions of an unstructured mesh" in done.stderr
        assert ("dfmoutput mapmerge" in done.stderr) == (owner is not None)
        assert not out.exists()


def test_a_whole_that_no_disk_holds_is_refused(tmp_path: Path) -> None:
    """Two tiles of a whole of 2^62 points: nothing is written, however well that would compress."""
    for i in range(2):
        with created(tmp_path / f"n_000{i}.nc", x=10, y=10) as d:
            d.createVariable("v", "f8", ("y", "x"), zlib=True)[:] = i
            places = {"dimensions_ids": [1, 2], "size_global": [2**31 - 1] * 2, "size_local": [10, 10]}
            places |= {"position_first": [1 + 10 * i, 1], "position_last": [10 + 10 * i, 10]}
            places |= {"halo_size_start": [0, 0], "halo_size_end": [0, 0], "number_total": [2], "number": [i]}
            d.setncatts({f"DOMAIN_{name}": np.array(values, "i4") for name, values in places.items()})
            d.DOMAIN_type = "BOX"
    out = tmp_path / "out.nc"
    refused = ncforge("combine", tmp_path / "n_0000.nc", tmp_path / "n_0001.nc", "-o", out, "--allow-missing", code=1)
    assert "out.nc`: it takes at least " in refused.stderr and "are free" in refused.stderr
    assert not list(tmp_path.glob("*out*"))
