"""Virtual datasets and external links whose other files are damaged, too many, or reached by each other."""

from __future__ import annotations

import os
import resource
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import ncforge

if TYPE_CHECKING:
    from collections.abc import Iterator

UNLIMITED = h5py.h5s.UNLIMITED


def damage(path: Path) -> None:
    stored = path.read_bytes()
    path.write_bytes(stored[:8] + b"\xff" * 100 + stored[108:])


def numbered(path: Path) -> None:
    """A dataset of as many blocks as there are files with numbers in their names."""
    with h5py.File(path, "w", libver="latest") as h:
        h["other"] = np.arange(3)
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple((2, 3), (UNLIMITED, 3))
        space.select_hyperslab((0, 0), (UNLIMITED, 1), (2, 1), (2, 3))
        made.set_virtual(space, b"part_%b.h5", b"d", h5py.h5s.create_simple((2, 3)))
        h5py.h5d.create(h.id, b"v", h5py.h5t.NATIVE_INT32, space, made)


def linked(path: Path) -> None:
    with h5py.File(path, "w", libver="latest") as h:
        h["other"] = np.arange(3)
        h["v"] = h5py.ExternalLink("part_1.h5", "/d")


@pytest.mark.parametrize("make", [numbered, linked])
def test_a_damaged_file_elsewhere_is_an_error(tmp_path: Path, make: Any, run: Any) -> None:
    """As it is where a mapping is fixed: nothing is left out of a copy or a digest without one."""
    path = tmp_path / "a.h5"
    for i in range(4):
        with h5py.File(tmp_path / f"part_{i}.h5", "w") as h:
            h["d"] = np.full((2, 3), i, "i4")
    make(path)
    run("verify", path)
    damage(tmp_path / "part_1.h5")
    assert "part_1.h5" in run("copy", path, tmp_path / "b.nc", code=4).stderr
    assert not (tmp_path / "b.nc").exists()
    run("digest", path, code=4)
    assert "part_1.h5" in run("verify", path, code=3).stdout
    assert "part_1.h5" in run("info", path).stdout
    run("copy", path, tmp_path / "b.nc", "--vars", "other")
    with ncforge.Dataset(path) as ds:
        assert ds["other"][:].tolist() == [0, 1, 2]
        with pytest.raises(ncforge.CorruptError, match="part_1"):
            ds["v"]


def test_sources_behind_external_links(tmp_path: Path, run: Any) -> None:
    """The masters of detectors: a virtual dataset of datasets that the file itself links to."""
    path, folder = tmp_path / "master.h5", tmp_path / "data"
    folder.mkdir()
    for i in (1, 2):
        with h5py.File(folder / f"data_{i}.h5", "w") as h:
            h["entry/data"] = np.full((2, 3), i, "i4")
    with h5py.File(path, "w") as h:
        for i in (1, 2):
            h[f"entry/data_{i}"] = h5py.ExternalLink(f"data/data_{i}.h5", "/entry/data")
        h["entry/data_3"] = h5py.ExternalLink("data/data_3.h5", "/entry/data")
        layout = h5py.VirtualLayout((6, 3), "i4")
        for i in (1, 2, 3):
            layout[2 * i - 2 : 2 * i] = h5py.VirtualSource(".", f"entry/data_{i}", shape=(2, 3))
        h.create_virtual_dataset("entry/all", layout, fillvalue=-1)
    with h5py.File(path) as h:
        expected = h["entry/all"][...]
    with ncforge.Dataset(path) as ds:
        assert ds["entry/all"][...].tolist() == expected.tolist()
    run("copy", path, tmp_path / "copy.nc")
    with h5py.File(tmp_path / "copy.nc") as h:
        assert h["entry/all"][...].tolist() == expected.tolist()
    with ncforge.Dataset(path) as ds:
        ds["entry/all"][...]
        with h5py.File(tmp_path / "new.h5", "w") as h:
            h["entry/data"] = np.full((2, 3), 7, "i4")
        (tmp_path / "new.h5").replace(folder / "data_1.h5")
        assert (ds["entry/all"][:2] == 7).all(), "a file that is replaced is read anew"
    with ncforge.Dataset(path, follow=False) as ds, pytest.raises(ncforge.NcforgeError, match="follow"):
        ds["entry/all"][...]


def test_a_circle_of_links_and_virtual_datasets_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as h:
        h["next"] = h5py.ExternalLink("b.h5", "/next")
        layout = h5py.VirtualLayout((2,), "i4")
        layout[:] = h5py.VirtualSource(".", "next", shape=(2,))
        h.create_virtual_dataset("v", layout)
    with h5py.File(tmp_path / "b.h5", "w") as h:
        h["next"] = h5py.ExternalLink("a.h5", "/next")
    with ncforge.Dataset(path) as ds, pytest.raises(ncforge.NcforgeError, match="circle"):
        ds["v"][...]


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Descriptors beyond those that this process has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/dev/fd"))) + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_files_that_are_open_share_the_descriptors_of_their_sources(tmp_path: Path) -> None:
    files, sources = 12, 24
    for i in range(files):
        layout = h5py.VirtualLayout((sources, 4), "i4")
        for k in range(sources):
            with h5py.File(tmp_path / f"s_{i}_{k}.h5", "w") as h:
                h["d"] = np.full((1, 4), i * sources + k, "i4")
            layout[k] = h5py.VirtualSource(f"s_{i}_{k}.h5", "d", shape=(1, 4))
        with h5py.File(tmp_path / f"{i}.h5", "w", libver="v110") as h:
            h.create_virtual_dataset("v", layout)
    with few_descriptors(140):
        opened = [ncforge.Dataset(tmp_path / f"{i}.h5") for i in range(files)]
        found = np.concatenate([ds["v"][:, 0] for ds in opened])
        for ds in opened:
            ds.close()
    assert found.tolist() == list(range(files * sources))
