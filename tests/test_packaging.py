"""Facts for other people's package collections: one version everywhere, licences listed, recipes that can be read."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import execute
from conftest import Run

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
needs_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot read TOML")


def version() -> str:
    """The one version: that of the workspace."""
    found = re.search(r'^\[workspace\.package\]\nversion = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found.group(1)


def test_published_crates_have_licences_and_are_packed() -> None:
    packed = re.search(r"^crates=\((.*)\)$", (PACKAGING / "crates-check.sh").read_text(), re.MULTILINE)
    published = {m.parent for m in ROOT.glob("crates/*/Cargo.toml") if "publish = false" not in m.read_text()}
    assert packed is not None and set(packed[1].split()) == {crate.name for crate in published}
    for crate in published:
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            assert (crate / name).read_bytes() == (ROOT / name).read_bytes(), crate


def test_the_version_comes_from_one_place(run: Run) -> None:
    import ncforge

    assert run("--version").stdout == f"ncforge {version()}\n"
    assert ncforge.__version__ == version()
    own = re.findall(r'path = "crates/[a-z-]+", version = "(.+?)"', (ROOT / "Cargo.toml").read_text())
    assert own, "the workspace names its own crates"
    assert set(own) == {version()}
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert "version.workspace = true" in manifest.read_text(), manifest
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE).group(1) == version()  # type: ignore[union-attr]
    # Where a page names the version of a figure, it may be an older one; the recipes may name none.
    for recipe in PACKAGING.glob("**/*.in"):
        assert version() not in recipe.read_text(), recipe


def test_pages_know_whether_there_was_a_release() -> None:
    released = re.search(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE) is not None
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    denying = [p.name for p in pages if p.name != "releasing.md" and re.search(r"no\s+release\s+yet", p.read_text())]
    assert bool(denying) != released, denying


def test_the_demo_installs_what_it_imports_and_nothing_else() -> None:
    def names(path: str) -> set[str]:
        lines = (ROOT / path).read_text().splitlines()
        return {re.split(r"[=\[;]", line)[0] for line in lines if line and line[0] not in "#-"}

    tree = ast.parse((ROOT / "examples" / "demo.py").read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {m.split(".")[0] for m in imported} - sys.stdlib_module_names == names("requirements-demo.txt")
    assert not names("requirements-demo.txt") & names("requirements-dev.txt"), "pinned in one place"
    assert "-r requirements-demo.txt" in (ROOT / "requirements-dev.txt").read_text().splitlines()


@needs_toml
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_all_licences_are_allowed_and_listed() -> None:
    command = [sys.executable, str(PACKAGING / "licences.py"), "--check"]
    execute(*command, cwd=ROOT)


@needs_toml
def test_spdx_expressions_are_read_rightly() -> None:
    satisfied = runpy.run_path(str(PACKAGING / "licences.py"))["satisfied"]
    allowed = {"MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"}
    assert satisfied("MIT OR GPL-3.0", allowed)
    assert satisfied("GPL-3.0/MIT", allowed)
    assert satisfied("(MIT OR Apache-2.0) AND Unicode-3.0", allowed)
    assert satisfied("GPL-2.0 OR Apache-2.0 WITH LLVM-exception", allowed)
    assert not satisfied("MIT AND GPL-3.0", allowed)
    assert not satisfied("Apache-2.0", allowed)
    assert not satisfied("MIT AND (GPL-3.0 OR LGPL-2.1)", allowed)
    with pytest.raises(ValueError, match="no SPDX"):
        satisfied("MIT MIT", allowed)


@needs_toml
def test_recipes_are_filled(tmp_path: Path) -> None:
    sdist = tmp_path / f"ncforge-{version()}.tar.gz"
    sdist.write_bytes(b"as if")
    url = f"https://example.org/{sdist.name}"
    command = [
        sys.executable,
        str(PACKAGING / "recipes.py"),
        "--sdist",
        str(sdist),
        "--url",
        url,
        "--out",
        str(tmp_path / "out"),
    ]
    done = execute(*command)
    made = [Path(line) for line in done.stdout.splitlines()]
    assert [p.relative_to(tmp_path / "out").as_posix() for p in made] == [
        "conda-forge/recipe.yaml", "spack/ncforge/package.py", "spack/py-ncforge/package.py",
    ]  # fmt: skip
    for path in made:
        text = path.read_text()
        assert url in text
        assert re.search(r"[0-9a-f]{64}", text), "the checksum"
        assert not re.search(r"@[A-Z_]+@", text), "something was left unfilled"
        if path.suffix == ".py":
            (package,) = [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]
            assert package.name.lower().endswith("ncforge")
            assert f'version("{version()}", sha256=' in text
    wrong = tmp_path / "ncforge-0.0.9.tar.gz"
    wrong.write_bytes(b"")
    command[3] = str(wrong)
    done = execute(*command, code=1)
    assert "is not of version" in done.stderr


def test_nothing_is_built_for_one_processor_alone() -> None:
    suffixes = {".toml", ".sh", ".yml", ".py", ".in"}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / f for f in listed.stdout.splitlines()] or [*ROOT.glob("*.toml"), *PACKAGING.glob("**/*")]
    for path in [p for p in files if p.suffix in suffixes or p.name in ("Makefile", "Dockerfile")]:
        if path != Path(__file__).resolve() and path.is_file():
            assert "target-cpu" not in path.read_text(), f"{path}: kernels are chosen while the program runs"


def test_a_binary_of_this_system_is_no_portable_one(ncforge_bin: Path) -> None:
    pytest.importorskip("elftools", reason="comes with auditwheel, for releases")
    command = [sys.executable, str(PACKAGING / "elf.py"), "--glibc=2.2", "--largest-mb=0.1", str(ncforge_bin)]
    done = execute(*command, code=1)
    assert f"{ncforge_bin.name} needs glibc 2." in done.stderr
    assert "more than 0.1" in done.stderr


@needs_toml
def test_the_steps_of_a_release_name_scripts_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGING))
    steps = runpy.run_path(str(PACKAGING / "release_check.py"))["steps"]()
    assert len({s.name for s in steps}) == len(steps) > 10
    for step in steps:
        scripts = [w for w in step.command() if w.startswith(("packaging/", "tests/"))]
        assert scripts, step.name
        assert all((ROOT / s).is_file() for s in scripts), step.name


def yaml_files() -> list[Path]:
    return [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "CITATION.cff", ROOT / "mkdocs.yml"]


@pytest.mark.parametrize("path", yaml_files(), ids=lambda p: p.name)
def test_yaml_can_be_read(path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with Dask")
    # The tags are those of MkDocs' own configuration.
    text = re.sub(r"!!python/name:\S+", "x", path.read_text())
    assert isinstance(yaml.safe_load(text), dict)


def test_workflows_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for target in re.findall(r"run: make ([a-z-]+)", path.read_text()):
            assert target in targets, f"{path.name}: make {target}"
        for script in re.findall(r"bash (\S+\.sh)", path.read_text()):
            assert (ROOT / script).exists(), f"{path.name}: {script}"


def test_the_module_file_leaves_the_folders_that_man_searches_by_itself(tmp_path: Path) -> None:
    assert 'append_path("MANPATH", "")' in (PACKAGING / "modules/ncforge.lua").read_text()
    text = (PACKAGING / "modules/ncforge.tcl").read_text()
    if not (command := shutil.which("modulecmd")):
        assert "append-path MANPATH {}" in text
        return
    module = tmp_path / "share/modulefiles/ncforge/0.1"
    module.parent.mkdir(parents=True)
    module.write_text(text)
    for before, after in (({}, ""), ({"MANPATH": "/a"}, ":/a")):
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "MODULEPATH": str(tmp_path / "share/modulefiles"),
        }
        words = [command, "sh", "load", "ncforge"]
        done = subprocess.run(words, env=environment | before, capture_output=True, text=True, timeout=60)
        assert f"MANPATH={tmp_path}/share/man{after}:;" in done.stdout.replace("'", "").replace('"', ""), done


def test_what_pip_builds_has_the_library_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    maturin = pytest.importorskip("maturin")
    monkeypatch.syspath_prepend(str(ROOT / "packaging/backend"))
    backend = importlib.import_module("ncforge_build")
    hooks = [h for h in dir(maturin) if h.startswith(("build_", "get_requires_for_", "prepare_metadata_"))]
    assert len(hooks) >= 8 and all(callable(getattr(backend, hook)) for hook in hooks)
    built: list[str] = []
    monkeypatch.setattr(backend, "build_library", lambda: built.append("library"))
    monkeypatch.setattr(maturin, "build_wheel", lambda *_: built.append("wheel"))
    monkeypatch.setattr(maturin, "build_editable", lambda *_: built.append("editable"))
    backend.build_wheel(".")
    backend.build_editable(".")
    assert built == ["library", "wheel", "library", "editable"]
