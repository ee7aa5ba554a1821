"""Reading by URL, side by side: ``make bench-remote``.

A web server on this machine waits 20 ms before each answer and sends 100 MB/s on each connection. Every contestant opens a
file and reads a map and a series ("first"), or all of one variable ("all"), each time in a process of its own whose time begins
after its imports. Two files of the same values: one as ``ncforge copy --storage object`` writes it, one as netCDF-C does by default,
whose 200 variables lie between their metadata. Of a third one, 200 variables of 100 kB are read in turn ("turn"), which is compared with
copying it. Seconds are medians; requests and bytes are counted by the server.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

LATENCY = 0.020
BANDWIDTH = 100e6
VARIABLES = 200
SHAPE = (480, 90, 180)
BLOCK = 1 << 20
#: A contestant that has taken so many seconds is not measured again.
LONG = 30.0
#: A process that needs more seconds is ended.
PATIENCE = 90.0

#: What is timed, after the imports: opening a file with a map and a series, or opening it with all of a variable.
READS = """
import json, sys, time
import numpy as np
url, work, _ = sys.argv[1:]
{imports}
began = time.perf_counter()
{open}
if work == "first":
    sums = [float(np.asarray(v[7, :, :]).sum()), float(np.asarray(v[:, 40, 90]).sum())]
else:
    sums = [float(np.asarray(v[:, :, :]).sum(dtype="f8"))]
print(json.dumps([time.perf_counter() - began, *sums]))
"""
CONTESTANTS = {
    "ncforge": ("import ncforge; ncforge.Dataset", "f = ncforge.Dataset(url); v = f['big']"),
    "ncforge, xarray": ("import xarray, ncforge", "v = xarray.open_dataset(url, engine='ncforge', cache=False)['big']"),
    "h5netcdf over fsspec": (
        "import fsspec, h5netcdf",
        "f = h5netcdf.File(fsspec.open(url).open(), 'r'); v = f['big']",
    ),
    "VirtualiZarr, obstore": (
        "import zarr; from obspec_utils.registry import ObjectStoreRegistry; from obstore.store import HTTPStore\n"
        "from virtualizarr.parsers import HDFParser; base = url.rsplit('/', 1)[0]",
        "s = HDFParser()(url, ObjectStoreRegistry({base: HTTPStore(base, client_options={'allow_http': True})}))\n"
        "v = zarr.open_group(s, mode='r')['big']",
    ),
    "pyfive over fsspec": ("import fsspec, pyfive", "f = pyfive.File(fsspec.open(url).open()); v = f['big']"),
}
#: All variables of a file, one after the other.
TURN = """
import json, sys, time
import numpy as np
url = sys.argv[1]
{imports}
began = time.perf_counter()
{load}
print(json.dumps([time.perf_counter() - began, *sums]))
"""
SUMS = (
    "sums = [float(v.values.sum(dtype='f8')) for v in xarray.open_dataset({source}, engine='{engine}').load().values()]"
)
OVER_FSSPEC = "fsspec.open(url, cache_type='blockcache', block_size=4 << 20).open()"
IN_TURN = {
    "ncforge": (
        "import ncforge",
        "f = ncforge.Dataset(url); sums = [float(v[:].sum(dtype='f8')) for v in f.variables.values()]",
    ),
    "ncforge, xarray": ("import xarray, ncforge", SUMS.format(source="url", engine="ncforge")),
    "ncforge copy": (
        "import ncforge, os, tempfile; out = tempfile.mkdtemp() + '/out.nc'",
        "ncforge.copy(url, out); sums = []; os.remove(out)",
    ),
    "ncforge copy, decoded": (
        "import ncforge, os, tempfile; out = tempfile.mkdtemp() + '/out.nc'",
        "ncforge.copy(url, out, codec='zstd'); sums = []; os.remove(out)",
    ),
    "h5netcdf over fsspec": ("import fsspec, xarray", SUMS.format(source=OVER_FSSPEC, engine="h5netcdf")),
}
#: As many bytes as ncforge needed, in requests of 1 MiB, 32 at a time: the fastest of several ways to have them from obstore.
PLAIN = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import obstore
from obstore.store import HTTPStore
url, path = sys.argv[1].rsplit("/", 1)
size, part = int(sys.argv[3]), 1 << 20
began = time.perf_counter()
store = HTTPStore(url, client_options={"allow_http": True})
with ThreadPoolExecutor(32) as pool:
    list(pool.map(lambda s: obstore.get_range(store, path, start=s, end=min(s + part, size)), range(0, size, part)))
print(json.dumps([time.perf_counter() - began]))
"""
BYTES = "obstore, these bytes"


class Server(ThreadingHTTPServer):
    """A server to which any number of clients may connect at a time."""

    request_queue_size = 128


class Slow(BaseHTTPRequestHandler):
    """Serves ranges of files, slowly, and counts."""

    protocol_version = "HTTP/1.1"
    # As servers do: a short answer does not wait until its header is acknowledged.
    disable_nagle_algorithm = True
    folder: Path
    requests = 0
    sent = 0
    lock = threading.Lock()

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """Length and version."""
        self.answer(False)

    def do_GET(self) -> None:
        """A file, or a range of it."""
        self.answer(True)

    def answer(self, body: bool) -> None:
        """Waits, and sends at the bandwidth of a connection."""
        path = self.folder / self.path.lstrip("/")
        size = path.stat().st_size
        first, last, status = 0, size - 1, 200
        wanted = self.headers.get("Range")
        if wanted:
            low, _, high = wanted.removeprefix("bytes=").partition("-")
            first, status = int(low), 206
            last = min(int(high), size - 1) if high else size - 1
        time.sleep(LATENCY)
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{size}"')
        self.end_headers()
        with Slow.lock:
            Slow.requests += 1
            Slow.sent += last - first + 1 if body else 0
        if not body:
            return
        due = time.monotonic()
        with path.open("rb") as file:
            while first <= last:
                sent = os.sendfile(self.connection.fileno(), file.fileno(), first, min(last + 1 - first, BLOCK))
                first += sent
                due += sent / BANDWIDTH
                time.sleep(max(0.0, due - time.monotonic()))


def make(folder: Path, command: str) -> None:
    """The files, of netCDF-C and of ncforge."""
    import netCDF4

    rng = np.random.default_rng(20090301)
    with netCDF4.Dataset(folder / "netcdf-c.nc", "w") as nc:
        for name, n in zip(("time", "lat", "lon"), SHAPE, strict=True):
            nc.createDimension(name, None if name == "time" else n)
        for i in range(VARIABLES):
            v = nc.createVariable(f"v{i}", "f4", ("time", "lat"), zlib=True, complevel=1)
            v.long_name = f"variable {i}"
            v[:] = rng.normal(280, 9, SHAPE[:2]).round(2)
        big = nc.createVariable("big", "f4", ("time", "lat", "lon"), zlib=True, complevel=1)
        big.long_name = "the variable that is read"
        big[:] = rng.normal(280, 9, SHAPE).round(2)
    copy = ["copy", str(folder / "netcdf-c.nc"), str(folder / "object.nc"), "--storage", "object", "--progress", "none"]
    subprocess.run([command, *copy], check=True, stdout=subprocess.DEVNULL)
    with netCDF4.Dataset(folder / "many.nc", "w") as nc:
        nc.createDimension("x", 25_000)
        for i in range(VARIABLES):
            nc.createVariable(f"v{i}", "f4", ("x",))[:] = rng.random(25_000)


def measure(code: str, url: str, work: str, size: int) -> tuple[list[float], int, int]:
    """One process: its figures, and the server's."""
    Slow.requests = Slow.sent = 0
    try:
        command = [sys.executable, "-c", code, url, work, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as e:
        raise RuntimeError(f"no result after {PATIENCE:.0f} s") from e
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout), Slow.requests, Slow.sent


def compare(url: str, work: str, rounds: int) -> None:
    """A table of one file and one kind of work: all contestants in turn, those that need long fewer times."""
    if work == "turn":
        codes = {n: TURN.format(imports=i, load=load) for n, (i, load) in IN_TURN.items()}
    else:
        codes = {n: READS.format(imports=i, open=o) for n, (i, o) in CONTESTANTS.items()} | {BYTES: PLAIN}
    runs: dict[str, list[tuple[float, int, int]]] = {n: [] for n in codes}
    sums, size = set(), 1
    for _ in range(rounds):
        for contestant, code in codes.items():
            if sum(r[0] for r in runs[contestant]) > LONG:
                continue
            try:
                (seconds, *values), requests, sent = measure(code, url, work, size)
            except RuntimeError as e:
                print(f"{contestant}: {e}", file=sys.stderr)
                continue
            runs[contestant].append((seconds, requests, sent))
            size = runs["ncforge"][0][2] if runs["ncforge"] else size
            if values:
                sums.add(tuple(round(x / 1000) for x in values))
    if len(sums) != 1:
        print(f"the sums of values differ: {sums}", file=sys.stderr)
    for contestant, all_runs in runs.items():
        if all_runs:
            seconds, asked, moved = (statistics.median(figures) for figures in zip(*all_runs, strict=True))
            file = url.rsplit("/", 1)[-1]
            print(
                f"{file:<12} {work:<6} {contestant:<22} {seconds:>9.3f} s {asked:>7.0f} {moved / 1e6:>8.1f}", flush=True
            )


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="ncforge", help="the ncforge command")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, args.command)
        Slow.folder = folder
        server = Server(("127.0.0.1", 0), Slow)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"{'file':<12} {'work':<6} {'contestant':<22} {'seconds':>11} {'requests':>7} {'MB':>8}")
        works = [(file, work) for file in ("object.nc", "netcdf-c.nc") for work in ("first", "all")]
        for file, work in [("many.nc", "turn"), *works]:
            compare(f"http://127.0.0.1:{server.server_address[1]}/{file}", work, args.rounds)
        server.shutdown()


if __name__ == "__main__":
    main()
