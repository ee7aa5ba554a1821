"""What ``ncforge doctor`` proposes: commands as they are typed into a shell, fixes that Python applies, and files that belong together."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute, find_binary
from commands import ncforge as run
from datasets import created
from doctor_files import NX, NY, cmip, field, fixed_cmip, record_file, smooth, z
from doctor_runs import Make, codes, doctor, findings, one, type_in


def test_files_that_are_alike_share_their_lines(tmp_path: Path) -> None:
    """A folder of daily files: one list of findings, and one command for all."""
    field(tmp_path / "day_0.nc", **z((1, NY, NX)))
    names = [f"day_{i}.nc" for i in range(13)]
    for name in names[1:]:
        shutil.copy(tmp_path / "day_0.nc", tmp_path / name)
    text = doctor(*names, "--fail-on", "never", code=0, cwd=tmp_path).stdout
    assert text.count("NC101") == 1 and text.startswith("13 files, each netCDF-4") and "and 1 more" in text
    assert len(text.splitlines()) < 40, text
    (command,) = [line.strip() for line in text.splitlines() if "ncforge copy" in line]
    env = {"PATH": f"{find_binary().parent}:{os.environ['PATH']}"}
    execute("sh", "-e", "-c", command, cwd=tmp_path, env=env)
    # In a folder of their own: a pattern that meant the files means them still.
    assert sorted(p.name for p in tmp_path.glob("*.nc")) == sorted(names)
    for i in range(13):
        with netCDF4.Dataset(tmp_path / "fixed" / f"day_{i}.nc") as d:
            assert d["tas"].chunking() != [1, NY, NX]
            assert f"day_{(i + 1) % 13}.nc" not in d.history, "each tells of its own copy"


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    """Files are closed when they have been looked at, across files, too."""
    field(tmp_path / "day_000.nc", (64, NY, NX), **z((32, 8, 16)))
    paths = [tmp_path / f"day_{i:03d}.nc" for i in range(80)]
    for path in paths[1:]:
        path.hardlink_to(paths[0])
    paths[-1].unlink()
    field(paths[-1], (64, NY, NX), **z((16, 8, 16)))
    script = (
        "import json, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
        "import ncforge; found = ncforge.doctor(sys.argv[1:], across=True); "
        "print(json.dumps([len(found), len(found.failures), [f.code for f in found.across if f.variable == 'tas']]))"
    )
    done = execute(sys.executable, "-c", script, *paths)
    assert json.loads(done.stdout) == [80, 0, ["NC501"]]
    line = f"ulimit -n 60; '{find_binary()}' doctor --across --fail-on never {tmp_path}/day_*.nc"
    done = execute("sh", "-c", line)
    assert "across 80 files" in done.stdout and not done.stderr


def test_zipped_files_are_as_good_as_they_are(tmp_path: Path) -> None:
    """Their blocks are compressed, and hold a variable's records one after the other."""
    record_file(tmp_path / "r.nc", 31)
    assert "NC401" in codes(tmp_path / "r.nc")
    run("zip", tmp_path / "r.nc", tmp_path / "r.ncz")
    found = findings(tmp_path / "r.ncz")
    assert not {"NC401", "NC303"} & {f["code"] for f in found}
    for at, command in enumerate(
        c for f in [*found, *findings(tmp_path / "r.ncz", "--profile", "cmip7")] for c in f["commands"]
    ):
        folder = tmp_path / str(at)
        folder.mkdir()
        shutil.copy(tmp_path / "r.ncz", folder)
        type_in(command.replace(str(tmp_path) + "/", ""), folder)


def test_across(tmp_path: Path) -> None:
    """Properties that must agree in files that belong together, and do not."""
    for name in "abc":
        field(tmp_path / f"{name}.nc", (64, NY, NX), **z((32, 8, 16)))
    field(tmp_path / "longer.nc", (128, NY, NX), **z((32, 8, 16)))
    same = [str(tmp_path / f"{name}.nc") for name in ["a", "b", "c", "longer"]]

    def differ(make: Make) -> dict[str, Any]:
        path = tmp_path / "d.nc"
        make(path)
        out = json.loads(doctor("--across", "--json", "--fail-on", "never", *same, path, code=0).stdout)
        return {f["code"]: f for f in out["across"] if f["variable"] != "time"}

    assert differ(lambda p: field(p, (64, NY, NX), **z((32, 8, 16)))) == {}
    other = differ(lambda p: field(p, (64, NY, NX), **z((16, 8, 16))))
    assert set(other) == {"NC501"} and other["NC501"]["files"] == [str(tmp_path / "d.nc")]
    assert "32 x 8 x 16 in 4 of 5 files, 16 x 8 x 16" in other["NC501"]["message"]
    type_in(other["NC501"]["commands"][0].replace(str(tmp_path) + "/", ""), tmp_path)
    fixed = tmp_path / "d-fixed.nc"
    again = doctor("--across", "--select", "NC501", "--fail-on", "never", *same, fixed, code=0)
    assert " tas" not in again.stdout, again.stdout
    fixed.unlink()
    other = differ(lambda p: field(p, (64, NY, NX), **z((32, 8, 16), complevel=5)))
    assert set(other) == {"NC502"}
    type_in(other["NC502"]["commands"][0].replace(str(tmp_path) + "/", ""), tmp_path)
    assert set(differ(lambda p: field(p, (64, NY, NX), dtype="f8", **z((32, 8, 16))))) == {"NC504"}
    assert set(differ(lambda p: field(p, (64, NY, 32), **z((32, 8, 16))))) == {"NC505"}

    def packed(p: Path) -> None:
        field(p, (64, NY, NX), **z((32, 8, 16)))
        with netCDF4.Dataset(p, "a") as d:
            d["tas"].scale_factor = 0.1

    assert set(differ(packed)) == {"NC503"}

    def kelvin(p: Path) -> None:
        field(p, (64, NY, NX), **z((32, 8, 16)))
        with netCDF4.Dataset(p, "a") as d:
            d["tas"].units = "K"

    assert set(differ(kelvin)) == {"NC507"}

    def less(p: Path) -> None:
        field(p.with_name("e.nc"), (64, NY, NX), **z((32, 8, 16)))
        execute("ncks", "-O", "-h", "-C", "-v", "time", p.with_name("e.nc"), p)

    assert set(differ(less)) == {"NC506"}
    doctor("--across", "--fail-on", "error", *same, tmp_path / "d.nc", code=3)


def test_profile_cmip7(tmp_path: Path) -> None:
    """A verdict a file, and the same one that the archive's checker gives, where that is installed."""
    files = {"good": tmp_path / "good.nc", "bad": tmp_path / "bad.nc", "mended": tmp_path / "mended.nc"}
    fixed_cmip(files["mended"])
    cmip(files["good"])
    field(tmp_path / "tiny.nc", (4, 8, 8), zlib=True)
    out = doctor("--profile", "cmip7", files["bad"], files["mended"], code=3).stdout
    assert f"{files['bad']}: fails" in out and f"{files['mended']}: passes" in out
    assert {"NC701", "NC702", "NC703"} <= codes(files["bad"], "--profile", "cmip7")
    with netCDF4.Dataset(files["mended"]) as d:
        assert d["time"].chunking() == [160] and d["time_bnds"].chunking() == [160, 2]
        chunk = d["tas"].chunking()
        assert np.prod(chunk) * 4 >= 4 << 20 > np.prod(chunk) * 4 - 90 * 300 * 4 and chunk[1:] == [90, 300]
        filters = d["tas"].filters()
        assert filters["zlib"] and filters["complevel"] == 4 and filters["shuffle"] and filters["fletcher32"]
    run("compare", "-q", files["bad"], files["mended"])
    checker = os.environ.get("CHECK_CMIP7_PACKING") or shutil.which("check_cmip7_packing")
    if checker is None:
        pytest.skip("check_cmip7_packing is not installed")
    for path in [*files.values(), tmp_path / "tiny.nc"]:
        theirs = execute(sys.executable, checker, path, code=None)
        ours = doctor("--profile", "cmip7", path)
        assert (theirs.returncode == 0) == (ours.returncode == 0), theirs.stdout + ours.stdout


def test_what_is_proposed_spoils_no_read(tmp_path: Path) -> None:
    """Compression is advised with chunks that suit it, and reads that take longer are listed; the result has no warnings."""
    path = tmp_path / "plain.nc"
    n, ny, nx = 780, 96, 192
    field(path, (n, ny, nx), unlimited=False, values=np.round(smooth(n, ny, nx)), chunksizes=(n, 12, 24))
    (found,) = [f for f in findings(path) if f["code"] == "NC303"]
    (command,) = found["commands"]
    assert "--filters" in command and "--chunks" in command, "chunks of a whole series decode slowly for a map"
    reported = {s["read"]: s for s in found["slower"]}
    assert all(s["then"] > s["now"] > 0 for s in reported.values())
    assert not reported or "takes longer" in doctor("--fail-on", "never", path).stdout
    fixed = type_in(command, tmp_path)
    assert not [f for f in findings(fixed) if f["code"][:3] in {"NC1", "NC2", "NC3"}]
    # The share of the copy that a map decodes, by its own chunk grid: not the whole file, as it would with the old chunks.
    with netCDF4.Dataset(fixed) as d:
        chunks = d["tas"].chunking()
    assert chunks[0] < n // 4, chunks


def test_names_with_separators_get_the_same_fixes(tmp_path: Path) -> None:
    """Characters that mean something in a list of variables: the fixes of each variable, alone and together, are those of `tas`."""
    names = ["tas", "a;b", "a,b:c", "a|b&c\\d", "a\\;b"]
    path = tmp_path / "odd.nc"
    values = smooth()
    with created(path, time=None, lat=NY, lon=NX) as d:
        for name in names:
            d.createVariable(name, "f4", ("time", "lat", "lon"), **z((1, NY, NX), shuffle=False))[:] = values
    by_name = {f["variable"]: f for f in findings(path, "--select", "NC101,NC301")}
    assert sorted(by_name) == sorted(names)
    one_fixed = type_in(by_name["a;b"]["commands"][0], tmp_path)
    (whole,) = one("--fail-on", "never", path, "--select", "NC101,NC301")["commands"]
    found = ncforge.doctor(path, select=["NC101", "NC301"])
    found.apply(tmp_path / "all.nc")
    assert found.commands == [whole]
    with netCDF4.Dataset(tmp_path / "all.nc") as d, netCDF4.Dataset(one_fixed) as alone:
        for name in names:
            assert d[name].chunking() == d["tas"].chunking() != [1, NY, NX], name
            assert d[name].filters()["shuffle"], name
            assert (alone[name].chunking() != [1, NY, NX]) == (name == "a;b"), name
    one_fixed.unlink()
    with netCDF4.Dataset(type_in(whole, tmp_path)) as d:
        assert all(d[name].chunking() == d["tas"].chunking() != [1, NY, NX] for name in names)


def test_findings_are_applied(tmp_path: Path) -> None:
    """Python makes the copies that the commands would make."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX)))
    found = ncforge.doctor(path, for_="series")
    finding: Any
    (finding,) = [f for f in found if f.code == "NC101"]
    assert finding.fix and set(finding.fix) == {"chunks"}
    report = finding.apply(tmp_path / "new.nc", verify=True)
    assert report.verified and report.output == str(tmp_path / "new.nc")
    typed = type_in(finding.commands[0], tmp_path)
    with netCDF4.Dataset(tmp_path / "new.nc") as ours, netCDF4.Dataset(typed) as theirs:
        assert ours["tas"].chunking() == theirs["tas"].chunking() != [1, NY, NX]
    assert "NC101" not in {f.code for f in ncforge.doctor(tmp_path / "new.nc", for_="series")}
    with pytest.raises(ncforge.ExistsError):
        finding.apply(tmp_path / "new.nc")
    assert finding.apply(tmp_path / "new.nc", overwrite=True, chunks="keep").output_bytes > 0, (
        "options win over the fix"
    )
    with netCDF4.Dataset(tmp_path / "new.nc") as d:
        assert d["tas"].chunking() == [1, NY, NX]
    # Where several files differ, each gets its copy in a folder.
    for name, chunks in (("a", (32, 8, 16)), ("b", (32, 8, 16)), ("c", (16, 8, 16))):
        field(tmp_path / f"{name}.nc", (64, NY, NX), **z(chunks))
    both = ncforge.doctor([tmp_path / f"{name}.nc" for name in "abc"], across=True)
    across: Any
    (across,) = [f for f in both.across if f.code == "NC501" and f.variable == "tas"]
    (done,) = across.apply(tmp_path / "alike")
    assert done.output == str(tmp_path / "alike" / "c.nc")
    again = ncforge.doctor([tmp_path / "a.nc", tmp_path / "alike" / "c.nc"], across=True)
    assert not [f for f in again.across if f.variable == "tas"]
    # No copy can fix it.
    field(tmp_path / "d.nc", (64, NY, NX), dtype="f8", **z((32, 8, 16)))
    both = ncforge.doctor([tmp_path / "a.nc", tmp_path / "d.nc"], across=True)
    (across,) = [f for f in both.across if f.code == "NC504"]
    assert across.fix is None and not across.commands
    with pytest.raises(ncforge.InvalidError, match="no copy"):
        across.apply(tmp_path / "no.nc")


def test_a_name_that_is_not_utf8_is_told_as_bash_reads_it(tmp_path: Path) -> None:
    """What stands for such a name in a command is no name."""
    path = os.path.join(os.fsencode(tmp_path), b"it's \xff.nc")
    with netCDF4.Dataset(tmp_path / "a.nc", "w"):
        pass
    os.rename(tmp_path / "a.nc", path)
    said = one(os.fsdecode(path))["notes"]
    word = next(note for note in said if "not UTF-8" in note).split(" is ", 2)[2].removesuffix(" in commands")
    assert execute("bash", "-c", f"printf %s {word}", text=False).stdout == path


def test_the_level_is_judged_with_the_shuffle_that_is_advised(tmp_path: Path) -> None:
    """The command gave the filters of both rules, and its output had a level for nothing."""
    path = tmp_path / "a.nc"
    values = np.linspace(250, 300, 64 * 64 * 64).reshape(64, 64, 64) + np.random.default_rng(1).random((64, 64, 64))
    with netCDF4.Dataset(path, "w") as d:
        for name in "tyx":
            d.createDimension(name, 64)
        v = d.createVariable("v", "f4", tuple("tyx"), zlib=True, complevel=9, shuffle=False, chunksizes=(16, 64, 64))
        v[:] = values
    assert {f["code"] for f in findings(path, "--select", "NC3")} == {"NC301", "NC302"}
    ncforge.copy(path, tmp_path / "b.nc", filters="v,shuffle|deflate,1")
    assert not findings(tmp_path / "b.nc", "--select", "NC3")
    assert all("v,shuffle|deflate,1" in f["commands"][0] for f in findings(path, "--select", "NC3"))


def test_chunks_are_not_advised_to_become_what_they_are(tmp_path: Path) -> None:
    """Chunks that compress well have no access points, nor would others have any: the price of the same chunks with points was lower."""
    path, shape = tmp_path / "a.nc", (365, 20, 30)
    with netCDF4.Dataset(path, "w") as d:
        known = {"time": "days since 2000-01-01", "lat": "degrees_north", "lon": "degrees_east"}
        for (name, units), n in zip(known.items(), shape, strict=True):
            d.createDimension(name, n)
            d.createVariable(name, "f8", (name,))[:] = np.arange(n)
            d[name].units = units
        for name, values in (
            ("ramp", np.linspace(0, 50, int(np.prod(shape))).reshape(shape)),
            ("even", np.full(shape, 7)),
        ):
            v = d.createVariable(name, "i2", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=shape)
            v[:] = values.astype("i2")
    assert not findings(path)


@pytest.mark.parametrize("case", ["one step a chunk", "half of it fill"])
def test_of_what_the_command_makes_nothing_is_to_be_said(tmp_path: Path, case: str) -> None:
    """Both had other remarks: chunks that are bad once they are compressed, chunks of nothing but fill."""
    path, shape = tmp_path / "a.nc", (40, 180, 200)
    chunks = (1, 180, 200) if case == "one step a chunk" else None
    with netCDF4.Dataset(path, "w") as d:
        for name, n in zip(("time", "lat", "lon"), shape, strict=True):
            d.createDimension(name, n)
        v = d.createVariable("v", "f4", ("time", "lat", "lon"), fill_value=-99, chunksizes=chunks)
        v[:] = np.where(np.arange(40)[:, None, None] < 20 * (case == "half of it fill"), -99, 3 + np.arange(200) // 100)
    ncforge.doctor(path).apply(tmp_path / "b.nc")
    assert findings(path), case
    assert not findings(tmp_path / "b.nc"), case
