"""``ncforge bench io`` writing into files that are there: --append and --rewrite."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench_common import ONCE, expected, values
from conftest import Run


@pytest.mark.parametrize("access", [["-t=coll"], ["-t=file"]])
@pytest.mark.parametrize("options", [[], ["-c=auto"], ["-c=2:5:4:3", "--shuffle", "-z=1"], ["--format=cdf5", "-F"]])
def test_append_and_rewrite(run: Run, tmp_path: Path, access: list[str], options: list[str]) -> None:
    """Half of the steps are written, the others appended, and all written anew: what is read is what came last."""
    drivers = ["ncforge", "libnetcdf", "raw"] + ([] if "--format=cdf5" in options else ["h5"])
    shape = (5, 10, 8, 3)
    again: list[tuple[str, list[str]]] = [("append", ["--append"]), ("rewrite", ["--rewrite"])]
    for name, how in [*again, ("both", ["--append", "--rewrite"])]:
        folder = tmp_path / name
        folder.mkdir()
        where = [f"-f={folder / 't.nc'}", "-d=" + ":".join(map(str, shape)), "--data-content=hash", "--keep"]
        done = run("bench", "io", "-u", "-w", "-r", "--json", f"--driver={','.join(drivers)}",
                   *where, *how, *access, *options, *ONCE)  # fmt: skip
        section = json.loads(done.stdout)["sections"][0]
        phases = [p["kind"] for p in section["detail"]["phases"] if p["case"] == 0]
        assert phases == ["write", *[word for word, flag in again if flag[0] in how], "read"]
        sizes = {p["kind"]: p["bytes"] for p in section["detail"]["phases"] if p["case"] == 0}
        whole = 4 * int(np.prod(shape))
        assert sizes["read"] == sizes.get("rewrite", whole) == whole
        assert sizes["write"] + sizes.get("append", 0) == whole
        assert sizes["write"] == (whole // 5 * 2 if "--append" in how else whole)
        for number, driver in enumerate(drivers, 1):
            if driver not in ("raw", "h5"):
                file = folder / (f"t.{number}.nc-0" if "-t=file" in access else f"t.{number}.nc")
                assert np.array_equal(values(file), expected(shape)), (name, driver)


@pytest.mark.parametrize("access", ["ind", "coll", "file"])
@pytest.mark.parametrize("chunk", ["none", "auto"])
def test_several_ranks_rewrite(run: Run, tmp_path: Path, access: str, chunk: str) -> None:
    path = tmp_path / "t.nc"
    options = ["-n=1", "-p=2", "-d=4:10:8:3", f"-t={access}", f"-c={chunk}", f"-f={path}", "--rewrite", "-w", "-r"]
    run("bench", "io", *options, *ONCE)
    if access != "file":
        assert np.array_equal(values(path), expected((4, 10, 8, 3)))


def test_several_ranks_append(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    options = ["-n=1", "-p=2", "-d=5:10:8:3", "-t=coll", "-u", f"-f={path}", "--append", "--rewrite", "-w", "-r"]
    for form in ["cdf5", "netcdf4"]:
        run("bench", "io", *options, f"--format={form}", *ONCE)
        assert np.array_equal(values(path), expected((5, 10, 8, 3)))
        path.unlink()
    done = run("bench", "io", *options, "-z=1", "-c=auto", *ONCE, code=2)
    assert "--io-type file" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--append"], "--unlimited"),
        (["--append", "-u", "-d=1:10:10:10"], "nothing to append"),
        (["--rewrite", "-r"], "--write"),
    ],
)
def test_what_cannot_be_written_again_is_refused(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *options, *ONCE, code=2)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
