"""Results in a notebook: the drawings of the pages, as a part of the notebook's own page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import ncforge
from browser import screenshot
from conftest import DATA, ODD
from datasets import created
from test_pages import Page

# The rules of JupyterLab that reach into what is shown.
JUPYTER = """
.jp-RenderedHTMLCommon table { border: none; font-size: 12px; table-layout: fixed; margin-left: auto; margin-right: auto; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { text-align: right; vertical-align: middle; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #ff00ff; }
"""


def test_info_is_drawn_as_on_its_page(maps: Path) -> None:
    drawn = ncforge.info(maps)._repr_html_()
    assert drawn is not None
    page = Page(drawn)
    assert ODD in page.words
    for what in ("Where the bytes are", "The chunks, with a read on them", "Stored size of each chunk"):
        assert what in page.words
    assert any("with a map on them: 1 chunk touched" in label for label in page.labels)
    # It is put into a page that has identifiers, and as many of these parts as a person likes.
    assert not re.search(r"<[a-z]+[^>]* id=", drawn)
    assert "script" not in page.tags
    assert "html" not in page.tags


def test_info_draws_the_reads_that_are_asked_for(maps: Path) -> None:
    drawn = ncforge.info(maps, for_="time=all,lat=1,lon=1")._repr_html_()
    assert drawn is not None
    labels = Page(drawn).labels
    assert any("800 chunks touched" in label for label in labels)
    assert not any("with a map on them" in label for label in labels)


def test_doctor_tells_commands_and_break_even(maps: Path) -> None:
    found = ncforge.doctor(maps)
    drawn = found._repr_html_()
    assert drawn is not None
    page = Page(drawn)
    assert "NC101" in page.words
    assert "ncforge copy" in page.words
    assert any(label.startswith("Before and after: series: ") for label in page.labels)


def test_who_changed_meanwhile_is_not_drawn(maps: Path, tmp_path: Path) -> None:
    path = tmp_path / "moved.nc"
    shutil.copy(maps, path)
    found, header = ncforge.doctor(path), ncforge.info(path)
    assert found._repr_html_() is not None
    assert header._repr_html_() is not None
    shutil.copy(DATA / "uv300.nc", path)
    assert found._repr_html_() is None
    assert header._repr_html_() is None
    path.unlink()
    assert found._repr_html_() is None
    assert header._repr_html_() is None


def test_many_files_are_folded(maps: Path, tmp_path: Path) -> None:
    missing = tmp_path / "a<b>.nc"
    found = ncforge.doctor([maps, *[DATA / "uv300.nc"] * 10, missing])
    drawn = found._repr_html_()
    page = Page(drawn)
    assert page.tags.count("details") == 11
    assert drawn.count('<div class="ncforge-view">') == 8
    assert str(missing) in page.words


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_it_in_the_notebooks_theme(maps: Path, tmp_path: Path, dark: bool) -> None:
    page = tmp_path / "notebook.html"
    drawn = ncforge.doctor(maps)._repr_html_()
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><style>{JUPYTER}</style><body data-jp-theme-light="{str(not dark).lower()}">'
        f'<h2 id="own">Not ours</h2><div class="jp-RenderedHTMLCommon">{drawn}</div></body>'
    )
    image = screenshot(page, tmp_path, 900, 3600)
    seen = set(map(tuple, image.reshape(-1, 3).tolist()))
    assert (0x15, 0x18, 0x1C) in seen if dark else (0xFE, 0xFE, 0xFE) in seen, "the paper"
    wanted = {(0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00)} if not dark else {(0x4A, 0xA8, 0xE0), (0xF0, 0xB4, 0x29)}
    assert wanted <= seen
    assert (0xFF, 0x00, 0xFF) not in seen, "a rule of the notebook shines through"
    # The style stays inside: what is around keeps its white paper.
    assert tuple(image[2, 2]) == (0xFF, 0xFF, 0xFF)


def test_a_dataset_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "odd & more.nc"
    with created(path, ncforge, time=None, lat=40) as ds:
        ds.title = "<script>alert(1)</script>" + "x" * 1000
        tas = ds.createVariable(ODD, "f4", ("time", "lat"), zlib=True, chunksizes=(10, 20))
        tas[:] = np.zeros((30, 40))
        tas.units = "K & <b>"
        ds.createVariable("scalar", "i2")
        ds.createVariable("names", str, "lat")
        kind = ds.createVLType("i4", "rows")
        ds.createVariable("ragged", kind, "lat")
        ds.createGroup("under/deep").createVariable("v", "f8", "time")
        # Files that are being written are drawn, too.
        assert ODD in Page(ds._repr_html_() or "").words
    with ncforge.Dataset(path) as ds:
        drawn = ds._repr_html_()
        assert drawn is not None
        page = Page(drawn)
        for what in (
            "Dimensions (2)",
            "Variables (4)",
            "Attributes (1)",
            "Groups (1)",
            "Groups (1)",
            str(path),
            "NETCDF4",
        ):
            assert what in page.words, what
        for what in (
            "unlimited",
            ODD,
            "time=30, lat=40",
            "float32 · 4.69 KiB",
            "6 stored",
            "K & <b>",
            "ragged",
            "deep",
        ):
            assert what in page.words, what
        assert "script" not in page.tags
        assert "…" in page.words and "x" * 301 not in drawn
        # Folded parts, and the drawing that the variable itself has; no colours but the text's own and one behind.
        assert drawn.count(ds[ODD]._repr_html_() or "-") == 1
        assert page.tags.count("details") == 13
        assert set(re.findall(r"#[0-9a-f]{6}", drawn)) <= {"#7aa6c2"}
        below = ds["under"]._repr_html_()
        assert below is not None and "ncforge.Group /under" in Page(below).words
    assert ds._repr_html_() is None


def test_a_large_dataset_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "many.nc"
    with created(path, ncforge, x=300_000) as ds:
        for i in range(500):
            ds.createVariable(f"v{i}", "f4", "x", contiguous=True)
            ds.setncattr(f"a{i}", i)
        ds.createVariable("tiny", "i1", "x", chunksizes=(1,))
    with ncforge.Dataset(path) as ds:
        drawn = ds._repr_html_()
        assert drawn is not None
        words = Page(drawn).words
        assert "Variables (501)" in words and "… and 101 more" in words and "… and 100 more" in words
        assert drawn.count("<svg") == 40
        assert len(drawn) < 150_000


def test_copies_and_comparisons_are_tables(maps: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a <copy>.nc"
    report = ncforge.copy(maps, copy, codec="zstd")
    page = Page(report._repr_html_())
    for what in ("File", "Format", str(maps), str(copy), "Variables", "2"):
        assert what in page.words, what
    found = ncforge.compare(maps, copy)
    page = Page(found._repr_html_())
    assert page.words.startswith("the same") and "table" not in page.tags
    with ncforge.Dataset(copy, "r+") as ds:
        ds["tas"][3, 2, 1] = 1e30
        ds["tas"].note = "1 < 2"
    page = Page(ncforge.compare(maps, copy)._repr_html_())
    for what in ("2 differences", "tas", "[3, 2, 1]", "1e+30", "1 of 2560000"):
        assert what in page.words, what
