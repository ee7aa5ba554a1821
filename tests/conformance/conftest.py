"""xarray's own test classes against the engine "ncforge". What is expected to fail stands in known.py, with reasons."""

from __future__ import annotations

import os
from typing import Any

import pytest
from known import KNOWN
from xarray.tests.conftest import *  # noqa: F403


def pytest_collection_modifyitems(items: list[Any]) -> None:
    if os.environ.get("CONFORMANCE_ENGINE", "ncforge") != "ncforge":
        return
    for item in items:
        for name, reason in KNOWN.items():
            if name in item.nodeid:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
