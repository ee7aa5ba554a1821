"""netCDF4-python's own tests on ncforge, which poses as netCDF4: ``make conformance``.

    python tests/conformance/netcdf4_python.py [--tests FOLDER]

The tests come with the package's source distribution, which pip fetches once into ``target/conformance``; a folder with
them can be given instead. Prints the count, and fails when a test fails that `KNOWN` does not name.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSION = "1.7.4"
# Servers, MPI, and the inside of netCDF4-python itself.
LEFT_OUT = ("test_dap.py", "test_utils.py", "run_all.py")
sys.path.insert(0, str(HERE))
from known import KNOWN_NETCDF4  # noqa: E402


def fetched() -> Path:
    """The folder ``test`` of the source distribution."""
    folder = ROOT / "target" / "conformance"
    tests = folder / f"netcdf4-{VERSION}" / "test"
    if not tests.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "netCDF4"]
        subprocess.run([*pip, "--dest", str(folder), f"netCDF4=={VERSION}"], check=True)
        (archive,) = folder.glob(f"net[cC][dD][fF]4-{VERSION}.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        for found in folder.glob(f"netCDF4-{VERSION}"):
            found.rename(folder / f"netcdf4-{VERSION}")
    return tests


def run(tests: Path) -> dict[str, str]:
    """The outcome of every test: passed, failed, skipped. A file that cannot be imported is one failed test."""
    with tempfile.TemporaryDirectory(prefix="ncforge-conformance-") as name:
        folder = Path(name)
        shutil.copytree(tests, folder / "test")
        for left_out in LEFT_OUT:
            (folder / "test" / left_out).unlink(missing_ok=True)
        report = folder / "report.xml"
        path = os.pathsep.join([str(HERE / "posing"), os.environ.get("PYTHONPATH", "")])
        words = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            f"--junitxml={report}",
            "--tb=short",
        ]
        with (folder / "log.txt").open("w") as log:
            subprocess.run(
                [sys.executable, "-m", "pytest", *words, "--rootdir", str(folder / "test"), "-c", os.devnull, "."],
                cwd=folder / "test",
                env={**os.environ, "PYTHONPATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        kept = ROOT / "target" / "conformance"
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "log.txt", kept / "netcdf4-python.log")
        outcomes: dict[str, str] = {}
        for case in ET.parse(report).iter("testcase"):
            ident = ".".join(p for p in (case.get("classname"), case.get("name")) if p)
            kinds = {child.tag for child in case}
            outcomes[ident] = (
                "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            )
        return outcomes


def main() -> int:
    """Runs them, prints the count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=Path, help="the folder `test` of netCDF4-python's sources")
    args = parser.parse_args()
    outcomes = run(args.tests or fetched())
    count = {kind: sum(o == kind for o in outcomes.values()) for kind in ("passed", "failed", "skipped")}
    known = [t for t, o in outcomes.items() if o == "failed" and any(re.search(k, t) for k in KNOWN_NETCDF4)]
    unexpected = [t for t, o in outcomes.items() if o == "failed" and t not in known]
    print(
        f"netCDF4-python's tests on ncforge: {count['passed']} passed, {count['failed']} failed "
        f"({len(known)} of them known), {count['skipped']} skipped"
    )
    for test in unexpected:
        print(f"  unexpected: {test} (target/conformance/netcdf4-python.log)")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
