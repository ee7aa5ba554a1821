"""From what a file stores to a dataset, as xarray decodes it.

xarray sends every variable through all of its decoders, and each makes a new one; then it merges all of them as if they came from
different datasets. For a file of thousands of variables that takes several times as long as reading its header. So packed variables are
unpacked by the engine, variables on which no decoder would do anything pass them by, and the dataset is made of what
came out, which is checked as xarray checks it. The others go through xarray's own decoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xarray import Coordinates, Dataset, conventions
from xarray.backends.common import NONE_VAR_NAME
from xarray.core.variable import Variable

from ncforge._xarray.store import NcforgeDataStore, Stored
from ncforge._xarray.unpacking import unpacked

_MASKED = frozenset(("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned"))
_TIME_UNITS = frozenset(("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"))
"""As xarray knows time differences."""
_SPECIAL = frozenset(("_Encoding", "dtype", "coordinates"))
"""Attributes that decoders look for in numbers that are neither packed nor times."""

# Inside of xarray: without it, xarray merges.
_construct = getattr(Dataset, "_construct_direct", None)


def decoded(store: NcforgeDataStore, drop_variables: str | Iterable[str] | None, decode: Mapping[str, Any]) -> Dataset:
    """One group as a dataset."""
    # As ``AbstractDataStore.load`` does it: what has no name in xarray has one in files.
    stored = {None if name == NONE_VAR_NAME else name: one for name, one in store.stored().items()}
    bounds = _bounds(stored)
    _unpack(stored, bounds, decode.get("mask_and_scale"))
    variables = {name: one.variable() for name, one in stored.items()}
    options, plain = _needed(stored, bounds, decode)
    dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
    # Decoders look at all variables for what they need to know of some.
    made, attrs, coordinates = conventions.decode_cf_variables(
        variables, store.get_attrs(), drop_variables=dropped | plain, **options
    )
    if plain:
        made = {name: made.get(name, one) for name, one in variables.items() if name not in dropped}
    found = _dataset(made, attrs, coordinates)
    found.set_close(store.close)
    found.encoding = store.get_encoding()
    return found


def _dataset(variables: Mapping[Any, Variable], attrs: Mapping[Any, Any], named: set[Any]) -> Dataset:
    """The dataset of decoded variables; coordinates are those that are ``named``, and those of dimensions. No index is made."""
    data: dict[Any, Variable] = {}
    coords: dict[Any, Variable] = {}
    for name, one in variables.items():
        (coords if name in named or one.dims == (name,) else data)[name] = one
    # A variable of two dimensions that is called like one of them: xarray tells what it thinks of it.
    if _construct is None or any(name in one.dims for name, one in data.items()):
        return Dataset(data, coords=Coordinates(coords, indexes={}), attrs=attrs)
    made: Dataset = _construct({**data, **coords}, set(coords), attrs=dict(attrs) if attrs else None)
    return made


def _needed(
    stored: Mapping[Any, Stored], bounds: set[str], decode: Mapping[str, Any]
) -> tuple[dict[str, Any], set[Any]]:
    """The decoding options of ``xr.open_dataset``, with ``False`` for variables on which a decoder does nothing; and the
    variables on which none does anything.
    """
    options = dict(decode)
    if decode.get("use_cftime") is not None:
        # xarray tells people that it is deprecated where it decodes times.
        return options, set()
    idle: dict[str, set[Any]] = {"concat_characters": set(), "mask_and_scale": set(), "decode_times": set()}
    plain = set()
    for name, one in stored.items():
        attrs = one.attrs
        if one.array.dtype.kind not in "iuf":
            continue
        if "_Encoding" not in attrs:
            idle["concat_characters"].add(name)
        unmasked = _MASKED.isdisjoint(attrs)
        if unmasked:
            idle["mask_and_scale"].add(name)
        units = attrs.get("units")
        if name not in bounds and (units is None or is_no_time(units)):
            idle["decode_times"].add(name)
            if unmasked and _SPECIAL.isdisjoint(attrs):
                plain.add(name)
    idle["decode_timedelta"] = idle["decode_times"]
    if decode.get("decode_coords") == "all":
        # Any attribute may name coordinates.
        plain = set()
    for option, names in idle.items():
        asked = options.get(option)
        names = names - plain
        if not names or asked is False:
            continue
        if isinstance(asked, Mapping):
            options[option] = {**asked, **dict.fromkeys(names, False)}
        else:
            options[option] = {**dict.fromkeys(stored, asked), **dict.fromkeys(names, False)}
    return options, plain


def _bounds(stored: Mapping[Any, Stored]) -> set[str]:
    """Variables that are bounds of others. Those of times take their units from the times."""
    return {one.attrs["bounds"] for one in stored.values() if isinstance(one.attrs.get("bounds"), str)}


def is_no_time(units: Any) -> bool:
    """Whether units are neither of a time since an epoch nor of a length of time."""
    text = str(units)
    return "since" not in text and text not in _TIME_UNITS


def _unpack(stored: dict[Any, Stored], bounds: set[str], asked: Any) -> None:
    """Has packed variables unpacked as they are read, where that is asked for and gives what xarray's decoders give."""
    for name, one in stored.items():
        wanted = asked.get(name, True) if isinstance(asked, Mapping) else asked
        if wanted and one.array.dtype.kind in "iuf" and not _MASKED.isdisjoint(one.attrs):
            units = one.attrs.get("units")
            made = unpacked(one, name not in bounds and (units is None or is_no_time(units)))
            if made is not None:
                stored[name] = made
