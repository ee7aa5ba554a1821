"""Make small netCDF-4 and HDF5 files that use every part of the formats that ncforge reads.

    python tests/make_hdf5_cases.py FOLDER

netCDF4-python, h5py (several ``libver``), h5netcdf and, where installed, NCO write them. Values are
reproducible. Each function is one file or one family of files.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np

from datasets import created

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
LIBVERS = ["earliest", "v108", "v110", "v112", "v114", "latest"]


def ramp(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Values that differ from place to place, in any numeric type."""
    n = int(np.prod(shape))
    return (np.arange(n) % 113 + np.arange(n) // 113).astype(dtype).reshape(shape)


def nc_atomic(path: Path) -> None:
    """All atomic types, both byte orders, contiguous and chunked, scalars, attributes of all types."""
    with created(path, x=7, y=5, nothing=0) as nc:
        nc.title = "all types"
        nc.empty = ""
        nc.setncattr_string("one_string", "é")
        nc.setncattr("strings", ["a", "", "longer text"])
        for code in [*INTEGERS, "f4", "f8", "S1"]:
            for endian in ["native"] if code == "S1" else ["little", "big"]:
                v = nc.createVariable(f"{code}_{endian}", code, ("y", "x"), endian=endian)  # type: ignore
                if code == "S1":
                    v[:] = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHI", "S1").reshape(5, 7)
                else:
                    v[:] = ramp((5, 7), code)
                    v.setncattr("range", np.array([1, 2], code))
                    v.setncattr("one", np.array(3, code))
            nc.createVariable(f"{code}_scalar", code)[...] = "z" if code == "S1" else 42
            nc.createVariable(f"{code}_nothing", code, ("nothing", "x"))
            nc.createVariable(f"{code}_unwritten", code, ("y",))
        nc.createVariable("filled", "f4", ("x",), fill_value=-1.5)[2:4] = [1, 2]
        nc.createVariable("nofill", "f4", ("x",), fill_value=False)[:] = 1
        s = nc.createVariable("s", str, ("y",))
        s[:] = np.array(["one", "", "drei", "ένα", "x" * 300], object)
        nc.createVariable("s_unwritten", str, ("y",))
        s = nc.createVariable("s_chunked", str, ("y", "x"), chunksizes=(2, 3), zlib=True)
        s[1:3, 2:5] = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
        nc.createVariable("s_scalar", str)[...] = np.array("alone", object)


def nc_unlimited(path: Path) -> None:
    """Several unlimited dimensions, of which variables hold different extents; coordinates; odd names."""
    with created(path, t=None, z=None, x=4, never=None) as nc:
        nc.createVariable("late", "i4", ("x", "t"))[:, 0:3] = ramp((4, 3), "i4")
        nc.createVariable("t", "f8", ("t",))[:] = np.arange(6) / 2
        nc.createVariable("a", "f4", ("t", "z", "x"), chunksizes=(2, 3, 4))[0:5, 0:7, :] = ramp((5, 7, 4), "f4")
        nc.createVariable("short", "i2", ("t", "x"), fill_value=-9)[0:2] = ramp((2, 4), "i2")
        nc.createVariable("short_unfilled", "i2", ("t", "x"), fill_value=False)[0:2] = ramp((2, 4), "i2")
        nc.createVariable("nothing", "i2", ("never", "x"))
        g = nc.createGroup("g")
        g.createDimension("z", 2)
        g.createVariable("z", "i4", ("z", "x"))[:] = ramp((2, 4), "i4")
        g.createVariable("v", "f8", ("t", "z"))[:] = ramp((6, 2), "f8")
        g.createVariable("x", "f4", ("z",))[:] = 1
        nc.createVariable("a name with blanks", "i4", ("x",))[:] = 1
        nc.createVariable("größe", "i4", ("x",))[:] = 2


def nc_odd_coordinates(path: Path) -> None:
    """A two-dimensional coordinate variable, a variable named like a dimension, dimensions out of order."""
    with created(path, n=3, m=4, k=2) as nc:
        nc.createVariable("k", "i4", ("k",))[:] = [5, 6]
        nc.createVariable("m", "S1", ("m", "n"))[:] = np.full((4, 3), b"q", "S1")
        nc.createVariable("data", "i4", ("n", "m", "k"))[:] = ramp((3, 4, 2), "i4")
        nc.createVariable("n", "f8", ())[...] = 7
        nc.createVariable("square", "i2", ("n", "n"))[:] = ramp((3, 3), "i2")


def nc_user_types(path: Path) -> None:
    """Enumerations, compounds (nested, with arrays), ragged rows, in groups; attributes of these types."""
    with created(path, x=4) as nc:
        enum = nc.createEnumType("u1", "cloud_t", {"clear": 0, "cumulus": 2, "missing": 255})
        nc.createVariable("cloud", enum, ("x",), fill_value=255)[0:2] = [0, 2]
        big = nc.createEnumType("i8", "big_t", {"low": -(2**62), "high": 2**62})
        nc.createVariable("big", big, ("x",))[:] = [-(2**62), 2**62, 2**62, -(2**62)]
        point = np.dtype([("lat", "f4"), ("n", "i8"), ("name", "S1", (6,))], align=True)
        nc.createCompoundType(point, "point_t")
        outer = np.dtype([("where", point), ("values", "i2", (2, 3)), ("flag", "u1")], align=True)
        outer_t = nc.createCompoundType(outer, "outer_t")
        data = np.zeros(4, outer)
        data["where"]["lat"] = [1, 2, 3, 4]
        data["where"]["n"] = 7
        data["where"]["name"] = np.array(list("abcdef"), "S1")
        data["values"] = np.arange(24).reshape(4, 2, 3)
        data["flag"] = 9
        nc.createVariable("outer", outer_t, ("x",))[:] = data
        v = nc.createVariable("outer_packed", outer_t, ("x",), zlib=True, shuffle=True, chunksizes=(3,))
        v[:] = data
        v.setncattr("point", np.array((1.5, 3, [b"x"] * 6), point))
        row = nc.createVLType("i4", "row_t")
        r = nc.createVariable("rows", row, ("x",))
        for i in range(3):
            r[i] = np.arange(3 * i, dtype="i4")
        g = nc.createGroup("below")
        row8 = g.createVLType("f8", "row8_t")
        r = g.createVariable("rows", row8, ("x",), zlib=True)
        for i in range(4):
            r[i] = np.arange(i + 1) / 3
        g.createVariable("cloud", enum, ("x",))[:] = 2


def nc_filters(path: Path) -> None:
    """Every filter that netCDF4-python offers, and quantization."""
    with created(path, y=37, x=53) as nc:
        data = ramp((37, 53), "f4") / 7

        def var(name: str, dtype: str = "f4", **how: Any) -> None:
            v = nc.createVariable(name, dtype, ("y", "x"), chunksizes=(10, 20), **how)
            v[:] = data.astype(dtype)

        for level in [1, 6, 9]:
            var(f"zlib{level}", compression="zlib", complevel=level, shuffle=level != 6)
        var("checked", compression="zlib", fletcher32=True)
        var("only_checked", fletcher32=True)
        var("only_shuffled", "f8", compression="zlib", complevel=0, shuffle=True)
        var("zstd", compression="zstd", complevel=3)
        var("zstd_doubles", "f8", compression="zstd", shuffle=True)
        var("bzip2", compression="bzip2")
        var("szip_nn", "i4", compression="szip", szip_coding="nn", szip_pixels_per_block=8)
        var("szip_ec", compression="szip", szip_coding="ec", szip_pixels_per_block=16)
        for b in ["lz", "lz4", "lz4hc", "zlib", "zstd"]:
            var(f"blosc_{b}", compression=f"blosc_{b}", blosc_shuffle=1)
        var("bitgroom", compression="zlib", least_significant_digit=2)
        var("quantized", compression="zlib", significant_digits=3, quantize_mode="GranularBitRound")
        v = nc.createVariable("holes", "f4", ("y", "x"), chunksizes=(10, 20), zlib=True, fill_value=-5.0)
        v[12:14, 30:33] = 1


def nc_groups(path: Path) -> None:
    """Groups in groups, with dimensions, attributes and types of their own; many objects (dense storage)."""
    with created(path, x=3) as nc:
        g = nc
        for depth in range(6):
            g = g.createGroup(f"level{depth}")
            g.depth = np.int32(depth)
            g.createDimension(f"d{depth}", depth + 1)
            g.createVariable("v", "i4", ("x", f"d{depth}"))[:] = ramp((3, depth + 1), "i4")
        many = nc.createGroup("many")
        for i in range(150):
            v = many.createVariable(f"v{(i * 37) % 150:03}", "i2", ("x",))
            v[:] = i
            v.number = i
        for i in range(60):
            many.setncattr(f"attribute_{(i * 7) % 60}", f"value {i}")
        many.big = np.arange(20000, dtype="f8")
        for i in range(20):
            nc.createGroup(f"child{(i * 3) % 20}").createVariable("u", "f4", ("x",))[:] = i


def nc_classic_model(path: Path) -> None:
    """The classic model in an HDF5 file."""
    with created(path, format="NETCDF4_CLASSIC", time=None, x=10) as nc:
        nc.createVariable("time", "i4", ("time",))[:] = np.arange(4)
        v = nc.createVariable("v", "f4", ("time", "x"), zlib=True)
        v[:] = ramp((4, 10), "f4")
        v.units = "K"


def h5_indexes(path: Path, libver: str) -> None:
    """All chunk indexes that a library version writes."""
    with h5py.File(path, "w", libver=libver) as f:
        kinds: dict[str, dict[str, Any]] = {
            "plain": {},
            "gzip": {"compression": "gzip"},
            "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
        }
        for name, how in kinds.items():
            g = f.create_group(name)
            # A single chunk; a fixed array; the same with pages; unlimited once, twice, thrice; sparse ones.
            g.create_dataset("single", data=ramp((6, 8), "i4"), chunks=(6, 8), **how)
            g.create_dataset("fixed", data=ramp((23, 31), "f8"), chunks=(4, 5), **how)
            g.create_dataset("paged", data=ramp((3000,), "i2"), chunks=(2,), **how)
            g.create_dataset("bounded", data=ramp((10, 9), "u2"), maxshape=(20, 9), chunks=(3, 4), **how)
            g.create_dataset("one", data=ramp((40, 7), "i4"), maxshape=(None, 7), chunks=(3, 3), **how)
            g.create_dataset("one_inner", data=ramp((6, 45, 2), "i2"), maxshape=(6, None, 2), chunks=(4, 2, 1), **how)
            g.create_dataset("one_long", data=ramp((9000,), "i2"), maxshape=(None,), chunks=(2,), **how)
            g.create_dataset("two", data=ramp((33, 17), "f4"), maxshape=(None, None), chunks=(2, 3), **how)
            g.create_dataset("three", data=ramp((9, 8, 7), "i2"), maxshape=(None, None, 20), chunks=(2, 2, 2), **how)
            for kind, shape in {"s_fixed": (5000,), "s_one": (None,)}.items():
                d = g.create_dataset(kind, (5000,), "i4", maxshape=shape, chunks=(2,), fillvalue=-3, **how)
                d[17:19] = 5
                d[4000:4009] = ramp((9,), "i4")
            d = g.create_dataset("s_two", (300, 300), "f4", maxshape=(None, None), chunks=(10, 10), fillvalue=9, **how)
            d[250:260, 3:40] = 1
            d = g.create_dataset("shrunk", data=ramp((40, 40), "i4"), maxshape=(None, 40), chunks=(7, 7), **how)
            d.resize((11, 40))
            g.create_dataset("unwritten", (10, 10), "f4", chunks=(5, 5), fillvalue=2.5, **how)
            g.create_dataset("empty", (0, 10), "f4", maxshape=(None, 10), chunks=(5, 5), **how)
        # Space allocated at once, without filters: an implicit index.
        space = h5py.h5s.create_simple((12, 10))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((5, 4))
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        d = h5py.h5d.create(f.id, b"implicit", h5py.h5t.NATIVE_INT32, space, plist)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, ramp((12, 10), "i4"))
        # Chunks that stick out are not filtered.
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((5, 4))
        plist.set_deflate(4)
        if libver not in ("earliest", "v108") and hasattr(plist, "set_chunk_opts"):
            plist.set_chunk_opts(h5py.h5d.CHUNK_DONT_FILTER_PARTIAL_CHUNKS)
        d = h5py.h5d.create(f.id, b"edges", h5py.h5t.NATIVE_INT32, space, plist)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, ramp((12, 10), "i4"))
        # A chunk written as it is, its filter switched off.
        d = f.create_dataset("masked", (8,), "i4", chunks=(4,), compression="gzip")
        d[:] = np.arange(8)
        d.id.write_direct_chunk((4,), np.arange(104, 108, dtype="i4").tobytes(), filter_mask=1)


def h5_objects(path: Path, libver: str, odd: bool) -> None:
    """Types, attributes, links beyond what netCDF-C writes; with ``odd`` ones it does not open the file."""
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("scalar", data=1.5)
        f.create_dataset("bool", data=np.array([True, False, True]))
        f.create_dataset("half", data=np.arange(4, dtype="f2"))
        f.create_dataset("complex", data=np.array([1 + 2j, 3j]))
        f.create_dataset("opaque", data=np.array([b"abcd", b"efgh"], "V4"))
        f.create_dataset("fixed_text", data=np.array([b"ab", b"", b"abcd"], "S4"))
        f.create_dataset("one_char", data=np.array([b"a", b"b"], "S1"))
        f.create_dataset("text", data=["x", "", "ünï"], dtype=h5py.string_dtype())
        f.create_dataset("ascii", data=[b"x", b"yy"], dtype=h5py.string_dtype("ascii"))
        utf8 = h5py.string_dtype("utf-8", 5)
        f.create_dataset("utf8_fixed", data=np.array(["ä".encode(), b"b"], utf8))
        if odd:
            f.create_dataset("null", data=h5py.Empty("f4"))
        f.create_dataset("array_type", (3,), dtype=np.dtype(("i4", (2,))))
        f.create_dataset("rows", (3,), h5py.vlen_dtype("i2"))[1] = np.arange(5)
        f.create_dataset("big_endian", data=np.arange(5, dtype=">u4"))
        mixed = np.dtype([("a", ">i4"), ("b", "<f8"), ("s", "S3"), ("c", "u1", (2, 2))])
        data = np.zeros(3, mixed)
        data["a"], data["b"], data["s"] = [1, 2, 3], [0.5, 1.5, 2.5], [b"x", b"yz", b"abc"]
        data["c"] = np.arange(12).reshape(3, 2, 2)
        f.create_dataset("mixed", data=data)
        text = np.dtype([("n", "i2"), ("t", h5py.string_dtype())])
        data = np.zeros(3, text)
        data["n"], data["t"] = [1, 2, 3], ["one", "", "drei"]
        f.create_dataset("text_in_compound", data=data)
        f.create_dataset("compact", data=np.arange(6, dtype="i2"))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3, 4))
        d = h5py.h5d.create(f.id, b"really_compact", h5py.h5t.IEEE_F64BE, space, plist)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, ramp((3, 4), "f8"))
        f.create_dataset("refs", data=[f["scalar"].ref], dtype=h5py.ref_dtype)
        f["named_type"] = np.dtype([("p", "i4"), ("q", "f4")])
        named = np.array([(1, 2), (3, 4)], f["named_type"].dtype)
        f.create_dataset("of_named_type", (2,), dtype=f["named_type"])[...] = named
        f["soft"] = h5py.SoftLink("/big_endian")
        if odd:
            f["dangling"] = h5py.SoftLink("/not/there")
        f["hard"] = f["scalar"]
        if odd:
            f["outside"] = h5py.ExternalLink("other.h5", "/x")
        g = f.create_group("g")
        if odd:
            g["circle"] = h5py.SoftLink("/")
        g["up"] = h5py.SoftLink("/bool")
        many = f.create_group("many")
        for i in range(300):
            many.create_dataset(f"d{(i * 7) % 300}", data=np.int32(i))
        tracked = f.create_group("tracked", track_order=True)
        for name in "qwertyuiopasdf":
            tracked.create_dataset(name, data=np.arange(3), track_order=True)
            tracked.attrs[name] = name
        layout = h5py.VirtualLayout((6,), "i4")
        layout[:] = h5py.VirtualSource("elsewhere.h5", "x", (6,))
        if odd and libver not in ("earliest", "v108"):
            f.create_virtual_dataset("virtual", layout)
        d = f["big_endian"]
        d.attrs["text"] = "ünïcode"
        d.attrs["bytes"] = np.bytes_(b"ascii")
        d.attrs["texts"] = ["a", "bb", ""]
        d.attrs["fixed_texts"] = np.array([b"a", b"bb"], "S3")
        d.attrs["chars"] = np.array([b"a", b"b"], "S1")
        d.attrs["number"] = 1.25
        d.attrs["numbers"] = np.arange(3, dtype=">i2")
        if odd:
            d.attrs["matrix"] = np.arange(6).reshape(2, 3)
        d.attrs["truth"] = True
        d.attrs["nothing"] = h5py.Empty("i4")
        d.attrs["no_text"] = h5py.Empty("S3")
        d.attrs["ref"] = d.ref
        d.attrs["half"] = np.float16(1.5)
        d.attrs["compound"] = np.array((1, 2.5), np.dtype([("a", "i4"), ("b", "f8")]))
        rows = np.empty(2, object)
        rows[:] = [np.arange(2, dtype="i4"), np.arange(3, dtype="i4")]
        d.attrs.create("rows", rows, dtype=h5py.vlen_dtype("i4"))
        for i in range(40):
            f["bool"].attrs[f"attribute {i:02}"] = i
        if libver not in ("earliest",):
            f["bool"].attrs["huge"] = np.arange(30000, dtype="f8")


def h5_scales(path: Path, libver: str) -> None:
    """Dimension scales by h5py: coordinates, several scales, some dimensions without."""
    with h5py.File(path, "w", libver=libver) as f:
        f["x"] = np.arange(4.0)
        f["y"] = np.arange(3.0)
        f["x"].make_scale("x")
        f["y"].make_scale()
        f["data"] = ramp((3, 4), "f4")
        f["data"].dims[0].attach_scale(f["y"])
        f["data"].dims[1].attach_scale(f["x"])
        g = f.create_group("g")
        g["data"] = ramp((4, 3), "f4")
        g["data"].dims[0].attach_scale(f["x"])
        g["data"].dims[1].attach_scale(f["y"])
        f["plain"] = ramp((3, 9), "f4")


def h5_user_block(path: Path) -> None:
    """A file that begins with something else."""
    with h5py.File(path, "w", userblock_size=1024) as f:
        f["a"] = np.arange(10)
        f.create_dataset("c", data=ramp((20, 20), "f4"), chunks=(6, 6), compression="gzip")
        f["t"] = ["one", "two"]


def h5_paged(path: Path) -> None:
    """Metadata gathered in pages."""
    with h5py.File(path, "w", fs_strategy="page", fs_page_size=4096, libver="v110") as f:
        for i in range(12):
            f.create_dataset(f"d{i}", data=ramp((20, 20), "f4"), chunks=(6, 6), compression="gzip")


def h5_shared_messages(path: Path) -> None:
    """Messages that are shared between objects (a table in the superblock extension, heaps), by h5repack."""
    h5repack = shutil.which("h5repack")
    if not h5repack:
        return
    plain = path.with_suffix(".plain.h5")
    with h5py.File(plain, "w") as f:
        for i in range(5):
            d = f.create_dataset(f"d{i}", data=ramp((4, 5), "f4"), chunks=(2, 2), compression="gzip")
            d.attrs["numbers"] = np.arange(20)
            d.attrs["units"] = "the same text for all"
        for i in range(12):
            d.attrs[f"a{i}"] = np.arange(30)
    subprocess.run([h5repack, "-L", "-s", "8", str(plain), str(path)], check=True)
    plain.unlink()


def h5nc(path: Path) -> None:
    """A file that h5netcdf writes."""
    with h5netcdf.File(path, "w") as f:
        f.dimensions = {"x": 5, "t": None}
        f.resize_dimension("t", 3)
        v = f.create_variable("x", ("x",), "f8")
        v[:] = np.arange(5)
        v = f.create_variable("v", ("t", "x"), "i4", chunks=(2, 2), compression="gzip")
        v[:] = ramp((3, 5), "i4")
        v.attrs["units"] = "K"
        g = f.create_group("g")
        g.dimensions["y"] = 2
        g.create_variable("w", ("y", "x"), "f4", fillvalue=-1.0)[0, :] = np.arange(5)
        f.attrs["title"] = "h5netcdf"


def main(folder: Path) -> None:
    """Make all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for make in [nc_atomic, nc_unlimited, nc_odd_coordinates, nc_user_types, nc_filters, nc_groups]:
        make(folder / f"{make.__name__}.nc")
    nc_classic_model(folder / "nc_classic_model.nc")
    for libver in LIBVERS:
        h5_indexes(folder / f"h5_indexes_{libver}.h5", libver)
        h5_objects(folder / f"h5_objects_{libver}.h5", libver, odd=False)
        h5_objects(folder / f"h5_odd_objects_{libver}.h5", libver, odd=True)
        h5_scales(folder / f"h5_scales_{libver}.h5", libver)
    h5_user_block(folder / "h5_user_block.h5")
    h5_paged(folder / "h5_paged.h5")
    h5_shared_messages(folder / "h5_shared_messages.h5")
    h5nc(folder / "h5netcdf.nc")
    if ncks := shutil.which("ncks"):
        for flag in ["-4", "-7"]:
            out = folder / f"nco{flag}.nc"
            subprocess.run([ncks, "-O", flag, "-L1", str(folder / "nc_classic_model.nc"), str(out)], check=True)
        subprocess.run(
            [ncks, "-O", "--cnk_dmn", "x,3", str(folder / "nc_unlimited.nc"), str(folder / "nco_chunked.nc")],
            check=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
