"""All that a release consists of, built and tried on this machine: `make release-check`.

    python packaging/release_check.py [STEP…]

Prints one table: what was done, with which result, in how many seconds, and how large what was made is. The output of every step is in
`target/release-check/STEP.log`. A step that this machine cannot do is `skipped`, with the reason; the exit code is 1 if one failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCH = platform.machine()
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(ARCH, "")


def target() -> Path:
    """Cargo's folder."""
    done = subprocess.run(
        ["bash", "scripts/target-dir.sh", "release"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip()).parent


TARGET = target()
OLD, FOREIGN = TARGET / "systems" / "old", TARGET / "systems" / OTHER


def newest(pattern: str) -> Path | None:
    """What was made last under such a name."""
    found = sorted(TARGET.glob(pattern), key=lambda p: p.stat().st_mtime)
    return found[-1] if found else None


@dataclass
class Step:
    """One step: its command, what it makes, and why it cannot be done here, if so."""

    name: str
    title: str
    command: Callable[[], list[str]]
    made: str = ""
    lacking: str = ""
    after: tuple[str, ...] = ()
    """The steps that make what this one tries: what an earlier run has made is not tried in their place if they fail."""


def needs(*programs: str, root: bool = False) -> str:
    """What is not there, in words; nothing if all is."""
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        return "no " + ", ".join(missing)
    return "needs root" if root and os.geteuid() != 0 else ""


def no_standard_library(arch: str) -> str:
    """What is missing to compile for another architecture, in words; nothing if all is there."""
    name = f"{arch}-unknown-linux-gnu"
    told = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", name], cwd=ROOT, capture_output=True, text=True
    )
    there = told.returncode == 0 and Path(told.stdout.strip()).is_dir()
    return "" if there else f"Rust's standard library for it is missing (rustup target add {name})"


def script(name: str, *args: object) -> list[str]:
    return ["bash", f"packaging/{name}.sh", *map(str, args)]


def wheel(arch: str) -> str:
    return f"wheels/ncforge-*{arch}.whl"


def tarball(arch: str) -> str:
    return f"tarball/ncforge-*-linux-{arch}.tar.gz"


def steps() -> list[Step]:
    """All of them, in the order in which one needs the other."""
    no_old = needs("mmdebstrap", root=True)
    no_foreign = needs("mmdebstrap", f"qemu-{OTHER}-static", root=True)
    no_target = no_standard_library(OTHER)
    python = sys.executable
    facts = "tests/test_packaging.py"
    return [
        Step("facts", "version, changelog, citation, licences", lambda: [python, "-m", "pytest", "-q", facts]),
        Step("wheel", f"wheel, {ARCH}", lambda: script("wheel", ARCH), wheel(ARCH)),
        Step(
            "wheel-check",
            "… without a compiler, tutorials",
            lambda: script("wheel-check", "python3", newest(wheel(ARCH))),
            after=("wheel",),
        ),
        Step("tarball", f"tarball, {ARCH}", lambda: script("tarball", ARCH), tarball(ARCH)),
        Step(
            "tarball-check",
            "… extracted elsewhere",
            lambda: script("tarball-check", newest(tarball(ARCH))),
            after=("tarball",),
        ),
        Step(
            "no-network",
            f"tarball without network code, {ARCH}",
            lambda: script("tarball", ARCH, "no-network"),
            tarball(f"{ARCH}-no-network"),
        ),
        Step(
            "no-network-check",
            "… extracted elsewhere, URLs refused",
            lambda: script("tarball-check", newest(tarball(f"{ARCH}-no-network"))),
            after=("no-network",),
        ),
        Step("sbom", "bills of materials (CycloneDX)", lambda: script("sbom"), "sbom/ncforge.cdx.json"),
        Step("old-system", "Debian 11 in a folder", lambda: script("old-system", OLD), lacking=no_old),
        Step(
            "old-wheel",
            "… wheel",
            lambda: script("old-wheel-check", newest(wheel(ARCH)), OLD),
            lacking=no_old,
            after=("wheel", "old-system"),
        ),
        Step(
            "old-tarball",
            "… tarball",
            lambda: script("tarball-check", newest(tarball(ARCH)), OLD),
            lacking=no_old,
            after=("tarball", "old-system"),
        ),
        Step("other-wheel", f"wheel, {OTHER}", lambda: script("wheel", OTHER), wheel(OTHER), no_target),
        Step("other-tarball", f"tarball, {OTHER}", lambda: script("tarball", OTHER), tarball(OTHER), no_target),
        Step(
            "other-check",
            "… both, in an emulator",
            lambda: script("other-check", OTHER, newest(wheel(OTHER)), newest(tarball(OTHER)), FOREIGN),
            lacking=no_foreign or no_target,
            after=("other-wheel", "other-tarball"),
        ),
        Step("crates", "cargo package, cargo install", lambda: script("crates-check"), "package/ncforge-cli-*.crate"),
        Step(
            "sdist",
            "source distribution, and its wheel",
            lambda: script("sdist-check", python),
            "wheels/ncforge-*.tar.gz",
        ),
        Step(
            "conda",
            "recipe of conda-forge",
            lambda: [python, "packaging/conda_check.py", str(newest("wheels/ncforge-*.tar.gz"))],
            after=("sdist",),
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    every = steps()
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"only these: {', '.join(s.name for s in every)}")
    asked = parser.parse_args().steps
    if unknown := set(asked) - {s.name for s in every}:
        parser.error(f"no step {', '.join(sorted(unknown))}")
    logs = TARGET / "release-check"
    logs.mkdir(parents=True, exist_ok=True)
    print(f"{'step':<17}{'':<41}{'result':<9}{'seconds':>7}{'size':>10}", flush=True)
    failed: set[str] = set()
    for step in every:
        if asked and step.name not in asked:
            continue
        print(f"{step.name:<17}{step.title:<41}", end="", flush=True)
        if step.lacking:
            print(f"skipped: {step.lacking}", flush=True)
            continue
        if broken := failed.intersection(step.after):
            print(f"skipped: {', '.join(sorted(broken))} failed", flush=True)
            continue
        began = time.monotonic()
        log = logs / f"{step.name}.log"
        with log.open("w") as out:
            done = subprocess.run(
                step.command(), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        made = newest(step.made) if step.made else None
        size = f"{made.stat().st_size / 1e6:.1f} MB" if made is not None and done.returncode == 0 else ""
        print(f"{'ok' if done.returncode == 0 else 'FAILED':<9}{time.monotonic() - began:>7.0f}{size:>10}", flush=True)
        if done.returncode:
            failed.add(step.name)
            print(
                "".join(f"    {line}\n" for line in log.read_text(errors="replace").splitlines()[-15:]),
                end="",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
