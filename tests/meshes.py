"""Partitions of an unstructured mesh as D-Flow FM writes them, cut out of a global mesh with netCDF4-python: what
`ncforge combine` is held against.

Nothing here knows ncforge. Numbers inside a partition are scrambled, and the list of a cell's corners begins at another
one in every partition, as nothing in the files promises otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
FILL = -999


@dataclass
class Mesh:
    """A global mesh: numbers count from zero, -1 is nothing."""

    x: Array
    y: Array
    faces: list[tuple[int, ...]]
    edges: list[tuple[int, int]]
    sides: list[tuple[int, int]]
    #: Nodes that have no cell: channels of one dimension.
    lonely: int = 0

    @property
    def max_corners(self) -> int:
        return max(map(len, self.faces))

    def face_table(self) -> Array:
        table = np.full((len(self.faces), self.max_corners), -1)
        for i, face in enumerate(self.faces):
            table[i, : len(face)] = face
        return table


def mixed(ny: int, nx: int, channels: int = 0, seed: int = 0) -> Mesh:
    """Squares of which every third is cut into two triangles; cells, nodes, edges in no order. ``channels`` nodes in a
    row to the right of it hang on its last node."""
    rng = np.random.default_rng(seed)
    corner = np.arange((ny + 1) * (nx + 1)).reshape(ny + 1, nx + 1)
    y, x = (a.ravel() + rng.uniform(-0.3, 0.3, corner.size) for a in np.mgrid[0 : ny + 1, 0 : nx + 1])
    faces: list[tuple[int, ...]] = []
    for j in range(ny):
        for i in range(nx):
            a, b, c, d = corner[j, i], corner[j, i + 1], corner[j + 1, i + 1], corner[j + 1, i]
            faces += [(a, b, c), (a, c, d)] if (i + 2 * j) % 3 == 0 else [(a, b, c, d)]
    x, y = (np.concatenate([v, v.max() + 1 + np.arange(channels)]) for v in (x, y))
    order = rng.permutation(len(faces))
    new = rng.permutation(x.size)
    faces = [tuple(int(new[n]) for n in faces[i]) for i in order]
    x, y = (v[np.argsort(new)] for v in (x, y))
    sides: dict[tuple[int, int], list[int]] = {}
    for i, face in enumerate(faces):
        for a, b in zip(face, (*face[1:], face[0]), strict=True):
            sides.setdefault((min(a, b), max(a, b)), []).append(i)
    last = int(corner[-1, -1])
    for k in range(channels):
        a, b = int(new[last]), int(new[corner.size + k])
        sides[(min(a, b), max(a, b))] = []
        last = corner.size + k
    edges = [list(sides)[i] for i in rng.permutation(len(sides))]
    beside = [tuple((sides[e] + [-1, -1])[:2]) for e in edges]
    return Mesh(x, y, faces, edges, beside, channels)  # type: ignore[arg-type]


def owners(mesh: Mesh, n: int, seed: int = 0) -> Array:
    """Cells to ``n`` partitions: each to the nearest of so many points."""
    rng = np.random.default_rng([seed, n])
    middle = np.array([(mesh.x[list(f)].mean(), mesh.y[list(f)].mean()) for f in mesh.faces])
    points = middle[rng.choice(len(middle), n, replace=False)]
    return np.argmin(((middle[:, None] - points) ** 2).sum(-1), axis=1)


@dataclass
class Fields:
    """Values by name: dimensions in the words ``face``, ``edge``, ``node``, and others; and the array."""

    of_mesh: dict[str, tuple[tuple[str, ...], Array]] = field(default_factory=dict)
    others: dict[str, tuple[tuple[str, ...], Array]] = field(default_factory=dict)


def fields(mesh: Mesh, times: int = 3, layers: int = 4, seed: int = 0) -> Fields:
    """Variables along faces, edges and nodes, with time and layers, the mesh's dimension in any position."""
    rng = np.random.default_rng([seed, 7])
    nf, ne, nn = len(mesh.faces), len(mesh.edges), mesh.x.size

    def r(*shape: int) -> Array:
        return rng.standard_normal(shape)

    return Fields(
        {
            "mesh2d_s1": (("time", "face"), r(times, nf)),
            "mesh2d_sa1": (("time", "face", "layer"), r(times, nf, layers).astype("f4")),
            "mesh2d_turned": (("layer", "face", "time"), r(layers, nf, times)),
            "mesh2d_number": (("face",), rng.integers(-99, 99, nf).astype("i2")),
            "mesh2d_u1": (("time", "edge", "layer"), r(times, ne, layers)),
            "mesh2d_edge_type": (("edge",), rng.integers(0, 4, ne).astype("i4")),
            "mesh2d_node_z": (("node",), r(nn)),
            "mesh2d_name": (("face", "letters"), rng.integers(97, 123, (nf, 5), dtype="u1").view("S1")),
        },
        {
            "time": (("time",), np.arange(times) * 600.0),
            "mesh2d_layer_sigma": (("layer",), np.linspace(-1, 0, layers)),
            "wgs84": ((), np.array(4326, "i4")),
        },
    )


def by_owner(mesh: Mesh, owner: Array) -> tuple[Mesh, Array]:
    """The same mesh with the cells of each partition together."""
    order = np.argsort(owner, kind="stable")
    new = {int(old): k for k, old in enumerate(order)} | {-1: -1}
    sides = [(new[a], new[b]) for a, b in mesh.sides]
    return Mesh(mesh.x, mesh.y, [mesh.faces[i] for i in order], mesh.edges, sides), owner[order]


@dataclass
class Partition:
    """What one file holds, as numbers of the global mesh in the file's order."""

    faces: Array
    nodes: Array
    edges: Array


def partition(mesh: Mesh, owner: Array, rank: int, ghosts: int, rng: np.random.Generator | None) -> Partition:
    """The cells of one partition and so many layers of others around them (sharing a node)."""
    cells = set(np.flatnonzero(owner == rank).tolist())
    around: dict[int, list[int]] = {}
    for i, face in enumerate(mesh.faces):
        for node in face:
            around.setdefault(node, []).append(i)
    for _ in range(ghosts):
        cells |= {c for i in list(cells) for node in mesh.faces[i] for c in around[node]}
    nodes = {node for i in cells for node in mesh.faces[i]}
    edges = {k for k, e in enumerate(mesh.edges) if any(f in cells for f in mesh.sides[k])}
    # Channels go where their first node is.
    grown = True
    while grown:
        loose = {k for k, e in enumerate(mesh.edges) if mesh.sides[k] == (-1, -1) and nodes & set(e)} - edges
        grown = bool(loose)
        edges |= loose
        nodes |= {node for k in loose for node in mesh.edges[k]}
    shuffled = lambda s: rng.permutation(sorted(s)) if rng else np.array(sorted(s))  # noqa: E731
    return Partition(shuffled(cells), shuffled(nodes), shuffled(edges))


@dataclass
class Written:
    """A set of partitions on disk."""

    paths: list[Path]
    parts: list[Partition]
    owner: Array


def write(
    folder: Path,
    mesh: Mesh,
    values: Fields,
    n: int,
    *,
    ghosts: int = 1,
    format: str = "NETCDF4",
    zlib: bool = False,
    name: str = "mesh2d",
    old: bool = False,
    turned: bool = False,
    start: int = 1,
    seed: int = 0,
    face_edges: bool = False,
    edge_faces: bool = True,
    base: str = "model_{:04d}_map.nc",
    owner: Array | None = None,
    scrambled: bool = True,
) -> Written:
    """Writes ``n`` partitions. ``old``: the form before UGRID. ``turned``: corners are the first dimension of the list of
    corners. ``start``: the number of the first of everything."""
    rng = np.random.default_rng([seed, n, ghosts])
    owner = owners(mesh, n, seed) if owner is None else owner
    out = Written([], [], owner)
    dim = {"face": f"{name}_nFaces", "edge": f"{name}_nEdges", "node": f"{name}_nNodes"}
    if old:
        dim = {"face": "nFlowElem", "edge": "nNetLink", "node": "nNetNode"}
        start = 1
    for rank in range(n):
        part = partition(mesh, owner, rank, ghosts, rng if scrambled else None)
        out.parts.append(part)
        path = folder / base.format(rank)
        out.paths.append(path)
        local = {k: np.full(size, -1) for k, size in (("face", len(mesh.faces)), ("node", mesh.x.size))}
        local["edge"] = np.full(len(mesh.edges), -1)
        mine = {"face": part.faces, "node": part.nodes, "edge": part.edges}
        for kind, which in mine.items():
            local[kind][which] = np.arange(which.size)
        kind_of_file: Any = format
        with netCDF4.Dataset(path, "w", format=kind_of_file) as ds:
            ds.set_auto_maskandscale(False)
            ds.setncatts({"institution": "Deltares", "Conventions": "CF-1.8 UGRID-1.0"})
            ds.createDimension("time", None)
            for kind, which in mine.items():
                ds.createDimension(dim[kind], which.size)
            corners = max(len(mesh.faces[i]) for i in part.faces)
            ds.createDimension("corners", corners)
            ds.createDimension("two", 2)
            for dims, array in [*values.of_mesh.values(), *values.others.values()]:
                for d, size in zip(dims, array.shape, strict=True):
                    if d not in ds.dimensions and d not in dim:
                        ds.createDimension(d, size)

            def make(
                v: str, kind: Any, dims: tuple[str, ...], data: Array, fill: Any = None, ds: Any = ds, **attrs: Any
            ) -> None:
                named = tuple(dim.get(d, d) for d in dims)
                compressed = zlib and data.ndim > 0
                var = ds.createVariable(v, kind, named, fill_value=fill, zlib=compressed, shuffle=compressed)
                var.set_auto_maskandscale(False)
                var.setncatts(attrs)
                var[...] = data if data.ndim else data[()]

            def listed(
                v: str,
                kind: str,
                to: str,
                rows: list[tuple[int, ...]],
                width: int,
                part_local: Any = local,
                most: int = corners,
                **attrs: Any,
            ) -> None:
                table = np.full((len(rows), width), FILL, "i4")
                for i, row in enumerate(rows):
                    found = [part_local[to][k] if k >= 0 else -1 for k in row]
                    table[i, : len(row)] = [k + start if k >= 0 else FILL for k in found]
                dims: tuple[str, ...] = (kind, "corners" if width == most and kind == "face" else "two")
                if turned and kind == "face":
                    table, dims = table.T, dims[::-1]
                more = {} if old else {"start_index": np.int32(start)}
                make(v, "i4", dims, table, np.int32(FILL), **more, **attrs)

            names = (
                {
                    "x": "NetNode_x",
                    "y": "NetNode_y",
                    "face_nodes": "NetElemNode",
                    "edge_nodes": "NetLink",
                    "edge_faces": "ElemLink",
                    "face_edges": "NetElemLink",
                    "domain": "FlowElemDomain",
                    "number": "FlowElemGlobalNr",
                }
                if old
                else {
                    "x": f"{name}_node_x",
                    "y": f"{name}_node_y",
                    "face_nodes": f"{name}_face_nodes",
                    "edge_nodes": f"{name}_edge_nodes",
                    "edge_faces": f"{name}_edge_faces",
                    "face_edges": f"{name}_face_edges",
                    "domain": f"{name}_flowelem_domain",
                    "number": f"{name}_flowelem_globalnr",
                }
            )
            if not old:
                topology = {
                    "cf_role": "mesh_topology",
                    "topology_dimension": np.int32(2),
                    "node_coordinates": f"{names['x']} {names['y']}",
                    "face_node_connectivity": names["face_nodes"],
                    "edge_node_connectivity": names["edge_nodes"],
                    "face_dimension": dim["face"],
                    "edge_dimension": dim["edge"],
                }
                if edge_faces:
                    topology["edge_face_connectivity"] = names["edge_faces"]
                if face_edges:
                    topology["face_edge_connectivity"] = names["face_edges"]
                make(name, "i4", (), np.array(0, "i4"), **topology)
            make(names["x"], "f8", ("node",), mesh.x[part.nodes], units="m")
            make(names["y"], "f8", ("node",), mesh.y[part.nodes], units="m")
            rolled = []
            for i in part.faces:
                face, by = mesh.faces[i], int(rng.integers(len(mesh.faces[i])))
                rolled.append(face[by:] + face[:by])
            listed(names["face_nodes"], "face", "node", rolled, corners)
            listed(names["edge_nodes"], "edge", "node", [mesh.edges[k] for k in part.edges], 2)
            if edge_faces:
                beside = [tuple(f for f in mesh.sides[k] if local["face"][f] >= 0 or f < 0) for k in part.edges]
                beside = [tuple(f for f in (*b, -1, -1)[:2]) for b in beside]
                listed(names["edge_faces"], "edge", "face", beside, 2)
            if face_edges:
                edge_of = {e: k for k, e in enumerate(mesh.edges)}
                around = [
                    tuple(edge_of[min(a, b), max(a, b)] for a, b in zip(f, (*f[1:], f[0]), strict=True)) for f in rolled
                ]
                listed(names["face_edges"], "face", "edge", around, corners)
            make(names["domain"], "i4", ("face",), owner[part.faces].astype("i4"))
            make(names["number"], "i4", ("face",), (part.faces + 1).astype("i4"))
            if old:
                flow = [k for k in part.edges if all(local["face"][f] >= 0 for f in mesh.sides[k] if f >= 0)]
                flow = [k for k in flow if mesh.sides[k] != (-1, -1)]
                ds.createDimension("nFlowLink", len(flow))
                beyond = len(part.faces) + 1
                ends = [
                    [beyond + i if f < 0 else local["face"][f] + 1 for f in sorted(mesh.sides[k])]
                    for i, k in enumerate(flow)
                ]
                make("FlowLink", "i4", ("nFlowLink", "two"), np.array(ends, "i4").reshape(-1, 2))
                middle = np.array([mesh.x[list(mesh.edges[k])].mean() for k in flow])
                make("FlowLink_xu", "f8", ("nFlowLink",), middle)
                ds.createDimension("nBndLink", rank + 1)
                make("BndLink", "i4", ("nBndLink",), np.arange(rank + 1, dtype="i4"))
                ds.createDimension("nFlowElemBnd", rank + 1)
                make("FlowElemXbnd", "f8", ("nFlowElemBnd",), np.arange(rank + 1) + 100.0 * rank)
            for v, (dims, data) in values.of_mesh.items():
                kind = next(d for d in dims if d in mine)
                taken = np.take(data, mine[kind], axis=dims.index(kind))
                fill = data.dtype.type(-777) if data.dtype.kind in "fi" else None
                make(v, data.dtype, dims, taken, fill)
                if not old:
                    ds[v].setncatts({"mesh": name, "location": kind})
            for v, (dims, data) in values.others.items():
                make(v, data.dtype, dims, data)
    return out


@dataclass
class Whole:
    """Which thing of the global mesh each thing of a combined file is."""

    faces: Array
    nodes: Array
    edges: Array


def check(
    path: Path,
    mesh: Mesh,
    values: Fields,
    *,
    name: str = "mesh2d",
    start: int = 1,
    old: bool = False,
    turned: bool = False,
    edge_faces: bool = True,
    face_edges: bool = False,
    times: slice = slice(None),
) -> Whole:
    """Asserts that a file is the whole: cells by their numbers, nodes and edges by what they are."""
    n = {k: f"{name}_{k}" for k in ("node_x", "node_y", "face_nodes", "edge_nodes", "edge_faces", "face_edges")}
    if old:
        n = {
            "node_x": "NetNode_x",
            "node_y": "NetNode_y",
            "face_nodes": "NetElemNode",
            "edge_nodes": "NetLink",
            "edge_faces": "ElemLink",
            "face_edges": "NetElemLink",
        }
        start = 1
    with netCDF4.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        at = {(float(x), float(y)): i for i, (x, y) in enumerate(zip(mesh.x, mesh.y, strict=True))}
        nodes = np.array([at[float(x), float(y)] for x, y in zip(ds[n["node_x"]][:], ds[n["node_y"]][:], strict=True)])
        assert sorted(nodes) == list(range(mesh.x.size)), "every node once"
        table = ds[n["face_nodes"]][:]
        table = table.T if turned else table
        assert table.shape == (len(mesh.faces), mesh.max_corners)
        for i, row in enumerate(table):
            told = [int(nodes[k - start]) for k in row if k != FILL]
            corners = list(mesh.faces[i])
            turns = [corners[k:] + corners[:k] for k in range(len(corners))]
            assert told in turns, (i, told, corners)
        edge_of = {e: k for k, e in enumerate(mesh.edges)}
        ends = [[int(nodes[k - start]) for k in row] for row in ds[n["edge_nodes"]][:]]
        edges = np.array([edge_of[min(e), max(e)] for e in ends])  # type: ignore[index]
        assert sorted(edges) == list(range(len(mesh.edges))), "every edge once"
        if edge_faces:
            for k, row in zip(edges, ds[n["edge_faces"]][:], strict=True):
                assert sorted(f - start for f in row if f != FILL) == sorted(f for f in mesh.sides[k] if f >= 0)
        if face_edges:
            table = ds[n["face_edges"]][:]
            for i, row in enumerate(table.T if turned else table):
                face = mesh.faces[i]
                around = {edge_of[min(a, b), max(a, b)] for a, b in zip(face, (*face[1:], face[0]), strict=True)}
                assert {int(edges[k - start]) for k in row if k != FILL} == around
        whole = Whole(np.arange(len(mesh.faces)), nodes, edges)
        order = {"face": whole.faces, "node": nodes, "edge": edges}
        for v, (dims, data) in values.of_mesh.items():
            if v not in ds.variables:
                continue
            kind = next(d for d in dims if d in order)
            want = np.take(data, order[kind], axis=dims.index(kind))
            if "time" in dims:
                want = want[tuple(times if d == "time" else slice(None) for d in dims)]
            assert ds[v].dtype == data.dtype
            assert ds[v][...].tobytes() == want.tobytes(), v
        for v, (dims, data) in values.others.items():
            if v in ds.variables:
                want = data[times] if dims == ("time",) else data
                assert ds[v][...].tobytes() == want.tobytes(), v
    return whole
