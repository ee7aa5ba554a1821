"""Files that lead to others which are not there, or must not be followed: what is said of them, by every command that reads values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import ncforge
from aggregations import archive, fragment
from conftest import Run
from test_external_links import linked
from virtual_datasets import UNLIMITED, adjacent, source, space, virtual

THERE, GONE = "part.h5", "gone.h5"


def chosen(path: Path) -> None:
    """Elements that the mapping names."""
    with h5py.File(path, "w") as f:
        pairs = [(THERE, 0), (GONE, 4)]
        virtual(
            f, "v", (8,), [(space((8,), adjacent(at, 4)), name, "d", space((4,), adjacent(0, 4))) for name, at in pairs]
        )


def whole(path: Path) -> None:
    """All elements of each source, as h5py's `VirtualSource` says it."""
    layout = h5py.VirtualLayout((8,), "i4")
    for at, name in ((0, THERE), (4, GONE)):
        layout[at : at + 4] = h5py.VirtualSource(name, "d", (4,))
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("v", layout, fillvalue=-7)


def unlimited(path: Path) -> None:
    """As many elements as the source has."""
    with h5py.File(path, "w", libver="latest") as f:
        mappings = []
        for at, name in enumerate((THERE, GONE)):
            here = space((2, 0), ([at, 0], [1, 1], [1, 1], [1, UNLIMITED]))
            mappings.append((here, name, "d", space((0,), ([0], [1], [1], [UNLIMITED]))))
        virtual(f, "v", (2, 0), mappings, grows=True)


def nested(path: Path) -> None:
    """A source whose own source is not there."""
    chosen(path.with_name("inner.h5"))
    with h5py.File(path, "w") as f:
        virtual(f, "v", (8,), [(space((8,)), "inner.h5", "v", space((8,)))])


def behind_a_link(path: Path) -> None:
    """A link to a virtual dataset."""
    chosen(path.with_name("inner.h5"))
    linked(path, v=("inner.h5", "/v"))


def aggregation(path: Path) -> None:
    """The first fragment names no file at all: it has no values, and is no source."""
    fragment(path.with_name("part.nc"), np.ones((2, 3)))
    archive(path, [[2, 2, 2], [3]], [[""], ["part.nc"], [GONE]], identifiers="tas")


CASES: list[Callable[[Path], None]] = [chosen, whole, unlimited, nested, behind_a_link, aggregation]


def made(folder: Path, make: Callable[[Path], None]) -> tuple[Path, str, dict[str, str]]:
    """The file, its variable, and the source that is not there."""
    maxshape = (None,) if make is unlimited else None
    source(folder / THERE, np.arange(4, dtype="i4"), maxshape=maxshape)
    path = folder / "all.h5"
    make(path)
    is_cf = make is aggregation
    return path, "tas" if is_cf else "v", {"file": GONE, "variable": "tas" if is_cf else "d"}


@pytest.mark.parametrize("make", CASES)
def test_sources_that_are_not_there_are_named(tmp_path: Path, run: Run, make: Callable[[Path], None]) -> None:
    """They are no damage. Nobody must take their fill values for checked ones."""
    path, name, absent = made(tmp_path, make)
    words = f"the source `{absent['variable']}` in `{GONE}` is not there"
    done = run("verify", path)
    assert words in done.stderr and "all is well" not in done.stderr and "no damage, but 1 note" in done.stderr
    (document,) = json.loads(run("verify", "--json", path).stdout)["files"]
    (note,) = document["notes"]
    assert (note["kind"], note["variable"], note["sources"]) == ("absent", name, [absent])
    report = ncforge.verify(path)
    assert report and [(n.kind, n.variable, n.sources) for n in report.notes] == [("absent", name, [absent])]
    assert words in str(report)
    # A description opens no other files: an archive may have 100,000.
    assert words not in run("info", "--storage", path).stdout
    assert not any(words in note for note in ncforge.info(path).data["notes"])
    assert words in " ".join(run("doctor", path).stdout.split())
    assert words in run("digest", path).stderr
    assert words in run("copy", path, tmp_path / "copy.nc").stderr
    if make in (behind_a_link, aggregation):
        other = "own" if make is behind_a_link else "time"
        assert words not in run("copy", "--vars", other, path, tmp_path / "other.nc").stderr
    compared = json.loads(run("compare", "--json", path, path).stdout)
    assert [words in note for note in compared["notes"]] == [True, True]
    assert not json.loads(run("verify", "--json", tmp_path / "copy.nc").stdout)["files"][0]["notes"]
    # With the source, nothing is left to say.
    if make is aggregation:
        (tmp_path / "part.nc").rename(tmp_path / GONE)
        archive(path, [[2], [3]], [[GONE]], identifiers="tas")
    else:
        (tmp_path / THERE).rename(tmp_path / GONE)
        source(tmp_path / THERE, np.arange(4, dtype="i4"), maxshape=(None,) if make is unlimited else None)
    assert "all is well" in run("verify", path).stderr


@pytest.mark.parametrize("make", CASES)
def test_what_is_not_followed_is_a_problem(tmp_path: Path, run: Run, make: Callable[[Path], None]) -> None:
    """Nothing is known of such values. Variables whose description is in other files, too, are left out: they are no exception."""
    path, name, _ = made(tmp_path, make)
    done = run("--no-follow", "verify", path, "--json", code=3)
    (document,) = json.loads(done.stdout)["files"]
    (problem,) = document["problems"]
    assert (problem["kind"], problem["touches"][0].lstrip("/")) == ("not_followed", name)
    file = {"aggregation": "part.nc", "nested": "inner.h5", "behind_a_link": "inner.h5"}.get(make.__name__, THERE)
    assert f"`{file}`" in problem["what"]
    report = ncforge.verify(path, follow=False)
    assert not report and report.problems[0].kind == "not_followed"
    said = " ".join(run("--no-follow", "doctor", path).stdout.split())
    assert "not followed" in said and f"`{file}`" in said


def test_many_sources_are_counted(tmp_path: Path, run: Run) -> None:
    with h5py.File(tmp_path / "v.h5", "w") as f:
        mappings = [(space((50,), adjacent(i, 1)), f"s{i}.h5", "d", space((1,), adjacent(0, 1))) for i in range(50)]
        virtual(f, "v", (50,), mappings)
    said = run("verify", tmp_path / "v.h5").stderr
    assert "50 sources are not there" in said and "`d` in `s2.h5` and 47 more" in said
    assert len(ncforge.verify(tmp_path / "v.h5").notes[0].sources) == 50


def test_links_that_lead_nowhere(tmp_path: Path, run: Run) -> None:
    path = linked(tmp_path / "a.h5", file=(GONE, "/d"), object=("a.h5", "/nowhere"))
    report = ncforge.verify(path)
    assert report and [(n.kind, n.variable) for n in report.notes] == [("absent", "/file"), ("absent", "/object")]
    assert GONE in run("verify", path).stderr


def test_what_netcdf_has_no_equivalent_of_is_told(tmp_path: Path) -> None:
    """It was not read."""
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["v"] = np.arange(3)
        f["refs"] = np.array([f["v"].ref], h5py.ref_dtype)
    report = ncforge.verify(tmp_path / "a.h5")
    assert report and [(n.kind, n.variable) for n in report.notes] == [("left_out", "/refs")]


def test_doctor_sends_to_the_sources(tmp_path: Path, run: Run) -> None:
    """Of how values are stored it knows nothing; nor what reading them costs."""
    path, *_ = made(tmp_path, whole)
    with h5py.File(path, "a") as f:
        f["again"] = h5py.ExternalLink(THERE, "/d")
        f["own"] = np.arange(9)
    said = " ".join(run("doctor", path).stdout.split())
    assert f"the values of `v` lie in other files (`{THERE}`, `{GONE}`): look at those" in said
    assert "`own` lie" not in said and "no local file" not in said
    counted = json.loads(run("info", "--requests", "--json", path).stdout)["files"][0]
    assert [v["name"] for v in counted["variables"]] == ["own"]
    assert sum("is not counted" in note for note in counted["notes"]) == 2
    assert "`v` is not counted" in run("info", "--requests", path).stdout


def test_doctor_follows_what_a_url_leads_to(tmp_path: Path, server: str, run: Run) -> None:
    """The store that counts what is read does not hide where the bytes come from."""
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    archive(tmp_path / "all.nc", [[2], [3]], [["a.nc"]])
    said = " ".join(run("doctor", f"{server}/all.nc").stdout.split())
    assert "no local file" not in said and "(`a.nc`)" in said


def test_problems_and_errors_have_kinds(tmp_path: Path, run: Run) -> None:
    (tmp_path / "text.nc").write_text("no netCDF file")
    for command in ("verify", "info", "doctor", "digest"):
        documents = json.loads(run(command, "--json", tmp_path / "text.nc", tmp_path / "no.nc", code=4).stdout)["files"]
        assert [d["error"]["kind"] for d in documents] == ["not_netcdf", "io"], command
    with h5py.File(tmp_path / "a.h5", "w") as f:
        d = f.create_dataset("v", data=np.arange(4000.0), chunks=(1000,), compression="gzip", fletcher32=True)
        at = d.id.get_chunk_info(1)
    with (tmp_path / "a.h5").open("r+b") as raw:
        raw.seek(at.byte_offset + at.size // 2)
        raw.write(b"\x55\xaa\x55")
    assert [p.kind for p in ncforge.verify(tmp_path / "a.h5").problems] == ["corrupt"]
    found: Any = json.loads(run("verify", "--json", tmp_path / "a.h5", code=3).stdout)["files"][0]["problems"]
    assert [p["kind"] for p in found] == ["corrupt"]
