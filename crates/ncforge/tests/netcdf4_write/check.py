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
    "byte": "i1", "char": "S1", "short": "i2", "int": "i4", "float": "f4", "double": "f8",
    "ubyte": "u1", "ushort": "u2", "uint": "u4", "int64": "i8", "uint64": "u8",
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
                    flat, boxed = [chr(97 + i).encode() for i in flat], np.vectorize(lambda i: chr(97 + i).encode())(boxed)
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


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
