"""``ncforge bench io`` as its users type it: geometry, ranks, drivers, checks, and what NetCDF-Bench's scripts read.

The files that it writes are read by netCDF4-python, which knows nothing of how they were made.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from conftest import Run

#: One repetition, no waiting for a quiet machine: what is tested is what is done, not how fast.
ONCE = ["--reps", "1", "--warmup", "0", "--no-guard", "--no-sync"]
ROW = re.compile(r"^benchmark:(write|read)\s+(.+?)\s{2,}([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(secs|MiB/s)")


def mix(z: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def expected(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """The values of ``--data-content hash`` as 32-bit numbers."""
    index = np.arange(int(np.prod(shape)), dtype=np.uint64)
    with np.errstate(over="ignore"):
        hashed = mix(np.uint64(seed) + index * np.uint64(0x9E3779B97F4A7C15))
    return hashed.astype(np.uint32).view(np.int32).reshape(shape)


def values(path: Path) -> np.ndarray:
    """What netCDF4-python reads."""
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        return np.asarray(nc["data"][:])


@pytest.mark.parametrize("ranks", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("access", ["ind", "coll", "file"])
@pytest.mark.parametrize("chunk", ["none", "auto", "1:5:4:3"])
def test_every_way_to_write_gives_the_same_values(
    run: Run, tmp_path: Path, ranks: tuple[int, int], access: str, chunk: str
) -> None:
    nn, ppn = ranks
    shape = (4, 10 * nn, 8 * ppn, 3)
    geometry = ":".join(map(str, shape))
    path = tmp_path / "t.nc"
    run(
        "bench",
        "io",
        f"-n={nn}",
        f"-p={ppn}",
        f"-d={geometry}",
        f"-t={access}",
        f"-c={chunk}",
        f"-f={path}",
        "-w",
        "-r",
        *ONCE,
    )
    whole = expected(shape)
    if access != "file":
        assert np.array_equal(values(path), whole)
        return
    for rank in range(nn * ppn):
        x, y = rank // ppn * 10, rank % ppn * 8
        assert np.array_equal(values(Path(f"{path}-{rank}")), whole[:, x : x + 10, y : y + 8])


@pytest.mark.parametrize("options", [["-u"], ["-u", "-c", "auto"], ["-F"], ["-z=4"], ["-z", "1", "--shuffle", "-u"]])
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_unlimited_fill_and_deflate(run: Run, tmp_path: Path, options: list[str], ranks: str) -> None:
    path = tmp_path / "t.nc"
    run(
        "bench",
        "io",
        "--ranks",
        ranks,
        "-p",
        ranks,
        "-d=4:10:9:3",
        f"-f={path}",
        "--data-content",
        "hash",
        *options,
        *ONCE,
    )
    assert np.array_equal(values(path), expected((4, 10, 9, 3)))
    with netCDF4.Dataset(path) as nc:
        assert nc.dimensions["time"].isunlimited() == ("-u" in options)
        assert nc["data"].filters()["zlib"] == any(o.startswith("-z") for o in options)


@pytest.mark.parametrize("form", ["classic", "cdf2", "cdf5", "netcdf4-classic"])
@pytest.mark.parametrize("unlimited", [[], ["-u"]])
def test_formats(run: Run, tmp_path: Path, form: str, unlimited: list[str]) -> None:
    path = tmp_path / "t.nc"
    words = ["--driver", "ncforge", "--format", form, *unlimited, *ONCE]
    run("bench", "io", "--ranks", "2", "-d=4:6:8", "--split=1:1:2", f"-f={path}", "-w", "-r", "-t", "coll", *words)
    assert np.array_equal(values(path), expected((4, 6, 8)))


def test_libraries_write_and_read_the_same_and_reports_agree(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    out = tmp_path / "out.json"
    done = run(
        "bench", "io", "-d", "time=6:lat=20:lon=30", "--driver", "raw,ncforge,libnetcdf", f"-f={path}", "-w", "-r", "-L",
        "chunk=none,1:10:15", "--keep", "--csv", f"--json={out}", "--reps", "3", "--warmup", "0", "--no-guard",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    results = json.loads(out.read_text())
    assert results["schema"] == 2
    report: dict[str, Any] = results["sections"][0]["detail"]
    assert len(report["cases"]) == 6
    assert len(rows) == len(report["phases"]) == 6 * 2 * 3
    assert {r["verify"] for r in rows if r["phase"] == "read"} == {"ok"}
    for row in rows:
        total = float(row["t_open_s"]) + float(row["t_io_s"]) + float(row["t_close_s"])
        assert total == pytest.approx(float(row["t_total_s"]), rel=1e-3)
        rate = int(row["bytes_logical"]) / 2**20 / float(row["t_io_s"])
        assert rate == pytest.approx(float(row["rate_io_MiBps"]), rel=1e-2)
    for number, case in enumerate(report["cases"], start=1):
        if case["driver"] == "raw":
            continue
        file = tmp_path / f"t.{number}.nc"
        assert np.array_equal(values(file), expected((6, 20, 30)))
        with netCDF4.Dataset(file) as nc:
            assert nc["data"].dimensions == ("time", "lat", "lon")
            chunking = nc["data"].chunking()
        assert case["audit"]["chunks"] == (None if chunking == "contiguous" else chunking)


WRONG = [
    (["-t=ind", "-u"], "collective"),
    (["-t=ind", "-z=4", "-c=auto"], "collective"),
    (["-d=20:20:20:10", "-b=1:21:20:10"], "larger"),
    (["-n=2", "-p=2", "-d=20:20:20:10", "-b=1:10:20:10"], "try 1:10:10:10"),
    (["-d=21:10:10:10", "-b=2:10:10:10"], "evenly"),
    (["-u", "-d=21:10:10:10", "-b=2:10:10:10"], "evenly"),
    (["-d=20:10:10:10", "-b=1:5:5:10"], "would not be written"),
    (["-d=20:10:10:10", "-c=1:100:10:10"], "larger"),
    (["-x=csv"], "output-format"),
    (["-t=foo"], "io-type"),
    (["-d=10:10:-10:10"], "no length"),
    (["-d=10:10:0:10"], "no length"),
    (["-z=-3"], "0..=9"),
    (["-L", "colour=red"], "cannot be varied"),
    (["--driver", "libnetcdf", "--ranks", "2"], "mpiexec"),
    (["--format", "cdf5", "-c", "auto"], "no chunks"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_does_not_fit_is_refused_before_a_file_is_touched(
    run: Run, tmp_path: Path, options: list[str], message: str
) -> None:
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *options, *ONCE, code=2, timeout=20)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_file_holds_long_options(run: Run, tmp_path: Path) -> None:
    """The command line wins; a saved result has all of it, and needs the file no more."""
    path, config, out = tmp_path / "t.nc", tmp_path / "bench.conf", tmp_path / "out.json"
    config.write_text(
        f"# small\ndata-geometry = 4:6:8:5\ntestfile = '{path}'\nwrite = true\nread\nverify = false\n"
        "reps = 3   # of each\nwarmup = 0\nno-guard = true\nno-sync = true\nsweep = chunk=none,auto\n"
    )
    run("bench", "io", "--config", str(config), "--reps=2", f"--json={out}")
    results = json.loads(out.read_text())
    rows = results["sections"][0]["rows"]
    assert [len(r["measurements"]) for r in rows] == [2] * 4
    assert "--data-geometry=4:6:8:5" in results["arguments"] and "--config" not in results["arguments"]
    config.unlink()
    run("bench", "rerun", str(out))
    config.write_text("data-geometry = 4:6:8:5\ncolour = red\n")
    done = run("bench", "io", f"--config={config}", code=2)
    assert f"{config}, line 2: `bench io` has no option `colour`" in done.stderr
    done = run("bench", "io", "--config", str(tmp_path / "none"), code=4)
    assert "configuration file" in done.stderr


def test_the_plan_tells_bytes_calls_memory_and_space(run: Run, tmp_path: Path) -> None:
    words = ["-d=20:200:200:10", "--ranks=4", "-n=2", "-p=2", "-w", "-r", "--reps=3", "--dry-run"]
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *words)
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["data"].startswith("20:200:200:10") and "30.5 MiB" in lines["data"]
    assert "20 calls a rank" in lines["blocks"]
    assert lines["memory"] == "7.63 MiB a rank for values"
    assert "4 rounds" in lines["work"]
    assert re.fullmatch(r"30\.5 MiB for files, [\d.]+ [KMGT]iB free", lines["space"]), lines["space"]
    assert list(tmp_path.iterdir()) == []


def test_small_arrays_are_no_trouble(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-w", "-r", "--compat", "netcdf-bench", timeout=20)
    assert values(path).shape == (2, 4, 4, 4)


def test_p6_one_wrong_bit_is_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "--ranks", "2", "-d=4:6:8:5", f"-f={path}", "--format", "cdf5", *ONCE]
    run(*words, "-w")
    run(*words, "-r", "--verify")
    data = bytearray(path.read_bytes())
    data[-17] ^= 4
    path.write_bytes(data)
    done = run(*words, "-r", "--verify", code=4)
    assert "1 of 960 values" in done.stderr
    assert "at time 3, dim_1 5, dim_2 7, dim_3" in done.stderr
    run(*words, "--verify", code=4)


def test_a_rank_that_dies_ends_the_job(ncforge_bin: Path, tmp_path: Path) -> None:
    """A rank is killed in the middle: the others leave, nobody hangs, the message tells which."""
    path = tmp_path / "t.nc"
    command = [str(ncforge_bin), "bench", "io", "--ranks", "3", "-d=50:60:60:10", f"-f={path}", "-w", "--reps", "500"]
    job = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    victim = None
    for _ in range(200):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True)
        pids = [int(p) for p in listed.stdout.split()]
        if len(pids) == 3 and path.exists():
            victim = pids[1]
            break
        try:
            job.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    assert victim is not None
    os.kill(victim, 9)
    _, messages = job.communicate(timeout=30)
    assert job.returncode != 0
    assert "rank 1 was ended by signal 9" in messages
    assert not path.exists()


def test_files_of_others_are_not_overwritten(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 3)
    before = path.read_bytes()
    done = run("bench", "io", "-d=2:4:4:4", f"-f={path}", *ONCE, code=2)
    assert "exists" in done.stderr
    assert path.read_bytes() == before
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-O", *ONCE)
    run("bench", "io", "-d=2:4:4:5", f"-f={path}", *ONCE)
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-r", *ONCE, code=4)


def test_p2_the_table_of_netcdf_bench(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "k.nc"
    words = ["-n=1", "-p=2", "-t=coll", "-u", "-c=auto", "-w", "-r", "-d=20:100:200:10"]
    done = run("bench", "io", "--compat", "netcdf-bench", f"-f={path}", *words)
    lines = done.stdout.splitlines()
    assert lines[:11] == [
        "Benchtool (datatype: int) ",
        "Data geometry (t:x:y:z x sizeof(type))      20:100:200:10 x 4 bytes               ",
        "Block geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               ",
        "Chunk geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               ",
        "Datasize                                             16000000 bytes                (16.0 MB)",
        "Blocksize                                              400000 bytes                (400.0 kB)",
        "Chunksize                                              400000 bytes                (400.0 kB)",
        "I/O Access                                         collective",
        "Storage                                               chunked",
        "File length                                         unlimited",
        "File value                                                 no",
    ]
    assert len(lines[11]) == 145
    rows = [m.groups() for line in lines[12:] if (m := ROW.match(line))]
    assert [r[0] for r in rows] == ["write"] * 5 + ["read"] * 5
    assert rows[0][1] == "Open time"
    assert {len(line) for line in lines[12:]} == {145}
    for row in rows:
        low, mean, high = map(float, row[2:5])
        assert low <= mean <= high
    with netCDF4.Dataset(path) as nc:
        assert nc["data"].chunking() == [1, 100, 100, 10]
        # Cells of NetCDF-Bench: 100·t + rank + x + 10·y + 1, t, x and y in the block.
        assert nc["data"][7, 3, 105, 2] == 1 + 3 + 10 * 5 + 1
    done = run(
        "bench",
        "io",
        "--compat",
        "netcdf-bench",
        f"-f={path}",
        *[w for w in words if w not in ("-w", "-r")],
        "--verify",
    )
    assert re.findall(r"TEST PASSED \[\d\]", done.stdout) == ["TEST PASSED [0]", "TEST PASSED [1]"]


def test_p7_cold_reads_are_proven_or_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=20:100:100:10", "-w", "-r", "--cache", "cold,warm", "--csv", *ONCE]
    in_memory = Path("/dev/shm/ncforge-bench-test.nc")
    if in_memory.parent.is_dir():
        done = run(*words, f"-f={in_memory}", code=2)
        assert "memory" in done.stderr
        assert not in_memory.exists()
    rows = list(csv.DictReader(io.StringIO(run(*words, f"-f={path}").stdout)))
    reads = {r["cache_label"].split("-")[0]: r for r in rows if r["phase"] == "read"}
    assert set(reads) == {"cold", "warm"}
    cold = reads["cold"]
    if cold["cache_label"] == "cold-verified":
        assert int(cold["bytes_from_storage"]) >= 0.99 * int(cold["bytes_stored"])


def mpi_ranks(ranks: int) -> list[str]:
    """How an MPI job is started on this machine, or the test is skipped."""
    if shutil.which("mpiexec.openmpi"):
        return ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)]
    pytest.skip("Open MPI's mpiexec is not installed")


PARALLEL = Path("/usr/lib/x86_64-linux-gnu/libnetcdf_pnetcdf.so.19")


@pytest.mark.parametrize("ranks", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("access", ["ind", "coll"])
def test_under_mpi(ncforge_bin: Path, tmp_path: Path, ranks: tuple[int, int], access: str) -> None:
    nn, ppn = ranks
    shape = (4, 10 * nn, 8 * ppn, 3)
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    command = [
        *mpi_ranks(nn * ppn), str(ncforge_bin), "bench", "io", f"-n={nn}", f"-p={ppn}", "-d=" + ":".join(map(str, shape)),
        f"-t={access}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-L", "chunk=none,auto", "--driver", "ncforge", *libraries,
        "--keep", "--json", *ONCE,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["sections"][0]["detail"]
    assert "MPI" in report["team"]
    assert len(report["cases"]) == 2 * (1 + len(libraries))
    for number in range(1, len(report["cases"]) + 1):
        assert np.array_equal(values(tmp_path / f"t.{number}.nc"), expected(shape))


@pytest.mark.parametrize(("layer", "name"), [("ompio", "OMPIO"), ("romio321", "ROMIO")])
def test_hints_reach_mpi_io_and_the_card_says_which_it_is(
    ncforge_bin: Path, tmp_path: Path, layer: str, name: str
) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-t=coll", "-w", "-r", "--hint", "cb_nodes=1", "--json"]
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    command = [*mpi_ranks(2), "--mca", "io", layer, str(ncforge_bin), "bench", "io", *words, "--driver=ncforge"]
    environment = {**os.environ, "OMPI_MCA_btl_base_warn_component_unused": "0"}
    done = subprocess.run([*command, *libraries, *ONCE], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)["environment"]
    assert card["mpi_io"] == name
    assert ["cb_nodes", "1"] in card["hints"]
    assert any("MPI: Open MPI" in line for line in card["libraries"])
    assert any("HDF5" in line and "PnetCDF" in line for line in card["libraries"]) or not libraries
    assert ["OMPI_MCA_btl_base_warn_component_unused", "0"] in card["variables"]
    assert list(tmp_path.glob("*ncforge-mpi*")) == []


def test_under_the_other_family_of_mpi(ncforge_bin: Path, tmp_path: Path) -> None:
    """MPICH's handles are numbers; its library is found by what its launcher sets."""
    if not shutil.which("mpiexec.mpich") or not list(Path("/usr/lib").glob("*/libmpich.so.12")):
        pytest.skip("MPICH is not installed")
    path = tmp_path / "t.nc"
    words = ["-d=4:10:16:3", f"-f={path}", "-t=coll", "-w", "-r", "--hint=cb_nodes=1", "--endian=big", "--json", *ONCE]
    command = ["mpiexec.mpich", "-n", "2", str(ncforge_bin), "bench", "io", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    card, report = results["environment"], results["sections"][0]["detail"]
    assert card["mpi_io"] == "ROMIO" and ["cb_nodes", "1"] in card["hints"]
    assert (report["nodes"], report["geometry"]["ppn"]) == (1, 2) and "MPICH" in report["team"]
    assert np.array_equal(values(path), expected((4, 10, 16, 3)))


def test_hints_that_nobody_takes_are_refused(ncforge_bin: Path, tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--hint=cb_nodes=1", *ONCE]
    for options in (["-t=ind"], ["-t=file"], ["-t=coll", "-c=auto"]):
        command = [*mpi_ranks(2), str(ncforge_bin), "bench", "io", *words, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "leave out --hint" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_hints_need_mpi(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", *ONCE]
    assert "mpiexec" in run(*words, "--hint", "cb_nodes=2", code=2).stderr
    assert "is no hint" in run(*words, "--hint", "cb_nodes", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_the_card_tells_the_machine_and_pages_do_not_tell_whose(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--driver=ncforge,libnetcdf", *ONCE]
    text = run(*words, f"--json={out}", f"--html={page}").stdout
    card = json.loads(out.read_text())["environment"]
    for fact in ("system", "kernel", "cpus", "memory", "ncforge", "filesystem", "variables"):
        assert card[fact] or fact == "variables", fact
    assert card["filesystem"]["kind"] and card["filesystem"]["options"]
    codecs = card["libraries"][0]
    assert "libdeflate" in codecs and "zstd" in codecs and "lz4" in codecs
    assert any(line.startswith("libnetcdf") and "HDF5" in line for line in card["libraries"])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    if commit.returncode == 0:
        assert card["revision"] == commit.stdout.strip()
    assert codecs in text and card["filesystem"]["kind"] in text
    shown = page.read_text()
    assert codecs in shown and str(tmp_path) not in shown
    if card["filesystem"]["device"].startswith("/"):
        assert card["filesystem"]["device"] not in shown


@pytest.mark.parametrize("job", [{}, {"SLURM_NNODES": "4", "SLURM_NTASKS_PER_NODE": "8", "SLURM_PROCID": "0"}])
def test_an_mpi_job_knows_its_nodes_by_itself(ncforge_bin: Path, tmp_path: Path, job: dict[str, str]) -> None:
    """No option says how many ranks there are; an allocation that is larger than the job changes nothing."""
    command = [*mpi_ranks(4), str(ncforge_bin), "bench", "io", f"-f={tmp_path / 't.nc'}", "--json", *ONCE]
    environment = {**os.environ, **job}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["sections"][0]["detail"]
    assert (report["nodes"], report["geometry"]["nodes"], report["geometry"]["ppn"]) == (1, 1, 4)
    assert report["geometry"]["data"] == [100, 100, 400, 10]


def test_tasks_of_srun_without_mpi_do_not_write_over_one_another(ncforge_bin: Path, tmp_path: Path) -> None:
    """Each of them would think that it is alone."""
    environment = {**os.environ, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "NCFORGE_MPI": "/nowhere/libmpi.so"}
    command = [str(ncforge_bin), "bench", "io", f"-f={tmp_path / 't.nc'}", *ONCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 1
    assert "NCFORGE_MPI" in done.stderr
    assert list(tmp_path.iterdir()) == []


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


def test_an_error_of_one_rank_ends_the_mpi_job(ncforge_bin: Path, tmp_path: Path) -> None:
    command = [
        *mpi_ranks(4),
        str(ncforge_bin),
        "bench",
        "io",
        "-b=1:100:200:10",
        "-d=20:200:200:10",
        f"-f={tmp_path / 't.nc'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("try 1:200:50:10") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--ranks=2", "-p=2"], ["-c=auto", "-z=1"], ["-t=file"], ["--format=cdf5"]])
def test_phases_end_with_the_time(run: Run, tmp_path: Path, options: list[str]) -> None:
    """What was moved by then is what rates are of, and what is read and checked."""
    out = tmp_path / "out.json"
    words = ["-d=400:100:100:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--seconds=0.02", "--driver=ncforge,libnetcdf"]
    if "--ranks=2" in options:
        words[-1] = "--driver=ncforge,raw"
    done = run("bench", "io", *words, *options, "--csv", f"--json={out}", *ONCE)
    section = json.loads(out.read_text())["sections"][0]
    whole = 400 * 100 * 100 * 10 * 4
    written = [p for p in section["detail"]["phases"] if p["kind"] == "write"]
    assert any(p["partial"] for p in written)
    for p in section["detail"]["phases"]:
        assert p["partial"] == (p["bytes"] < whole)
        assert not p["partial"] or p["kind"] == "read" or p["io"] >= 0.02
        assert len({r["bytes"] for r in p["ranks"]}) == 1, "every rank has made as many calls"
        assert p["kind"] == "write" or p["verdict"]["wrong"] == 0
        assert p["kind"] == "write" or p["verdict"]["checked"] * 4 == p["bytes"]
    for row in csv.DictReader(io.StringIO(done.stdout)):
        rate = int(row["bytes_logical"]) / 2**20 / float(row["t_io_s"])
        assert rate == pytest.approx(float(row["rate_io_MiBps"]), rel=1e-2)
    assert any("ended after 0.02 s" in note for note in section["notes"])


def test_time_and_growing_files_exclude_one_another(run: Run, tmp_path: Path) -> None:
    for options in (["-u"], ["--rewrite"]):
        done = run("bench", "io", f"-f={tmp_path / 't.nc'}", "-w", "--seconds=1", *options, *ONCE, code=2)
        assert "--seconds goes with neither" in done.stderr
    assert "cannot take" in run("bench", "io", f"-f={tmp_path / 't.nc'}", "--seconds=0", *ONCE, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_chunk_caches_are_a_fact_of_the_row(run: Run, tmp_path: Path) -> None:
    words = ["-d=4:40:40:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-c=2:20:20:10", "-z=1", "--csv"]
    drivers = "--driver=ncforge,libnetcdf,h5"
    done = run("bench", "io", *words, drivers, "-L", "chunk-cache=default,1M,64M", *ONCE)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 9
    assert {r["chunk_cache"] for r in rows} == {"default", str(1 << 20), str(64 << 20)}
    assert len({r["case"] for r in rows}) == 9
    assert {r["verify"] for r in rows if r["phase"] == "read"} == {"ok"}
    assert "chunk-cache" in run("bench", "io", *words, "--chunk-cache=lots", *ONCE, code=2).stderr


def test_saved_results_are_compared(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "a.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--reps", "5", "--no-guard"]
    run(*words, f"--json={saved}")
    assert "beyond chance" in run("bench", "compare", str(saved), str(saved), "--fail-if-slower", "10%").stdout
    slow = json.loads(saved.read_text())
    for row in slow["sections"][0]["rows"]:
        for m in row["measurements"]:
            m["seconds"] *= 100
    other = tmp_path / "b.json"
    other.write_text(json.dumps(slow))
    done = run("bench", "compare", str(saved), str(other), "--fail-if-slower", "10%", code=3)
    assert "SLOWER" in done.stdout
    run("bench", "compare", str(saved), str(other))
    run("bench", "compare", str(other), str(saved), "--fail-if-slower", "10%")
    other.write_text("{}")
    run("bench", "compare", str(saved), str(other), code=4)


def test_values_of_a_kind(run: Run, tmp_path: Path) -> None:
    """What compresses, compresses as far as was asked for; all of it is checked as it is read."""
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=8:50:40:25", f"-f={path}", "-w", "-r", "-z=1", *ONCE]
    sizes = {}
    for kind in ("hash", "compressible=30", "compressible=70", "field", "ramp", "constant"):
        run(*words, "--data-content", kind)
        sizes[kind] = path.stat().st_size / (8 * 50 * 40 * 25 * 4)
    assert sizes["hash"] > 0.99 and sizes["constant"] < 0.05
    assert 0.65 < sizes["compressible=30"] < 0.8 and 0.25 < sizes["compressible=70"] < 0.42
    run(*words, "--data-content", "ramp")
    assert np.array_equal(values(path).ravel(), np.arange(8 * 50 * 40 * 25))
    assert "no content" in run(*words, "--data-content", "noise", code=2).stderr
    assert "percentage" in run(*words, "--data-content", "compressible=120", code=2).stderr


def test_phases_tell_what_they_used_and_where_time_went(run: Run, tmp_path: Path) -> None:
    words = ["-d=8:50:50:10", "-w", "-r", "--driver=ncforge,libnetcdf,h5,raw", "--json", *ONCE]
    section = json.loads(run("bench", "io", *words, f"-f={tmp_path / 't.nc'}").stdout)["sections"][0]
    for row in section["rows"]:
        (m,) = row["measurements"]
        split = dict(m["split"])
        write = row["phase"] == "write"
        steps = {
            "libnetcdf": ["create", "define", "enddef"] if write else ["open", "inquire"],
            "h5": ["create", "define"] if write else ["open", "inquire"],
        }.get(row["engine"], ["open"])
        assert list(split) == [*steps, "first_call", "io", "close"]
        assert sum(split[s] for s in steps) <= m["open"] * 1.01
        assert 0 < split["first_call"] <= split["io"] == m["seconds"]
        used = m["used"]
        assert used["user"] + used["system"] == pytest.approx(m["cpu"])
        assert used["faults"] + used["fetched"] >= 0 and used["waited"] >= 0 and used["forced"] >= 0
        assert m["memory"] > 1 << 20
    done = run("bench", "io", *[w for w in words if w != "--json"], "--csv=-", f"-f={tmp_path / 't.nc'}")
    by_engine = {r["engine"].split()[0]: r for r in csv.DictReader(io.StringIO(done.stdout)) if r["phase"] == "write"}
    assert 0 < float(by_engine["libnetcdf"]["t_define_s"]) < float(by_engine["libnetcdf"]["t_open_s"])
    assert by_engine["ncforge"]["t_define_s"] == "" and float(by_engine["ncforge"]["t_first_call_s"]) > 0
    text = run("bench", "io", "-d=8:50:50:10", "-w", *ONCE, f"-f={tmp_path / 't.nc'}").stdout
    assert re.search(r"^ncforge, write: open .*, first call .*, io .*, close .*; .* user, .* page faults", text, re.M)
