#!/usr/bin/env python3
"""Makes seeds/hdf5: small files with every chunk index and group form that h5py writes. Needs h5py.

python hdf5.py OUT
"""

import pathlib
import sys

import h5py
import numpy as np

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
DATA = np.arange(24, dtype="f4").reshape(4, 6)

for low, high in [("earliest", "v108"), ("v108", "v108"), ("v110", "v110"), ("latest", "latest")]:
    with h5py.File(out / f"{low}.h5", "w", libver=(low, high)) as f:
        f.attrs["title"] = "seed"
        f.create_dataset("contiguous", data=DATA)
        f.create_dataset("btree", data=DATA, chunks=(2, 3), maxshape=(None, None), compression="gzip")
        f.create_dataset("appended", data=DATA, chunks=(1, 6), maxshape=(None, 6), shuffle=True)
        f.create_dataset("fixed", data=DATA, chunks=(2, 2), fletcher32=True)
        f.create_dataset("single", data=DATA, chunks=(4, 6))
        f.create_dataset("text", data=["a", "bc"], dtype=h5py.string_dtype())
        f.create_dataset("record", data=np.zeros(3, [("x", "i2"), ("y", "f8", (2,))]))
        f["text"].attrs["numbers"] = np.arange(3)

with h5py.File(out / "links.h5", "w", libver="latest", track_order=True) as f:
    for i in range(12):
        f.create_group(f"g{i}", track_order=True)
        f.attrs[f"a{i}"] = i
    x = f.create_dataset("x", data=np.arange(4.0))
    x.make_scale("x")
    y = f.create_dataset("y", data=np.arange(4, dtype=">i2"))
    y.dims[0].attach_scale(x)
    f["soft"] = h5py.SoftLink("/y")
    f["vlen"] = np.array([np.arange(2), np.arange(3)], dtype=object).astype(h5py.vlen_dtype("i4"))

with h5py.File(out / "virtual.h5", "w", libver="latest") as f:
    f.create_dataset("row0", data=np.arange(6, dtype="i2"))
    f.create_dataset("row1", data=np.arange(6, dtype="i4"), maxshape=(None,), chunks=(2,))
    fixed = h5py.VirtualLayout((3, 6), "f4")
    for i in range(2):
        fixed[i, ::2] = h5py.VirtualSource(".", f"row{i}", (6,))[:3]
    f.create_virtual_dataset("fixed", fixed, fillvalue=-1)
    growing = h5py.VirtualLayout((6,), "i4", maxshape=(None,))
    growing[: h5py.h5s.UNLIMITED] = h5py.VirtualSource(".", "row1", (6,), maxshape=(None,))[: h5py.h5s.UNLIMITED]
    f.create_virtual_dataset("growing", growing)
    f["away"] = h5py.ExternalLink("other.h5", "/group")
