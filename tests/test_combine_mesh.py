"""``ncforge combine``: partitions of unstructured meshes, as D-Flow FM writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import meshes as ms
from combining import ncforge

MESH = ms.mixed(9, 11)
FIELDS = ms.fields(MESH)


def combine(written: ms.Written, out: Path, *words: object, code: int = 0) -> Any:
    return ncforge("combine", written.paths[0], "-o", out, *words, code=code)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("ghosts", [0, 1, 3])
def test_ugrid(tmp_path: Path, n: int, ghosts: int) -> None:
    """Triangles and squares, any number of partitions, with and without ghosts."""
    written = ms.write(tmp_path, MESH, FIELDS, n, ghosts=ghosts)
    out = tmp_path / "whole.nc"
    combine(written, out, "--verify")
    ms.check(out, MESH, FIELDS)


@pytest.mark.parametrize(
    "how",
    [
        {"format": "NETCDF3_64BIT_OFFSET", "start": 0},
        {"zlib": True, "name": "grid"},
        {"turned": True, "face_edges": True, "ghosts": 2},
        {"face_edges": True, "ghosts": 0},
        {"edge_faces": False},
        {"old": True, "ghosts": 2},
        {"old": True, "face_edges": True, "format": "NETCDF3_CLASSIC"},
    ],
    ids=str,
)
def test_forms(tmp_path: Path, how: dict[str, Any]) -> None:
    """Other names, formats, beginnings, orders; the form before UGRID."""
    values = ms.Fields(dict(FIELDS.of_mesh), FIELDS.others)
    if how.get("format", "").startswith("NETCDF3"):
        # Records come first there.
        del values.of_mesh["mesh2d_turned"]
    written = ms.write(tmp_path, MESH, values, 4, **how)
    out = tmp_path / "whole.nc"
    combine(written, out, "--verify")
    told = {k: how[k] for k in ("name", "start", "old", "turned", "face_edges", "edge_faces") if k in how}
    ms.check(out, MESH, values, **told)
    with netCDF4.Dataset(out) as ds:
        assert ds.data_model == how.get("format", "NETCDF4")
        assert ds.NumPartitionsInFile == 4
        if how.get("zlib"):
            assert ds["mesh2d_s1"].filters()["zlib"], "compressed partitions give a compressed whole"
        if how.get("old"):
            check_old(ds, written)


def check_old(ds: netCDF4.Dataset, written: ms.Written) -> None:
    """Flow links by their cells; those to the boundary once; what only one partition lists."""
    ds.set_auto_maskandscale(False)
    middle: dict[tuple[int, ...], list[float]] = {}
    for link, x in zip(ds["FlowLink"][:], ds["FlowLink_xu"][:], strict=True):
        cells = tuple(sorted(int(c) - 1 for c in link if c > 0))
        middle.setdefault(cells, []).append(float(x))
    want: dict[tuple[int, ...], list[float]] = {}
    for k, sides in enumerate(MESH.sides):
        cells = tuple(sorted(f for f in sides if f >= 0))
        want.setdefault(cells, []).append(float(MESH.x[list(MESH.edges[k])].mean()))
    assert {k: sorted(v) for k, v in middle.items()} == {k: sorted(v) for k, v in want.items()}
    assert "BndLink" not in ds.variables
    boundary = [np.arange(rank + 1) + 100.0 * rank for rank in range(len(written.paths))]
    assert ds["FlowElemXbnd"][:].tolist() == np.concatenate(boundary).tolist()
    assert ds["partitions_facebnd_count"][:].tolist() == [1, 2, 3, 4]


def test_channels(tmp_path: Path) -> None:
    """Edges beside no cell, and nodes of none: once each, wherever they are."""
    mesh = ms.mixed(5, 6, channels=9)
    values = ms.fields(mesh)
    for ghosts in (0, 1, 2):
        folder = tmp_path / str(ghosts)
        folder.mkdir()
        written = ms.write(folder, mesh, values, 3, ghosts=ghosts)
        combine(written, folder / "whole.nc")
        ms.check(folder / "whole.nc", mesh, values)


def test_partitions_are_told(tmp_path: Path) -> None:
    """How many each partition gave, and where they stand where they stand together."""
    written = ms.write(tmp_path, MESH, FIELDS, 4, ghosts=2)
    out = tmp_path / "whole.nc"
    done = combine(written, out)
    assert "partitions_face_start is not written" in done.stderr
    with netCDF4.Dataset(out) as ds:
        count = [int((written.owner == rank).sum()) for rank in range(4)]
        assert ds["partitions_face_count"][:].tolist() == count
        assert "partitions_face_start" not in ds.variables
        for kind, whole in (("node", MESH.x.size), ("edge", len(MESH.edges))):
            start, count = ds[f"partitions_{kind}_start"][:], ds[f"partitions_{kind}_count"][:]
            assert start.tolist() == [1, *(np.cumsum(count)[:-1] + 1).tolist()]
            assert count.sum() == whole
        # Every node of a partition's run is a corner of a cell of it, and of none of a lower one.
        owner = ds["mesh2d_flowelem_domain"][:]
        assert (owner == written.owner).all()
        lowest = np.full(MESH.x.size, 99)
        for cell, row in enumerate(ds["mesh2d_face_nodes"][:].filled(0)):
            lowest[row[row > 0] - 1] = np.minimum(lowest[row[row > 0] - 1], owner[cell])
        assert (np.diff(lowest) >= 0).all()
        assert np.bincount(lowest).tolist() == ds["partitions_node_count"][:].tolist()
    # Cells in the order of their partitions stand together.
    folder = tmp_path / "sorted"
    folder.mkdir()
    mesh, owner = ms.by_owner(MESH, written.owner)
    values = ms.fields(mesh)
    combine(ms.write(folder, mesh, values, 4, owner=owner, scrambled=False), folder / "whole.nc")
    ms.check(folder / "whole.nc", mesh, values)
    with netCDF4.Dataset(folder / "whole.nc") as ds:
        count = ds["partitions_face_count"][:]
        assert ds["partitions_face_start"][:].tolist() == [1, *(np.cumsum(count)[:-1] + 1).tolist()]


def test_xarray_sees_one_mesh(tmp_path: Path) -> None:
    """The topology of the output holds together, as a UGRID reader takes it."""
    written = ms.write(tmp_path, MESH, FIELDS, 5, ghosts=1, face_edges=True)
    combine(written, tmp_path / "whole.nc")
    with xr.open_dataset(tmp_path / "whole.nc") as ds:
        topology = ds["mesh2d"].attrs
        assert topology["cf_role"] == "mesh_topology"
        x, y = (ds[v] for v in topology["node_coordinates"].split())
        faces, edges = ds[topology["face_node_connectivity"]], ds[topology["edge_node_connectivity"]]
        beside = ds[topology["edge_face_connectivity"]]
        assert faces.sizes[topology["face_dimension"]] == len(MESH.faces)
        assert edges.sizes[topology["edge_dimension"]] == len(MESH.edges)
        nodes = faces.to_numpy() - faces.attrs["start_index"]
        # Areas by the shoelace formula: the pieces make the whole.
        area = 0.0
        for row in nodes:
            k = row[~np.isnan(row)].astype(int)
            px, py = x.to_numpy()[k], y.to_numpy()[k]
            area += abs(np.dot(px, np.roll(py, -1)) - np.dot(py, np.roll(px, -1))) / 2
        want = 0.0
        for face in MESH.faces:
            px, py = MESH.x[list(face)], MESH.y[list(face)]
            want += abs(np.dot(px, np.roll(py, -1)) - np.dot(py, np.roll(px, -1))) / 2
        assert np.isclose(area, want, rtol=1e-12)
        # Euler: nodes - edges + cells = 1 for a piece without holes.
        assert x.size - len(edges) + len(faces) == 1
        # Both ends of an edge are corners of the cells beside it.
        ends = edges.to_numpy() - edges.attrs["start_index"]
        for (a, b), cells in zip(ends, beside.to_numpy() - beside.attrs["start_index"], strict=True):
            for cell in cells[~np.isnan(cells)].astype(int):
                assert {a, b} <= set(nodes[cell])
        assert ds["mesh2d_s1"].dims == ("time", "mesh2d_nFaces")


def test_options(tmp_path: Path) -> None:
    """What other schemes can, and what makes no sense with a mesh."""
    written = ms.write(tmp_path, MESH, FIELDS, 3)
    out = tmp_path / "whole.nc"
    plan = json.loads(combine(written, out, "--dry-run", "--json").stdout)
    assert plan["scheme"] == "dflowfm"
    cells = plan["mosaics"][0]
    assert cells["shape"] == [len(MESH.faces)]
    assert cells["ghosts"] == sum(p.faces.size for p in written.parts) - len(MESH.faces)
    assert "3 partitions" in combine(written, out, "--dry-run").stdout
    assert not out.exists()

    combine(written, out, "--vars", "mesh2d_s1", "--times", "1:3")
    with netCDF4.Dataset(out) as ds:
        assert ds["mesh2d_s1"][:].tobytes() == FIELDS.of_mesh["mesh2d_s1"][1][1:3].tobytes()
        assert "mesh2d_u1" not in ds.variables
    combine(written, out, "-O", "--times", "1:")
    ms.check(out, MESH, FIELDS, times=slice(1, None))
    combine(written, out, "-O", "--codec", "zstd", "--chunks", "time/1,mesh2d_nFaces/50", "--verify")
    with netCDF4.Dataset(out) as ds:
        assert ds["mesh2d_s1"].chunking() == [1, 50]
    ms.check(out, MESH, FIELDS)
    whole = out.read_bytes()
    combine(written, out, "-O", "--codec", "zstd", "--chunks", "time/1,mesh2d_nFaces/50", "-j", "1", "--no-history")
    one = out.read_bytes()
    combine(written, out, "-O", "--codec", "zstd", "--chunks", "time/1,mesh2d_nFaces/50", "-j", "4", "--no-history")
    assert out.read_bytes() == one
    assert len(whole) >= len(one)
    files = [str(p) for p in written.paths]
    ncforge(
        "combine", *reversed(files), "-o", out, "-O", "--scheme", "dflowfm", "--format", "cdf5", "--vars", "mesh2d_u1"
    )
    ncforge("combine", tmp_path / "model_0*_map.nc", "-o", out, "-O", "--memory", "4M")
    ms.check(out, MESH, FIELDS)

    for words, said in [
        (("--append",), "--append"),
        (("--coords", written.paths[0]), "--coords"),
        (("--chunks", "keep"), "--chunks is auto"),
        (("--chunks", "tiles"), "--chunks is auto"),
    ]:
        before = out.read_bytes()
        done = combine(written, out, "-O", *words, code=2)
        assert said in done.stderr, done.stderr
        assert out.read_bytes() == before
    done = combine(written, out, "-O", "--scheme", "nemo", code=4)
    assert "nemo" in done.stderr
    done = ncforge("combine", *files, "-o", out, "-O", "--delete-tiles")
    assert not any(p.exists() for p in written.paths)
    ms.check(out, MESH, FIELDS)


def test_names_with_times(tmp_path: Path) -> None:
    """The number of a partition is not the time behind it."""
    base = "model_{:04d}_20010101_120000_map.nc"
    written = ms.write(tmp_path, MESH, FIELDS, 3, base=base)
    combine(written, tmp_path / "whole.nc")
    ms.check(tmp_path / "whole.nc", MESH, FIELDS)


def test_bad_sets(tmp_path: Path) -> None:
    """Each a message that names files, exit code 4, and nothing under the final name."""
    out = tmp_path / "out.nc"

    def fresh(name: str, **how: Any) -> ms.Written:
        folder = tmp_path / name
        folder.mkdir()
        return ms.write(folder, MESH, FIELDS, 4, **how)

    def refused(written: ms.Written, *said: str, words: tuple[object, ...] = ()) -> None:
        done = combine(written, out, *words, code=4)
        for what in said:
            assert what in done.stderr, done.stderr
        assert "hint:" in done.stderr
        assert not out.exists()
        assert not list(tmp_path.glob("**/.*ncforge*"))

    def change(path: Path, v: str, how: Any) -> None:
        with netCDF4.Dataset(path, "a") as ds:
            ds.set_auto_maskandscale(False)
            values = ds[v][...]
            ds[v][...] = how(values)

    def first(value: int) -> Any:
        def put(values: Any) -> Any:
            values.flat[0] = value
            return values

        return put

    w = fresh("missing")
    w.paths[2].unlink()
    refused(w, "model_0002_map.nc", "--allow-missing")

    w = fresh("alone", ghosts=0)
    w.paths[3].unlink()
    refused(w, "partitions are missing")

    w = fresh("claimed")
    mine = w.owner[w.parts[1].faces] == 1
    theirs = int(w.parts[0].faces[np.flatnonzero(w.owner[w.parts[0].faces] == 0)[0]]) + 1
    at = int(np.flatnonzero(mine)[0])

    def claim(values: Any) -> Any:
        values[at] = theirs
        return values

    change(w.paths[1], "mesh2d_flowelem_globalnr", claim)
    refused(w, f"cell {theirs} of the whole belongs to", "model_0000_map.nc", "model_0001_map.nc")

    w = fresh("outside")
    change(w.paths[1], "mesh2d_flowelem_globalnr", first(0))
    refused(w, "model_0001_map.nc", "count from 1")

    w = fresh("beyond")
    change(w.paths[2], "mesh2d_face_nodes", first(5000))
    refused(w, "model_0002_map.nc", "mesh2d_face_nodes", "5000")

    w = fresh("renamed")
    w.paths[3].rename(w.paths[3].with_name("model_0007_map.nc"))
    refused(w, "model_0007_map.nc", "partition 7 by its name")

    w = fresh("elsewhere", ghosts=2)
    change(w.paths[1], "mesh2d_node_x", lambda x: x + 50)
    refused(w, "lie elsewhere")

    w = fresh("units")
    with netCDF4.Dataset(w.paths[1], "a") as ds:
        ds["mesh2d_node_x"].units = "km"
    refused(w, "mesh2d_node_x:units")

    w = fresh("time")
    change(w.paths[3], "time", lambda t: t + 1)
    refused(w, "`time`", "model_0003_map.nc")
    combine(w, out, "--differing", "first")
    out.unlink()

    w = fresh("records")
    more = ms.Fields(
        {k: (d, a if "time" not in d else np.take(a, [0, 1], d.index("time"))) for k, (d, a) in FIELDS.of_mesh.items()},
        {k: (d, a[:2] if d == ("time",) else a) for k, (d, a) in FIELDS.others.items()},
    )
    other = tmp_path / "fewer"
    other.mkdir()
    ms.write(other, MESH, more, 4).paths[1].replace(w.paths[1])
    refused(w, "--allow-ragged")
    combine(w, out, "--allow-ragged")
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        want = FIELDS.of_mesh["mesh2d_s1"][1].copy()
        want[2, w.owner == 1] = -777
        assert ds["mesh2d_s1"][:].tobytes() == want.tobytes()
    out.unlink()

    w = fresh("cut")
    data = w.paths[1].read_bytes()
    w.paths[1].write_bytes(data[: len(data) // 2])
    refused(w, "model_0001_map.nc")


def test_missing_partition_is_filled(tmp_path: Path) -> None:
    """Its cells keep their places; nodes and edges that only it has are not there."""
    written = ms.write(tmp_path, MESH, FIELDS, 4, ghosts=1)
    written.paths[2].unlink()
    out = tmp_path / "out.nc"
    done = combine(written, out, "--allow-missing")
    assert "are in no partition" in done.stderr
    gone = written.owner == 2
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        want = FIELDS.of_mesh["mesh2d_sa1"][1].copy()
        want[:, gone] = -777
        assert ds["mesh2d_sa1"][:].tobytes() == want.tobytes()
        table = ds["mesh2d_face_nodes"][:]
        assert (table[gone] == ms.FILL).all()
        used = np.unique(table[~gone][table[~gone] != ms.FILL])
        assert used.tolist() == list(range(1, ds.dimensions["mesh2d_nNodes"].size + 1))
        x, y = ds["mesh2d_node_x"][:], ds["mesh2d_node_y"][:]
        for cell in np.flatnonzero(~gone):
            corners = {(x[k - 1], y[k - 1]) for k in table[cell] if k != ms.FILL}
            assert corners == {(MESH.x[k], MESH.y[k]) for k in MESH.faces[cell]}
    out.unlink()
    done = combine(written, out, "--allow-missing", "--holes", "error", code=4)
    assert "are in no partition" in done.stderr


def test_memory_too_small_is_told(tmp_path: Path) -> None:
    """The numbers of a mesh must fit."""
    mesh = ms.mixed(60, 60)
    written = ms.write(tmp_path, mesh, ms.Fields({}, {}), 2)
    done = combine(written, tmp_path / "out.nc", "--memory", "1M", code=2)
    assert "numbering the" in done.stderr
    assert "--memory" in done.stderr
    assert not (tmp_path / "out.nc").exists()


def test_one_dimension_and_contacts(tmp_path: Path) -> None:
    """A network beside the mesh: its nodes are its cells; links between both; a network that all files have."""
    rng = np.random.default_rng(3)
    n, owner = 12, np.repeat([0, 1, 2], 4)
    value = rng.standard_normal(n)
    contacts = [(0, 3), (4, 8), (11, 20), (5, 8), (7, 2)]
    squares = ms.mixed(4, 6)
    written = ms.write(tmp_path, squares, ms.fields(squares), 3, ghosts=2)
    for rank, path in enumerate(written.paths):
        cells = written.parts[rank].faces
        has = [i for i in range(n) if abs(int(owner[i]) - rank) <= 1]
        has = [has[i] for i in rng.permutation(len(has))]
        local, local2d = {i: k for k, i in enumerate(has)}, {int(c): k for k, c in enumerate(cells)}
        lines = [(i, i + 1) for i in range(n - 1) if i in local and i + 1 in local]
        links = [c for c in contacts if c[0] in local and c[1] in local2d]
        with netCDF4.Dataset(path, "a") as ds:
            for d, size in (("mesh1d_nNodes", len(has)), ("mesh1d_nEdges", len(lines)), ("nContacts", len(links))):
                ds.createDimension(d, size)
            ds.createDimension("network_nNodes", 2)
            v = ds.createVariable("network", "i4", ())
            v.setncatts(
                {"cf_role": "mesh_topology", "topology_dimension": 1, "node_coordinates": "network_x network_y"}
            )
            for c in "xy":
                ds.createVariable(f"network_{c}", "f8", ("network_nNodes",))[:] = [1.0, 2.0]
            v = ds.createVariable("mesh1d", "i4", ())
            v.setncatts(
                {
                    "cf_role": "mesh_topology",
                    "topology_dimension": np.int32(1),
                    "node_coordinates": "mesh1d_node_x mesh1d_node_y",
                    "edge_node_connectivity": "mesh1d_edge_nodes",
                }
            )
            for c in "xy":
                ds.createVariable(f"mesh1d_node_{c}", "f8", ("mesh1d_nNodes",))[:] = np.array(has) * 1.0
            ds.createVariable("mesh1d_flowelem_domain", "i4", ("mesh1d_nNodes",))[:] = owner[has]
            ds.createVariable("mesh1d_flowelem_globalnr", "i4", ("mesh1d_nNodes",))[:] = np.array(has) + 1
            ds.createVariable("mesh1d_s1", "f8", ("mesh1d_nNodes",))[:] = value[has]
            v = ds.createVariable("mesh1d_edge_nodes", "i4", ("mesh1d_nEdges", "two"))
            v[:] = np.array([[local[a], local[b]] for a, b in lines]).reshape(-1, 2)
            ds.createVariable("mesh1d_u1", "f8", ("mesh1d_nEdges",))[:] = [a + 0.5 for a, _ in lines]
            v = ds.createVariable("link1d2d", "i4", ("nContacts", "two"))
            v.setncatts(
                {"cf_role": "mesh_topology_contact", "contact": "mesh1d: node mesh2d: face", "start_index": np.int32(1)}
            )
            if links:
                v[:] = [[local[a] + 1, local2d[b] + 1] for a, b in links]
            ds.createVariable("link_number", "i4", ("nContacts",))[:] = [contacts.index(c) for c in links]
    out = tmp_path / "whole.nc"
    combine(written, out)
    ms.check(out, squares, ms.fields(squares))
    seen = [
        c for c in contacts if any(abs(int(owner[c[0]]) - r) <= 1 and c[1] in written.parts[r].faces for r in range(3))
    ]
    with netCDF4.Dataset(out) as ds:
        assert ds["mesh1d_s1"][:].tobytes() == value.tobytes()
        lines = sorted(map(tuple, ds["mesh1d_edge_nodes"][:].tolist()))
        assert lines == [(i, i + 1) for i in range(n - 1)]
        for (a, _), u in zip(ds["mesh1d_edge_nodes"][:], ds["mesh1d_u1"][:], strict=True):
            assert u == a + 0.5
        told = [tuple(int(k) - 1 for k in row) for row in ds["link1d2d"][:]]
        assert sorted(told) == sorted(seen)
        assert [contacts[k] for k in ds["link_number"][:]] == told
