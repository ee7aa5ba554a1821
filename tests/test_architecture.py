"""The arrows between rooms run as docs/architecture.md draws them, nothing public is undocumented, no file is too long."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from imports import circles

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "crates" / "ncforge" / "src"

#: What each room of the library may use. `words` and `error` stand below all of them, and are not named.
MAY_USE = {
    "buffer": set(),
    "model": {"buffer"},
    "select": set(),
    "element": {"model"},
    "codec": {"buffer", "element", "model"},
    "layout": {"codec", "element", "model"},
    "store": {"buffer", "codec"},
    "container": {"layout", "model", "select", "store"},
    "hdf5": {"buffer", "codec", "layout", "model", "select", "store"},
    "classic": {"buffer", "codec", "container", "layout", "model", "select", "store"},
    "netcdf4": {"buffer", "codec", "container", "hdf5", "layout", "model", "select", "store"},
    "engine": {"buffer", "codec", "container", "layout", "model", "select", "store", "tune"},
    "tune": {"codec", "model", "store"},
    "dataset": {"buffer", "classic", "codec", "container", "engine", "layout", "model", "netcdf4", "select", "store"},
    "ops": {
        "buffer", "classic", "codec", "container", "dataset", "engine", "layout", "model", "netcdf4", "select", "store", "tune",
    },
}  # fmt: skip
BELOW_ALL = {"error", "words"}
CRATES = {
    "ncforge": set(),
    "ncforge-view": {"ncforge"},
    "ncforge-bench": {"ncforge", "ncforge-view"},
    "ncforge-cli": {"ncforge", "ncforge-bench", "ncforge-view"},
    "ncforge-py": {"ncforge", "ncforge-bench", "ncforge-cli", "ncforge-view"},
}


def code(path: Path) -> str:
    """A file without its tests, its comments and its documentation."""
    text = re.split(r"^#\[cfg\(test\)\]\nmod tests \{", path.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r"//.*", "", text)


def uses(room: str) -> dict[str, set[str]]:
    """Other rooms that a room names, and the files that do."""
    found: dict[str, set[str]] = {}
    for path in [LIBRARY / f"{room}.rs", *sorted((LIBRARY / room).rglob("*.rs"))]:
        if not path.exists() or path.name == "tests.rs":
            continue
        for other in re.findall(r"\bcrate::([a-z0-9_]+)", code(path)):
            if other != room:
                found.setdefault(other, set()).add(path.relative_to(LIBRARY).as_posix())
        for braces in re.findall(r"\bcrate::\{(.*?)\};", code(path), flags=re.DOTALL):
            for other in re.findall(r"(?:^|,)\s*([a-z0-9_]+)", braces):
                found.setdefault(other, set()).add(path.relative_to(LIBRARY).as_posix())
    return found


def test_every_room_is_known() -> None:
    text = (LIBRARY / "lib.rs").read_text()
    rooms = set(re.findall(r"^(?:pub )?mod ([a-z0-9_]+);", text, flags=re.MULTILINE))
    assert rooms - BELOW_ALL == set(MAY_USE)


@pytest.mark.parametrize("room", sorted(MAY_USE))
def test_arrows_run_down(room: str) -> None:
    odd = {other: files for other, files in uses(room).items() if other in MAY_USE and other not in MAY_USE[room]}
    assert not odd, f"`{room}` uses {odd}, which docs/architecture.md does not allow"


def test_the_arrows_make_no_circle() -> None:
    order: list[str] = []
    while len(order) < len(MAY_USE):
        free = [room for room, below in MAY_USE.items() if room not in order and below <= set(order)]
        assert free, f"a circle among {set(MAY_USE) - set(order)}"
        order += free


def test_crates_use_what_they_may() -> None:
    for crate, below in CRATES.items():
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
        dependencies = manifest.split("[dependencies]", 1)[1].split("\n[", 1)[0]
        assert set(re.findall(r"^(ncforge[a-z-]*)", dependencies, flags=re.MULTILINE)) == below, crate


#: Circles of files that are still to be opened, as sets of the files that take part (paths below `src`, of `ops` without that folder, since it
#: becomes a crate). A circle among some of the files of a set is admitted; no set may be added, and those that are open can go.
CIRCLES = [
    "buffer.rs buffer/arena.rs buffer/recycle.rs",
    "dataset/formats.rs dataset/mutable.rs",
    "engine.rs engine/ahead.rs engine/ahead/job.rs engine/chunked.rs engine/columns.rs engine/linear.rs engine/source.rs",
    "model/dtype.rs model/schema.rs",
    "netcdf4/read.rs netcdf4/read/container.rs",
    "netcdf4/read/attrs.rs netcdf4/read/hints.rs netcdf4/read/scan.rs netcdf4/read/types.rs netcdf4/read/values.rs",
    "netcdf4/write/container.rs netcdf4/write/create.rs netcdf4/write/redefine.rs",
    "combine/mosaic.rs combine/mosaic/existing.rs combine/mosaic/pattern.rs",
    "combine/scheme.rs combine/scheme/generic.rs",
    "compare.rs compare/attrs.rs compare/schema.rs compare/values.rs",
    "copy.rs copy/elsewhere.rs copy/run.rs copy/run/together.rs",
    "copy/plan.rs copy/quantized.rs",
    "describe/packed.rs describe/storage.rs",
    "doctor.rs doctor/facts.rs doctor/sample.rs",
    "neighbours.rs source.rs",
    "sampling.rs sampling/places.rs",
    "split.rs split/describe.rs split/families.rs split/window.rs",
    "store/file.rs store/output.rs store/replace.rs",
    "store/packed.rs store/packed/read.rs store/packed/write.rs",
    "store/packed/format.rs store/packed/format/map.rs",
    "tune/choose.rs tune/choose/prices.rs",
    "printer.rs progress.rs",
    "combine.rs encoder.rs ops.rs",
]
#: Crates in which every path counts, whether it is in a `use` or in code. In the others only `use` does, as long as they have circles.
EVERY_PATH = {"ncforge-bench", "ncforge-view"}


@pytest.mark.parametrize("crate", sorted(p.parent.name for p in (ROOT / "crates").glob("*/src")))
def test_no_files_import_each_other_in_a_circle(crate: str) -> None:
    """`tests/imports.py` says what counts as an import."""
    admitted = [set(files.split()) for files in CIRCLES]
    found = circles(ROOT / "crates" / crate / "src", every_path=crate in EVERY_PATH)
    new = {
        files: way
        for files, way in found.items()
        if not any({f.removeprefix("ops/") for f in files} <= known for known in admitted)
    }
    shown = [f"{' -> '.join(way)}   ({len(files)} files: {' '.join(files)})" for files, way in sorted(new.items())]
    assert not new, f"files of {crate} import each other in a circle:\n" + "\n".join(shown)


def test_circles_are_found(tmp_path: Path) -> None:
    """What is a circle, and what is none, by small crates."""

    def crate(**files: str) -> list[list[str]]:
        for path in tmp_path.rglob("*.rs"):
            path.unlink()
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.rs"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return [way for _, way in sorted(circles(tmp_path, every_path=True).items())]

    parent = "mod b;\npub use b::B;\n"
    assert crate(lib="mod a;", a=parent, a__b="pub struct B;") == []
    # A child that names what its parent re-exports from a sibling uses the sibling.
    sibling = "use super::B;\nfn f(_: B) {}"
    assert crate(lib="mod a;", a=parent + "mod c;", a__b="pub struct B;", a__c=sibling) == []
    # A type of the parent, which calls the child: by a use, and by a path.
    for call in ("use b::f;\nfn g() { f() }", "fn g() { b::f() }"):
        text = "mod b;\npub struct A;\n" + call
        assert crate(lib="mod a;", a=text, a__b="use super::A;\npub fn f() {}") == [["a.rs", "a/b.rs", "a.rs"]], call
    both = {"a": "use crate::b::B;\npub struct A(B);", "b": "pub struct B(Box<crate::a::A>);"}
    assert crate(lib="mod a;\nmod b;", **both) == [["a.rs", "b.rs", "a.rs"]]
    # Tests, comments and strings do not count.
    quiet = '// crate::a::A\npub struct B;\nconst T: &str = "crate::a::A";\n#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}\n'
    assert crate(lib="mod a;\nmod b;", a="use crate::b::B;\npub struct A(B);", b=quiet) == []


def tracked(*endings: str) -> list[Path]:
    """Files of the repository with these endings."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in done.stdout.splitlines() if line.endswith(endings) and (ROOT / line).exists()]


def test_no_file_is_longer_than_eight_hundred_lines() -> None:
    """One that is longer says why, in its first lines, by the word `long:`."""
    for path in tracked(".rs", ".py", ".pyi", ".sh", ".c"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 800 or any("long:" in line for line in lines[:30]), f"{path}: {len(lines)} lines"


def test_missing_documentation_is_an_error_in_every_crate() -> None:
    assert 'missing_docs = "deny"' in (ROOT / "Cargo.toml").read_text()
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert "[lints]\nworkspace = true" in manifest.read_text(), manifest
    for path in tracked(".rs"):
        assert "allow(missing_docs)" not in path.read_text(), path


def public(body: list[ast.stmt], inside: str) -> list[str]:
    """Public functions and classes without a docstring; overloads and what inherits its text aside."""
    missing = []
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        marks = {ast.unparse(d).rsplit(".", 1)[-1] for d in node.decorator_list}
        if marks & {"overload", "setter", "override"}:
            continue
        if ast.get_docstring(node) is None:
            missing.append(f"{inside}.{node.name}")
        if isinstance(node, ast.ClassDef):
            missing += public(node.body, f"{inside}.{node.name}")
    return missing


def test_every_public_name_of_python_has_a_docstring() -> None:
    missing = []
    for path in sorted((ROOT / "python" / "ncforge").glob("**/*.py")):
        tree = ast.parse(path.read_text())
        name = path.relative_to(ROOT / "python").with_suffix("").as_posix().replace("/", ".")
        if ast.get_docstring(tree) is None:
            missing.append(name)
        missing += public(tree.body, name)
    assert not missing, missing
