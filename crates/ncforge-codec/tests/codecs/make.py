#!/usr/bin/env python3
"""Makes chunks with the libraries that people use, for tests/codecs.rs to decode.

    python make.py OUT                 the committed samples (needs numpy, h5py, netCDF4, hdf5plugin)
    python make.py OUT --random N      N random ones, for a longer check:
                                       NCFORGE_CODEC_SAMPLES=OUT cargo test -p ncforge-codec --test codecs

Each sample is a file NAME.chunk (the bytes as they lie in the HDF5 file) and a file of the decoded bytes;
`index.txt` has one line a sample: name, element size, filters (id:param,param+id:…), mask, decoded file.
"""

import argparse
import hashlib
import pathlib
import shutil
import tempfile

import h5py
import hdf5plugin
import netCDF4
import numpy as np

TEMP = pathlib.Path(tempfile.mkdtemp())


class Samples:
    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = []

    def add(self, name, dset):
        """The first chunk of a dataset of one chunk; decoded without any conversion of type."""
        raw = np.empty(dset.id.get_type().get_size() * int(np.prod(dset.shape)), "u1")
        dset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=dset.id.get_type())
        mask, chunk = dset.id.read_direct_chunk((0,) * len(dset.shape))
        plist = dset.id.get_create_plist()
        filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        spec = "+".join(f"{f[0]}:{','.join(str(p & 0xFFFFFFFF) for p in f[2])}" for f in filters)
        data = raw.tobytes()
        raw_name = hashlib.sha1(data).hexdigest()[:10] + ".raw"
        (self.out / raw_name).write_bytes(data)
        (self.out / f"{name}.chunk").write_bytes(chunk)
        self.lines.append(f"{name} {dset.id.get_type().get_size()} {spec or '-'} {mask} {raw_name}")

    def finish(self):
        (self.out / "index.txt").write_text("\n".join(self.lines) + "\n")


def field(shape, dtype, seed=1, noise=0.02):
    """A smooth field with a little noise, in the range of the type."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    x = np.arange(n)
    v = np.sin(x / 37.0) + 0.5 * np.cos(x / 11.0) + noise * rng.standard_normal(n)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        span = min(info.max - info.min, 200000)
        base = 0 if dtype.kind == "i" else span / 2
        v = np.clip(base + v * span / 5, info.min, info.max)
    else:
        v = 280 + 10 * v
    return v.astype(dtype).reshape(shape)


def one(samples, name, data, **kw):
    with h5py.File(TEMP / "one.h5", "w") as f:
        f.create_dataset("d", data=data, chunks=data.shape, **kw)
    reopened(samples, name)


def reopened(samples, name):
    """From the file: what is still in HDF5's cache has not been through the filters."""
    with h5py.File(TEMP / "one.h5") as f:
        samples.add(name, f["d"])


def from_netcdf(samples, name, data, **kw):
    path = TEMP / "one.nc"
    with netCDF4.Dataset(path, "w") as f:
        dims = []
        for i, n in enumerate(data.shape):
            f.createDimension(f"d{i}", n)
            dims.append(f"d{i}")
        v = f.createVariable("v", data.dtype, dims, chunksizes=data.shape, **kw)
        v.set_auto_maskandscale(False)
        v[:] = data
    with h5py.File(path) as f:
        samples.add(name, f["v"])


def low_level(samples, name, tid, raw, shape, filter_id, params=()):
    """A dataset of any HDF5 type, its bytes given as they are."""
    with h5py.File(TEMP / "one.h5", "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(shape)
        plist.set_filter(filter_id, h5py.h5z.FLAG_MANDATORY, tuple(params))
        h5py.h5d.create(f.id, b"d", tid, h5py.h5s.create_simple(shape), plist)
        d = f["d"]
        d.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.frombuffer(raw, "u1").copy(), mtype=tid)
    reopened(samples, name)


def bits(tid, precision, offset, order=None):
    t = tid.copy()
    if order is not None:
        t.set_order(order)
    # HDF5 insists on a precision that fits at every step.
    t.set_precision(precision)
    t.set_offset(offset)
    return t


def committed(s):
    f4, i2, f8 = field((24, 30), "f4"), field((19, 23), "i2"), field((300,), "f8")
    be, big = field((16, 16), ">i4"), field((70, 100), "f4", noise=0)
    from_netcdf(s, "nc-zlib1", f4, compression="zlib", complevel=1, shuffle=True)
    from_netcdf(s, "nc-zlib9", f4, compression="zlib", complevel=9, shuffle=False)
    from_netcdf(s, "nc-zlib-fletcher", i2, compression="zlib", complevel=4, fletcher32=True)
    from_netcdf(s, "nc-fletcher-odd", field((13,), "u1"), fletcher32=True)
    from_netcdf(s, "nc-zstd-fletcher", f4, compression="zstd", complevel=4, fletcher32=True)
    from_netcdf(s, "nc-bzip2", f4, compression="bzip2", complevel=9)
    calm = field((24, 30), "i4", noise=0) // 1000
    for coding in ["nn", "ec"]:
        for ppb in [4, 8, 32]:
            from_netcdf(
                s,
                f"nc-szip-{coding}{ppb}",
                calm,
                compression="szip",
                szip_coding=coding,
                szip_pixels_per_block=ppb,
            )
    from_netcdf(s, "nc-szip-i2", i2, compression="szip", szip_coding="nn", szip_pixels_per_block=8)
    for c in ["blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd"]:
        from_netcdf(s, f"nc-{c}", big, compression=c, complevel=5, blosc_shuffle=1)
    from_netcdf(s, "nc-blosc-bits", big, compression="blosc_lz4", complevel=5, blosc_shuffle=2)

    one(s, "h5-gzip-be", be, compression="gzip", compression_opts=6, shuffle=True)
    one(s, "h5-lzf", calm, compression="lzf")
    one(s, "h5-lzf-shuffle", f8, compression="lzf", shuffle=True)
    noise = np.random.default_rng(3).integers(0, 256, 500, "u1")
    one(s, "h5-lzf-noise", noise, compression="lzf")
    one(s, "h5-szip-be", be, compression="szip", compression_opts=("nn", 16))
    one(s, "h5-szip-u1", field((700,), "u1"), compression="szip", compression_opts=("nn", 8))
    one(s, "h5-szip-f8", f8, compression="szip", compression_opts=("nn", 32))
    one(s, "h5-szip-zeros", np.zeros((9, 300), "i2"), compression="szip", compression_opts=("nn", 8))
    one(s, "h5-szip-u2", noise.astype("u2") // 4, compression="szip", compression_opts=("ec", 16))

    one(s, "h5-scaleoffset-i4", field((400,), "i4"), scaleoffset=0)
    one(s, "h5-scaleoffset-u2-fill", field((400,), "u2"), scaleoffset=0, fillvalue=7)
    one(s, "h5-scaleoffset-bits", np.arange(100, 200, dtype="i8"), scaleoffset=9)
    one(s, "h5-scaleoffset-be", be, scaleoffset=0)
    one(s, "h5-scaleoffset-i1", field((60,), "i1"), scaleoffset=0)
    one(s, "h5-scaleoffset-constant", np.full((50,), 12, "i4"), scaleoffset=0)
    one(s, "h5-scaleoffset-full", np.array([-(2**31), 2**31 - 1, 5], "i4"), scaleoffset=0)
    one(s, "h5-scaleoffset-full-be", np.array([-(2**31), 2**31 - 1, 5], ">i4"), scaleoffset=0)
    one(s, "h5-scaleoffset-f4", f4, scaleoffset=3)
    one(s, "h5-scaleoffset-f8", f8, scaleoffset=5, fillvalue=-1.0)
    one(s, "h5-scaleoffset-f4be", field((5, 50), ">f4"), scaleoffset=2)

    t = h5py.h5t
    raw = (np.arange(90, dtype="u4") * 37 * 4099 % 2**17 << 3).astype("<u4")
    low_level(s, "h5-nbit-17", bits(t.STD_U32LE, 17, 3), raw.tobytes(), (90,), h5py.h5z.FILTER_NBIT)
    low_level(s, "h5-nbit-be", bits(t.STD_U32BE, 17, 3), raw.astype(">u4").tobytes(), (90,), h5py.h5z.FILTER_NBIT)
    low_level(s, "h5-nbit-full", t.STD_I16LE, field((77,), "<i2").tobytes(), (77,), h5py.h5z.FILTER_NBIT)
    c = t.create(t.COMPOUND, 16)
    c.insert(b"a", 0, bits(t.STD_U16LE, 11, 2))
    c.insert(b"b", 2, t.array_create(bits(t.STD_U32BE, 20, 5), (2,)))
    c.insert(b"c", 11, bits(t.STD_U8LE, 5, 1))
    c.insert(b"d", 12, t.IEEE_F32LE)
    rng = np.random.default_rng(5)
    rec = np.zeros(
        40,
        np.dtype(
            {
                "names": list("abcd"),
                "formats": ["<u2", (">u4", 2), "u1", "<f4"],
                "offsets": [0, 2, 11, 12],
                "itemsize": 16,
            }
        ),
    )
    rec["a"], rec["b"] = rng.integers(0, 2**11, 40) << 2, rng.integers(0, 2**20, (40, 2)) << 5
    rec["c"], rec["d"] = rng.integers(0, 32, 40) << 1, rng.standard_normal(40)
    low_level(s, "h5-nbit-compound", c, rec.tobytes(), (40,), h5py.h5z.FILTER_NBIT)
    c = t.create(t.COMPOUND, 12)
    c.insert(b"a", 0, bits(t.STD_U32LE, 19, 0))
    o = t.create(t.OPAQUE, 5)
    o.set_tag(b"x")
    c.insert(b"o", 4, o)
    rec = np.zeros(20, np.dtype({"names": ["a", "o"], "formats": ["<u4", "V5"], "offsets": [0, 4], "itemsize": 12}))
    rec["a"] = rng.integers(0, 2**19, 20)
    rec["o"] = [bytes(rng.integers(0, 256, 5, "u1")) for _ in range(20)]
    low_level(s, "h5-nbit-opaque", c, rec.tobytes(), (20,), h5py.h5z.FILTER_NBIT)

    for c in ["none", "lz4", "zstd"]:
        one(s, f"plugin-bitshuffle-{c}", f4, compression=hdf5plugin.Bitshuffle(nelems=64, cname=c))
        one(s, f"plugin-bitshuffle-{c}-odd", i2, compression=hdf5plugin.Bitshuffle(cname=c))
    for c in ["blosclz", "lz4", "zlib", "zstd"]:
        one(
            s,
            f"plugin-blosc-{c}",
            big,
            compression=hdf5plugin.Blosc(cname=c, clevel=5, shuffle=hdf5plugin.Blosc.SHUFFLE),
        )
    one(
        s,
        "plugin-blosc-bits",
        big,
        compression=hdf5plugin.Blosc(cname="lz4", clevel=9, shuffle=hdf5plugin.Blosc.BITSHUFFLE),
    )
    one(
        s,
        "plugin-blosc-noshuffle",
        field((900,), "u1", noise=0) // 8,
        compression=hdf5plugin.Blosc(cname="blosclz", clevel=9, shuffle=0),
    )
    one(s, "plugin-blosc-stored", noise, compression=hdf5plugin.Blosc(cname="lz4", clevel=1, shuffle=0))
    one(s, "plugin-lz4", f4, compression=hdf5plugin.LZ4())
    one(s, "plugin-lz4-blocks", f4, compression=hdf5plugin.LZ4(nbytes=1000))
    one(s, "plugin-zstd", f8, shuffle=True, compression=hdf5plugin.Zstd(clevel=-5))
    one(s, "plugin-bzip2", i2, compression=hdf5plugin.BZip2(blocksize=1))


def random(s, count):
    rng = np.random.default_rng()
    blosc = [
        hdf5plugin.Blosc(cname=c, clevel=l, shuffle=h)
        for c in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
        for l in [1, 5, 9]
        for h in [0, 1, 2]
    ]
    shuf = [hdf5plugin.Bitshuffle(nelems=n, cname=c) for c in ["none", "lz4", "zstd"] for n in [0, 8, 1024]]
    other = [
        hdf5plugin.LZ4(),
        hdf5plugin.LZ4(nbytes=4096),
        hdf5plugin.Zstd(),
        hdf5plugin.BZip2(),
        "lzf",
        "gzip",
    ]
    for i in range(count):
        rank = rng.integers(1, 4)
        shape = tuple(int(v) for v in rng.integers(1, [20000, 150, 30][rank - 1], rank))
        dtype = rng.choice(
            ["u1", "i1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<f4", ">f4", "<i8", ">i8", "<f8", ">f8"]
        )
        data = field(shape, dtype, seed=int(rng.integers(1 << 30)), noise=float(rng.choice([0, 0.001, 0.1, 3])))
        if rng.random() < 0.2:
            data[...] = data.flat[0]
        if rng.random() < 0.3:
            data.reshape(-1)[: data.size // 2] = 0
        kind = rng.choice(["szip", "scaleoffset", "plugin", "nbit"])
        name = f"{i:05d}-{kind}"
        try:
            if kind == "szip":
                opts = (str(rng.choice(["nn", "ec"])), int(rng.choice([2, 4, 8, 16, 32])))
                one(s, name, data, compression="szip", compression_opts=opts)
            elif kind == "scaleoffset":
                fill = {} if rng.random() < 0.5 else {"fillvalue": data.flat[int(rng.integers(data.size))]}
                so = (
                    int(rng.integers(-2, 8))
                    if data.dtype.kind == "f"
                    else int(rng.choice([0, 0, 30, 12]))
                    if data.dtype.itemsize > 2
                    else 0
                )
                one(s, name, data, scaleoffset=so, **fill)
            elif kind == "nbit":
                size = int(rng.choice([1, 2, 4, 8]))
                precision = int(rng.integers(1, size * 8 + 1))
                offset = int(rng.integers(0, size * 8 - precision + 1))
                end = "<" if rng.random() < 0.5 else ">"
                tid = bits(h5py.h5t.py_create(np.dtype(f"{end}u{size}")), precision, offset)
                v = rng.integers(0, 2**precision - 1, shape, dtype="u8", endpoint=True) << np.uint64(offset)
                low_level(s, name, tid, v.astype(f"{end}u{size}").tobytes(), shape, h5py.h5z.FILTER_NBIT)
            else:
                c = [blosc, shuf, other][rng.integers(3)]
                one(s, name, data, shuffle=bool(rng.random() < 0.3), compression=c[rng.integers(len(c))])
        except (OSError, ValueError, KeyError) as e:
            print(name, shape, dtype, "not made:", e)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--random", type=int, default=0)
    a = p.parse_args()
    samples = Samples(a.out)
    if a.random:
        random(samples, a.random)
    else:
        committed(samples)
    samples.finish()
    shutil.rmtree(TEMP)
