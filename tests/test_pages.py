"""Pages of `info --html` and `doctor --html`: their figures against h5py's, names that look like markup, and a browser's view."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import h5py
import pytest

from browser import screenshot
from conftest import DATA, ODD, Run


class Page(HTMLParser):
    """The tags, the text and the drawings' names of a page; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.words = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.labels += [v for k, v in attrs if k == "aria-label" and v]
        assert not (values.get("src") or "").startswith("http"), values
        assert not any(k.startswith("on") for k in values), values
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] == "rect" != tag:
            self.open.pop()
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words += data + " "


def test_info_draws_what_is_in_the_file(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    run("info", maps, "--html", out)
    text = out.read_text()
    page = Page(text)
    assert ODD in page.words
    assert "<b>" not in text
    assert "script" not in page.tags
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    with h5py.File(maps) as file:
        stored = [file["tas"].id.get_chunk_info(i).size for i in range(800)]
    # A series meets all chunks, a map one.
    series, a_map = (
        next(label for label in page.labels if f"tas with a {read} on them" in label) for read in ("series", "map")
    )
    assert "800 chunks touched, 3.12 KiB wanted" in series
    assert "1 chunk touched, 12.5 KiB wanted" in a_map
    kib = f"{min(stored) / 1024:.3g}", f"{max(stored) / 1024:.3g}"
    sizes = next(label for label in page.labels if label.startswith("800 chunks"))
    assert all(size in sizes for size in kib), (sizes, kib)
    assert "3,200×" in page.words  # 800 chunks of 40 x 80, for 800 values


def test_the_map_of_bytes_is_the_whole_file(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    for path in (maps, DATA / "navy_winds.nc", DATA / "sst30e_netcdf.nc", DATA / "uv300.nc"):
        run("info", path, "--html", out, "-O")
        label = next(v for v in Page(out.read_text()).labels if v.startswith("Map of the file's bytes"))
        units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        reported = sum(float(n) * units[u] for n, u in re.findall(r" ([\d.]+) (B|KiB|MiB)(?=,|$)", label))
        # Each is rounded to three digits.
        assert reported == pytest.approx(path.stat().st_size, rel=0.01), label


def test_doctor_shows_before_after_and_break_even(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    run("doctor", maps, "--html", out)
    page = Page(out.read_text())
    assert "NC101" in page.words
    assert "What a copy brings" in page.words
    assert re.search(r"series .* reads? ", page.words)
    assert any(label.startswith("Before and after: series: ") for label in page.labels)
    # The command is one that a shell takes: the name has a blank and an ampersand.
    assert f"ncforge copy '{maps}' '{maps.with_name('maps & more-fixed.nc')}'" in page.words
    assert "Nothing to fix" in _doctor(run, DATA / "sst30e_netcdf.nc", tmp_path / "nothing.html", "--select", "NC101")


def _doctor(run: Run, path: Path, out: Path, *options: str) -> str:
    run("doctor", path, "--html", out, *options)
    return out.read_text()


def test_a_page_is_not_replaced_unasked(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    assert "hint: give -O" in run("info", maps, "--html", out, code=2).stderr
    assert out.read_text() == "mine"
    run("doctor", maps, "--html", out, "-O")
    assert run("info", maps, "--html", "-").stdout.startswith("<!DOCTYPE html>")


def test_several_files_stand_on_one_page(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    paths = [DATA / "navy_winds.nc", tmp_path / "missing.nc", DATA / "uv300.nc"]
    run("info", *paths, "--html", out, code=4)
    page = Page(out.read_text())
    assert "navy_winds.nc" in page.words
    assert "uv300.nc" in page.words


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_it_without_a_complaint(run: Run, maps: Path, tmp_path: Path, dark: bool) -> None:
    out = tmp_path / "page.html"
    run("doctor", maps, "--html", out)
    image = screenshot(out, tmp_path, 900, 3200, dark)
    corner = image[2, 2].mean()
    assert corner < 50 if dark else corner > 230
    # Something is drawn in each of the colours of the legend.
    wanted = {(0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00)} if not dark else {(0x4A, 0xA8, 0xE0), (0xF0, 0xB4, 0x29)}
    assert wanted <= set(map(tuple, image.reshape(-1, 3).tolist()))


@pytest.mark.parametrize("command", ["info", "doctor"])
@pytest.mark.parametrize("names", [["no.nc"], ["no.nc", "none.nc"]])
def test_no_page_of_no_file(run: Run, maps: Path, tmp_path: Path, command: str, names: list[str]) -> None:
    out = tmp_path / "page.html"
    done = run(command, *(tmp_path / name for name in names), "--html", out, code=4)
    assert done.stderr.count("cannot open") == len(names) and not out.exists()
    run(command, maps, tmp_path / "no.nc", "--html", out, code=4)
    assert "maps &amp; more.nc" in out.read_text()
