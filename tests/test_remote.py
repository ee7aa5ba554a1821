"""Files read by URL: from web servers, good and bad, and from S3. Values are those that netCDF4-python reads from the
local file."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
import servers
from conftest import DATA, Run
from datasets import created
from servers import assert_same, write

pytest.importorskip("moto")


@pytest.mark.parametrize("path", sorted(p for p in DATA.iterdir() if p.suffix in (".nc", ".cdf")), ids=lambda p: p.name)
def test_every_file_of_data(path: Path, tmp_path: Path) -> None:
    with servers.web(DATA) as server, ncforge.Dataset(f"{server.url}/{path.name}") as remote:
        assert_same(remote, path)


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_every_format(format: str, tmp_path: Path) -> None:
    write(tmp_path / "a.nc", format)
    with servers.web(tmp_path) as server, ncforge.Dataset(f"{server.url}/a.nc") as remote:
        assert_same(remote, tmp_path / "a.nc")
        assert remote["v"][-1, -1] == netCDF4.Dataset(tmp_path / "a.nc")["v"][-1, -1]


def test_zipped_files(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.nc", "NETCDF3_64BIT_OFFSET")
    run("zip", tmp_path / "a.nc", tmp_path / "a.ncz")
    with servers.web(tmp_path) as server, ncforge.Dataset(f"{server.url}/a.ncz") as remote:
        assert_same(remote, tmp_path / "a.nc")


def test_nginx(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    write(folder / "a.nc")
    os.chmod(tmp_path, 0o755)
    with servers.nginx(folder, tmp_path / "nginx") as url:
        with ncforge.Dataset(f"{url}/a.nc") as remote:
            assert_same(remote, folder / "a.nc")
        assert (
            len(ncforge.open_mfdataset(f"{url}/*.nc", combine="nested", concat_dim="time", data_vars="all").time) == 300
        )


def test_xarray(web: servers.Web) -> None:
    ours = xr.open_dataset(f"{web.url}/a.nc", engine="ncforge")
    with xr.open_dataset(web.folder / "a.nc", engine="netcdf4") as theirs:
        xr.testing.assert_identical(ours.load(), theirs.load())


def test_few_requests(tmp_path: Path) -> None:
    write(tmp_path / "a.nc", n=3000)
    ncforge.copy(tmp_path / "a.nc", tmp_path / "o.nc", storage="object")
    with servers.web(tmp_path) as server:
        with ncforge.Dataset(f"{server.url}/o.nc") as remote:
            assert len(server.behaviour.requests) == 1
            _ = remote["v"][1500]
            assert len(server.behaviour.requests) <= 40
        whole = (tmp_path / "o.nc").stat().st_size
        server.behaviour.sent = 0
        with ncforge.Dataset(f"{server.url}/o.nc") as remote:
            assert_same(remote, tmp_path / "o.nc")
        assert server.behaviour.sent < 1.5 * whole


VARIABLES = 150


def write_many(path: Path, format: Any, how: dict[str, Any]) -> None:
    """A file of 15 MB: many variables of 100 kB."""
    rng = np.random.default_rng(0)
    with created(path, format=format, x=25_000) as nc:
        for i in range(VARIABLES):
            nc.createVariable(f"v{i}", "f4", ("x",), **how)
        for i in range(VARIABLES):
            nc[f"v{i}"][:] = rng.random(25_000)


def load(url: str) -> None:
    xr.open_dataset(url, engine="ncforge").load()


def each(url: str) -> None:
    with ncforge.Dataset(url) as remote:
        for variable in remote.variables.values():
            variable[:]


@pytest.mark.parametrize(
    ("format", "how"),
    [
        ("NETCDF4", {}),
        ("NETCDF4", {"zlib": True, "complevel": 1}),
        ("NETCDF4", {"chunksizes": (5000,), "zlib": True, "complevel": 1, "shuffle": True}),
        ("NETCDF3_64BIT_OFFSET", {}),
    ],
    ids=["contiguous", "one-chunk", "chunks", "classic"],
)
def test_many_variables_in_turn(tmp_path: Path, format: Any, how: dict[str, Any]) -> None:
    """Neighbouring bytes come along: neither a request for each variable nor bytes that nobody needs."""
    path, out = tmp_path / "many.nc", tmp_path / "out.nc"
    write_many(path, format, how)
    size = path.stat().st_size

    def copied(**options: Any) -> Any:
        return lambda url: ncforge.copy(url, out, overwrite=True, **options)

    # Of compressed variables, a copy that codes them anew reads parts first, to choose how.
    anew = [] if how else [copied(codec="zstd", format="netcdf4")]
    for read in (load, each, copied(), *anew):
        with servers.web(tmp_path) as server:
            read(f"{server.url}/many.nc")
            asked = server.behaviour.requests
            assert len(asked) <= 40 and server.behaviour.sent <= size, (len(asked), server.behaviour.sent / size)
    with netCDF4.Dataset(path) as a, netCDF4.Dataset(out) as b:
        for name in a.variables:
            np.testing.assert_array_equal(a[name][:], b[name][:])


def test_slices_in_turn(tmp_path: Path) -> None:
    """A variable that is read record by record, and several in turn."""
    with created(tmp_path / "a.nc", t=100, x=10_000) as nc:
        for name in ("u", "v"):
            nc.createVariable(name, "f8", ("t", "x"))[:] = np.random.default_rng(0).random((100, 10_000))
    size = (tmp_path / "a.nc").stat().st_size
    with servers.web(tmp_path) as server:
        with ncforge.Dataset(f"{server.url}/a.nc") as remote, netCDF4.Dataset(tmp_path / "a.nc") as nc:
            for t in range(100):
                for name in ("u", "v"):
                    np.testing.assert_array_equal(remote[name][t], nc[name][t])
        assert len(server.behaviour.requests) <= 50 and server.behaviour.sent <= 1.05 * size


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_single_reads_bring_little_more(tmp_path: Path, format: Any) -> None:
    write_many(tmp_path / "a.nc", format, {})
    with servers.web(tmp_path) as server, ncforge.Dataset(f"{server.url}/a.nc") as remote:
        server.behaviour.sent = 0
        remote["v70"][:]
        assert server.behaviour.sent <= 101_000
        server.behaviour.sent = 0
        for i in (30, 120, 60, 140, 100, 80, 50):
            remote[f"v{i}"][7]
        assert server.behaviour.sent <= 1000
        for i in (90, 91):
            remote[f"v{i}"][:]
        assert server.behaviour.sent <= 600_000


def test_nothing_is_fetched_twice(tmp_path: Path, run: Run) -> None:
    """A file of some megabytes is fetched when it is opened; its values are there then."""
    write(tmp_path / "a.nc", n=300)
    size = (tmp_path / "a.nc").stat().st_size
    assert 1 << 20 < size < 4 << 20
    with servers.web(tmp_path) as server:
        with ncforge.Dataset(f"{server.url}/a.nc") as remote:
            assert_same(remote, tmp_path / "a.nc")
        assert server.behaviour.sent == size
        for path in (f"{server.url}/a.nc", tmp_path / "a.nc"):
            predicted = json.loads(run("info", "--requests", "--json", path).stdout)["files"][0]
            assert predicted["open"]["bytes"] == size
            assert all(v["all"]["bytes"] == 0 for v in predicted["variables"])


def test_a_busy_server_and_cut_answers(web: servers.Web) -> None:
    web.behaviour.busy_every = 3
    web.behaviour.cuts = 2
    with ncforge.Dataset(f"{web.url}/a.nc") as remote:
        assert_same(remote, web.folder / "a.nc")


@pytest.mark.parametrize("marks", [{"etag": False}, {"etag": False, "date": False}, {"weak": True}])
def test_servers_without_versions(web: servers.Web, marks: dict[str, bool]) -> None:
    vars(web.behaviour).update(marks)
    web.behaviour.cuts = 1
    with ncforge.Dataset(f"{web.url}/a.nc") as remote:
        assert_same(remote, web.folder / "a.nc")


@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("marks", [{}, {"etag": False, "date": False}])
def test_servers_that_do_not_tell_the_length(web: servers.Web, head: bool, marks: dict[str, bool]) -> None:
    """`Content-Range: bytes 0-99/*`: the length is asked for, once for each version of a file."""
    vars(web.behaviour).update(marks, lengths=False, head=head)
    for n in (1400, 20):
        write(web.folder / "a.nc", n=n)
        web.behaviour.requests.clear()
        with ncforge.Dataset(f"{web.url}/a.nc") as remote:
            assert_same(remote, web.folder / "a.nc")
        told = [wanted for _, wanted in web.behaviour.requests if wanted in ("", "bytes=-1")]
        assert len(told) == 2 - head or marks


@pytest.mark.parametrize(
    ("behaviour", "exception", "words"),
    [
        ({"ignores_ranges": True}, ncforge.UnsupportedError, "no parts of files"),
        ({"status": 403}, PermissionError, "refuses access"),
        ({"status": 401}, PermissionError, "refuses access"),
        ({"status": 404}, FileNotFoundError, "no such object"),
        ({"status": 500}, OSError, "status 500"),
        ({"status": 416}, OSError, "object is empty"),
        ({"circle": True}, OSError, "circle"),
        ({"delay": 60}, TimeoutError, "in time"),
        ({"gzip": True}, OSError, "the server compresses what it sends"),
        ({"later": 7}, OSError, "another part than it was asked for"),
        ({"ranges": False}, OSError, "another part than it was asked for"),
    ],
)
def test_bad_servers(web: servers.Web, behaviour: dict[str, Any], exception: type[Exception], words: str) -> None:
    vars(web.behaviour).update(behaviour)
    with pytest.raises(exception, match=words) as caught:
        ncforge.Dataset(f"{web.url}/a.nc?token=secret", storage_options={"timeout": "2s"})
    assert "secret" not in str(caught.value)
    assert "a.nc" in str(caught.value)


def test_answers_in_pieces(web: servers.Web) -> None:
    web.behaviour.chunked = True
    with ncforge.Dataset(f"{web.url}/a.nc") as ours, netCDF4.Dataset(web.folder / "a.nc") as theirs:
        for name, variable in theirs.variables.items():
            np.testing.assert_array_equal(ours[name][...], variable[...])


def test_nobody_listens() -> None:
    with pytest.raises(OSError, match="cannot open"):
        ncforge.Dataset(f"http://127.0.0.1:{servers.free_port()}/a.nc", storage_options={"timeout": "2s"})


def test_no_netcdf_and_nothing(web: servers.Web) -> None:
    (web.folder / "page.nc").write_text("<html>no data</html>")
    (web.folder / "empty.nc").touch()
    with pytest.raises(ncforge.NotNetcdfError, match="web page"):
        ncforge.Dataset(f"{web.url}/page.nc")
    with pytest.raises(OSError, match="empty"):
        ncforge.Dataset(f"{web.url}/empty.nc")
    with pytest.raises(ncforge.NcforgeError, match="names no object"):
        ncforge.Dataset(f"{web.url}/")


def test_a_server_that_ends(web: servers.Web) -> None:
    remote = ncforge.Dataset(f"{web.url}/a.nc", storage_options={"timeout": "2s"})
    web.stop()
    with pytest.raises(OSError, match=r"a\.nc"):
        _ = remote["v"][:]


@pytest.mark.parametrize("etag", [True, False])
def test_a_server_that_stalls_costs_the_time_out_once(web: servers.Web, etag: bool) -> None:
    web.behaviour.etag = etag
    remote = ncforge.Dataset(f"{web.url}/a.nc", storage_options={"timeout": "1.2s"})
    web.behaviour.stalls = True
    began = time.monotonic()
    with pytest.raises(ncforge.errors.TimeOutError, match=r"a\.nc.*did not answer in time"):
        _ = remote["v"][1000:]
    assert 1.2 <= time.monotonic() - began < 2.4


def test_a_replaced_object(web: servers.Web) -> None:
    remote = ncforge.Dataset(f"{web.url}/a.nc")
    write(web.folder / "b.nc", seed=1)
    os.replace(web.folder / "b.nc", web.folder / "a.nc")
    os.utime(web.folder / "a.nc", (1e9, 1e9))
    with pytest.raises(ncforge.ChangedError):
        _ = remote["v"][:]


def test_nothing_is_written_to_urls(web: servers.Web, run: Run) -> None:
    for mode in ("w", "a", "r+", "x"):
        with pytest.raises(ncforge.UnsupportedError, match="not changed"):
            ncforge.Dataset(f"{web.url}/new.nc", mode)
    ds = xr.Dataset({"v": ("x", [1.0, 2.0])})
    with pytest.raises(ncforge.UnsupportedError, match="write a local file and copy it to the URL"):
        ncforge.to_netcdf(ds, f"{web.url}/new.nc")
    refused = run("zip", DATA / "uv300.nc", f"{web.url}/x.ncz", code=1).stderr
    assert "writing to a URL" in refused and "hint: write a local file" in refused
    assert not Path("http:").exists()


def test_pickles(web: servers.Web) -> None:
    url = f"{web.url}/a.nc"
    with ncforge.Dataset(url) as remote, pickle.loads(pickle.dumps(remote)) as again:
        assert_same(again, web.folder / "a.nc")
    lazy = xr.open_dataset(url, engine="ncforge")
    again = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(again.v.values, lazy.v.values)
    data = pickle.dumps(xr.open_dataset(url, engine="ncforge"))
    write(web.folder / "a.nc", seed=1)
    os.utime(web.folder / "a.nc", (1e9, 1e9))
    with pytest.raises(ncforge.ChangedError):
        pickle.loads(data).v.load()


def _sum(url: str) -> float:
    with ncforge.Dataset(url) as remote:
        return float(remote["v"][:].sum())


def test_forked_processes(web: servers.Web) -> None:
    url = f"{web.url}/a.nc"
    with ncforge.Dataset(url) as remote:
        expected = float(remote["v"][:].sum())
        with get_context("fork").Pool(2) as pool:
            assert pool.map_async(_sum, [url] * 4).get(timeout=120) == [expected] * 4


def test_threads(web: servers.Web) -> None:
    with ncforge.Dataset(f"{web.url}/a.nc") as remote, ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda i: remote["v"][10 * i : 10 * i + 10], range(140)))
        with netCDF4.Dataset(web.folder / "a.nc") as nc:
            np.testing.assert_array_equal(np.concatenate(parts), nc["v"][:])


def test_many_files(web: servers.Web) -> None:
    for i in range(6):
        path = web.folder / f"day_{i}.nc"
        write(path, n=20, seed=i)
        with netCDF4.Dataset(path, "a") as nc:
            nc["time"][:] = np.arange(20) + 20 * i
    options: dict[str, Any] = {"compat": "no_conflicts", "data_vars": "minimal", "coords": "minimal"}
    urls = [f"{web.url}/day_{i}.nc" for i in range(6)]
    with xr.open_mfdataset(str(web.folder / "day_*.nc"), engine="netcdf4", **options) as theirs:
        for paths in (f"{web.url}/day_*.nc", urls):
            with ncforge.open_mfdataset(paths, **options) as ours:
                xr.testing.assert_identical(ours.load(), theirs.load())
        with xr.open_mfdataset(urls, engine="ncforge", **options) as ours:
            xr.testing.assert_identical(ours.load(), theirs.load())
    with pytest.raises(OSError, match="nothing matches"):
        ncforge.open_mfdataset(f"{web.url}/none_*.nc")


def test_distributed(web: servers.Web) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with cluster, distributed.Client(cluster), netCDF4.Dataset(web.folder / "a.nc") as nc:
        ours = xr.open_dataset(f"{web.url}/a.nc", engine="ncforge", chunks={"time": 49})
        np.testing.assert_allclose(ours.v.mean("time").values, nc["v"][:].mean(0), rtol=1e-5)


def test_the_command(web: servers.Web, run: Run, tmp_path: Path) -> None:
    url, local = f"{web.url}/a.nc", web.folder / "a.nc"
    assert run("info", "--header", url).stdout == run("info", "--header", local).stdout
    assert "findings" in json.loads(run("doctor", "--json", url, code=(0, 3)).stdout)["files"][0]
    assert f"copy {url} a-fixed.nc" in run("doctor", url, code=(0, 3)).stdout
    run("compare", url, local)
    out = tmp_path / "out.nc"
    run("copy", url, out, "--verify", "--codec", "zstd")
    run("compare", out, local)
    run("tune", "chunks", url)
    run("bench", "access", url, "--repetitions", "2")
    asked = json.loads(run("info", "--requests", "--json", url).stdout)["files"][0]
    assert asked["open"]["requests"] == 1
    assert asked["variables"][0]["all"]["requests"] >= 1
    assert run("info", f"{web.url}/none.nc", code=4).stderr.count("no such object") == 1
    # Named twice: before and behind the command's name.
    refused = run("--storage-option", "timeout=1s", "info", "--storage-option", "nonsense=1", url, code=2)
    assert "nonsense" in refused.stderr
    assert "not NAME=VALUE" in run("info", "--storage-option", "x", url, code=2).stderr


def test_requests_of_a_copy_are_predicted(tmp_path: Path, run: Run) -> None:
    def told(records: int) -> tuple[Any, Any]:
        path, out = tmp_path / f"in{records}.nc", tmp_path / f"out{records}.nc"
        with created(path, time=None, lat=90, lon=180) as nc:
            values = np.random.default_rng(1).normal(280, 9, (records, 90, 180)).round(2)
            nc.createVariable("large", "f4", ("time", "lat", "lon"), zlib=True)[:] = values
        predicted = json.loads(run("info", "--requests", "--json", path).stdout)["files"][0]
        run("copy", path, out, "--storage", "object")
        copied = json.loads(run("info", "--requests", "--json", out).stdout)["files"][0]
        assert predicted["open_after"] == copied["open"]
        return predicted["variables"][0], copied["variables"][0]

    large, then = told(240)
    assert large["after"]["chunks"] == then["chunks"] != large["chunks"]
    # Chunks of another shape compress otherwise, by a few per cent in the file; what the first request brings is taken off.
    assert large["after"]["all"]["bytes"] == pytest.approx(then["all"]["bytes"], rel=0.3)
    assert abs(large["after"]["all"]["requests"] - then["all"]["requests"]) <= 3
    # A series is no more all of the file, where that has many chunks of 4 MiB; how many of them lie in the first request is not exactly
    # predicted, and no values are read for their shape.
    large, then = told(960)
    for series in (large["after"]["series"], then["series"]):
        assert series["bytes"] < large["series"]["bytes"] / 5


def test_s3(bucket: Any, tmp_path: Path, run: Run) -> None:
    client, name = bucket
    write(tmp_path / "a.nc", n=2000)
    client.upload_file(str(tmp_path / "a.nc"), name, "deep/er/a.nc")
    url = f"s3://{name}/deep/er/a.nc"
    with ncforge.Dataset(url) as remote:
        assert_same(remote, tmp_path / "a.nc")
    run("doctor", url, code=(0, 3))
    run("copy", url, tmp_path / "out.nc", "--verify")
    run("compare", tmp_path / "out.nc", tmp_path / "a.nc")
    with pytest.raises(FileNotFoundError, match="no such object"):
        ncforge.Dataset(f"s3://{name}/none.nc")
    options = {"anon": True, "client_kwargs": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}}
    with xr.open_dataset(url, engine="ncforge", storage_options=options) as ds:
        assert ds.sizes["time"] == 2000
    with pytest.raises(ncforge.NcforgeError, match="nonsense"):
        ncforge.Dataset(url, storage_options={"nonsense": 1})


@pytest.mark.parametrize("n", [300, 5000])
def test_copies_to_s3(bucket: Any, tmp_path: Path, run: Run, n: int) -> None:
    client, name = bucket
    write(tmp_path / "a.nc", n=n)
    url = f"s3://{name}/copies/out.nc"
    run("copy", tmp_path / "a.nc", url, "--verify", "--codec", "none", "--storage", "object")
    client.download_file(name, "copies/out.nc", str(tmp_path / "back.nc"))
    with ncforge.Dataset(tmp_path / "back.nc") as back:
        assert_same(back, tmp_path / "a.nc")
    assert "exists already" in run("copy", tmp_path / "a.nc", url, code=2).stderr
    run("copy", tmp_path / "a.nc", url, "-O")
    assert "cannot be resumed" in run("copy", tmp_path / "a.nc", url, "-O", "--resume", code=2).stderr
    ncforge.copy(url, f"s3://{name}/again.nc", verify=True)
    run("compare", f"s3://{name}/again.nc", tmp_path / "a.nc")
    assert not list(Path().glob("s3:*"))


def test_tiles_in_s3(bucket: Any, tmp_path: Path, run: Run) -> None:
    client, name = bucket
    run("split", DATA / "sst30e_netcdf.nc", "--tiles", "2x2", "-o", tmp_path / "tile")
    for path in tmp_path.glob("tile*"):
        client.upload_file(str(path), name, f"tiles/{path.name}")
    run("combine", f"s3://{name}/tiles/tile*", "-o", tmp_path / "whole.nc")
    run("compare", tmp_path / "whole.nc", DATA / "sst30e_netcdf.nc")


def test_globs_in_s3(bucket: Any, tmp_path: Path, run: Run) -> None:
    client, name = bucket
    write(tmp_path / "a.nc", n=10)
    for key in ("x/1.nc", "x/2.nc", "x/y/3.nc", "z/4.nc", "x/5.txt"):
        client.upload_file(str(tmp_path / "a.nc"), name, key)
    for pattern, found in {"x/*.nc": 2, "*/*.nc": 3, "x/[2-9].nc": 1, "*/y/*.nc": 1}.items():
        with ncforge.open_mfdataset(
            f"s3://{name}/{pattern}", combine="nested", concat_dim="time", data_vars="all"
        ) as ds:
            assert ds.sizes["time"] == 10 * found, pattern
    pattern = f"s3://{name}/x/*.nc"
    assert run("info", "--kind", pattern).stdout.split("\n") == ["netCDF-4", "netCDF-4", ""]
    assert "across 2 files" in run("doctor", "--across", "--fail-on", "never", pattern).stdout
    run("refs", pattern, "--along", "time", "--unsorted", "-o", tmp_path / "refs.json")
    assert json.loads(json.loads((tmp_path / "refs.json").read_text())["refs"]["v/.zarray"])["shape"] == [20, 2000]
    none = run("info", f"s3://{name}/none/*.nc", code=4).stderr
    assert "no object matches" in none and "hint: " in none


def test_local_files_are_as_before(tmp_path: Path) -> None:
    """A folder whose name begins like a scheme is a folder."""
    folder = tmp_path / "s3"
    folder.mkdir()
    shutil.copy(DATA / "uv300.nc", folder / "a.nc")
    with ncforge.Dataset(folder / "a.nc") as nc:
        assert len(nc.variables) > 0
