"""The licences of everything that the command and the Python package are built from: docs/reference/licences.md.

    python packaging/licences.py            writes the page
    python packaging/licences.py --check    says whether the page is up to date, exit code 1 if not

Crates are those that `cargo metadata` gives as needed for building (not for testing) any crate of the workspace, on any
system. Each must have a licence that `deny.toml` allows. Needs Python 3.11 and cargo.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "licences.md"

#: Libraries in other languages that crates bring along: name, licence (of its two, the one that is taken).
BUNDLED = {
    "libdeflate-sys": ("libdeflate (C)", "MIT"),
    "lz4-sys": ("LZ4 (C)", "BSD-2-Clause"),
    "zstd-sys": ("zstd (C)", "BSD-3-Clause"),
}


def metadata() -> dict[str, Any]:
    """What cargo knows."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: cargo metadata failed\n{done.stderr}")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def needed(meta: dict[str, Any]) -> list[dict[str, Any]]:
    """The packages that building needs, but for our own."""
    nodes = {n["id"]: n for n in meta["resolve"]["nodes"]}
    own = set(meta["workspace_members"])
    seen: set[str] = set()
    todo = list(own)
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        todo += [d["pkg"] for d in nodes[one]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"])]
    return sorted((p for p in meta["packages"] if p["id"] in seen - own), key=lambda p: (p["name"], p["version"]))


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone (`/` is the old way to write OR)."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    at = 0

    def licence() -> bool:
        nonlocal at
        if words[at] == "(":
            at += 1
            value = either()
            at += 1
            return value
        name = words[at]
        at += 1
        if at < len(words) and words[at] == "WITH":
            name += f" WITH {words[at + 1]}"
            at += 2
        return name in allowed

    def both() -> bool:
        nonlocal at
        value = licence()
        while at < len(words) and words[at] == "AND":
            at += 1
            value &= licence()
        return value

    def either() -> bool:
        nonlocal at
        value = both()
        while at < len(words) and words[at] == "OR":
            at += 1
            value |= both()
        return value

    value = either()
    if at != len(words):
        raise ValueError(f"`{expression}` is no SPDX expression")
    return value


def by_licence(packages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The crates of each licence, and the libraries in other languages that they contain."""
    found: dict[str, list[str]] = {}
    for p in packages:
        # Alternatives in one order: `Apache-2.0 OR MIT` is `MIT OR Apache-2.0`.
        licence = (p["license"] or "").replace("/", " OR ")
        if "AND" not in licence:
            licence = " OR ".join(sorted(re.split(r"\s+OR\s+", licence), reverse=True))
        found.setdefault(licence, []).append(f"{p['name']} {p['version']}")
        if bundled := BUNDLED.get(p["name"]):
            found.setdefault(bundled[1], []).append(f"{bundled[0]} in {p['name']}")
    return found


def page(packages: list[dict[str, Any]]) -> str:
    """The page, in Markdown."""
    lines = [
        "# Licences of what ncforge is built from",
        "",
        "Made by `packaging/licences.py` from `cargo metadata`; a test holds it against `Cargo.lock`. These are the crates that the",
        "command and the Python extension are built from, on any system; each can be used under licences that `deny.toml` allows.",
        "ncforge itself is MIT or Apache-2.0, at your choice. The Python package depends on NumPy (BSD-3-Clause), and contains",
        "none of it. Neither netCDF-C nor HDF5 is part of anything here.",
        "",
        f"{len(packages)} crates, by licence:",
        "",
        "| Licence | Crates |",
        "|---|---|",
    ]
    for licence, crates in sorted(by_licence(packages).items()):
        lines.append(f"| {licence} | {', '.join(crates)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is not up to date")
    args = parser.parse_args()
    packages = needed(metadata())
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    odd = [f"{p['name']}: {p['license']}" for p in packages if not satisfied(p["license"] or "none", allowed)]
    if odd:
        sys.exit("error: deny.toml does not allow\n  " + "\n  ".join(odd))
    text = page(packages)
    if args.check:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("error: docs/reference/licences.md is not up to date\nhint: python packaging/licences.py")
        return 0
    PAGE.write_text(text)
    print(f"{PAGE.relative_to(ROOT)}: {len(packages)} crates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
