"""Servers that the tests start: one of HTTP that can misbehave, and those of object stores (moto, Azurite, fake-gcs-server); files for them."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import netCDF4
import numpy as np
import pytest

S3_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@dataclass
class Behaviour:
    """The faults of the server, and the requests that it got."""

    #: Seconds before each answer.
    delay: float = 0.0
    #: Every so many requests get status 503; 0: none.
    busy_every: int = 0
    #: The status of all answers.
    status: int = 0
    #: Ranges are ignored: the whole file is sent.
    ignores_ranges: bool = False
    #: Of so many answers only a half is sent before the connection ends.
    cuts: int = 0
    #: All requests are redirected to themselves.
    circle: bool = False
    #: Answers stop in the middle, and the connection stays open.
    stalls: bool = False
    #: Whether answers have an ETag and a date.
    etag: bool = True
    date: bool = True
    #: A weak ETag (`W/"…"`), which is never equal in the header `If-Match`.
    weak: bool = False
    #: Answers do not tell how long the file is (`Content-Range: bytes 0-9/*`), …
    lengths: bool = True
    #: … nor do those to `HEAD`.
    head: bool = True
    #: Answers come in pieces, without their lengths.
    chunked: bool = False
    #: Answers are compressed.
    gzip: bool = False
    #: Answers tell of a part that begins so many bytes later, …
    later: int = 0
    #: … or of none.
    ranges: bool = True
    #: A page with links for folders.
    listing: bool = True
    #: Ends the stalling.
    goes_on: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    """Serves the files of a folder, with ranges."""

    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, behaviour: Behaviour, *args: object) -> None:
        self.folder, self.behaviour = folder, behaviour
        super().__init__(*args)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """The length of a file."""
        self.do_GET()

    def do_GET(self) -> None:
        """One file, or a part of it."""
        how = self.behaviour
        with how.lock:
            how.requests.append((self.path, self.headers.get("Range", "")))
            number = len(how.requests)
            cut = how.cuts > 0
            how.cuts -= cut
        time.sleep(how.delay)
        if how.status:
            return self.refuse(how.status)
        if how.busy_every and number % how.busy_every == 0:
            return self.refuse(503)
        if how.circle:
            self.send_response(302)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        path = self.folder / unquote(urlparse(self.path).path).lstrip("/")
        if path.is_dir() and how.listing:
            return self.page(path)
        if not path.is_file():
            return self.refuse(404)
        return self.file(path, cut)

    def refuse(self, status: int) -> None:
        """No file, but a text."""
        text = f"status {status}\n".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def page(self, path: Path) -> None:
        """Links to the files of a folder, as web servers write them."""
        links = "".join(f'<a href="{p.name}">{p.name}</a>\n' for p in sorted(path.iterdir()))
        text = f"<html><a href='../'>..</a> {links}</html>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def file(self, path: Path, cut: bool) -> None:
        """The file, or the range of it that was asked for."""
        how = self.behaviour
        size, modified = path.stat().st_size, path.stat().st_mtime
        first, last, status = 0, size - 1, 200
        wanted = self.headers.get("Range")
        if wanted and not how.ignores_ranges:
            low, _, high = wanted.removeprefix("bytes=").partition("-")
            first = int(low) if low else max(0, size - int(high))
            last = min(int(high), size - 1) if high and low else size - 1
            status = 206
            if first >= size:
                return self.refuse(416)
        length = last - first + 1
        self.send_response(status)
        if status == 206 and how.ranges:
            part = f"{first + how.later}-{last + how.later}"
            self.send_header("Content-Range", f"bytes {part}/{size if how.lengths else '*'}")
        if how.gzip:
            self.send_header("Content-Encoding", "gzip")
        if how.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif how.head or self.command != "HEAD":
            self.send_header("Content-Length", str(length))
        if how.etag:
            tag = hashlib.md5(f"{size} {modified}".encode()).hexdigest()
            self.send_header("ETag", f'{"W/" if how.weak else ""}"{tag}"')
        if how.date:
            self.send_header("Last-Modified", email.utils.formatdate(modified, usegmt=True))
        self.end_headers()
        if self.command == "HEAD":
            return None
        with path.open("rb") as file:
            file.seek(first)
            data = file.read(length)
        with how.lock:
            how.sent += len(data)
        if how.stalls and first > 0:
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            how.goes_on.wait(600)
        if cut:
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return None
        if how.chunked:
            pieces = [data[at : at + 5000] for at in range(0, len(data), 5000)]
            data = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
        with contextlib.suppress(OSError):
            self.wfile.write(data)
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: object) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(*args)  # type: ignore[arg-type]

    def get_request(self) -> tuple[socket.socket, object]:
        """A new connection."""
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def end(self) -> None:
        """Refuses connections from now on, and ends those that are open."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, address: object) -> None:
        """Clients that went away are no news."""


@dataclass
class Web:
    """A running web server."""

    folder: Path
    behaviour: Behaviour
    server: _Server

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        """Ends it: connections are refused from now on."""
        self.behaviour.goes_on.set()
        self.server.end()


@contextlib.contextmanager
def web(folder: Path) -> Iterator[Web]:
    """A web server of a folder."""
    behaviour = Behaviour()
    server = _Server(("127.0.0.1", 0), partial(Handler, folder, behaviour))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    running = Web(folder, behaviour, server)
    try:
        yield running
    finally:
        with contextlib.suppress(OSError):
            running.stop()


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextlib.contextmanager
def listening(command: list[str], port: int, seconds: float = 60) -> Iterator[None]:
    """Runs a server, from when it listens to its port."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(int(seconds * 10)):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None:
                pytest.fail(f"{command[0]} ended with code {process.returncode}")
            time.sleep(0.1)
        else:
            pytest.fail(f"{command[0]} does not listen to port {port}")
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """The endpoint of an S3 server."""
    port = free_port()
    with listening([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def nginx(folder: Path, run: Path) -> Iterator[str]:
    """The address of an nginx that serves a folder."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    port = free_port()
    run.mkdir()
    temporary = "".join(f"{n}_temp_path {run}/{n};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (run / "nginx.conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''} daemon off; pid {run}/pid; error_log {run}/error.log; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {folder}; autoindex on; }} }}\n"
    )
    with listening([program, "-c", str(run / "nginx.conf"), "-p", str(run)], port):
        yield f"http://127.0.0.1:{port}"


#: Azurite's account, which its documentation publishes.
AZURITE = {
    "account_name": "devstoreaccount1",
    "account_key": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}


@contextlib.contextmanager
def azure(folder: Path) -> Iterator[str]:
    """The endpoint of an Azure blob store with Azurite's account, which keeps its files in a folder."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not installed (npm install -g azurite)")
    port = free_port()
    places = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    with listening([program, "--silent", "--skipApiVersionCheck", *places], port):
        yield f"http://127.0.0.1:{port}/{AZURITE['account_name']}"


@contextlib.contextmanager
def google() -> Iterator[str]:
    """The endpoint of a Google Cloud Storage."""
    program = shutil.which("fake-gcs-server")
    if program is None:
        pytest.skip("fake-gcs-server is not installed (go install github.com/fsouza/fake-gcs-server@latest)")
    port = free_port()
    places = ["-host", "127.0.0.1", "-port", str(port), "-scheme", "http", "-backend", "memory"]
    places += ["-public-host", f"127.0.0.1:{port}"]
    with listening([program, *places], port):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def web_of_a_file(folder: Path, n: int) -> Iterator[Web]:
    """A web server of a folder with a file of netCDF4-python, ``a.nc``, of so many records."""
    folder.mkdir()
    write(folder / "a.nc", n=n)
    with web(folder) as running:
        yield running


def write(path: Path, format: Any = "NETCDF4", n: int = 300, seed: int = 0) -> None:
    """A file of several MB: chunks, contiguous values, and records."""
    rng = np.random.default_rng(seed)
    with netCDF4.Dataset(path, "w", format=format) as nc:
        nc.createDimension("time", None)
        nc.createDimension("x", 2000)
        nc.title = "a title"
        compressed: dict[str, Any] = {"zlib": True, "chunksizes": (7, 500)} if format == "NETCDF4" else {}
        t = nc.createVariable("time", "f8", ("time",))
        t.units = "days since 2000-01-01"
        v = nc.createVariable("v", "f4", ("time", "x"), **compressed)
        w = nc.createVariable("w", "i2", ("x",))
        v.units = "K"
        t[:] = np.arange(n)
        v[:] = rng.normal(280, 9, (n, 2000)).round(2)
        w[:] = np.arange(2000) % 601 - 300
        if format == "NETCDF4":
            names = nc.createVariable("names", str, ("x",))
            names[:] = np.array([f"station {i}" for i in range(2000)], object)


def assert_same(remote: Any, path: Path) -> None:
    """All variables of an open dataset have the values that netCDF4-python reads from a file."""
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        groups = [(remote, nc)]
        while groups:
            ours, theirs = groups.pop()
            assert list(ours.variables) == list(theirs.variables)
            for name, variable in theirs.variables.items():
                variable.set_auto_maskandscale(False)
                ours[name].set_auto_maskandscale(False)
                np.testing.assert_array_equal(ours[name][...], variable[...], err_msg=name)
            groups += [(ours.groups[name], group) for name, group in theirs.groups.items()]
