"""The examples run, and do what they say."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from commands import execute
from conftest import built_example

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def example(name: str, *args: str | Path) -> str:
    """Builds and runs an example of the library; what it prints."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    printed: str = execute(built_example(name), *args, cwd=ROOT).stdout
    return printed


def test_a_map_is_read() -> None:
    said = example("read_map", "data/sst30e_netcdf.nc", "sst", "6")
    with netCDF4.Dataset(ROOT / "data" / "sst30e_netcdf.nc") as file:
        values = file["sst"][6]
    at = np.unravel_index(np.ma.argmax(values), values.shape)
    assert f"{values.count()} of {values.size} points have a value" in said
    assert f"the largest is {values.max():.7g}" in said
    assert f"at row {at[0]} and column {at[1]}" in said


def test_a_deflated_file_is_written(tmp_path: Path) -> None:
    out = tmp_path / "wave.nc"
    example("write_parallel", out)
    with netCDF4.Dataset(out) as file:
        wave = file["wave"]
        assert wave.shape == (64, 180, 360)
        assert wave.chunking() == [16, 45, 90]
        assert wave.filters()["complevel"] == 4
        row, column, step = 90, 180, 63
        expected = np.sin(np.float32((column + step) / 9)) * np.sin(np.float32(row / 57.3))
        assert np.isclose(wave[step, row, column], expected, atol=1e-5)


def test_chunks_are_chosen() -> None:
    said = example("choose_chunks", "data/navy_winds.nc", "UWND", "series=3,map=1")
    assert said.startswith("chunks of [")
    assert "series: " in said
    assert "map: " in said


def scripts(ending: str) -> list[Path]:
    return sorted(p for p in EXAMPLES.glob(f"*.{ending}") if p.name != "demo.py")


@pytest.mark.parametrize("script", scripts("py"), ids=lambda p: p.name)
def test_a_program_of_python_runs(script: Path, tmp_path: Path) -> None:
    done = execute(sys.executable, script, cwd=tmp_path)
    assert done.stdout.rstrip().endswith("done"), done.stdout


@pytest.mark.parametrize("script", scripts("sh"), ids=lambda p: p.name)
def test_a_script_of_the_shell_runs(script: Path, tmp_path: Path, ncforge_bin: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ncforge").symlink_to(ncforge_bin.resolve())
    env = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = execute("bash", script, cwd=tmp_path, env=env)
    assert done.stdout.rstrip().endswith("done"), done.stdout
