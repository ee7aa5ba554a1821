"""Opening files for xarray."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xarray import Dataset

from ncforge._dataset.handle import handle_of
from ncforge._xarray.chunks import Blocking, Preferred
from ncforge._xarray.decoding import decoded
from ncforge._xarray.store import NcforgeDataStore, OpenFile

Remote = tuple[Mapping[str, Any] | None, Any, bool]
"""``storage_options``, ``store`` and ``follow``."""


def _store(
    source: Any, group: str | None, preferred_chunks: Preferred, auto_complex: bool | None, remote: Remote
) -> NcforgeDataStore:
    # A wrong size is reported at once, and not at the first chunked variable of a file.
    blocking = Blocking.of(preferred_chunks)
    if isinstance(source, NcforgeDataStore):
        return source if group is None else source.get_child_store(group)
    return NcforgeDataStore(OpenFile(handle_of(source, *remote)), group, blocking, auto_complex)


def open_dataset(
    source: Any,
    drop_variables: str | Iterable[str] | None,
    group: str | None,
    preferred_chunks: Preferred,
    auto_complex: bool | None,
    remote: Remote = (None, None, True),
    **decode: Any,
) -> Dataset:
    """One group as a dataset."""
    return _decoded(_store(source, group, preferred_chunks, auto_complex, remote), drop_variables, decode)


def _decoded(store: NcforgeDataStore, drop_variables: str | Iterable[str] | None, decode: dict[str, Any]) -> Dataset:
    with _nothing_collected():
        return decoded(store, drop_variables, decode)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Disables the cyclic garbage collector, which Python runs each time that some hundred objects were made. Opening makes
    dozens for every variable, and none of them is garbage: with 2,000 variables, the collector took two fifths of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def open_groups(
    source: Any,
    drop_variables: str | Iterable[str] | None,
    group: str | None,
    preferred_chunks: Preferred,
    auto_complex: bool | None,
    remote: Remote = (None, None, True),
    **decode: Any,
) -> dict[str, Dataset]:
    """A group and all groups below it, by their paths from that group."""
    root = _store(source, None, preferred_chunks, auto_complex, remote)
    path = "/" + (group or "").strip("/")
    found: dict[str, Dataset] = {}
    for below in root.file.below(root.file.group(path), path):
        name = "/" + below[len(path.rstrip("/")) :].strip("/")
        store = NcforgeDataStore(root.file, below, root.blocking, auto_complex)
        found[name if not group else name.strip("/") or "."] = _decoded(store, drop_variables, decode)
    return found
