"""ncforge under netCDF-C and the program's memory."""

from __future__ import annotations

import re
import sys

import pytest

from programs import call, compiled

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library is for Linux")


def test_memory_stays_where_a_variable_has_no_value(run_under, tmp_path):
    unset, path = compiled("unset", tmp_path), tmp_path / "a.nc"
    call(unset, path, "write")
    plain = call(unset, path, "read").stdout
    assert b"all: -999, and all" in plain
    done = run_under(unset, path, "read", wish="always")
    assert done.stdout == plain
    # What was written, and all of the variable that is whole.
    assert re.search(rb": 4 reads served, 5 left to netCDF-C", done.stderr), done.stderr
