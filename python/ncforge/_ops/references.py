"""References to the chunks of files, ``ncforge refs``, as a function; as JSON, as a dictionary, or as Parquet files."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Any, overload

from ncforge import _core
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, names, only
from ncforge.errors import ExistsError

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from ncforge._core import _Arrays
    from ncforge._ops.options import EngineOptions, Selection

    class ReferenceOptions(EngineOptions, total=False):
        """Options of :func:`references`."""

        along: str | None
        unsorted: bool
        inline: str | int | None
        base: str | None
        vars: Iterable[str] | None
        select: Selection | None
        format: str | None


#: References in a Parquet file, as kerchunk has it.
RECORDS = 10_000

_GROUPS = (
    'Parquet references with groups: xarray\'s engine "kerchunk" does not open them, and fsspec does with lazy=True alone; '
    "write JSON, which all readers open"
)


@dataclass(frozen=True)
class ReferencesReport:
    """The contents of references."""

    files: int
    """Files that were given."""
    variables: int
    chunks: int
    """Chunks that are ranges of bytes of the files."""
    inlined: int
    """Chunks whose bytes are in the references themselves."""
    along: str | None
    """The dimension along which files were joined."""
    seconds: float
    left_out: list[dict[str, str]] = field(default_factory=list)
    """Variables that references cannot express, each with its name and the reason."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""


@overload
def references(
    source: Path | Iterable[Path],
    output: None = None,
    *,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **options: Unpack[ReferenceOptions],
) -> dict[str, Any]: ...
@overload
def references(
    source: Path | Iterable[Path],
    output: Path,
    *,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **options: Unpack[ReferenceOptions],
) -> ReferencesReport: ...
def references(
    source: Path | Iterable[Path],
    output: Path | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **options: Unpack[ReferenceOptions],
) -> dict[str, Any] | ReferencesReport:
    """Makes references to the chunks of files, which readers of Zarr open as one dataset.

    Parameters
    ----------
    source
        The file, or files to be joined along a dimension, as :func:`ncforge.concat` joins them.
    output
        Where to write: a folder of Parquet files if the name ends in ``.parquet`` or ``.parq`` (this needs
        pyarrow; reading them needs pandas and fastparquet), a netCDF file (``format="cf"``) if it ends in ``.nc``, a JSON file
        otherwise. ``None``: the document is returned as a dictionary.
    overwrite
        Whether an existing output may be replaced.
    along
        The dimension along which several files are joined; by default the unlimited one, else the first whose length
        differs.
    unsorted
        Whether files are joined in the order in which they are given, even if the values of the dimension's coordinate do
        not go on from file to file.
    inline
        A variable of at most this many bytes is stored in the references themselves; "64K" by default.
    base
        The folder or URL under which readers will find the files; where they are now by default.
    vars
        Only these variables, by path.
    select
        Only these indices along dimensions, as for :func:`ncforge.copy`; along the joined dimension those of all files together.
    format
        "kerchunk", or "cf": a netCDF file with aggregation variables of the CF conventions, whose fragments are the
        variables of the files. :func:`xarray.open_dataset` opens it with ``engine="ncforge"``.
    threads, memory, follow
        As for :func:`ncforge.copy`.
    progress
        ``True`` for a bar, or a function that is called with (stage, done, total).

    Warns
    -----
    UserWarning
        For each variable that references cannot express, with the reason; for groups in Parquet, which few readers open; and for
        each remark, if there is no report.

    >>> refs = ncforge.references("sst.nc")  # doctest: +SKIP
    >>> xr.open_dataset("reference://", engine="zarr", backend_kwargs={
    ...     "consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}})  # doctest: +SKIP
    """
    paths = names(source)
    request = given(options)
    if output is not None and not overwrite and os.path.exists(output):
        raise ExistsError(f"`{os.fspath(output)}` exists (hint: overwrite=True replaces it)")
    with reporter(progress) as call:
        document = None
        if output is not None and LocalPath(output).suffix in {".parquet", ".parq"} and request.get("format") != "cf":
            text, arrays = _core.reference_arrays(paths, request, call)
            about = json.loads(text)
            if any(group["path"] for group in about["groups"]):
                warnings.warn(_GROUPS, stacklevel=2)
            _write_parquet(LocalPath(output), about, arrays, overwrite)
        else:
            document, text = _core.references(paths, output, overwrite, request, call)
    raw = json.loads(text)
    report = only(ReferencesReport, {**raw, "raw": raw})
    for one in report.left_out:
        warnings.warn(f"`{one['name']}` is not in the references: {one['why']}", stacklevel=2)
    if document is None:
        return report
    for note in report.notes:
        warnings.warn(note, stacklevel=2)
    made: dict[str, Any] = json.loads(document)
    return made


def _write_parquet(output: LocalPath, about: dict[str, Any], arrays: _Arrays, overwrite: bool) -> None:
    """Writes the folder under a temporary name, and gives it its own when it is complete."""
    try:
        from pyarrow import parquet
    except ImportError as e:
        raise ImportError("writing Parquet references needs pyarrow: pip install pyarrow") from e
    partial = output.with_name(f".{output.name}.ncforge-partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        metadata: dict[str, Any] = {}
        for group in about["groups"]:
            at = f"{group['path']}/" if group["path"] else ""
            metadata[f"{at}.zgroup"] = {"zarr_format": 2}
            metadata[f"{at}.zattrs"] = json.loads(group["zattrs"])
        for path, zarray, zattrs, *_ in arrays:
            metadata[f"{path}/.zarray"] = json.loads(zarray)
            metadata[f"{path}/.zattrs"] = json.loads(zattrs)
        for array in arrays:
            folder = partial / array[0]
            folder.mkdir(parents=True, exist_ok=True)
            for record, table in enumerate(_tables(array, about["locations"])):
                parquet.write_table(table, folder / f"refs.{record}.parq", compression="zstd")
        (partial / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": RECORDS}))
        if overwrite and output.exists():
            shutil.rmtree(output) if output.is_dir() else output.unlink()
        partial.rename(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _tables(array: tuple[Any, ...], locations: list[str]) -> Iterator[pa.Table]:
    """The references of one array, 10,000 in each table, in the order of its chunk grid.

    A column without a value would have no type, and is left out. Names of files are no dictionary type: pandas reads an absent
    one as NaN, which readers of references take for a name.
    """
    import numpy as np
    import pyarrow as pa

    _, _, _, files, offsets, lengths, inlined = array
    for begin in range(0, len(files), RECORDS):
        part = slice(begin, begin + RECORDS)
        where = files[part]
        in_file = where >= 0
        columns: list[tuple[pa.Field, Any]] = []
        if in_file.any() or not inlined:
            # Readers take numbers that may be absent for floats.
            columns += [
                (pa.field("path", pa.string()), [locations[i] if i >= 0 else None for i in where.tolist()]),
                (pa.field("offset", pa.int64(), nullable=False), np.where(in_file, offsets[part], 0).astype("int64")),
                (pa.field("size", pa.int64(), nullable=False), np.where(in_file, lengths[part], 0).astype("int64")),
            ]
        if inlined:
            raw = [inlined.get(i) for i in range(begin, begin + len(where))]
            columns.append((pa.field("raw", pa.binary()), raw))
        schema = pa.schema([field for field, _ in columns])
        yield pa.table([pa.array(values, field.type) for field, values in columns], schema=schema)
