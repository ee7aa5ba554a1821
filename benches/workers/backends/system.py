"""Raw bytes without any format: NumPy's ``fromfile``, and plain system calls."""

from __future__ import annotations

import os

import numpy as np

from workers.backends import Backend, Request


class Fromfile(Backend):
    """``fromfile`` into a fresh array, then a swap in place where it is needed: what people write by hand."""

    name = "NumPy fromfile + byteswap"

    def version(self) -> str:
        return np.__version__

    def read(self, request: Request) -> np.ndarray:
        dtype = np.dtype(request["type"])
        count = int(request["nbytes"]) // dtype.itemsize
        values = np.fromfile(request["path"], dtype, count, offset=int(request["offset"]))
        return values if dtype.isnative else values.byteswap(inplace=True).view(dtype.newbyteorder())


class System(Backend):
    """``preadv`` into memory that is mapped already, and ``write``: the limits that the system sets."""

    name = "plain system calls"

    def __init__(self) -> None:
        self.warm = np.zeros(0, np.uint8)

    def version(self) -> str:
        return os.uname().release

    def prepare(self, request: Request) -> None:
        if len(self.warm) < int(request["nbytes"]):
            self.warm = np.ones(int(request["nbytes"]), np.uint8)

    def read(self, request: Request) -> np.ndarray:
        out = self.warm[: int(request["nbytes"])]
        fd = os.open(request["path"], os.O_RDONLY)
        done = 0
        while done < len(out):
            done += os.preadv(fd, [out[done:].data], int(request["offset"]) + done)
        os.close(fd)
        return out

    def native(self, values: np.ndarray, request: Request) -> np.ndarray:
        dtype = np.dtype(request["type"])
        return values.view(dtype).astype(dtype.newbyteorder("="), copy=False)

    def write(self, request: Request, values: np.ndarray) -> None:
        data = values.reshape(-1).view(np.uint8).data
        fd = os.open(request["path"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        done = 0
        while done < len(data):
            done += os.write(fd, data[done:])
        os.close(fd)
