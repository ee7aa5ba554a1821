"""The worker process of a Python library: ``python -m workers.main BACKEND``."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from workers.backends import Key, Request, load_backend
from workers.defining import TASKS

BLOCK = 1 << 20  # words


def checksum(values: np.ndarray) -> int:
    """The checksum of the protocol: little-endian 64-bit words, each times 2 i + 1, added modulo 2^64."""
    data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    total = 0
    for at in range(0, len(data), 8 * BLOCK):
        part = data[at : at + 8 * BLOCK]
        if len(part) % 8:
            part = np.concatenate([part, np.zeros(-len(part) % 8, np.uint8)])
        words = part.view(np.uint64)
        weights = np.arange(at // 8, at // 8 + len(words), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        total += int((words * weights).sum(dtype=np.uint64))
    return total % 2**64


class Worker:
    """The state of the process between requests."""

    def __init__(self, name: str) -> None:
        clock = (time.perf_counter(), time.process_time())
        self.backend = load_backend(name)
        # The time of importing the library, beyond NumPy.
        self.imported = stopped(clock, 0)
        self.source: tuple[str, np.ndarray] | None = None

    def answer(self, request: Request) -> dict[str, Any]:
        """Carries out one request."""
        tasks: dict[str, Callable[[Request], dict[str, Any]]] = {
            "hello": lambda _: {"name": self.backend.name, "version": self.backend.version()},
            "read": self.read,
            "slabs": self.slabs,
            "write": self.write,
            "open": self.open,
            "define": self.define,
            "references": self.references,
            "reduce": self.reduce,
        }
        return tasks[request["do"]](request)

    def read(self, request: Request) -> dict[str, Any]:
        """Opens, reads all of a variable, closes."""
        self.backend.prepare(request)
        clock = (time.perf_counter(), time.process_time())
        values = self.backend.read(request)
        reply = stopped(clock, values.nbytes)
        if request.get("check") == "1":
            reply["checksum"] = f"{checksum(self.backend.native(values, request)):016x}"
        return reply

    def slabs(self, request: Request) -> dict[str, Any]:
        """Opens, reads one selection after the other, closes; at most ``reads`` of them."""
        check = request.get("check") == "1"
        keys = load_keys(request)
        reads = nbytes = total = 0
        clock = (time.perf_counter(), time.process_time())
        for values in self.backend.each(request, keys):
            if check:
                total += checksum(values) * (2 * reads + 1)
            nbytes += values.nbytes
            reads += 1
        reply = stopped(clock, nbytes) | {"reads": reads}
        return reply | ({"checksum": f"{total % 2**64:016x}"} if check else {})

    def write(self, request: Request) -> dict[str, Any]:
        """Creates a file with one variable, writes all of it, closes; with durable=1: and syncs."""
        shape = tuple(int(n) for n in request["shape"].split(","))
        if self.source is None or self.source[0] != request["source"]:
            self.source = None
            self.source = (request["source"], np.fromfile(request["source"], np.uint8))
        values = self.source[1].view(request["type"]).reshape(shape)
        clock = (time.perf_counter(), time.process_time())
        self.backend.write(request, values)
        reads = shape[0] if request.get("records") == "1" else 1
        if request.get("durable") == "1" and not self.backend.syncs:
            fd = os.open(request["path"], os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        return stopped(clock, values.nbytes) | {"reads": reads}

    def open(self, request: Request) -> dict[str, Any]:
        """Opens, gets all attributes of all variables, closes; ``repeat`` times. With ``import=1`` the time of importing the
        library counts, too."""
        repeat = int(request.get("repeat") or 1)
        clock = (time.perf_counter(), time.process_time())
        for _ in range(repeat):
            attributes = self.backend.attributes(request)
        reply = stopped(clock, 0) | {"reads": repeat}
        if request.get("import") == "1":
            reply |= {key: reply[key] + self.imported[key] for key in ("wall", "cpu")}
        if request.get("check") == "1":
            reply["checksum"] = f"{checksum(np.frombuffer(b''.join(map(encoded, attributes)), np.uint8)):016x}"
        return reply

    def define(self, request: Request) -> dict[str, Any]:
        """Carries out one of the programs that define ``count`` things; of some, only a part counts."""
        clock = (time.perf_counter(), time.process_time())
        part = TASKS[request["what"]](self.backend.module, request["path"], int(request["count"]))
        reply = stopped(clock, 0)
        return reply if part is None else reply | {"wall": part}

    def references(self, request: Request) -> dict[str, Any]:
        """Makes references to all files of a folder."""
        clock = (time.perf_counter(), time.process_time())
        files, total = self.backend.references(request)
        reply = stopped(clock, 0) | {"reads": files}
        return reply | ({"checksum": f"{total:016x}"} if request.get("check") == "1" else {})

    def reduce(self, request: Request) -> dict[str, Any]:
        """Computes means of the values of all files of a folder."""
        clock = (time.perf_counter(), time.process_time())
        means = self.backend.reduce(request)
        reply = stopped(clock, sum(values.nbytes for values in means))
        if request.get("check") == "1":
            reply["checksum"] = f"{checksum(np.concatenate([values.reshape(-1) for values in means])):016x}"
        return reply


def load_keys(request: Request) -> list[Key]:
    """The key in brackets for each hyperslab of the request."""
    rank = int(request["rank"])
    slabs = np.fromfile(request["slabs"], np.uint64).reshape(-1, 2, rank)
    most = int(request.get("reads") or len(slabs))
    return [
        tuple(a if n == 1 else slice(a, a + n) for a, n in zip(start, count, strict=True))
        for start, count in slabs[:most].tolist()
    ]


def encoded(value: Any) -> bytes:
    """An attribute's value as bytes: text in UTF-8, numbers as they are."""
    return value.encode() if isinstance(value, str) else np.asarray(value).tobytes()


def stopped(clock: tuple[float, float], nbytes: int) -> dict[str, Any]:
    """The answer of a task that ends now."""
    wall, cpu = time.perf_counter() - clock[0], time.process_time() - clock[1]
    return {"wall": wall, "cpu": cpu, "reads": 1, "bytes": nbytes}


def main() -> None:
    """Answers requests until the input ends."""
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        try:
            request = dict(field.split("=", 1) for field in line.rstrip("\n").split("\t"))
            reply = worker.answer(request)
        except Exception as e:  # Whatever it is, the harness says it.
            reply = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
