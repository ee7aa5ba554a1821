"""xarray: the engine "ncforge", and writing.

>>> import xarray as xr
>>> ds = xr.open_dataset("sst.nc", engine="ncforge", chunks={})  # doctest: +SKIP

xarray imports this module in every program, when it searches for engines: it must not load large modules, and must not
fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xarray import register_dataarray_accessor, register_dataset_accessor, register_datatree_accessor
from xarray.backends import BackendEntrypoint

from ncforge._missing import suggesting

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

    from ncforge._xarray.chunks import Preferred

__all__ = ["NcforgeAccessor", "NcforgeBackendEntrypoint", "open_mfdataset", "register_writer", "to_netcdf"]

_UNSET: Any = object()
"""Arguments with this value are not passed to xarray, so that its own defaults hold."""

_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIPPED = b"\x89NCZ\r\n\x1a\n"
_EXTENSIONS = (".nc", ".nc4", ".cdf", ".nc3", ".nc5", ".netcdf", ".ncz")


def _is_netcdf(source: Any) -> bool:
    """Whether these bytes, or those that this object reads, begin like netCDF. The object's position does not change."""
    if isinstance(source, bytes | bytearray | memoryview):
        return _begins(bytes(source[:8])) or any(
            bytes(source[at : at + 8]) == _HDF5 for at in _user_blocks(len(source))
        )
    before = source.tell()
    try:
        source.seek(0)
        if _begins(source.read(8)):
            return True
        end = source.seek(0, os.SEEK_END)
        for at in _user_blocks(end):
            source.seek(at)
            if source.read(8) == _HDF5:
                return True
        return False
    finally:
        source.seek(before)


def _begins(magic: bytes) -> bool:
    return magic in (_HDF5, _ZIPPED) or magic[:4] in _CLASSIC


def _user_blocks(end: int) -> list[int]:
    """Offsets other than 0 at which HDF5 may begin: 512 bytes, and doubling (HDF5 File Format Specification, II.A)."""
    at, found = 512, []
    while at + 8 <= end:
        found.append(at)
        at *= 2
    return found


class NcforgeBackendEntrypoint(BackendEntrypoint):
    """The engine "ncforge": classic netCDF and netCDF-4 files, zipped ones, bytes, and file objects.

    Reading takes no lock. Elements selected with arrays of indices are extracted while chunks are decoded, each chunk once.
    Lazy arrays can be pickled; a file that was changed in the meantime is detected.

    Parameters of ``xarray.open_dataset(..., engine="ncforge")`` in addition to those of every engine
    ------------------------------------------------------------------------------------------------
    group
        Path of the group to open.
    preferred_chunks
        The blocks for ``chunks={}`` and ``chunks="auto"``. "auto": stored chunks below 16 MiB are joined to blocks of about 64 MiB;
        "disk": the stored chunks; or a size of blocks such as "16MiB".
    auto_complex
        Whether pairs are complex numbers. ``None``: compounds of a real and an imaginary float are. ``True``: floats with a last
        dimension of length 2 called "_pfnc_complex", "complex" or "ri" are, too. ``False``: none is.
    storage_options
        How a URL is accessed: see :class:`ncforge.Dataset`.
    store
        An object that reads ranges of bytes of the file: a store of obstore, or a file system of fsspec.
    follow
        Whether the file may lead to others, whose values are read as its own: virtual datasets and external links of HDF5, aggregation
        variables of the CF conventions.
    lock
        Accepted for compatibility, without effect.
    """

    description = "Open classic netCDF and netCDF-4 files with ncforge, without a lock"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether this is netCDF: by its first bytes, or by its name if they cannot be read."""
        try:
            if isinstance(filename_or_obj, str | os.PathLike):
                path = os.path.expanduser(os.fspath(filename_or_obj))
                try:
                    with open(path, "rb", buffering=0) as file:
                        return _is_netcdf(file)
                except OSError:
                    return "://" not in str(path) and os.path.splitext(path)[1] in _EXTENSIONS
            if isinstance(filename_or_obj, bytes | bytearray | memoryview) or hasattr(filename_or_obj, "seek"):
                return _is_netcdf(filename_or_obj)
        except Exception:  # xarray passes objects of any type
            return False
        return False

    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        lock: Any = None,
        preferred_chunks: Preferred = "auto",
        auto_complex: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
        follow: bool = True,
    ) -> Dataset:
        """One group as a dataset of lazy variables."""
        from ncforge._xarray.engine import open_dataset

        return open_dataset(
            filename_or_obj,
            drop_variables,
            group,
            preferred_chunks,
            auto_complex,
            (storage_options, store, follow),
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(  # type: ignore[override]
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        lock: Any = None,
        preferred_chunks: Preferred = "auto",
        auto_complex: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
        follow: bool = True,
    ) -> dict[str, Dataset]:
        """A group and all groups below it as datasets, by their paths."""
        from ncforge._xarray.engine import open_groups

        return open_groups(
            filename_or_obj,
            drop_variables,
            group,
            preferred_chunks,
            auto_complex,
            (storage_options, store, follow),
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_datatree(  # type: ignore[override]
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **options: Any
    ) -> DataTree:
        """A group and all groups below it as a tree."""
        from xarray.backends.common import datatree_from_dict_with_io_cleanup

        groups = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **options)
        return datatree_from_dict_with_io_cleanup(groups)


def register_writer() -> None:
    """Makes ``ds.to_netcdf(path, engine="ncforge")`` work, until the process ends.

    xarray has a fixed list of engines that write. This function adds to it, and must therefore be called explicitly;
    ``ncforge.to_netcdf(ds, path)`` does not need it, and has more options.
    """
    try:
        from xarray.backends.writers import WRITEABLE_STORES
    except ImportError:  # before 2025.10
        from xarray.backends.api import WRITEABLE_STORES  # type: ignore[attr-defined, no-redef]
    from ncforge._xarray.writing import WritingStore

    WRITEABLE_STORES["ncforge"] = WritingStore.open  # type: ignore[index]


def open_mfdataset(
    paths: Any,
    chunks: Any = None,
    concat_dim: Any = None,
    compat: Any = _UNSET,
    preprocess: Callable[[Dataset], Dataset] | None = None,
    engine: str | None = None,
    data_vars: Any = _UNSET,
    coords: Any = _UNSET,
    combine: str = "by_coords",
    parallel: bool = False,
    join: Any = _UNSET,
    attrs_file: Any = None,
    combine_attrs: Any = "override",
    errors: str = "raise",
    **kwargs: Any,
) -> Dataset:
    """Opens many files as one dataset: the same as ``xr.open_mfdataset(..., engine="ncforge")``, but faster.

    The arguments are those of xarray's function. Files that are alike (the same variables, and the same coordinates except
    along one dimension) are opened and compared in parallel, and then opened by xarray as one file; xarray joins them by its
    own rules. The result has the same values, attributes, encodings and Dask blocks; a variable is one Dask array over all
    files, with one layer in its graph.

    Files that are not alike, ``preprocess``, nested lists, and dimensions that no file has, are left to ``xr.open_mfdataset``.

    Parameters
    ----------
    paths
        A pattern, or a list of paths; both may be of URLs (patterns of ``http://`` where the server lists its folders).
    chunks
        As in ``xr.open_dataset``; by default blocks of stored chunks (``preferred_chunks``), and whole files of variables without.
    concat_dim
        With ``combine="nested"``: the dimension along which files are joined.
    compat, data_vars, coords, join, combine_attrs
        How xarray joins variables, coordinates and attributes.
    preprocess
        A function that is applied to the dataset of each file before joining.
    engine
        Only "ncforge" or ``None``.
    combine
        "by_coords", in the order of the coordinates, or "nested", in the order of ``paths``.
    parallel
        Whether Dask opens files that are left to ``xr.open_mfdataset``. Files that are alike are always opened in parallel.
    attrs_file
        The file that the dataset's attributes come from; by default the first.
    errors
        The action for files that cannot be opened: "raise", "warn" or "ignore".
    **kwargs
        Arguments of ``xr.open_dataset``: ``group``, ``drop_variables``, ``decode_times``, …

    Examples
    --------
    >>> ds = ncforge.open_mfdataset("sst_*.nc")  # doctest: +SKIP
    """
    if engine not in (None, "ncforge"):
        raise ValueError(f"engine is 'ncforge' here, not {engine!r}: `xr.open_mfdataset` has others")
    joining = {"compat": compat, "data_vars": data_vars, "coords": coords, "join": join, "combine_attrs": combine_attrs}
    combining = {key: value for key, value in joining.items() if value is not _UNSET}
    from ncforge._missing import check_options
    from ncforge._warnings import relayed
    from ncforge._xarray.mfdataset import expanded, known_options, open_mfdataset

    # Others are refused by xarray.
    check_options("open_mfdataset", kwargs, known_options(NcforgeBackendEntrypoint.open_dataset), strict=False)
    paths = expanded(paths, kwargs.get("storage_options"))
    if preprocess is None:
        found: Dataset | None = relayed(
            open_mfdataset, paths, chunks or {}, combine, concat_dim, combining, attrs_file, kwargs
        )
        if found is not None:
            return found
    from xarray import open_mfdataset as one_by_one

    opened: Dataset = relayed(
        one_by_one,
        paths,
        chunks=chunks,
        concat_dim=concat_dim,
        preprocess=preprocess,
        engine="ncforge",
        combine=combine,
        parallel=parallel,
        attrs_file=attrs_file,
        errors=errors,
        **combining,
        **kwargs,
    )
    return opened


@suggesting("to_netcdf")
def to_netcdf(
    data: Any,
    path: Any = None,
    mode: str = "w",
    format: str | None = None,
    group: str | None = None,
    engine: str | None = None,
    encoding: Mapping[Any, Mapping[str, Any]] | None = None,
    unlimited_dims: Any = None,
    compute: bool = True,
    invalid_netcdf: bool = False,
    auto_complex: bool | None = None,
    *,
    append_dim: Hashable | None = None,
    allow_overlap: bool = False,
    region: Mapping[str, slice] | str | None = None,
    chunks: str | Mapping[Any, int] | None = None,
    for_: str | None = None,
    expect: str | Mapping[Any, int] | None = None,
    codec: str | None = None,
    level: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
    memory: str | int | None = None,
    write_inherited_coords: bool = False,
) -> Any:
    """Writes a dataset, an array or a tree of xarray to a file.

    The arguments up to ``auto_complex`` are those of xarray's ``to_netcdf``. A new file gets its name only when it is
    complete; after an error there is no new file, and an old one of that name is unchanged.

    Dask arrays are computed and written block by block, with blocks that are whole chunks of the file. Blocks that other
    processes (``distributed``) compute are written by this process as they arrive.

    Parameters
    ----------
    data
        A ``Dataset``, ``DataArray`` or ``DataTree``.
    path
        The target: a path, or an object with ``write``. ``None`` returns the file as a ``memoryview``.
    mode
        "w" writes a new file, "a" adds to one or replaces variables of it.
    format
        "NETCDF4" (the default), "NETCDF4_CLASSIC", "NETCDF3_64BIT", "NETCDF3_CLASSIC" or "NETCDF3_64BIT_DATA".
    group
        Path of the group to write to.
    engine
        Only "ncforge" or ``None``.
    encoding
        By variable; for a tree by group, and then by variable.
    unlimited_dims
        Dimensions that can grow.
    compute
        ``False`` does not compute Dask arrays, and returns an object that does. The file gets its name after that.
    auto_complex
        Complex numbers are written as pairs, in compounds (NETCDF4) or along a dimension (other formats), with the names of
        netCDF4-python; ``False``: they are an error.
    invalid_netcdf
        No effect: h5netcdf requires it for complex numbers, which are stored as valid netCDF here. Types that netCDF does not
        have are not written.
    append_dim
        Appends along this dimension. The file is created if it does not exist. Variables without the dimension are not
        changed. Errors are: other coordinates than the file's, a variable of the file that the dataset lacks, values that do
        not fit the file's packing, type or enum, times where the file has numbers without units.
    allow_overlap
        With ``append_dim``, whether values of its coordinate may be in the file already, or before its last one. By default
        that is an error, so that nothing is appended twice.
    region
        Writes to this part of existing variables: slices by dimension, "auto" for one or all of them to find the part by
        coordinates. Coordinates that differ from the file's are an error.
    chunks
        "auto": chunk lengths are chosen, not taken from the file that the data came from. A mapping: lengths by
        dimension; other dimensions are not split.
    for_
        The reads for which "auto" chooses: "map", "series", "profile", "column", "box", "full" with weights,
        as "series=3,map=1"; or lengths of dimensions, as "time=all,lat=1,lon=1". Series, maps and everything alike by
        default. With ``for_``, the default of ``chunks`` is "auto", and variables larger than a few kilobytes are chunked.
    expect
        Lengths that unlimited dimensions will have in the end, as "time=3650" or ``{"time": 3650}``; those that they have
        now by default.
    codec, level
        Compression of new variables: "none", "zlib" (or "deflate"), "zstd", "bzip2". It replaces that of the file that the
        data came from; ``encoding`` precedes it.
    progress
        Called with "write", and bytes done and in all.
    memory
        The budget of the writer, in bytes or as "512MB". Blocks in Dask's memory are not included.
    write_inherited_coords
        For a tree: whether coordinates are written to every group that inherits them.

    Examples
    --------
    >>> ncforge.to_netcdf(ds, "new.nc", codec="zstd", chunks={"time": 100})       # doctest: +SKIP
    >>> ncforge.to_netcdf(ds, "new.nc", codec="zlib", for_="series=3,map=1")      # doctest: +SKIP
    >>> ncforge.to_netcdf(next_month, "run.nc", append_dim="time")                # doctest: +SKIP
    """
    if engine not in (None, "ncforge"):
        raise ValueError(f"engine is 'ncforge' here, not {engine!r}")
    from ncforge._xarray.write import to_netcdf

    return to_netcdf(
        data,
        path,
        mode,
        format,
        group,
        encoding,
        unlimited_dims,
        compute,
        append_dim=append_dim,
        allow_overlap=allow_overlap,
        region=region,
        chunks=chunks,
        for_=for_,
        expect=expect,
        codec=codec,
        level=level,
        progress=progress,
        memory=memory,
        write_inherited_coords=write_inherited_coords,
        auto_complex=auto_complex,
    )


class NcforgeAccessor:
    """``ds.ncforge``: methods of ncforge for a dataset, an array or a tree."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def to_netcdf(self, path: Any = None, **options: Any) -> Any:
        """Writes it, see :func:`to_netcdf`."""
        return to_netcdf(self._data, path, **options)


for _register in (register_dataset_accessor, register_dataarray_accessor, register_datatree_accessor):
    _register("ncforge")(NcforgeAccessor)
