"""The arrows between modules and crates run as docs/architecture.md draws them, nothing public is undocumented, no file is too long."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from imports import circles, stripped

ROOT = Path(__file__).resolve().parent.parent
#: What each module of the crate `ncforge` may use. `error` is below all of them, and is not named.
NCFORGE = {
    "buffer": set(),
    "codec": set(),
    "model": {"buffer"},
    "select": {"model"},
    "layout": {"codec", "model", "select", "store"},
    "store": {"buffer", "codec"},
    "container": {"layout", "model", "select", "store"},
    "hdf5": {"buffer", "codec", "layout", "model", "select", "store"},
    "classic": {"buffer", "codec", "container", "layout", "model", "select", "store"},
    "netcdf4": {"buffer", "codec", "container", "hdf5", "layout", "model", "select", "store"},
    "engine": {"buffer", "codec", "container", "layout", "model", "select", "store"},
    "view": {"codec", "container", "layout", "model", "select", "store"},
    "dataset": {
        "buffer", "classic", "codec", "container", "engine", "layout", "model", "netcdf4", "select", "store", "view",
    },
    "raw": {"classic", "codec", "container", "engine", "layout", "netcdf4", "select", "view"},
}  # fmt: skip
#: The same of the crate `ncforge-ops`. `request` is below all of them.
OPS = {
    "progress": set(),
    "boxes": set(),
    "calendar": set(),
    "intact": set(),
    "written": set(),
    "points": set(),
    "describe": {"calendar", "points"},
    "series": set(),
    "alike": {"series"},
    "unlike": {"describe"},
    "profile": {"boxes"},
    "select": {"calendar"},
    "sampling": {"boxes"},
    "choosing": {"points", "sampling"},
    "conversion": set(),
    "compare": {"boxes", "conversion", "intact", "progress", "select", "written"},
    "packed": {"alike", "conversion", "copy", "series"},
    "zip": {"intact", "progress"},
    "verify": {"boxes", "points", "progress", "written", "zip"},
    "digest": {"boxes", "intact", "progress", "written"},
    "copy": {
        "boxes", "choosing", "compare", "conversion", "digest", "points", "profile", "progress", "sampling", "select",
        "written",
    },
    "traffic": {"choosing", "copy"},
    "combine": {
        "alike", "boxes", "calendar", "compare", "copy", "describe", "intact", "packed", "progress", "select", "series",
        "unlike", "written",
    },
    "refs": {"alike", "boxes", "combine", "copy", "intact", "packed", "profile", "progress", "select", "series"},
    "split": {"combine", "copy", "intact", "progress"},
    "doctor": {"choosing", "copy", "describe", "points", "profile", "sampling"},
}  # fmt: skip
MODULES = {"ncforge": NCFORGE, "ncforge-ops": OPS}
BELOW_ALL = {"ncforge": {"error"}, "ncforge-ops": {"endings", "request"}}
CRATES = {
    "ncforge-codec": set(),
    "ncforge": {"ncforge-codec"},
    "ncforge-tune": {"ncforge"},
    "ncforge-ops": {"ncforge", "ncforge-tune"},
    "ncforge-view": {"ncforge", "ncforge-ops", "ncforge-tune"},
    "ncforge-bench": {"ncforge", "ncforge-ops", "ncforge-tune", "ncforge-view"},
    "ncforge-cli": {"ncforge", "ncforge-bench", "ncforge-ops", "ncforge-tune", "ncforge-view"},
    "ncforge-netcdf": {"ncforge"},
    "ncforge-py": {"ncforge", "ncforge-bench", "ncforge-cli", "ncforge-ops", "ncforge-tune", "ncforge-view"},
}


def uses(crate: str, module: str) -> dict[str, set[str]]:
    """Other modules of its crate that a module names, and the files that do."""
    source = ROOT / "crates" / crate / "src"
    found: dict[str, set[str]] = {}
    for path in [source / f"{module}.rs", *sorted((source / module).rglob("*.rs"))]:
        if not path.exists() or path.name == "tests.rs" or "tests" in path.relative_to(source).parts:
            continue
        text = stripped(path.read_text())
        names = re.findall(r"\bcrate::([a-z0-9_]+)", text)
        for braces in re.findall(r"\bcrate::\{(.*?)\};", text, flags=re.DOTALL):
            names += re.findall(r"(?:^|,)\s*([a-z0-9_]+)", braces)
        for other in names:
            if other != module:
                found.setdefault(other, set()).add(path.relative_to(source).as_posix())
    return found


@pytest.mark.parametrize("crate", sorted(MODULES))
def test_every_module_is_known(crate: str) -> None:
    text = (ROOT / "crates" / crate / "src" / "lib.rs").read_text()
    modules = set(re.findall(r"^(?:pub )?mod ([a-z0-9_]+);", text, flags=re.MULTILINE))
    assert modules - BELOW_ALL[crate] == set(MODULES[crate])


@pytest.mark.parametrize(("crate", "module"), [(c, m) for c in sorted(MODULES) for m in sorted(MODULES[c])])
def test_arrows_run_down(crate: str, module: str) -> None:
    known = MODULES[crate]
    odd = {
        other: files for other, files in uses(crate, module).items() if other in known and other not in known[module]
    }
    assert not odd, f"`{module}` uses {odd}, which docs/architecture.md does not allow"


@pytest.mark.parametrize("crate", sorted(MODULES))
def test_the_arrows_make_no_circle(crate: str) -> None:
    order: list[str] = []
    while len(order) < len(MODULES[crate]):
        free = [module for module, below in MODULES[crate].items() if module not in order and below <= set(order)]
        assert free, f"a circle among {set(MODULES[crate]) - set(order)}"
        order += free


def test_crates_use_what_they_may() -> None:
    for crate, below in CRATES.items():
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
        dependencies = manifest.split("[dependencies]", 1)[1].split("\n[", 1)[0]
        assert set(re.findall(r"^(ncforge[a-z-]*)", dependencies, flags=re.MULTILINE)) == below, crate


#: Crates in which every path counts, whether it is in a `use` or in code. In the others only `use` does.
EVERY_PATH = {"ncforge-bench", "ncforge-view"}


@pytest.mark.parametrize("crate", sorted(p.parent.name for p in (ROOT / "crates").glob("*/src")))
def test_no_files_import_each_other_in_a_circle(crate: str) -> None:
    """`tests/imports.py` says what counts as an import."""
    found = circles(ROOT / "crates" / crate / "src", every_path=crate in EVERY_PATH)
    shown = [f"{' -> '.join(way)}   ({len(files)} files: {' '.join(files)})" for files, way in sorted(found.items())]
    assert not found, f"files of {crate} import each other in a circle:\n" + "\n".join(shown)


def test_circles_are_found(tmp_path: Path) -> None:
    """Circles, and imports that are none, by small crates."""

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


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # A part of a string that looks like a comment is none, and the string does not end there.
        ('let u = "s3://bucket"; use crate::a::A;', 'let u = ""; use crate::a::A;'),
        ('f("a", "//", "use crate::b::B;")', 'f("", "", "")'),
        ('let r = r#"a "quoted" // word"#; g()', 'let r = ""; g()'),
        (r'let s = "\\"; let t = "\"//"; g()', 'let s = ""; let t = ""; g()'),
        # A quote in a comment or in a character begins no string.
        ('// it isn\'t "so\ng() /* " */ h()', " \ng()   h()"),
        ("if c == '\"' { f::<'a>('/') } // \"", """if c == "" { f::<'a>("") }  """),
        (r"let (q, n, u) = ('\'', b'\n', '\u{22}'); g()", 'let (q, n, u) = ("", "", ""); g()'),
        ("#[cfg(test)]\n// Those.\nmod tests {\n}", ""),
    ],
)
def test_what_is_code(text: str, code: str) -> None:
    assert stripped(text) == code


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
