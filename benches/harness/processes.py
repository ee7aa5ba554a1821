"""Worker processes: started when they are needed, one for each library and setting."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness.model import Fields

BENCHES = Path(__file__).resolve().parent.parent

# Threads of NumPy's OpenBLAS spin for 75 ms after the import: with two processors, all who measure would have one of them only.
SPIN = 0.1


class WorkerError(Exception):
    """A worker could not do what it was asked."""


class Worker:
    """One process."""

    def __init__(self, name: str, argv: list[str], env: dict[str, str]) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | env, text=True, bufsize=1
            )
        except OSError as e:
            raise WorkerError(f"{name}: {e}") from e
        self.hello = self.ask({"do": "hello"})

    def ask(self, fields: Fields) -> dict[str, Any]:
        """Sends a request and waits for its answer."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\t".join(f"{k}={v}" for k, v in fields.items()) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"{self.name} ended with code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {answer['error']}")
        return answer

    def peak(self) -> int:
        """The greatest resident set of the process so far, in bytes."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

    def returncode(self) -> int | None:
        """How the process ended; ``None`` if it did not."""
        return self._process.returncode

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Workers:
    """All processes of a run."""

    def __init__(self, ncforge: Path, netcdf_c: Path) -> None:
        self._binaries = {"ncforge": ncforge, "libdeflate": ncforge, "netcdf-c": netcdf_c}
        self._missing: dict[str, bool] = {}
        self._running: dict[tuple[str, int, int | None], Worker] = {}

    def get(self, backend: str, threads: int, memory: int | None = None, *, fresh: bool = False) -> Worker:
        """The process of a library with so many threads, where it has a say in that; with `fresh`, a new one that has
        imported its library and done nothing else."""
        key = (backend, threads, memory)
        if fresh and key in self._running:
            self._running.pop(key).close()
        if key not in self._running:
            env = {"NCFORGE_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads), "PYTHONPATH": str(BENCHES)}
            env["NCFORGE_MEMORY"] = str(memory or "")
            # An installed package has its bytecode. That of a package that is installed in place is written when it is first imported.
            env["PYTHONDONTWRITEBYTECODE"] = ""
            self._running[key] = Worker(backend, self._argv(backend), env)
            if fresh:
                time.sleep(SPIN)
        return self._running[key]

    def available(self, backend: str, tool: str | None = None) -> bool:
        """Whether a library is there, or a command. Not every system has every peer."""
        if tool is not None:
            if tool not in self._missing:
                self._missing[tool] = shutil.which(tool) is None
                if self._missing[tool]:
                    print(f"not measured: {tool} is not installed", file=sys.stderr)
            return not self._missing[tool]
        if backend not in self._missing:
            try:
                self.get(backend, 1)
                self._missing[backend] = False
            except WorkerError as e:
                print(f"not measured: {e}", file=sys.stderr)
                self._missing[backend] = True
        return not self._missing[backend]

    def _argv(self, backend: str) -> list[str]:
        if backend in self._binaries:
            return [str(self._binaries[backend])]
        if backend == "commands":
            return [sys.executable, "-m", "workers.commands"]
        return [sys.executable, "-m", "workers.main", backend]

    def release(self) -> None:
        """Ends all processes, so that what one part of the table left in memory does not disturb the next."""
        for worker in self._running.values():
            worker.close()
        self._running.clear()
