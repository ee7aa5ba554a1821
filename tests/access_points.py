"""Reads segments of deflate chunks with access points, from docs/access-points.md alone: slow, short, and independent of ncforge."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

MAGIC = b"\x89APTS1\r\n"
ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
LENGTHS = (
    [(3 + i, 0) for i in range(8)] + [((4 + i % 4 << i // 4 - 1) + 3, i // 4 - 1) for i in range(8, 28)] + [(258, 0)]
)
DISTANCES = [(1 + i, 0) for i in range(4)] + [((2 + i % 2 << i // 2 - 1) + 1, i // 2 - 1) for i in range(4, 30)]


def crc_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRCS = [crc_of(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRCS[crc & 255 ^ byte]
    return crc ^ 0xFFFFFFFF


#: By the next 15 bits of a stream: the symbol whose code they begin with, and the length of that code, or 0.
Code = list[tuple[int, int]]


@lru_cache(maxsize=1)
def text_of(data: bytes) -> str:
    return f"{int.from_bytes(data, 'little'):0{8 * len(data)}b}"[::-1]


class Bits:
    """The bits of a stream from one of them on, as text: Python finds a code in a slice of it sooner than bit by bit."""

    def __init__(self, data: bytes, at: int) -> None:
        self.text, self.at = text_of(data), at

    def take(self, count: int) -> int:
        self.at += count
        return int("0" + self.text[self.at - count : self.at][::-1], 2)

    def symbol(self, code: Code) -> int:
        symbol, length = code[int(f"{self.text[self.at : self.at + 15]:0<15}", 2)]
        self.at += length
        if not length or self.at > len(self.text):
            raise ValueError("no such code")
        return symbol


def code_of(lengths: list[int]) -> Code:
    code = Code()
    for length in range(1, 16):
        for symbol in (s for s, n in enumerate(lengths) if n == length):
            code += [(symbol, length)] * (1 << 15 - length)
    return code + [(0, 0)] * ((1 << 15) - len(code))


Codes = tuple[Code, Code]


def header(bits: Bits) -> Codes | int:
    """The codes of the block that begins here, or the number of bytes that are stored in it."""
    _, kind = bits.take(1), bits.take(2)
    if kind == 0:
        bits.at = (bits.at + 7) // 8 * 8
        length, _ = bits.take(16), bits.take(16)
        return length
    if kind == 1:
        return code_of([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8), code_of([5] * 30)
    literals, distances, described = bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4
    lengths = [0] * 19
    for place in ORDER[:described]:
        lengths[place] = bits.take(3)
    code, all_lengths = code_of(lengths), list[int]()
    while len(all_lengths) < literals + distances:
        symbol = bits.symbol(code)
        if symbol < 16:
            all_lengths.append(symbol)
        elif symbol == 16:
            all_lengths += [all_lengths[-1]] * (bits.take(2) + 3)
        else:
            all_lengths += [0] * (bits.take(3) + 3 if symbol == 17 else bits.take(7) + 11)
    return code_of(all_lengths[:literals]), code_of(all_lengths[literals:])


def decode(stream: bytes, block: int, point: int, count: int) -> bytes:
    """The ``count`` bytes from an access point on, whose block's header begins at bit ``block``."""
    bits, out = Bits(stream, block), bytearray()
    codes = header(bits)
    if isinstance(codes, int):
        codes -= point // 8 - bits.at // 8
    bits.at = point
    while len(out) < count:
        if isinstance(codes, int):
            taken = min(codes, count - len(out))
            out += stream[bits.at // 8 : bits.at // 8 + taken]
            bits.at += 8 * taken
            symbol = 256
        else:
            symbol = bits.symbol(codes[0])
        if symbol < 256:
            out.append(symbol)
        elif symbol == 256:
            codes = header(bits) if len(out) < count else codes
        else:
            base, extra = LENGTHS[symbol - 257]
            length = base + bits.take(extra)
            assert not isinstance(codes, int)
            base, extra = DISTANCES[bits.symbol(codes[1])]
            distance = base + bits.take(extra)
            for _ in range(length):
                out.append(out[-distance])
    return bytes(out)


def varints(table: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in table:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value
            value = shift = 0


Table = tuple[int, tuple[int, ...], list[tuple[int, int]]]


def table_of(chunk: bytes, elements: int) -> Table | None:
    """The elements of a segment, the checksum of each segment, and the places of the access points, plane by plane; None without."""
    if chunk[-8:] != MAGIC:
        return None
    size, segment, planes, crc = struct.unpack("<4I", chunk[-24:-8])
    table = chunk[-24 - size : -24]
    assert crc32c(table + chunk[-24:-12]) == crc
    count = -(-elements // segment)
    sums = struct.unpack(f"<{count}I", table[: 4 * count])
    numbers, points, last, usual = varints(table[4 * count :]), list[tuple[int, int]](), 0, 0
    for _ in range(next(numbers)):
        here, block = next(numbers), last + next(numbers)
        last = block + next(numbers)
        points.append((block, last))
        for _ in range(here - 1):
            zigzag = next(numbers)
            usual += zigzag >> 1 ^ -(zigzag & 1)
            last += usual
            points.append((block, last))
    assert len(points) == planes * count and not list(numbers)
    return segment, sums, points


def segments(chunk: bytes, elements: int) -> list[bytes] | None:
    """The elements of each segment of a chunk (without fletcher32's checksum), or None if it has no access points."""
    if (table := table_of(chunk, elements)) is None:
        return None
    (segment, sums, points), result = table, []
    for i, crc in enumerate(sums):
        length = min(segment, elements - i * segment)
        own = [decode(chunk, block, point, length) for block, point in points[i :: len(sums)]]
        assert crc32c(b"".join(own)) == crc
        result.append(b"".join(map(bytes, zip(*own, strict=True))))
    return result
