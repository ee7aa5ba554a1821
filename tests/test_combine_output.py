"""``ncforge combine``: what is written, and in which way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, ocean, values
from commands import ncforge


def test_dry_run(tmp_path: Path) -> None:
    """The picture, and the plan as JSON."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (3, 4), DEFLATED, halo=1, land=(5,))
    text = combine(mosaic, tmp_path / "out.nc", "--dry-run").stdout
    assert " 7  8  9 10" in text
    assert " 4  .  5  6" in text
    assert "halo 1 x 1" in text
    plan: dict[str, Any] = json.loads(combine(mosaic, tmp_path / "out.nc", "-n", "--json").stdout)
    assert plan["scheme"] == "nemo"
    assert plan["tiles"] == 11
    main = next(m for m in plan["mosaics"] if m["dims"] == ["y", "x"])
    assert main["lattice"] == [3, 4]
    assert main["hole_points"] > 0
    assert not (tmp_path / "out.nc").exists()


def test_chunks_are_moved_as_they_are(tmp_path: Path) -> None:
    """Aligned deflated tiles are moved without decoding, their checksums and byte order too."""
    field = tl.Field(("t", "y", "x"), values((4, 256, 256)), fill=np.float32(1e20))
    whole = tl.Whole({"sst": field, "t": tl.Field(("t",), np.arange(4.0))})
    for i, storage in enumerate(
        (
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 1, "y": 64, "x": 64}),
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 2, "y": 32, "x": 64}, fletcher32=True),
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 1, "y": 64, "x": 64}, endian="big"),
        )
    ):
        folder = tmp_path / str(i)
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (4, 4), storage, land=(3,))
        out = folder / "out.nc"
        report = json.loads(combine(mosaic, out, "--chunks", "keep", "--json", "--verify").stdout)
        assert report["copy"]["raw_variables"] >= 1, report
        tl.check(out, whole, mosaic, {"sst": np.float32(1e20)})
        with netCDF4.Dataset(out) as ds:
            assert ds["sst"].chunking() == [storage.chunks[d] for d in ("t", "y", "x")]  # type: ignore[index]
            assert ds["sst"].filters()["fletcher32"] == storage.fletcher32
        combine(mosaic, out, "-O", "--times", "1:3")
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            want = tl.expected(whole, mosaic, "sst", np.float32(1e20))[1:3]
            assert ds["sst"][:].astype("f4").tobytes() == want.tobytes()
            assert ds["t"][:].tolist() == [1, 2]
        combine(mosaic, out, "-O", "--holes", "zero", "--chunks", "keep")
        tl.check(out, whole, mosaic)


def test_variables_and_chunks_of_choice(tmp_path: Path) -> None:
    """`--vars`, `--chunks SPEC`, `--codec`, `--level`."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), CLASSIC)
    words = ["--vars", "votemper,t", "-O", "--format", "netcdf4", "--codec", "zstd", "--level", "5"]
    out = tmp_path / "out.nc"
    combine(mosaic, out, *words, "--chunks", "votemper:1,2,10,12")
    info = ncforge("info", out, "--json").stdout
    assert "zstd" in info
    back = tmp_path / "back.nc"
    ncforge("copy", out, back, "--codec", "none")
    with netCDF4.Dataset(back) as ds:
        assert set(ds.variables) == {"votemper", "t"}
        assert ds["votemper"].chunking() == [1, 2, 10, 12]
        ds.set_auto_mask(False)
        assert ds["votemper"][:].tobytes() == whole.fields["votemper"].values.tobytes()


def test_codecs_are_chosen(tmp_path: Path) -> None:
    """`--codec auto`: on the whole's values, before the shapes; netCDF-C reads the same."""
    rng = np.random.default_rng(5)
    whole = tl.Whole(
        {
            "t": tl.Field(("t",), np.arange(4, dtype="f8"), {"units": "days since 1958-01-01"}),
            "smooth": tl.Field(("t", "y", "x"), np.cumsum(rng.integers(-2, 3, (4, 90, 120)), 2).astype("f4")),
            "noise": tl.Field(("y", "x"), rng.integers(0, 2**32, (90, 120), dtype="u4").view("i4")),
        }
    )
    for storage in (CLASSIC, DEFLATED):
        folder = tmp_path / storage.format
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (2, 3), storage)
        words = ["-O", "--format", "netcdf4", "--codec", "auto", "--goal", "small"]
        plan = json.loads(combine(mosaic, folder / "out.nc", *words, "--dry-run", "--json").stdout)
        chosen = {v["name"].strip("/"): v["codec"] for v in plan["copy"]["variables"] if v["codec"]}
        assert chosen["noise"]["method"] == "none"
        assert chosen["smooth"]["method"] != "none"
        for chunks in ("auto", "tiles", "keep"):
            combine(mosaic, folder / "out.nc", *words, "--chunks", chunks, "--verify", "--no-history")
            tl.check(folder / "out.nc", whole, mosaic)
            with netCDF4.Dataset(folder / "out.nc") as ds:
                assert ds["smooth"].filters()["zlib"]
                assert not ds["noise"].filters()["zlib"]
    combine(mosaic, folder / "out.nc", "-O", "--goal", "small", code=2)


def test_kept_chunks_of_classic_tiles(tmp_path: Path) -> None:
    """`--chunks keep` of tiles that have none: the output has none, as that of a copy."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), CLASSIC)
    combine(mosaic, tmp_path / "out.nc", "--chunks", "keep")
    tl.check(tmp_path / "out.nc", whole, mosaic)


def test_tiles_are_removed_only_after_verifying(tmp_path: Path) -> None:
    """`--delete-tiles`."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), DEFLATED)
    out = tmp_path / "out.nc"
    out.write_bytes(b"here")
    combine(mosaic, out, "--delete-tiles", code=2)
    assert all(p.exists() for p in mosaic.paths)
    done = combine(mosaic, out, "-O", "--delete-tiles")
    assert "verified" in done.stderr
    assert not any(p.exists() for p in mosaic.paths)
    tl.check(out, whole, mosaic)


def test_bytes_do_not_depend_on_threads_or_memory(tmp_path: Path) -> None:
    """Bytes are equal with one thread and with four."""
    whole = ocean(60, 70)
    mosaic = tl.nemo(tmp_path, whole, (3, 4), DEFLATED, land=(2,))
    outputs = []
    for words in (["-j", "1"], ["-j", "4"]):
        combine(mosaic, tmp_path / "out.nc", "-O", "--no-history", *words)
        outputs.append((tmp_path / "out.nc").read_bytes())
    assert outputs[0] == outputs[1]
