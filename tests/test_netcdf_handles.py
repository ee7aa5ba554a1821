"""ncforge under netCDF-C: several handles of one file, and ids that come back."""

from __future__ import annotations

import pytest

from programs import LINUX, call, compiled

pytestmark = LINUX


@pytest.mark.parametrize("wish", ["log", "always"])
def test_any_handle_writes_and_reads_the_same(run_under, tmp_path, wish):
    """HDF5 shares a file that is open several times: it writes through all of them if one was opened for writing."""
    binary = compiled("handles", tmp_path)
    path = tmp_path / "a.nc"
    for seed in range(12):
        plain = call(binary, path, seed).stdout
        path.unlink()
        assert run_under(binary, path, seed, wish=wish).stdout == plain, seed
        path.unlink()


@pytest.mark.parametrize("wish", ["log", "always"])
def test_a_file_that_could_not_be_aborted_leaves_its_id(run_under, tmp_path, wish):
    binary = compiled("aborted", tmp_path)
    paths = tmp_path / "full.nc", tmp_path / "other.nc"
    plain = call(binary, *paths).stdout
    assert b"abort -101, again -33\n" in plain and b"in the file: 6" in plain
    assert run_under(binary, *paths, wish=wish).stdout == plain


@pytest.mark.parametrize("wish", ["log", "always"])
def test_strings_are_written_through_two_handles(run_under, tmp_path, wish):
    """Asked for what it was created with, HDF5 touched the file of the handle that was closed."""
    binary, path = compiled("string_handles", tmp_path), tmp_path / "a.nc"
    plain = call(binary, path).stdout
    path.unlink()
    assert run_under(binary, path, wish=wish).stdout == plain


@pytest.mark.parametrize("wish", ["log", "always"])
def test_a_file_without_room_is_nothing_to_another(run_under, tmp_path, wish):
    binary, paths = compiled("two_files", tmp_path), (tmp_path / "full.nc", tmp_path / "other.nc")
    plain = call(binary, *paths).stdout
    for path in paths:
        path.unlink()
    assert b"right" in plain
    assert run_under(binary, *paths, wish=wish).stdout == plain
