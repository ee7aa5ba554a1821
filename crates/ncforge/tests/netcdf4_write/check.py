"""Checks of files that ncforge wrote: `check.py NAME FILE`. Exit status 77: packages are missing."""

import sys

try:
    import h5py
    import netCDF4
    import numpy as np
except ImportError as e:
    print(e)
    sys.exit(77)

TYPES = {
    "byte": "i1",
    "char": "S1",
    "short": "i2",
    "int": "i4",
    "float": "f4",
    "double": "f8",
    "ubyte": "u1",
    "ushort": "u2",
    "uint": "u4",
    "int64": "i8",
    "uint64": "u8",
}


def same(a, b):
    assert np.array_equal(np.asarray(a), np.asarray(b)), f"{a!r} is not {b!r}"


def all(path):
    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        assert list(d.dimensions) == ["t", "x", "two"], list(d.dimensions)
        assert d.dimensions["t"].isunlimited() and len(d.dimensions["t"]) == 3
        assert d.ncattrs() == ["title", "words", "numbers", "empty"], d.ncattrs()
        assert d.title == "everything" and d.words == ["alpha", "", "gamma"] and d.empty == ""
        same(d.numbers, [1, -2, 3])
        for name, code in TYPES.items():
            for order in ["le", "be"]:
                flat, boxed = [1, 2, 3, 4], np.arange(12).reshape(3, 4)
                if name == "char":
                    flat, boxed = (
                        [chr(97 + i).encode() for i in flat],
                        np.vectorize(lambda i: chr(97 + i).encode())(boxed),
                    )
                v = d[f"{name}_{order}"]
                assert v.dtype.newbyteorder("=") == np.dtype(code), (v.dtype, code)
                same(v[:], flat)
                z = d[f"{name}_{order}_z"]
                same(z[:], boxed)
                assert z.chunking() == [2, 3] and z.filters()["zlib"] and z.filters()["shuffle"]
                if np.dtype(code).itemsize > 1:
                    assert v.endian() == {"le": "little", "be": "big"}[order], v.endian()
        same(d["u_color"][:], [-1, 300])
        assert d["u_color"].datatype.enum_dict == {"RED": -1, "BLUE": 300}
        same(d["u_ragged"][0], [1, 2, 3])
        assert len(d["u_ragged"][1]) == 0
        p = d["u_point"][:]
        same(p["k"], [1, 2])
        same(p["v"][1], [[10, 11], [12, 13]])
        assert list(d.enumtypes) == ["color"] and list(d.vltypes) == ["ragged"], (d.enumtypes, d.vltypes)
        same(d["strings"][:], [["s0", "ä"], ["s1", "ä"], ["s2", "ä"]])
        same(d["blank"][:], [["", ""]] * 3)
        assert d["scalar"][...] == 42
        same(d["t"][:], [0.5, 1.5, 2.5])
        same(d["compact"][:], [1, 2, 3, 4])
        same(d["never"][:], np.full((4, 2), -9))
        f = -32767
        same(d["partly"][:], [[f, f], [7, f], [8, f], [f, f]])
        same(d["two"][:], np.arange(1, 9).reshape(4, 2))
        q = d["inner/deep/q"]
        same(q[:], np.arange(20).reshape(5, 4))
        assert q.dimensions == ("t", "x") and len(d["inner"].dimensions["t"]) == 5
        assert d["inner"].where == "inside"
    with h5py.File(path) as h:
        same(h["u_blob"][:].tobytes(), b"hellowurst")
        m = h["u_mixed"][:]
        same(m["n"], [5, 6])
        assert m["name"][0][0] == b"one" and m["name"][1][1] == b"four", m["name"]
        same(m["row"][1], [8, 7])
        same(m["last"], [7, 7])
        assert list(h["u_rows"][0]) == [b"p", b"qq"]
        assert h["x"].is_scale and h["partly"].dims[0][0] == h["x"]
        assert [s.name for s in h["never"].dims[1].values()] == ["/two"]
        for name in ["strings", "inner", "inner/deep", "/", "u_point"]:
            for a in h[name].attrs:
                h[name].attrs[a] if a != "list" else None


def many(path):
    count = 1000
    with netCDF4.Dataset(path) as d:
        assert list(d.variables) == [f"v{i:05}" for i in range(count)]
        assert d.ncattrs() == [f"a{i:03}" for i in range(300)]
        assert d.a299 == "value 299"
        assert d["v00000"].ncattrs() == [f"k{i}" for i in range(50)]
        for i in [0, 1, 7, 8, 9, count // 2, count - 1]:
            same(d[f"v{i:05}"][:], [[i, i + 1, 0], [i, i + 1, 1]])
    with h5py.File(path) as h:
        assert len(h["x"].attrs["REFERENCE_LIST"]) == count
        i = count - 1
        same(h[f"v{i:05}"][:], [[i, i + 1, 0], [i, i + 1, 1]])
        # Libraries go on within the rules.
    with h5py.File(path, "r+") as h:
        h.attrs["one more"] = np.int32(5)
        h["v00000"].attrs["one more"] = "text"
        h["another"] = np.arange(3)
        h.create_group("group", track_order=True)
        del h.attrs["a005"]
    with netCDF4.Dataset(path, "a") as d:
        v = d.createVariable("yet_another", "f4", ("t", "x"), zlib=True)
        v[:] = 5
        for k in range(20):
            v.setncattr(f"k{k}", k)
        d["v00001"][2] = 9
        d["v00000"].setncattr("yet another", [1.0, 2.0])
    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        assert len(d.variables) == count + 2 and len(d.dimensions["t"]) == 3
        same(d["yet_another"][:2], np.full((2, 3), 5))
        same(d["v00001"][:], [[1, 2, 0], [1, 2, 1], [9, 9, 9]])
        assert len(d["v00000"].ncattrs()) == 52


def shared(path):
    with h5py.File(path) as h:
        refs = h["x"].attrs["REFERENCE_LIST"]
        assert len(refs) == 4800
        assert h[refs[4799][0]].name == "/v299" and refs[4799][1] == 15
        same(h["v77"][...], np.full([1] * 16, 77))
    with netCDF4.Dataset(path, "a") as d:
        v = d.createVariable("more", "i4", ["x"] * 3)
        v[:] = 5
        v.units = "m"
    with netCDF4.Dataset(path) as d:
        assert len(d.variables) == 301 and d["more"].dimensions == ("x",) * 3
        same(d["more"][:], np.full((1, 1, 1), 5))
    with h5py.File(path) as h:
        assert len(h["x"].attrs["REFERENCE_LIST"]) == 4803


def chunks(path):
    n = 100_000
    with netCDF4.Dataset(path) as d:
        want = np.stack([np.arange(n), -np.arange(n)], axis=1)
        same(d["v"][:], want)
        same(d["v"][77_777], [77_777, -77_777])
    with netCDF4.Dataset(path, "a") as d:
        d["v"][n : n + 70] = 5
        d["v"][500] = 6
    with h5py.File(path) as h:
        same(h["v"][n:], np.full((70, 2), 5))
        same(h["v"][499:502], [[499, -499], [6, 6], [501, -501]])
        same(h["v"][501:n], want[501:])


def empty(path):
    with netCDF4.Dataset(path, "a") as d:
        assert d.data_model == "NETCDF4_CLASSIC"
        assert list(d.dimensions) == ["t", "unused", "x"] and d["v"].shape == (0, 3)
        d["v"][1] = [1, 2, 3]
        d["x"][:] = 4
    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        fill = netCDF4.default_fillvals["f4"]
        same(d["v"][:], np.array([[fill] * 3, [1, 2, 3]], "f4"))
        same(d["x"][:], [4, 4, 4])


def large(path):
    with netCDF4.Dataset(path) as d:
        assert d.big == "0123456789" * 10_000 and d.small == "s"
        v = d["v"]
        same(v.doubles, np.arange(130_000.0))
        assert v.words == ["x", "y"] and v.n39 == "more" and v.units == "m"
        assert v.ncattrs() == ["units", "doubles", "words"] + [f"n{i}" for i in range(40)]
    with netCDF4.Dataset(path, "a") as d:
        d["v"].setncattr("later", "l" * 70_000)
        d["v"].setncattr("small", 5)
        d.delncattr("big")
        d.setncattr("also", "x" * 100_000)
    with netCDF4.Dataset(path) as d:
        v = d["v"]
        assert v.later == "l" * 70_000 and v.small == 5 and v.units == "m"
        same(v.doubles, np.arange(130_000.0))
        assert d.ncattrs() == ["small", "also"] and d.also == "x" * 100_000


def make_netcdf(path):
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("t", None)
        d.createDimension("x", 4)
        d.createDimension("y", 2)
        d.title = "before"
        d.words = ["one", "two"]
        a = d.createVariable("a", "f8", ("t", "x"), zlib=True, complevel=2, chunksizes=(2, 3), fill_value=-1.0)
        a[:] = np.arange(12).reshape(3, 4)
        a.words = ["old"]
        d.createVariable("c", "f8", ("x",), endian="big")[:] = np.arange(4)
        d.createVariable("t", "f4", ("t",))[:] = [1, 2, 3]
        s = d.createVariable("s", str, ("t",))
        s[:] = np.array(["p", "qq", ""], object)
        color = d.createEnumType("u1", "color", {"RED": 0, "BLUE": 7})
        d.createVariable("e", color, ("x",))[:] = [7, 0, 7, 0]
        point = d.createCompoundType(np.dtype([("k", "i4"), ("v", "f8")]), "point")
        d.createVariable("p", point, ("y",))[:] = np.array([(1, 0.5), (2, 1.5)], point.dtype)
        ragged = d.createVLType("i2", "ragged")
        r = d.createVariable("r", ragged, ("y",))
        r[0], r[1] = np.array([1, 2, 3], "i2"), np.array([4], "i2")
        for i in range(12):
            d.createVariable(f"more{i}", "i2", ("x", "y"), zlib=i % 2 == 0, fletcher32=i % 3 == 0)[:] = i
            d["c"].setncattr(f"k{i}", np.int16(i))
        g = d.createGroup("g").createGroup("gg")
        g.createDimension("x", 3)
        g.createVariable("q", "i4", ("t", "x"))[:] = np.arange(9).reshape(3, 3)
        g.big = "b" * 70_000


def changed_common(d):
    d.set_auto_mask(False)
    assert d.title == "changed by ncforge" and d.second == "session"
    fill = -1.0
    want = np.full((5, 4), fill)
    want[:3] = np.arange(12).reshape(3, 4)
    want[1] = [90, 91, 92, 93]
    want[3, 1:3], want[4, 1:3] = [31, 32], [41, 42]
    same(d["a"][:], want)
    assert list(d["a"].words) == ["new", "words"]
    same(d["renamed"][:], [0, 1, -5, 3])
    assert "c" not in d.variables
    f = -32767
    same(d["w"][:], [[f] * 4, [1, 2, 3, 4]])
    assert d["w"].dimensions == ("z", "x") and len(d.dimensions["z"]) == 2
    same(d["added/inside"][:], [5, 6, 7, 8])
    assert d["added"].k == "v"
    assert d.dimensions["t"].isunlimited() and len(d.dimensions["t"]) == 5


def changed_netcdf(path):
    with netCDF4.Dataset(path) as d:
        changed_common(d)
        assert list(d.dimensions) == ["t", "x", "y", "z"], list(d.dimensions)
        assert list(d.variables)[:7] == ["a", "renamed", "t", "s", "e", "p", "r"]
        assert d.words == ["one", "two"]
        same(d["t"][:3], [1, 2, 3])
        same(d["s"][:3], ["p", "qq", ""])
        same(d["e"][:], [7, 0, 7, 0])
        assert d["e"].datatype.enum_dict == {"RED": 0, "BLUE": 7}
        same(d["p"][:]["v"], [0.5, 1.5])
        same(d["r"][0], [1, 2, 3])
        same(d["r"][1], [4])
        for i in range(12):
            same(d[f"more{i}"][:], np.full((4, 2), i))
            assert d["renamed"].getncattr(f"k{i}") == i
        assert d["more0"].filters()["zlib"] and d["more3"].filters()["fletcher32"]
        assert d["renamed"].endian() == "big"
        q = d["g/gg/q"]
        same(q[:3], np.arange(9).reshape(3, 3))
        assert d["g/gg"].big == "b" * 70_000
    with netCDF4.Dataset(path, "a") as d:
        d["a"][5] = 6
        d["s"][5] = "later"
        d.createVariable("after", "f4", ("t", "x"))[:] = 1
        d.renameVariable("renamed", "again")
        d["again"].setncattr("k0", "text now")
        d.createGroup("last")
    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        same(d["a"][5], [6] * 4)
        same(d["a"][1], [90, 91, 92, 93])
        assert d["s"][5] == "later" and d["s"][1] == "qq" and d["again"].k0 == "text now"


def make_h5netcdf(path):
    try:
        import h5netcdf
    except ImportError as e:
        print(e)
        sys.exit(77)
    with h5netcdf.File(path, "w") as d:
        d.dimensions = {"t": None, "x": 4}
        d.resize_dimension("t", 3)
        d.attrs["title"] = "before"
        v = d.create_variable("a", ("t", "x"), "f8", chunks=(2, 3), compression="gzip", fillvalue=-1.0)
        v[:] = np.arange(12).reshape(3, 4)
        d.create_variable("c", ("x",), "f8")[:] = np.arange(4)
        d.create_variable("/g/v", ("x",), "i4", data=np.arange(4, dtype="i4"))


def changed_h5netcdf(path):
    import h5netcdf

    with netCDF4.Dataset(path) as d:
        changed_common(d)
        same(d["g/v"][:], np.arange(4))
    with h5netcdf.File(path) as d:
        assert d.dimensions["t"].size == 5 and d["a"].dimensions == ("t", "x")
        same(d["w"][1], [1, 2, 3, 4])


def make_h5py(path, libver):
    with h5py.File(path, "w", libver=libver) as h:
        h.attrs["title"] = "before"
        h.attrs["number"] = np.float32(2.5)
        h.attrs["texts"] = np.array([b"ab", b"c"])
        a = h.create_dataset("a", (3, 4), "f8", maxshape=(None, 4), chunks=(2, 3), compression="gzip", fillvalue=-1.0)
        a[:] = np.arange(12).reshape(3, 4)
        h["c"] = np.arange(4.0)
        h["t"] = h.create_dataset("tmp", (3,), "f4", maxshape=(None,), chunks=(2,))
        del h["tmp"]
        h["x"] = np.arange(4, dtype="i4")
        for name in "tx":
            h[name].make_scale(name)
        a.dims[0].attach_scale(h["t"])
        a.dims[1].attach_scale(h["x"])
        h["c"].dims[0].attach_scale(h["x"])
        data = np.arange(30 * 20, dtype="i4").reshape(30, 20)
        for name, maxshape, chunks, compression in [
            ("single", None, (30, 20), "gzip"),
            ("single_raw", None, (30, 20), None),
            ("fixed", None, (7, 6), "gzip"),
            ("fixed_raw", None, (7, 6), None),
            ("extensible", (None, 20), (7, 6), "gzip"),
            ("tree", (None, None), (7, 6), "gzip"),
            ("tree_raw", (None, None), (7, 6), None),
        ]:
            h.create_dataset(name, data=data, maxshape=maxshape, chunks=chunks, compression=compression)
        d = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        d.set_chunk((7, 6))
        d.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((30, 20))
        h5py.h5d.create(h.id, b"implicit", h5py.h5t.NATIVE_INT32, space, d)
        h["implicit"][:] = data
        h["fixed_text"] = np.array([b"abc", b"de"], "S3")
        h["text"] = ["some", "strings"]
        h["g/deep/v"] = 5
        h["g"].attrs["CLASS"] = "something else"
        # netCDF-C cannot read the attributes of an object with one of two dimensions.
        h["g/deep"].attrs["square"] = np.arange(4).reshape(2, 2)
        for i in range(20):
            h["g"].create_dataset(f"d{i}", data=i)
            h["g/deep/v"].attrs[f"k{i}"] = i


def make_earliest(path):
    make_h5py(path, "earliest")


def make_latest(path):
    make_h5py(path, "latest")


def changed_earliest(path):
    with netCDF4.Dataset(path) as d:
        changed_common(d)
    with h5py.File(path) as h:
        assert h.attrs["number"] == np.float32(2.5) and h.attrs["number"].shape == ()
        same(h["g/deep"].attrs["square"], np.arange(4).reshape(2, 2))
        same(h.attrs["texts"], [b"ab", b"c"])
        data = np.arange(30 * 20, dtype="i4").reshape(30, 20)
        for name in ["single", "single_raw", "fixed", "fixed_raw", "extensible", "tree", "tree_raw", "implicit"]:
            same(h[name][:], data)
            assert not h[name].dims[0].keys() and "_Netcdf4Coordinates" not in h[name].attrs
        assert h["tree"].maxshape == (None, None)
        same(h["fixed_text"][:], [b"abc", b"de"])
        assert list(h["text"].asstr()) == ["some", "strings"]
        assert h["g"].attrs["CLASS"] == "something else"
        for i in range(20):
            assert h[f"g/d{i}"][()] == i and h["g/deep/v"].attrs[f"k{i}"] == i
    with h5py.File(path, "r+") as h:
        h["tree"].resize((40, 25))
        h["tree"][35] = 7
        h["extensible"].resize((31, 20))
        h["new"] = 5
        del h["single"]
        del h["g/deep"].attrs["square"]
    with h5py.File(path) as h:
        same(h["tree"][35], [7] * 25)
        same(h["tree"][:30, :20], np.arange(30 * 20).reshape(30, 20))
        same(h["extensible"][30], [0] * 20)


changed_latest = changed_earliest


def make_virtual(path):
    with h5py.File(path, "w") as h:
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource("other.h5", "v", (4,))
        h.create_virtual_dataset("v", layout)


def make_reference(path):
    with h5py.File(path, "w") as h:
        h["a"] = 1
        h["r"] = h["a"].ref


def make_two_names(path):
    with h5py.File(path, "w") as h:
        h["a"] = 1
        h["b"] = h["a"]


def make_external_link(path):
    with h5py.File(path, "w") as h:
        h["a"] = h5py.ExternalLink("other.h5", "/x")


def make_user_block(path):
    with h5py.File(path, "w", userblock_size=512) as h:
        h["a"] = 1


def make_external_file(path):
    with h5py.File(path, "w") as h:
        h.create_dataset("a", (4,), "i4", external=[(path + ".raw", 0, 16)])


def power(folder):
    """Every file of a folder has the values that its text file says."""
    import pathlib

    files = sorted(pathlib.Path(folder).glob("*.nc"))
    assert files, "no files"
    for path in files:
        lines = [line.split("\t") for line in path.with_suffix(".txt").read_text().splitlines()]
        want = {name: values.split(",") if values else [] for name, values in lines}
        with netCDF4.Dataset(path) as d:
            d.set_auto_mask(False)
            found = {name: v[...].ravel() for name, v in d.variables.items()}
        assert set(found) == set(want), f"{path}: {set(found)}"
        for name, values in found.items():
            texts = [str(v) for v in values]
            # One empty text is written as nothing at all.
            assert texts == want[name] or (texts == [""] and not want[name]), f"{path}: {name}"
        with h5py.File(path) as f:
            for name, values in found.items():
                inner = f[name][...].ravel()
                texts = [v.decode() if isinstance(v, bytes) else str(v) for v in inner]
                assert texts == [str(v) for v in values[: len(texts)]], f"{path}: {name} by h5py"


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
