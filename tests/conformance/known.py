"""Tests of xarray that are expected to fail, each with its reason."""

KNOWN: dict[str, str] = {
    "TestDataTree::test_compute_false": "a new file has its name when it is whole: nobody can open it half-written",
}
