"""Work that a cluster of Dask ``distributed`` does: the same bytes as one process makes, also when workers are lost."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
import tiles as tl
from datasets import created

distributed = pytest.importorskip("distributed")
pytestmark = [
    # Of distributed itself, where workers are killed and pipes to them are cut.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers of one thread, which are processes. The dashboard takes a free port: other tests have clusters."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: Any) -> None:
    """Files of tests are small, and shall be many tasks."""
    from ncforge._ops import cluster as _cluster

    monkeypatch.setattr(_cluster.Encoding, "group_bytes", 256 << 10)


@pytest.fixture(scope="module")
def source(tmp_path_factory: Any) -> Path:
    """Fields of many kinds: chunked and not, with parts that nobody wrote, scalars and text."""
    path: Path = tmp_path_factory.mktemp("source") / "in.nc"
    rng = np.random.default_rng(5)
    field = (np.sin(np.arange(200)[:, None, None] / 9) + rng.normal(size=(200, 60, 70)) / 50).astype("f4")
    with created(path, ncforge, time=None, lat=60, lon=70) as ds:
        ds.createVariable("tas", "f4", ("time", "lat", "lon"), chunksizes=(1, 60, 70), zlib=True)[:] = field
        ds.createVariable("plain", "f8", ("lat", "lon"), contiguous=True)[:] = field[0]
        ds.createVariable("packed", "i2", ("time", "lat", "lon"), chunksizes=(10, 20, 70), zlib=True)[:] = field * 1000
        gaps = ds.createVariable("gaps", "i4", ("time", "lat", "lon"), chunksizes=(20, 30, 35), fill_value=-1)
        gaps[0:20] = 7
        gaps[120:130, 3:9] = 8
        ds.createVariable("number", "i4", ())[...] = 42
        ds.createVariable("words", str, ("lat",))[:] = np.array([f"row {i}" for i in range(60)], object)
    return path


OPTIONS: list[dict[str, Any]] = [
    {"chunks": "time/50,lat/20,lon/20", "codec": "deflate", "level": 4},
    {"chunks": "time/33,lat/60,lon/7", "codec": "zstd", "memory": "16M"},
    {"chunks": "auto", "codec": "deflate", "fletcher32": True, "verify": True},
    {"format": "cdf5", "vars": ["tas", "packed", "gaps", "number"]},
    {"codec": "none", "chunks": "time/64,lat/64,lon/64"},
    {"chunks": "time/200,lat/30,lon/70", "codec": "deflate", "access_points": 16384},
    {"codec": "auto", "chunks": "auto", "for_": "series=3,map=1"},
    {"codec": "auto", "goal": "small", "allow_zstd": True, "chunks": "time/40,lat/30,lon/35"},
    {"select": "time=3:180:2,lon=10:65", "chunks": "time/33,lat/20,lon/20", "codec": "deflate"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_copies_are_those_of_one_process(client: Any, source: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    alone, together = tmp_path / "alone.nc", tmp_path / "together.nc"
    ncforge.copy(source, alone, **options)
    reported: list[tuple[str, int, int]] = []
    report = ncforge.copy(source, together, client=client, progress=lambda *a: reported.append(a), **options)
    assert together.read_bytes() == alone.read_bytes()
    assert report.output_bytes == alone.stat().st_size and reported[-1][1] == reported[-1][2]
    same = ncforge.compare(source, together, vars=options.get("vars"), select=options.get("select"))
    assert same.differing_values == 0


def test_relative_paths_mean_those_of_the_caller(client: Any, source: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(source, "in.nc")
    ncforge.copy("in.nc", "out.nc", client=client, chunks="time/50,lat/20,lon/20", codec="deflate")
    assert ncforge.compare("in.nc", "out.nc").same


def _worker_pids(client: Any) -> list[int]:
    return list(client.run(os.getpid).values())


def test_a_lost_worker_costs_time_only(client: Any, source: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from ncforge._ops import cluster as _cluster

    monkeypatch.setattr(_cluster.Encoding, "group_bytes", 64 << 10)
    alone, together = tmp_path / "alone.nc", tmp_path / "together.nc"
    options: Any = {"chunks": "time/10,lat/60,lon/70", "codec": "deflate", "level": 6, "vars": ["tas", "packed"]}
    ncforge.copy(source, alone, **options)
    killed: list[int] = []
    groups = 0
    real = _cluster.Encoding.group

    def group(self: Any, which: Any) -> Any:
        nonlocal groups
        groups += 1
        if groups in (4, 12):
            pid = _worker_pids(client)[0]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
            # Results of the killed worker are lost, too: give the scheduler time to see it.
            time.sleep(0.3)
        return real(self, which)

    monkeypatch.setattr(_cluster.Encoding, "group", group)
    ncforge.copy(source, together, client=client, **options)
    assert len(killed) == 2 and groups > 12
    assert together.read_bytes() == alone.read_bytes()


def test_what_was_interrupted_goes_on(client: Any, source: Path, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone.nc", tmp_path / "together.nc"
    options: Any = {"chunks": "time/50,lat/20,lon/20", "codec": "deflate", "memory": "16M"}
    ncforge.copy(source, alone, **options)

    def stop(stage: str, done: int, total: int) -> None:
        if done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ncforge.copy(source, together, client=client, progress=stop, **options)
    assert not together.exists()
    ncforge.copy(source, together, client=client, resume=True, **options)
    assert together.read_bytes() == alone.read_bytes()
    # And the workers are free again.
    assert client.submit(sum, [1, 2]).result(timeout=600) == 3


def test_errors_of_workers_are_the_callers(client: Any, source: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from ncforge._ops import cluster as _cluster

    real = _cluster.Encoding.begin

    def begin(self: Any, ticket: str, groups: Any) -> None:
        real(self, ticket, groups)
        job = self._job
        # As on a machine that does not see the file.
        self._job = _cluster._Job(job.key, ("/nonexistent/in.nc",), job.output, job.request, job.ticket)

    monkeypatch.setattr(_cluster.Encoding, "begin", begin)
    with pytest.raises(FileNotFoundError, match=r"/nonexistent/in\.nc"):
        ncforge.copy(source, tmp_path / "out.nc", client=client, chunks="time/50,lat/20,lon/20", codec="deflate")
    assert not (tmp_path / "out.nc").exists()
    with pytest.raises(TypeError, match="Client"):
        ncforge.copy(source, tmp_path / "out.nc", client="tcp://localhost", chunks="auto")  # type: ignore[arg-type]


def test_only_so_much_is_asked_for_ahead(client: Any, source: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from ncforge._ops import cluster as _cluster

    most = 0
    real = _cluster.Encoding.group

    def group(self: Any, which: Any) -> Any:
        nonlocal most
        chunks = real(self, which)
        most = max(most, len(self._asked))
        return chunks

    monkeypatch.setattr(_cluster.Encoding, "group_bytes", 16 << 10)
    monkeypatch.setattr(_cluster.Encoding, "group", group)
    ncforge.copy(
        source, tmp_path / "out.nc", client=client, chunks="time/50,lat/4,lon/10", codec="deflate", vars=["tas"]
    )
    threads = sum(client.nthreads().values())
    assert 1 <= most <= _cluster._AHEAD * threads


def test_combinations_are_those_of_one_process(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    fields = {
        "sst": tl.Field(("t", "y", "x"), rng.standard_normal((12, 90, 110)).astype("f4")),
        "t": tl.Field(("t",), np.arange(12.0)),
    }
    whole = tl.Whole(fields)
    parts = tl.nemo(tmp_path, whole, (3, 3), tl.Storage("NETCDF4", zlib=True), halo=1)
    alone, together = tmp_path / "alone.nc", tmp_path / "together.nc"
    options: Any = {"chunks": "t/4,y/30,x/37", "codec": "deflate"}
    ncforge.combine(parts.paths, alone, **options)
    report = ncforge.combine(parts.paths, together, client=client, **options)
    assert report.tiles == 9
    assert together.read_bytes() == alone.read_bytes()
    tl.check(together, whole, parts)


def test_tiles_are_appended(client: Any, tmp_path: Path) -> None:
    """In two runs what one run makes, by this process and by a cluster."""
    rng = np.random.default_rng(4)
    fields = {"sst": tl.Field(("t", "y", "x"), rng.standard_normal((6, 40, 50)).astype("f4"))}
    whole = tl.Whole(fields)
    parts = tl.nemo(tmp_path, whole, (2, 2), tl.Storage("NETCDF4", zlib=True))
    for out, options in ((tmp_path / "alone.nc", {}), (tmp_path / "together.nc", {"client": client})):
        ncforge.combine(parts.paths[:2], out, allow_missing=True, codec="deflate", **options)
        with pytest.raises(FileExistsError):
            ncforge.combine(parts.paths[2:], out, allow_missing=True, codec="deflate", **options)
        ncforge.combine(parts.paths[2:], out, allow_missing=True, append=True, **options)
        tl.check(out, whole, parts)


def _in_a_task(source: str, folder: str, name: str) -> bool:
    """Work of which each part waits for other tasks, and for which a worker's only thread is taken."""
    import xarray as xr

    client, copy, xarrays = distributed.get_client(), f"{folder}/{name}.nc", f"{folder}/{name}-x.nc"
    ncforge.copy(source, copy, client=client)
    ncforge.doctor([source], client=client)
    ds = xr.Dataset({"v": ("x", np.arange(10.0))}).chunk(x=5)
    ncforge.to_netcdf(ds, xarrays)
    with xr.open_dataset(xarrays, engine="ncforge") as again:
        return bool(ncforge.compare(source, copy).same and again.equals(ds))


def test_a_task_waits_for_other_tasks(client: Any, source: Path, tmp_path: Path) -> None:
    """As many as there are threads, so that no other worker has one."""
    tasks = [client.submit(_in_a_task, str(source), str(tmp_path), name, pure=False) for name in "ab"]
    assert client.gather(tasks) == [True, True]


def _cancel(client: Any) -> None:
    client.cancel([distributed.Future(key, client) for key in list(client.futures)], force=True)


def _close(client: Any) -> None:
    client.close()


def _restart(client: Any) -> None:
    """What a client does when its scheduler says that it has restarted; the workers stay as they are."""
    client.sync(_handled, client)


async def _handled(client: Any) -> None:
    client._handle_restart()


@pytest.mark.parametrize(("value", "stop"), [("ab", _cancel), (b"ab", _close), (1.5, _restart), (1.5, _close)])
def test_what_was_cancelled_is_not_written(
    client: Any, tmp_path: Path, value: Any, stop: Callable[[Any], None]
) -> None:
    import dask.array as da
    import xarray as xr

    def slow(block: Any) -> Any:
        if block.size:  # Dask tries it without values, too
            (tmp_path / "begun").touch()
            time.sleep(0.2)
        return block

    values = da.from_array(np.full(30, value), chunks=2)
    ds = xr.Dataset({"v": ("x", values.map_blocks(slow, dtype=values.dtype))})
    with (
        distributed.Client(client.scheduler.address) as own,
        own.as_current(),
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        written = pool.submit(ncforge.to_netcdf, ds, tmp_path / "a.nc")
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        stop(own)
        with pytest.raises(concurrent.futures.CancelledError):
            written.result()
    assert not (tmp_path / "a.nc").exists()


class _Unread:
    """A block that is no array here."""

    nbytes, ndim, shape, dtype = 16, 1, (2,), np.dtype("f8")

    def __reduce__(self) -> Any:
        return divmod, (1, 0)


def test_a_block_that_cannot_be_fetched_is_an_error(client: Any, tmp_path: Path) -> None:
    import dask.array as da
    import xarray as xr

    values = da.zeros(30, chunks=2).map_blocks(lambda block: _Unread(), meta=np.empty(0))
    with pytest.raises(ZeroDivisionError):
        ncforge.to_netcdf(xr.Dataset({"v": ("x", values)}), tmp_path / "a.nc")
    assert not (tmp_path / "a.nc").exists()


def test_doctor_is_a_task_a_file(client: Any, source: Path, tmp_path: Path) -> None:
    paths = [source, tmp_path / "none.nc", source]
    alone = ncforge.doctor(paths)
    together = ncforge.doctor(paths, client=client)
    assert together.files == alone.files
    assert [(f.file, type(f.error), str(f.error)) for f in together.failures] == [
        (f.file, type(f.error), str(f.error)) for f in alone.failures
    ]
    assert ncforge.doctor(source, client=client) == alone[0]


def test_many_files_are_a_task_a_file(client: Any, source: Path, tmp_path: Path) -> None:
    sources = []
    for i in range(4):
        sources.append(tmp_path / f"in{i}.nc")
        ncforge.copy(source, sources[-1], vars=["packed", "number"])
    folder = tmp_path / "out"
    folder.mkdir()
    reported: list[tuple[str, int, int]] = []
    options: Any = {"chunks": "time/50,lat/20,lon/20", "codec": "deflate"}
    reports = ncforge.copy(sources, folder, client=client, progress=lambda *a: reported.append(a), **options)
    assert [Path(r.output) for r in reports] == [folder / s.name for s in sources]
    assert reported[-1] == ("copy", 4, 4)
    alone = tmp_path / "alone"
    alone.mkdir()
    ncforge.copy(sources, alone, **options)
    for s in sources:
        assert (folder / s.name).read_bytes() == (alone / s.name).read_bytes()
    with pytest.raises(FileExistsError):
        ncforge.copy(sources, folder, client=client, **options)
    with pytest.raises(ValueError, match="same name"):
        ncforge.copy([source, source], folder, client=client)
    with pytest.raises(ValueError, match="folder"):
        ncforge.copy(sources, folder / "none", client=client)


def test_a_worker_lost_among_many_files(client: Any, source: Path, tmp_path: Path) -> None:
    sources = []
    for i in range(6):
        sources.append(tmp_path / f"in{i}.nc")
        ncforge.copy(source, sources[-1], vars=["tas"])
    folder = tmp_path / "out"
    folder.mkdir()

    def kill() -> None:
        while not any(folder.iterdir()):
            time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError):
            os.kill(_worker_pids(client)[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    options: Any = {"chunks": "time/50,lat/4,lon/10", "codec": "deflate", "level": 9}
    ncforge.copy(sources, folder, client=client, **options)
    killer.join()
    ncforge.copy(sources[0], tmp_path / "alone.nc", **options)
    for s in sources:
        assert (folder / s.name).read_bytes() == (tmp_path / "alone.nc").read_bytes()


@pytest.fixture
def parts(tmp_path: Path) -> str:
    """Files of different lengths that follow each other; packed values, whose fill value nobody wrote elsewhere."""
    begin = 0
    for i, n in enumerate((4, 3, 5, 1, 4, 3)):
        with created(tmp_path / f"part{i}.nc", ncforge, time=None, x=6) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(n) + begin
            values = np.arange(6 * n).reshape(n, 6) + 6 * begin
            ds.createVariable("v", "f4", ("time", "x"), zlib=True)[:] = values
            packed = ds.createVariable("p", "i2", ("time", "x"), zlib=True, fill_value=-1)
            packed.scale_factor = np.float32(0.5)
            packed[:] = np.ma.masked_equal(values / 2, 9.5)
        begin += n
    return str(tmp_path / "part*.nc")


def test_open_mfdataset_of_xarray_in_workers(client: Any, parts: str) -> None:
    xr = pytest.importorskip("xarray")
    with xr.open_mfdataset(parts, engine="ncforge", parallel=True) as many:
        assert many.v.chunks[0] == (4, 3, 5, 1, 4, 3)
        assert np.array_equal(many.v.values.ravel(), np.arange(120))
        assert float(many.v.sum().compute()) == np.arange(120).sum()


def _idle(client: Any) -> None:
    """Waits until the scheduler has forgotten all tasks. Where the next work has the same keys, and Dask's optimisation makes
    other tasks of them, it fails (seen with xarray's own `open_mfdataset` as well, and distributed 2026.8)."""
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        # Futures in cycles of references hold their tasks.
        gc.collect()
        time.sleep(0.01)


def test_open_mfdataset_of_ours_in_workers(client: Any, parts: str) -> None:
    xr = pytest.importorskip("xarray")
    with ncforge.open_mfdataset(parts) as ours, xr.open_mfdataset(parts, engine="netcdf4") as theirs:
        assert ours.v.chunks == theirs.v.chunks and ours.v.chunks[0] == (4, 3, 5, 1, 4, 3)
        # All but the first file are one array, and that is what travels.
        assert "ManyArray" in repr(dict(ours.v.data.dask))
        here = theirs.compute(scheduler="synchronous")
        xr.testing.assert_identical(ours.compute(), here)
        # Work that begins in a worker and blocks that lie across files.
        _idle(client)
        xr.testing.assert_identical(ours.rolling(time=4).mean().compute(), here.rolling(time=4).mean())
        _idle(client)
        xr.testing.assert_identical(
            ours.isel(time=[0, 3, 12, 19, 7], x=[5, 0]).compute(), here.isel(time=[0, 3, 12, 19, 7], x=[5, 0])
        )
        # A dataset is opened anew where it arrives.
        _idle(client)
        found = client.submit(lambda ds: (float(ds.p.sum()), os.getpid()), ours, pure=False).result(timeout=600)
        assert found[0] == float(here.p.sum()) and found[1] in _worker_pids(client)


def test_open_mfdataset_of_ours_survives_a_lost_worker(client: Any, parts: str) -> None:
    pytest.importorskip("xarray")
    with ncforge.open_mfdataset(parts) as many:
        kept = many.v.persist()
        os.kill(_worker_pids(client)[0], signal.SIGKILL)
        assert float(kept.sum().compute()) == np.arange(120).sum()
