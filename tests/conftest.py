"""Shared by the tests across tools: where things are, and how the command is run."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import ROOT, execute, find_binary, ncforge

DATA = ROOT / "data"

# A name that looks like markup.
ODD = 'a<b>&"c'

# Ranks that wait for each other let other tests run: Open MPI's look without a pause as long as there are processors for all of them.
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")

Run = Callable[..., subprocess.CompletedProcess[str]]
Measured = Callable[..., tuple[int, str, int]]


def pytest_collection_finish() -> None:
    """All tests of the run and the libraries that they import stay: the garbage collector need not look at them each time."""
    gc.collect()
    gc.freeze()


def built_example(name: str) -> Path:
    """An example of the crates. It is built as ``cargo test --workspace`` builds it, of which it is a part, or again otherwise."""
    selection = ["--workspace", "--exclude", "ncforge-py", "--example", name]
    command = ["cargo", "build", "--quiet", "--locked", "--message-format=json", *selection]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=1800).stdout
    found = [m["executable"] for m in map(json.loads, lines.splitlines()) if m.get("executable")]
    return Path(found[-1])


@pytest.fixture(scope="session")
def hdf5_cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of files that ``make_hdf5_cases.py`` makes, once for all processes of a run; or another folder, named by
    ``NCFORGE_HDF5_CASES``.
    """
    if given := os.environ.get("NCFORGE_HDF5_CASES"):
        return Path(given)
    import make_hdf5_cases

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "hdf5-cases"
    with (folder.parent / "hdf5-cases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = folder.with_name("hdf5-cases.part")
            make_hdf5_cases.main(making)
            making.rename(folder)
    return folder


@pytest.fixture(scope="session")
def ncforge_bin() -> Path:
    """The command under test."""
    return find_binary()


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs the command; fails the test on another exit code than ``code``, or than all of them."""
    return ncforge


@pytest.fixture(scope="session")
def measured() -> Iterator[Measured]:
    """Runs a command; gives its exit code, its messages, and the most memory that it had (``measured.py``)."""
    program = [sys.executable, "-S", "-E", str(ROOT / "tests" / "measured.py")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        requests, replies = process.stdin, process.stdout

        def measured(*command: str | Path, seconds: float = 600) -> tuple[int, str, int]:
            print(json.dumps([seconds, [*map(str, command)]]), file=requests, flush=True)
            told = json.loads(replies.readline())
            return told["code"], told["messages"], told["peak"]

        yield measured
        requests.close()


@pytest.fixture
def tool() -> Callable[..., str]:
    """Runs a tool of another project, or skips the test where it is not installed."""

    def tool(name: str, *args: str | Path, timeout: float = 600) -> str:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed (make setup installs it on Debian)")
        return execute(name, *args, timeout=timeout).stdout

    return tool


@pytest.fixture(scope="session")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maps, each a chunk, in a variable with an odd name."""
    # Not for all: the tests of netCDF4-python run with ncforge under its name.
    import netCDF4

    path = tmp_path_factory.mktemp("maps") / "maps & more.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("lat", 40), ("lon", 80)):
            file.createDimension(name, length)
        values = np.random.default_rng(1).normal(size=(800, 40, 80)).round(1)
        for name in ("tas", ODD):
            var = file.createVariable(name, "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 40, 80))
            var[:] = values
    return path


@pytest.fixture(scope="session")
def library(ncforge_bin: Path) -> Path:
    """The library next to the command under test."""
    found = ncforge_bin.resolve().with_name("libncforge_netcdf.so")
    assert found.is_file(), "run `cargo build -p ncforge-netcdf`"
    return found


@pytest.fixture
def run_under(ncforge_bin: Path, library: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs a program under ``ncforge run``."""
    from programs import call

    return lambda *command, **options: call(ncforge_bin, "run", *command, **options)


@pytest.fixture(scope="module", autouse=True)
def netcdf_c_is_itself() -> Iterator[None]:
    """The netCDF-C of the tests' own process judges ncforge, so that ncforge must not serve it."""
    yield
    if sys.platform.startswith("linux"):
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        assert "libncforge_netcdf" not in maps, "ncforge.accelerate() belongs into a process of its own"


@pytest.fixture
def packaged() -> Path:
    """The library of the package."""
    import ncforge

    path = Path(ncforge.__file__).parent / "_netcdf/libncforge_netcdf.so"
    if not path.is_file():
        pytest.fail("scripts/extension.sh builds it")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of a web server of the test's folder."""
    import servers

    with servers.web(tmp_path) as running:
        yield running.url


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Any]:
    """A web server of a file."""
    import servers

    with servers.web_of_a_file(tmp_path / "served", 1400) as running:
        yield running


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    """An S3 server."""
    import servers

    with servers.s3() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A new bucket, and what accesses it, in this process and its children."""
    boto3 = pytest.importorskip("boto3")
    from servers import S3_ENVIRONMENT

    for name, value in (S3_ENVIRONMENT | {"AWS_ENDPOINT_URL": s3_endpoint}).items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{time.monotonic_ns()}"
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=name)
    return client, name
