"""Fills the recipes of package collections with a release.

    python packaging/recipes.py --sdist target/wheels/ncforge-0.1.0.tar.gz --url URL --out FOLDER

The version and the least versions of what is needed are read from Cargo.toml and pyproject.toml, the checksum from the source
distribution, so that no number stands in two places. Needs nothing but Python 3.11.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent


def least(requirement: str) -> str:
    """The least version that a requirement admits."""
    found = re.search(r">=\s*([0-9.]+)", requirement)
    if found is None:
        raise SystemExit(f"error: `{requirement}` names no least version")
    return found.group(1)


def facts() -> dict[str, str]:
    """What the project's own files say."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (maturin,) = project["build-system"]["requires"]
    (numpy,) = project["project"]["dependencies"]
    (xarray,) = project["project"]["optional-dependencies"]["xarray"]
    _, dask, distributed = project["project"]["optional-dependencies"]["dask"]
    below = re.search(r"<\s*([0-9.]+)", maturin)
    assert below is not None, maturin
    return {
        "VERSION": cargo["version"],
        "RUST_LEAST": cargo["rust-version"],
        "SUMMARY": project["project"]["description"].replace(":", " --", 1),
        "PYTHON_LEAST": least(project["project"]["requires-python"]),
        "NUMPY_LEAST": least(numpy),
        "XARRAY_LEAST": least(xarray),
        "DASK_LEAST": least(dask),
        "DISTRIBUTED_LEAST": least(distributed),
        "MATURIN_LEAST": least(maturin),
        "MATURIN_BELOW": below.group(1),
    }


def filled(template: str, values: dict[str, str]) -> str:
    """The template with its values; one that is missing is an error."""
    return re.sub(r"@([A-Z][A-Z0-9_]*)@", lambda m: values[m.group(1)], template)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sdist", type=Path, required=True, help="the source distribution of the release")
    parser.add_argument("--url", required=True, help="where it will be found")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the recipes")
    args = parser.parse_args()
    values = facts()
    if f"-{values['VERSION']}." not in args.sdist.name:
        sys.exit(f"error: `{args.sdist.name}` is not of version {values['VERSION']} (Cargo.toml)")
    values |= {"URL": args.url, "SHA256": hashlib.sha256(args.sdist.read_bytes()).hexdigest()}
    for template in sorted(HERE.glob("**/*.in")):
        to = args.out / template.relative_to(HERE).with_suffix("")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(filled(template.read_text(), values))
        print(to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
