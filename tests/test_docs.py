"""Every command and every line of Python in README.md and docs/ runs as printed, and no link leads nowhere.

A document's blocks run in their order, in one folder of its own that holds the files which the document speaks of. Blocks
marked ``sh``, ``console`` and ``python`` are run; of ``console``, what is printed is compared as well (a line of ``…`` stands for
any lines). Blocks of other kinds are drawings, Rust (its doc tests run by themselves), or need what a test cannot have (``text``).
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import tiles
from conftest import DATA, ROOT
from documents import DOCUMENTS, PAPER, name_of

#: What would take minutes is run with less to do; what is left out of a line is only a number.
SMALLER = {
    "ncforge bench convert --quick --library netcdf-c": "--floats 10k --repetitions 1",
    # ``test_bench_workloads.py`` runs it.
    "ncforge bench published --quick": "--dry-run",
    "ncforge bench records --only station --library netcdf-c": "--records 500 --variables 4 --reads 20 --repetitions 1",
    "ncforge bench records --only network --stations 60 --blocks 64K,256K --codecs zstd --csv": (
        "--stations 2 --years 1 --repetitions 1"
    ),
    "ncforge bench records --only station": "--records 500 --variables 4 --reads 20 --repetitions 1",
    "ncforge bench io -w -r --driver raw,ncforge --html io.html": "-d 4:100:100:10 --reps 1",
    "ncforge bench io -w -r -d 20:100:100:10 --driver ncforge,raw --reps 3": "-d 4:10:10:10",
    "ncforge bench io --ranks 4 -n 2 -p 2 -w -r -d 20:200:200:10 -c auto --reps 3": "-d 4:20:20:10",
    "ncforge bench io -w -r -d 20:100:100:10 --dtype f4 -L codec=none,deflate=1,zstd=3 -L shuffle=off,bytes --reps 3": (
        "-d 4:10:10:10 --reps 1"
    ),
    "ncforge bench chunks --proof precip --array-bytes 2M --most-shapes 4 --deflate 1 --repetitions 1": "--array-bytes 256K",
}

#: Bytes that one file of a block may have: who tries what a page says has no room for what was measured elsewhere.
MOST_BYTES = 256 << 20

#: What a block takes for granted: names that a reader has.
GIVEN = {
    "docs/zipped.md": "import numpy as np\nnew_values = np.full(365, 4.5, 'f4')\n",
    "docs/python.md": (
        "import matplotlib; matplotlib.use('Agg')\n"
        "from pathlib import Path\n"
        "import ncforge, xarray as xr\n"
        "paths = sorted(Path().glob('sst_*.nc'))\n"
        "Path('folder').mkdir(exist_ok=True)\n"
    ),
    "docs/xarray.md": (
        "import ncforge, numpy as np, xarray as xr\n"
        "ds = xr.open_dataset('sst.nc', engine='ncforge')\n"
        "tree = xr.DataTree.from_dict({'/': ds})\n"
        "january, february = ds.isel(time=slice(0, 31)), ds.isel(time=slice(31, 59))\n"
        "january = january.assign_coords(time=january.time + np.timedelta64(366, 'D'))\n"
    ),
}


@dataclass
class Block:
    """A fenced block of a document."""

    kind: str
    text: str
    line: int


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document; ``line`` is the first line inside."""
    found: list[Block] = []
    inside: Block | None = None
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if line.startswith("```"):
            if inside is None:
                inside = Block(line[3:].strip(), "", number + 1)
            else:
                found.append(inside)
                inside = None
        elif inside is not None:
            inside.text += line + "\n"
    assert inside is None, f"{document}: a block is not closed"
    return found


def grid(
    path: Path, name: str, shape: tuple[int, int, int], *, format: Any = "NETCDF4", map_chunks: bool = False
) -> None:
    """A field over (time, lat, lon) with its coordinates, the same in every run."""
    with netCDF4.Dataset(path, "w", format=format) as file:
        for axis, length, units in zip(
            ("time", "lat", "lon"), shape, ("days since 2000-01-01", "degrees_north", "degrees_east"), strict=True
        ):
            file.createDimension(axis, None if axis == "time" else length)
            coordinate = file.createVariable(axis, "f8", (axis,))
            coordinate.units = units
            coordinate[:] = np.arange(length)
        options: dict[str, Any] = {"zlib": True, "chunksizes": (1, *shape[1:])} if map_chunks else {}
        variable = file.createVariable(name, "f4", ("time", "lat", "lon"), **options)
        variable.units = "K"
        variable[:] = 280 + np.sin(np.arange(np.prod(shape)).reshape(shape) / 97, dtype="f4")


def whole() -> tiles.Whole:
    """The array that the tiles are cut from."""
    temp = np.arange(2 * 12 * 16, dtype="f4").reshape(2, 12, 16)
    axes = {name: tiles.Field((name,), np.arange(1.0, n + 1)) for name, n in (("y", 12), ("x", 16))}
    return tiles.Whole({"temp": tiles.Field(("t", "y", "x"), temp), **axes})


def station(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        for name in ("TMAX", "TMIN"):
            file.createVariable(name, "f4", ("time",))[:] = np.round(np.sin(np.arange(1000) / 58) * 9, 1)


def provide(name: str, folder: Path) -> None:
    """The files that a document speaks of."""
    for file in [*DATA.glob("*.nc"), *DATA.glob("*.cdf")]:
        shutil.copy(file, folder)
    storage = tiles.Storage("NETCDF3_CLASSIC")
    if name == "docs/coming-from/mppnccombine.md":
        tiles.fms(folder, whole(), (2, 2), storage)
    if name in ("docs/coming-from/rebuild_nemo.md", "docs/coming-from/nocscombine.md"):
        tiles.nemo(folder, whole(), (2, 2), storage, base="ORCA_grid_T")
    if name in ("docs/doctor.md", "docs/python.md"):
        grid(folder / "tas.nc", "tas", (800, 64, 128), map_chunks=True)
    if name == "docs/python.md":
        tiles.fms(folder, whole(), (2, 2), storage)
    if name == "docs/combine.md":
        tiles.nemo(folder, whole(), (2, 2), storage, base="ORCA_grid_T")
        tiles.nemo(folder, whole(), (2, 2), storage, base="restart")
        tiles.fms(folder, whole(), (2, 2), storage)
    if name == "README.md":
        tiles.nemo(folder, whole(), (2, 2), storage, base="ocean")
    steps = 60 if name == "docs/xarray.md" else 12
    grid(
        folder / "sst.nc", "sst", (steps, 180, 360), format="NETCDF4" if name == "docs/xarray.md" else "NETCDF3_CLASSIC"
    )
    if name in ("README.md", "docs/xarray.md", "docs/python.md"):
        for part in (1, 2):
            shutil.copy(folder / "sst.nc", folder / f"sst_{part}.nc")
            with netCDF4.Dataset(folder / f"sst_{part}.nc", "a") as later:
                later["time"][:] = later["time"][:] + steps * part
        shutil.copy(folder / "sst.nc", folder / "run.nc")
    if name == "docs/how-to/references.md":
        for part in (1, 2):
            grid(folder / f"tas_{part}.nc", "tas", (20, 18, 36), map_chunks=True)
            with netCDF4.Dataset(folder / f"tas_{part}.nc", "a") as later:
                later["time"][:] = later["time"][:] + 20 * part
    if name == "docs/choosing.md":
        # `bench chunks --proof` would measure the machine first.
        rates = folder / ".home/.cache/ncforge/machine.json"
        rates.parent.mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "machine.json", rates)
    if name == "README.md":
        station(folder / "obs.nc")
    station(folder / "station.nc")
    shutil.copy(folder / "navy_winds.nc", folder / "model.nc4")
    grid(folder / "in.nc", "sst", (60, 90, 180))


def environment(folder: Path, binary: Path) -> dict[str, str]:
    commands = folder / ".bin"
    commands.mkdir(exist_ok=True)
    (commands / "ncforge").unlink(missing_ok=True)
    (commands / "ncforge").symlink_to(binary.resolve())
    home = folder / ".home"
    for needed in (".local/share/bash-completion/completions", ".local/share/man/man1"):
        (home / needed).mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "MANPAGER": "cat",
    }


def smaller(text: str) -> str:
    """The block with the lines of `SMALLER` made small: an option given there takes the place of the printed one."""
    out = []
    for line in text.splitlines():
        command = re.sub(r"\s+#.*", "", line).rstrip()
        if more := SMALLER.get(command):
            for option in re.findall(r"(?<!\S)--?[a-z-]+", more):
                command = re.sub(rf"\s{option} \S+", "", command)
            if "--floats" in more:
                command = command.replace(" --quick", "")
            line = f"{command} {more}"
        elif command.startswith(("ncforge doctor", "ncforge bench compare")):
            # 3 says that it found something, or that one was slower.
            line = f"{command} || [ $? = 3 ]"
        elif command.startswith("make "):
            # The targets exist and are put together rightly; what they do is CI's whole work.
            line = f"make -C {ROOT} -n {command[5:]} >/dev/null"
        out.append(line)
    return "\n".join(out) + "\n"


def within_bounds() -> None:
    """For the process of a block."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


def run(block: Block, name: str, folder: Path, env: dict[str, str]) -> None:
    if block.kind == "python":
        program = GIVEN.get(name, "") + block.text
        command = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", program]
    else:
        command = ["bash", "-euo", "pipefail", "-c", smaller(block.text)]
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        preexec_fn=within_bounds,
    )
    assert done.returncode == 0, (
        f"{name}:{block.line}: exit code {done.returncode}\n{block.text}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    )


def printed(block: Block, name: str, folder: Path, env: dict[str, str]) -> None:
    """Runs what stands behind ``$`` and compares what it prints with the lines up to the next ``$``."""
    for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = session.partition("\n")
        done = subprocess.run(
            ["bash", "-c", f"{command} 2>&1"],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
        )
        pieces = [re.escape(piece.strip("\n")) for piece in re.split(r"^\s*…\s*$", shown, flags=re.MULTILINE)]
        assert re.fullmatch("(?s:.*)".join(pieces), done.stdout.strip("\n")), (
            f"{name}:{block.line}: `{command}` prints\n{done.stdout}\nand the document says\n{shown}"
        )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_documents_blocks_run(document: Path, tmp_path: Path, ncforge_bin: Path) -> None:
    name = name_of(document)
    wanted = [block for block in blocks(document) if block.kind in ("sh", "console", "python")]
    if not wanted:
        return
    provide(name, tmp_path)
    env = environment(tmp_path, ncforge_bin)
    for block in wanted:
        (printed if block.kind == "console" else run)(block, name, tmp_path, env)


def test_the_archive_tutorial_takes_a_classic_file(tmp_path: Path, ncforge_bin: Path) -> None:
    """It says that any file will do."""
    document = ROOT / "docs" / "tutorials" / "archive.md"
    provide(name_of(document), tmp_path)
    grid(tmp_path / "in.nc", "sst", (60, 90, 180), format="NETCDF3_CLASSIC")
    env = environment(tmp_path, ncforge_bin)
    for block in blocks(document):
        if block.kind == "sh":
            run(block, name_of(document), tmp_path, env)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_documents_blocks_have_a_kind(document: Path) -> None:
    """So that none is left out by an oversight."""
    known = {"sh", "console", "python", "rust", "text"}
    odd = [(block.line, block.kind) for block in blocks(document) if block.kind not in known]
    assert not odd, f"{name_of(document)}: fences of kind {odd}, known are {sorted(known)}"


def test_what_is_made_small_stands_in_a_document() -> None:
    """A line that was changed on its page would run as it is printed there, for hours perhaps."""
    lines = {
        re.sub(r"\s+#.*", "", line).rstrip()
        for document in DOCUMENTS
        for block in blocks(document)
        for line in block.text.splitlines()
    }
    assert not SMALLER.keys() - lines


@pytest.mark.parametrize(("page", "apart"), [("command.md", ()), ("bench-command.md", ("bench",))])
def test_the_reference_of_commands_is_up_to_date(ncforge_bin: Path, page: str, apart: tuple[str, ...]) -> None:
    command = [str(ncforge_bin), "man", "--markdown", *apart]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    assert (ROOT / "docs" / "reference" / page).read_text() == made, (
        f"make it anew: ncforge {' '.join(command[1:])} > docs/reference/{page}"
    )
    assert len(made.split()) <= 6_000


def test_the_picture_of_the_readme_is_that_of_the_saved_result(tmp_path: Path) -> None:
    folder = ROOT / "docs" / "pictures"
    made = tmp_path / "made.svg"
    command = [sys.executable, str(ROOT / "scripts" / "picture.py"), "draw", str(folder / "reads.json"), str(made)]
    subprocess.run(command, check=True)
    assert made.read_text() == (folder / "reads.svg").read_text()
    (title,) = re.findall(r"<title id='t'>(.*?)</title>", made.read_text())
    assert f"![{title}](docs/pictures/reads.svg)" in (ROOT / "README.md").read_text()


def test_the_readme_repeats_the_figures_of_the_pages() -> None:
    """The README's table of comparisons must be updated together with the pages that it cites."""
    section = (ROOT / "README.md").read_text().split("## Compared with other tools")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")
    ]
    checked = 0
    for what, ours, peers, where in rows[1:]:
        (page,) = re.findall(r"\]\((docs/[^)#]+)", where)
        words = set(re.findall(r"\d[\d,.]*\d|\d", (ROOT / page).read_text()))
        figures = re.findall(r"(\d[\d,.]*) (?:µs|ms|s|MB|times)\b", f"{ours} {peers}")
        assert figures, what
        assert not set(figures) - words, f"{what}: {figures}, and {page} has others"
        checked += len(figures)
    assert checked >= 10


def test_the_paper_is_short_and_repeats_the_documents() -> None:
    """At most 800 words with its head, the works that it cites, and no figure that is in no document."""
    text = PAPER.read_text()
    assert len(text.split()) <= 800
    works = re.findall(r"^@[a-z]+\{(\w+),", (PAPER.parent / "paper.bib").read_text(), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) == set(works)
    documented = {n for d in DOCUMENTS for n in re.findall(r"\d[\d,.]*\d|\d", d.read_text())}
    figures = re.findall(r"(\d[\d,.]*\d|\d) (?:ms|s|MB|GB|times|pass|fuzz|defects)\b", text)
    assert len(figures) >= 10
    assert not set(figures) - documented


def test_every_command_has_a_label() -> None:
    """Stable, new or experimental, in the table of docs/index.md."""
    section = (ROOT / "docs" / "index.md").read_text().split("## What is stable")[1]
    labels = re.findall(r"^\| (stable|new|experimental) \|", section, re.MULTILINE)
    assert labels == ["stable", "new", "experimental"]
    named = set(re.findall(r"`(?:ncforge )?([a-z_]+)`", section)) | set(re.findall(r"`ncforge ([a-z]+)", section))
    pages = [(ROOT / "docs/reference" / page).read_text() for page in ("command.md", "bench-command.md")]
    headings = re.findall(r"^## ncforge ([a-z_]+)$", "\n".join(pages), re.MULTILINE)
    assert len(headings) > 15
    assert not set(headings) - named


def test_every_design_note_is_listed() -> None:
    notes = sorted(path.name for path in (ROOT / "docs" / "notes").glob("[0-9]*.md"))
    listing = (ROOT / "docs" / "notes" / "index.md").read_text()
    assert re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", listing) == notes


def anchors(document: Path) -> set[str]:
    """The anchors of headings, as GitHub and MkDocs make them."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+\s+(.*)$", prose, flags=re.MULTILINE):
        text = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(text.replace(" ", "-"))
    return found


@pytest.mark.parametrize("document", [*DOCUMENTS, *sorted(ROOT.glob("*/README.md"))], ids=name_of)
def test_no_link_leads_nowhere(document: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (document.parent / path).resolve() if path else document
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            broken.append(target)
    assert not broken, f"{name_of(document)}: {broken}"
