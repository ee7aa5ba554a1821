"""Damaged files given to the command: an error with exit code 4, or a result; no crash, no hang, little memory.

``crates/ncforge-ops/tests/malformed.rs`` does the same to the library, with ten thousand changes a file; here the exit
codes, the messages and the memory of the whole process are looked at.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conftest import DATA, ROOT, Measured

FILES = [
    *sorted((ROOT / "fuzz" / "seeds" / "hdf5").glob("*.h5")),
    DATA / "uv300.nc",
    DATA / "binned_GSHHS_c.nc",
    DATA / "etopo60.cdf",
]
#: Resident memory that the process may have beyond the file: 64 MB, and what the program itself takes.
ALLOWED = (64 + 32) << 20
#: Seconds after which a command hangs.
HANGS = 5.0
COMMANDS = [
    ["info", "-s", "{}"],
    ["info", "--json", "{}"],
    ["copy", "{}", "{}.out", "-O", "--chunks", "auto", "--format", "netcdf4", "--codec", "deflate", "--memory", "32M"],
]


def run(measured: Measured, binary: Path, command: list[str], path: Path) -> tuple[int, str, int]:
    """Exit code, messages, and the most memory that the process had."""
    return measured(binary, *(a.replace("{}", str(path)) for a in command), seconds=HANGS)


def damaged(whole: bytes, count: int) -> list[tuple[str, bytes]]:
    """Copies with one byte changed, and copies cut short; always the same ones."""
    chance = random.Random(len(whole))
    out = [(f"cut to {n}", whole[:n]) for n in {0, 3, 8, *range(1024, len(whole), max(1024, len(whole) // 6))}]
    for _ in range(count):
        at, value = chance.randrange(len(whole)), chance.choice([0, 255, chance.randrange(256)])
        out.append((f"byte {at} is {value}", whole[:at] + bytes([value]) + whole[at + 1 :]))
    return out


@pytest.mark.parametrize("source", FILES, ids=lambda p: p.name)
def test_damaged_files(tmp_path: Path, measured: Measured, ncforge_bin: Path, source: Path) -> None:
    problems = []
    path = tmp_path / "damaged.nc"
    for what, content in damaged(source.read_bytes(), 12):
        path.write_bytes(content)
        for command in COMMANDS:
            code, messages, memory = run(measured, ncforge_bin, command, path)
            # 1: what a damaged byte made of a name or a type can be read, but not written again.
            if code not in (0, 4) and not (code == 1 and command[0] == "copy" and "cannot hold" in messages):
                problems.append(f"{what}: {command[0]} gave {code}: {messages[-300:]}")
            if code == 4 and "damaged.nc" not in messages:
                problems.append(f"{what}: {command[0]} does not name the file: {messages[-300:]}")
            if memory > len(content) + ALLOWED:
                problems.append(f"{what}: {command[0]} took {memory >> 20} MiB")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "content", [b"", b"C", b"CDF", b"CDF\x01", b"CDF\x03aaaa", b"\x89HDF\r\n\x1a\n", b"text"], ids=repr
)
def test_what_is_no_netcdf(tmp_path: Path, measured: Measured, ncforge_bin: Path, content: bytes) -> None:
    path = tmp_path / "none.nc"
    path.write_bytes(content)
    for command in COMMANDS:
        code, messages, _ = run(measured, ncforge_bin, command, path)
        assert code == 4
        assert "none.nc" in messages


def test_a_directory_and_a_missing_file(tmp_path: Path, measured: Measured, ncforge_bin: Path) -> None:
    for path in [tmp_path, tmp_path / "missing.nc"]:
        code, messages, _ = run(measured, ncforge_bin, COMMANDS[0], path)
        assert code == 4
        assert path.name in messages
