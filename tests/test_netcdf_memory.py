"""ncforge under netCDF-C and the program's memory."""

from __future__ import annotations

import re

from programs import LINUX, call, compiled, values

pytestmark = LINUX


def test_memory_stays_where_a_variable_has_no_value(run_under, tmp_path):
    unset, path = compiled("unset", tmp_path), tmp_path / "a.nc"
    call(unset, path, "write")
    plain = call(unset, path, "read").stdout
    assert b"all: -999, and all" in plain
    done = run_under(unset, path, "read", wish="always")
    assert done.stdout == plain
    # What was written, and all of the variable that is whole.
    assert re.search(rb": 4 reads served, 5 left to netCDF-C", done.stderr), done.stderr


def test_a_small_address_space_suffices(run_under, tmp_path):
    limited = compiled("limited", tmp_path)
    plain, ours = tmp_path / "plain.nc", tmp_path / "ours.nc"
    call(limited, plain, "write", 128)
    run_under(limited, ours, "write", 128, NCFORGE_THREADS="2")
    assert values(ours) == values(plain)
    want = call(limited, plain, "read", 168).stdout
    for mib in (168, 280):
        assert run_under(limited, plain, "read", mib, NCFORGE_THREADS="2").stdout == want
