"""Quantization gives the bits that netCDF-C gives: in copies (``--keep-digits``, ``--keep-bits``) and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import ncforge as command
from datasets import created

MODES = ["GranularBitRound", "BitRound", "BitGroom"]
ATTRIBUTES = {
    "GranularBitRound": "_QuantizeGranularBitRoundNumberOfSignificantDigits",
    "BitRound": "_QuantizeBitRoundNumberOfSignificantBits",
    "BitGroom": "_QuantizeBitGroomNumberOfSignificantDigits",
}


def numbers(kind: str, fill: Any) -> Any:
    """Numbers of all sizes and of every kind, infinities excepted."""
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2 ** (8 * int(kind[1])), 20_000, dtype=f"u{kind[1]}").view(kind)
    bits = bits[~np.isinf(bits)]
    sizes = (rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)).astype(kind)
    info = np.finfo(kind)
    odd = [0.0, -0.0, np.nan, -np.nan, fill, info.max, info.min, info.tiny, info.smallest_subnormal, -3e-45, 1e-40]
    tens = np.concatenate([10.0 ** np.arange(-37, 38), 9.9999999 * 10.0 ** np.arange(-37, 37)])
    return np.concatenate([bits, sizes, np.array([*odd, *tens, *range(-1000, 1000), 0.5, 1 / 3], kind)]).astype(kind)


def theirs(path: Path, kind: Any, values: Any, mode: Any, n: int, fill: float | None) -> Any:
    """The values as netCDF-C quantizes them."""
    with created(path, x=len(values)) as d:
        v = d.createVariable("v", kind, ("x",), significant_digits=n, quantize_mode=mode, fill_value=fill)
        v.set_auto_maskandscale(False)
        v[:] = values
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        assert d["v"].getncattr(ATTRIBUTES[mode]) == n
        return d["v"][:]


def same_bits(a: Any, b: Any) -> None:
    """Equal bit by bit."""
    kind = f"u{a.dtype.itemsize}"
    differ = np.flatnonzero(a.view(kind) != b.view(kind))
    assert differ.size == 0, (differ[:5], a[differ[:5]], b[differ[:5]])


@pytest.mark.parametrize("fill", [None, -999.25])
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("mode", MODES)
def test_the_bits_of_netcdf_c(mode: str, kind: str, fill: float | None, tmp_path: Path) -> None:
    """Every number of digits, in files made from Python, and in copies."""
    values = numbers(kind, netCDF4.default_fillvals[kind] if fill is None else fill)
    most = {"f4": 6, "f8": 15}[kind] if mode != "BitRound" else {"f4": 23, "f8": 52}[kind]
    for n in sorted({1, 2, 3, 4, 5, 6, most // 2, most - 1, most}):
        wanted = theirs(tmp_path / "theirs.nc", kind, values, mode, n, fill)
        path = tmp_path / "ours.nc"
        with created(path, ncforge, x=len(values)) as d:
            v = d.createVariable("v", kind, ("x",), significant_digits=n, quantize_mode=mode, fill_value=fill)
            v[:] = values
        with netCDF4.Dataset(path) as d:
            d.set_auto_maskandscale(False)
            same_bits(d["v"][:], wanted)
            assert d["v"].getncattr(ATTRIBUTES[mode]) == n
            assert d["v"].quantization() == (n, mode)
        if mode == "BitGroom":
            continue
        with created(tmp_path / "exact.nc", x=len(values)) as plain:
            exact: Any = plain.createVariable("v", kind, ("x",), fill_value=fill)
            exact.set_auto_maskandscale(False)
            exact[:] = values
        option = "--keep-bits" if mode == "BitRound" else "--keep-digits"
        command("copy", "-q", "-O", "--verify", option, n, tmp_path / "exact.nc", tmp_path / "copy.nc")
        with netCDF4.Dataset(tmp_path / "copy.nc") as d:
            d.set_auto_maskandscale(False)
            same_bits(d["v"][:], wanted)
            assert d["v"].quantization() == (n, mode)


def test_infinities_stay(tmp_path: Path) -> None:
    """Where netCDF-C 4.10.1 makes zeros and NaNs of them."""
    for mode in MODES:
        path = tmp_path / f"{mode}.nc"
        with created(path, ncforge, x=4) as d:
            v = d.createVariable("v", "f4", ("x",), significant_digits=2, quantize_mode=mode)
            v[:] = [np.inf, -np.inf, np.inf, 1.0]
        with ncforge.Dataset(path) as d:
            np.testing.assert_array_equal(d.variables["v"][:3], [np.inf, -np.inf, np.inf])


def test_updates_go_on_as_the_file_says(tmp_path: Path) -> None:
    """Appending to a quantized variable quantizes, as with netCDF-C."""
    path = tmp_path / "a.nc"
    values = np.random.default_rng(1).normal(size=100)
    wanted = theirs(tmp_path / "t.nc", "f8", np.concatenate([values, values]), "GranularBitRound", 3, None)
    with created(path, ncforge, x=None) as d:
        d.createVariable("v", "f8", ("x",), significant_digits=3, quantize_mode="GranularBitRound")[:] = values
    with ncforge.Dataset(path, "a") as d:
        d.variables["v"][100:200] = values
    with ncforge.Dataset(path) as d:
        same_bits(d.variables["v"][:], wanted)


def test_python_says_what_copies_say(tmp_path: Path) -> None:
    """The attributes of netCDF-C and of CF, with one container for all variables that were rounded in the same way."""
    path = tmp_path / "a.nc"
    with created(path, ncforge, x=3) as d:
        d.createVariable("quantization_info", "i4", ("x",))
        for name, mode, n in [("a", "BitRound", 5), ("b", "GranularBitRound", 3), ("g/c", "BitRound", 7)]:
            v = d.createVariable(name, "f4", ("x",), significant_digits=n, quantize_mode=mode)
            assert v.name == name.split("/")[-1]
            v[:] = [1.1, 2.2, 3.3]
        assert list(d.variables) == ["quantization_info", "a", "quantization_info_2", "b", "quantization_info_3"]
        d.createVariable("late", "f4", ("x",))[:] = 1 / 3
    with netCDF4.Dataset(path) as d:
        for name, mode, kept, container in [
            ("a", "BitRound", {"quantization_nsb": 5}, "quantization_info_2"),
            ("b", "GranularBitRound", {"quantization_nsd": 3}, "quantization_info_3"),
            ("g/c", "BitRound", {"quantization_nsb": 7}, "/quantization_info_2"),
        ]:
            [(word, n)] = kept.items()
            said = {key: d[name].getncattr(key) for key in d[name].ncattrs()}
            assert said == {ATTRIBUTES[mode]: n, "quantization": container, word: n}
            assert d[container].algorithm == mode.lower().replace("granularbit", "granular_bit")
            assert d[container].implementation == f"ncforge version {ncforge.__version__}"
        assert d["late"][0] == np.float32(1 / 3)
    assert "NC602" not in command("doctor", path, code=None).stdout


def test_what_makes_no_sense(tmp_path: Path) -> None:
    """Types without a mantissa, and more digits than there are."""
    with created(tmp_path / "a.nc", ncforge, x=3) as d:
        for kind, n, mode in [("i4", 3, "BitRound"), ("f4", 7, "BitGroom"), ("f8", 3, "Round"), ("f8", 0, "BitRound")]:
            with pytest.raises(Exception, match=r"digits|bits|float|mode"):
                d.createVariable(f"v{kind}{n}", kind, ("x",), significant_digits=n, quantize_mode=mode)


def test_coordinates_keep_all_bits(tmp_path: Path) -> None:
    """A copy rounds data, and nothing that says where and when they are."""
    path, out = tmp_path / "a.nc", tmp_path / "b.nc"
    with created(path, time=None, x=50, bnds=2) as d:
        time = d.createVariable("time", "f8", ("time",))
        time.bounds = "time_bnds"
        d.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = np.pi * np.ones((20, 2))
        time[:] = np.arange(20) + np.pi
        d.createVariable("lon", "f8", ("x",))[:] = np.arange(50) / 7
        d.createVariable("n", "i4", ("x",))[:] = np.arange(50)
        t = d.createVariable("t", "f4", ("time", "x"), zlib=True, chunksizes=(5, 50))
        t.coordinates = "lon"
        t[:] = np.random.default_rng(2).normal(size=(20, 50))
        d.createVariable("old", "f4", ("x",), significant_digits=5)[:] = np.arange(50) / 7
    done = command("copy", "--json", "--verify", "--keep-digits", "2", path, out)
    notes = " ".join(json.loads(done.stdout)["notes"])
    assert (
        "2 significant digits are kept of t" in notes
        and "coordinates keep all of theirs: time, time_bnds, lon" in notes
    )
    with netCDF4.Dataset(path) as a, netCDF4.Dataset(out) as b:
        for name in ["time", "time_bnds", "lon", "n", "old"]:
            np.testing.assert_array_equal(a[name][:], b[name][:])
            assert a[name].ncattrs() == b[name].ncattrs()
        assert b["t"].quantization() == (2, "GranularBitRound")
        assert np.any(a["t"][:] != b["t"][:])
        # Digits of a value near 1: five hundredths, at most.
        assert np.max(np.abs(a["t"][:] - b["t"][:]) / np.maximum(np.abs(a["t"][:]), 1e-9)) <= 0.05
    command("copy", "--keep-digits", "2", "--keep-bits", "3", path, tmp_path / "c.nc", code=2)


def test_a_quantized_copy_with_groups_is_compared_with_its_source(tmp_path: Path, run: Any) -> None:
    """The container of the attributes is new, and numbered before the variables of groups in the output."""
    path, out = tmp_path / "a.nc", tmp_path / "out.nc"
    with created(path, x=2000) as d:
        group = d.createGroup("g")
        for at, name, kind in ((d, "a", "f4"), (group, "b", "f4"), (group, "c", "i4")):
            at.createVariable(name, kind, ("x",))[:] = np.linspace(0, 100, 2000)
    run("copy", path, out, "--keep-bits", "8", "--verify")
    assert "complete already" in run("copy", path, out, "--keep-bits", "8", "--resume", "--verify").stderr


def test_coordinates_are_known_without_what_names_them(tmp_path: Path) -> None:
    """`lon` is a coordinate because of an attribute of `t`, also in a copy without `t`."""
    with created(tmp_path / "a.nc", x=50) as d:
        d.createVariable("east", "f8", ("x",))[:] = np.arange(50) / 7
        d.createVariable("other", "f8", ("x",))[:] = np.arange(50) / 7
        d.createVariable("t", "f4", ("x",)).coordinates = "east"
    said = copied("--keep-digits", "2", "--vars", "east,other", tmp_path / "a.nc", tmp_path / "b.nc")
    assert "coordinates keep all of theirs: east" in said
    with netCDF4.Dataset(tmp_path / "a.nc") as a, netCDF4.Dataset(tmp_path / "b.nc") as b:
        np.testing.assert_array_equal(a["east"][:], b["east"][:])
        assert np.any(a["other"][:] != b["other"][:])


def field(path: Path, **attrs: Any) -> None:
    """Floats with these attributes."""
    with created(path, x=50) as d:
        for name in ("a", "b"):
            v = d.createVariable(name, "f4", ("x",), zlib=True)
            v[:] = np.random.default_rng(3).normal(size=50)
        for name, value in attrs.items():
            d["a"].setncattr(name, np.int32(value) if isinstance(value, int) else value)


def copied(*words: str | Path) -> str:
    done = command("copy", "-O", *words)
    return done.stdout + done.stderr


@pytest.mark.parametrize("option", ["--keep-bits", "--keep-digits"])
@pytest.mark.parametrize("how", [[], ["--format", "classic"]], ids=str)
def test_claims_of_netcdf_c_and_of_cf(tmp_path: Path, option: str, how: list[str]) -> None:
    """A copy claims what it did in both ways, with one container, which goes where its variables go."""
    field(tmp_path / "a.nc")
    copied(option, "4", "--verify", *how, tmp_path / "a.nc", tmp_path / "b.nc")
    bits = option == "--keep-bits"
    own = ATTRIBUTES["BitRound" if bits else "GranularBitRound"]
    kept = "quantization_nsb" if bits else "quantization_nsd"
    copied("--vars", "b", tmp_path / "b.nc", tmp_path / "c.nc")
    for path, names in [("b.nc", {"a", "b", "quantization_info"}), ("c.nc", {"b", "quantization_info"})]:
        with netCDF4.Dataset(tmp_path / path) as d:
            assert set(d.variables) == names
            for name in names - {"quantization_info"}:
                assert d[name].getncattr(own) == d[name].getncattr(kept) == 4
                assert d[name].getncattr("quantization") == "quantization_info"
            info = d["quantization_info"]
            assert info.dtype == "S1" and info.dimensions == ()
            assert info.algorithm == ("bitround" if bits else "granular_bitround")
            assert info.implementation.startswith("ncforge version ")


@pytest.mark.parametrize(
    "claim",
    [
        {"quantization": "info", "quantization_nsb": 9},
        {"quantization_nsd": 3},
        {"QuantizeDigitRoundNumberOfSignificantDigits": 3},
        {"_QuantizeBitGroomNumberOfSignificantDigits": 3},
        {"number_of_significant_digits": 3},
    ],
    ids=str,
)
def test_nothing_is_quantized_twice(tmp_path: Path, claim: dict[str, Any]) -> None:
    field(tmp_path / "a.nc", **claim)
    said = copied("--keep-bits", "4", tmp_path / "a.nc", tmp_path / "b.nc")
    assert "quantized before, and are left as they are: a" in said.replace("`", "").replace(": /a", ": a")
    with netCDF4.Dataset(tmp_path / "a.nc") as old, netCDF4.Dataset(tmp_path / "b.nc") as new:
        same_bits(old["a"][:].data, new["a"][:].data)
        assert set(new["a"].ncattrs()) == set(old["a"].ncattrs())
        assert new["b"].quantization_nsb == 4
    assert "NC602" in command("doctor", tmp_path / "a.nc", code=None).stdout


def test_complete_claims_are_no_finding_and_follow_renamed_containers(tmp_path: Path) -> None:
    field(tmp_path / "a.nc")
    copied("--keep-bits", "9", tmp_path / "a.nc", tmp_path / "b.nc")
    with ncforge.Dataset(tmp_path / "b.nc", "a") as d:
        d.renameVariable("quantization_info", "rounding")
        d.renameVariable("a", "c")
    with netCDF4.Dataset(tmp_path / "b.nc") as d:
        assert d["c"].getncattr("quantization") == d["b"].getncattr("quantization") == "rounding"
        assert d["rounding"].algorithm == "bitround"
    assert "NC602" not in command("doctor", tmp_path / "b.nc", code=None).stdout
