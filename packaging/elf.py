"""Which systems a wheel, a tarball or a program runs on, by its ELF files.

    python packaging/elf.py [--glibc 2.17] [--largest-mb 15] FILE…

Fails for a symbol newer than the given glibc, a library that the system does not have, a library that does not say that it needs no
executable stack, and a file that is too large. Needs pyelftools, which comes with auditwheel.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

#: Parts of glibc, and of GCC for unwinding: every Linux system has them.
SYSTEM = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libutil.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}  # fmt: skip
Version = tuple[int, ...]


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The ELF files in a file: those of an archive, or itself."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            found = [(name, archive.read(name)) for name in archive.namelist()]
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            found = [(m.name, f.read()) for m in tar if m.isfile() and (f := tar.extractfile(m)) is not None]
    else:
        found = [(path.name, path.read_bytes())]
    yield from ((name, data) for name, data in found if data.startswith(b"\x7fELF"))


def glibc(elf: ELFFile) -> Version:
    """The newest version of glibc that a symbol asks for."""
    newest: Version = (0,)
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                for version in versions:
                    if version.name.startswith("GLIBC_"):
                        newest = max(newest, tuple(map(int, version.name.removeprefix("GLIBC_").split("."))))
    return newest


def needed(elf: ELFFile) -> list[str]:
    """The libraries that it is linked with."""
    dynamic = [s for s in elf.iter_sections() if isinstance(s, DynamicSection)]
    return [tag.needed for s in dynamic for tag in s.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]  # type: ignore[attr-defined]


def executable_stack(elf: ELFFile) -> bool:
    """Whether it asks for an executable stack, which new kernels and libraries refuse."""
    stacks = [s for s in elf.iter_segments() if s["p_type"] == "PT_GNU_STACK"]
    return not stacks or any(s["p_flags"] & 1 for s in stacks)


def faults(name: str, data: bytes, most: Version) -> list[str]:
    """What keeps an ELF file from running on a system of that glibc."""
    elf = ELFFile(io.BytesIO(data))
    found = []
    version, libraries = glibc(elf), needed(elf)
    if version > most:
        found.append(f"{name} needs glibc {'.'.join(map(str, version))}")
    found += [f"{name} needs {library}" for library in libraries if library not in SYSTEM]
    if executable_stack(elf):
        found.append(f"{name} asks for an executable stack")
    words = ", ".join(libraries)
    print(f"  {name}: {elf['e_machine']}, glibc {'.'.join(map(str, version))}, {len(data) / 1e6:.1f} MB, needs {words}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--glibc", default="2.17", help="the oldest glibc that it must run with [default: 2.17]")
    parser.add_argument("--largest-mb", type=float, default=15, help="of the file that is given, in MB [default: 15]")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    args = parser.parse_args()
    most = tuple(map(int, args.glibc.split(".")))
    wrong = []
    for path in args.files:
        size = path.stat().st_size / 1e6
        print(f"{path.name}: {size:.1f} MB")
        if size > args.largest_mb:
            wrong.append(f"{path.name} has {size:.1f} MB, more than {args.largest_mb:g}")
        inside = list(members(path))
        if not inside:
            wrong.append(f"{path.name} has no ELF file")
        for name, data in inside:
            wrong += faults(name, data, most)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
