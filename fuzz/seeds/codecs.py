#!/usr/bin/env python3
"""Turns the chunks of crates/ncforge-codec/tests/codecs into first inputs of the codec_* targets (see src/lib.rs).

    python3 codecs.py CORPUS

Only chunks with a single filter: a target has one. Needs nothing but Python.
"""

import pathlib
import struct
import sys

TARGETS = {
    1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
    307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32015: "zstd",
}  # fmt: skip
ELEMENTS = [1, 2, 3, 4, 8, 12, 16, 100]

corpus = pathlib.Path(sys.argv[1])
samples = pathlib.Path(__file__).resolve().parents[2] / "crates/ncforge-codec/tests/codecs"
for line in (samples / "index.txt").read_text().splitlines():
    name, size, filters, mask, raw = line.split()
    if "+" in filters or mask != "0" or int(size) not in ELEMENTS:
        continue
    number, _, params = filters.partition(":")
    params = [int(p) for p in params.split(",") if p]
    elements = (samples / raw).stat().st_size // int(size)
    head = struct.pack("<BHB", ELEMENTS.index(int(size)), elements, len(params))
    folder = corpus / f"codec_{TARGETS[int(number)]}"
    folder.mkdir(parents=True, exist_ok=True)
    seed = head + struct.pack(f"<{len(params)}I", *params) + (samples / f"{name}.chunk").read_bytes()
    (folder / f"seed-{name}").write_bytes(seed)
