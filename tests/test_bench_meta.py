"""``ncforge bench meta``: files of many definitions, by libraries that must find the same in each other's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Run


@pytest.mark.parametrize(
    "options",
    [
        ["--vars=20", "--attrs=3"],
        ["--vars=20", "--attrs=3", "--groups=3", "--files=2"],
        ["--vars=20", "--attrs=1", "--format=cdf5", "--dims=1"],
        ["--vars=20", "--attrs=0", "--format=classic", "--dims=0"],
        ["--vars=0", "--attrs=5", "--format=netcdf4-classic"],
    ],
)
def test_everybody_finds_what_was_defined(run: Run, tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / "out.json"
    words = [
        "bench",
        "meta",
        f"--folder={tmp_path}",
        "--repetitions=2",
        "--warmup=0",
        "--no-guard",
    ]
    done = run(*words, "--driver=ncforge,libnetcdf", *options, f"--json={out}")
    section = json.loads(out.read_text())["sections"][0]
    assert [(r["case"], r["phase"]) for r in section["rows"]] == [
        (name, phase) for name in ("ncforge", "libnetcdf") for phase in ("make", "look through")
    ]
    for row in section["rows"]:
        assert len(row["measurements"]) == 2 and row["stored"] > 0
        for m in row["measurements"]:
            assert m["right"] is True and m["seconds"] > 0
            steps = dict(m["split"])
            wanted = {"make": {"create", "define", "close"}, "look through": {"open", "inquire", "close"}}[row["phase"]]
            assert wanted <= set(steps) <= wanted | {"enddef"}
            assert 0 < sum(steps.values()) <= m["seconds"] * 1.01 + 1e-4
    assert "libnetcdf: make create" in done.stdout and "times as long" in done.stdout
    # Nothing is left behind.
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_what_cannot_be_defined_is_said(run: Run, tmp_path: Path) -> None:
    words = ["bench", "meta", f"--folder={tmp_path}"]
    for options, message in (
        (["--format=cdf5", "--groups=2"], "have no groups"),
        (["--driver=raw"], "no definitions of netCDF"),
        (["--driver=h5"], "no definitions of netCDF"),
        (["--vars=100000", "--attrs=1000"], "take fewer"),
        (["--files=0"], "a file"),
        (["--format=zarr"], "no format `zarr`"),
        (["--library=/nowhere/libnetcdf.so"], "/nowhere/libnetcdf.so"),
        (["--folder=/nowhere/at/all"], "no folder"),
    ):
        base = words[:2] if options[0].startswith("--folder") else words
        assert message in run(*base, *options, code=2).stderr, options
    assert list(tmp_path.iterdir()) == []
