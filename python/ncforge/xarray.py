"""xarray: the engine "ncforge", and writing.

>>> import xarray as xr
>>> ds = xr.open_dataset("sst.nc", engine="ncforge", chunks={})  # doctest: +SKIP

xarray imports this module when it looks for engines, with every program: nothing heavy is loaded here, and nothing
here can fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xarray.backends import BackendEntrypoint

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

    from ncforge._xarray.chunks import Preferred

__all__ = ["NcforgeBackendEntrypoint"]

_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_EXTENSIONS = (".nc", ".nc4", ".cdf", ".nc3", ".nc5", ".netcdf")


def _is_netcdf(source: Any) -> bool:
    """Whether these bytes, or what this object reads, begin like netCDF. The object's position stays as it was."""
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
    return magic == _HDF5 or magic[:4] in _CLASSIC


def _user_blocks(end: int) -> list[int]:
    """Where HDF5 may begin other than at 0: 512 bytes, and doubling (HDF5 File Format Specification, II.A)."""
    at, found = 512, []
    while at + 8 <= end:
        found.append(at)
        at *= 2
    return found


class NcforgeBackendEntrypoint(BackendEntrypoint):
    """The engine "ncforge": classic netCDF and netCDF-4 files, bytes, and file objects.

    Reading takes no lock. What is indexed with arrays is picked where the bytes are decoded, each chunk once. Lazy
    arrays travel to other processes; a file that changed meanwhile is noticed.

    Parameters of ``xarray.open_dataset(..., engine="ncforge")`` besides those of every engine
    -----------------------------------------------------------------------------------------
    group
        Path of the group to open.
    preferred_chunks
        What ``chunks={}`` and ``chunks="auto"`` go by: "disk", the stored chunks; "auto", multiples of them of about
        64 MiB; or a size such as "16MiB".
    lock
        Accepted for the sake of programs that pass one, and not used.
    """

    description = "Open classic netCDF and netCDF-4 files with ncforge, without a lock"
    url = "https://pypi.org/project/ncforge/"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it looks like netCDF: by its first bytes, or by its name if they cannot be read."""
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
        except Exception:  # xarray asks with anything at all
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
        preferred_chunks: Preferred = "disk",
    ) -> Dataset:
        """One group as a dataset of lazy variables."""
        from ncforge._xarray.engine import open_dataset

        return open_dataset(
            filename_or_obj,
            drop_variables,
            group,
            preferred_chunks,
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
        preferred_chunks: Preferred = "disk",
    ) -> dict[str, Dataset]:
        """A group and all below it as datasets, by their paths."""
        from ncforge._xarray.engine import open_groups

        return open_groups(
            filename_or_obj,
            drop_variables,
            group,
            preferred_chunks,
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
        """A group and all below it as a tree."""
        from xarray.backends.common import datatree_from_dict_with_io_cleanup

        groups = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **options)
        return datatree_from_dict_with_io_cleanup(groups)
