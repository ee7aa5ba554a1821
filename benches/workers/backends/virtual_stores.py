"""Parsers of VirtualiZarr: ncforge's, and its own for HDF5."""

from __future__ import annotations

import zlib
from importlib.metadata import version
from pathlib import Path

from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.parsers import HDFParser

import ncforge
from ncforge.virtualizarr import Parser
from workers.backends import Backend, Request


class _Parsing(Backend):
    parser: Parser | HDFParser

    def version(self) -> str:
        return f"VirtualiZarr {version('virtualizarr')}"

    def references(self, request: Request) -> tuple[int, int]:
        registry = ObjectStoreRegistry({"file://": LocalStore()})
        stores = [self.parser(path.as_uri(), registry) for path in sorted(Path(request["path"]).absolute().iterdir())]
        if request.get("check") != "1":
            return len(stores), 0
        total = 0
        for store in stores:
            for name, array in sorted(store._group.arrays.items()):
                total = zlib.crc32(f"{name}{array.shape}{array.chunks}{array.manifest.dict()}".encode(), total)
        return len(stores), total


class Ours(_Parsing):
    """ncforge's parser."""

    name = "ncforge (VirtualiZarr)"
    parser = Parser()

    def version(self) -> str:
        return f"{ncforge.__version__}, {super().version()}"


class Theirs(_Parsing):
    """VirtualiZarr's own parser for HDF5."""

    name = "HDFParser"
    parser = HDFParser()
