"""Decodes the stored variables of a file to a dataset, with the results of xarray.

xarray passes every variable to all of its decoders, each of which makes a new one; then it merges all variables as if they came
from different datasets. For a file of thousands of variables that takes several times as long as reading its header. Here the
engine unpacks packed variables, variables that no decoder would change are not decoded, and the dataset is made from the
results, which are checked as xarray checks them. All other variables are decoded by xarray's own decoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xarray import Coordinates, Dataset, conventions
from xarray.backends.common import NONE_VAR_NAME
from xarray.core.variable import Variable

from ncforge._core import ATTRIBUTES
from ncforge._xarray.store import NcforgeDataStore, Stored
from ncforge._xarray.unpacking import unpacked

_MASKED = frozenset(ATTRIBUTES["packing"])
_TIME_UNITS = frozenset(("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"))
"""The type of time differences in xarray."""
_SPECIAL = frozenset(("_Encoding", "dtype", "coordinates"))
"""Attributes that decoders use for numbers that are neither packed nor times."""

# Internal to xarray: without it, xarray merges.
_construct = getattr(Dataset, "_construct_direct", None)


def decoded(store: NcforgeDataStore, drop_variables: str | Iterable[str] | None, decode: Mapping[str, Any]) -> Dataset:
    """One group as a dataset."""
    # As in ``AbstractDataStore.load``: objects without a name in xarray have one in files.
    stored = {None if name == NONE_VAR_NAME else name: one for name, one in store.stored().items()}
    bounds = _bounds(stored)
    _unpack(stored, bounds, decode.get("mask_and_scale"))
    variables = {name: one.variable() for name, one in stored.items()}
    options, plain = _needed(stored, bounds, decode)
    dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
    # Decoders need all variables in order to decode some of them.
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
    """The dataset of decoded variables; coordinates are those that are ``named``, and those with the name of a dimension, which need
    not be their own. Without indexes."""
    data: dict[Any, Variable] = {}
    coords: dict[Any, Variable] = {}
    for name, one in variables.items():
        (coords if name in named or one.dims == (name,) else data)[name] = one
    # A variable of two dimensions with the name of one of them: xarray raises its own error.
    if _construct is None or any(name in one.dims for name, one in data.items()):
        return Dataset(data, coords=Coordinates(coords, indexes={}), attrs=attrs)
    dims = {dim for one in variables.values() for dim in one.dims}
    made: Dataset = _construct(
        {**data, **coords}, coords.keys() | (data.keys() & dims), attrs=dict(attrs) if attrs else None
    )
    return made


def _needed(
    stored: Mapping[Any, Stored], bounds: set[str], decode: Mapping[str, Any]
) -> tuple[dict[str, Any], set[Any]]:
    """The decoding options of ``xr.open_dataset``, with ``False`` for variables that a decoder does not change; and the
    variables that none changes.
    """
    options = dict(decode)
    if decode.get("use_cftime") is not None:
        # xarray issues a deprecation warning where it decodes times.
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
    """Variables that are bounds of others. Bounds of times have the units of the times."""
    return {one.attrs["bounds"] for one in stored.values() if isinstance(one.attrs.get("bounds"), str)}


def is_no_time(units: Any) -> bool:
    """Whether units are neither those of a time since an epoch nor those of a duration."""
    text = str(units)
    return "since" not in text and text not in _TIME_UNITS


def _unpack(stored: dict[Any, Stored], bounds: set[str], asked: Any) -> None:
    """Replaces packed variables by ones that are unpacked when they are read, where that is requested and gives the results of
    xarray's decoders."""
    for name, one in stored.items():
        wanted = asked.get(name, True) if isinstance(asked, Mapping) else asked
        if wanted and one.array.dtype.kind in "iuf" and not _MASKED.isdisjoint(one.attrs):
            units = one.attrs.get("units")
            made = unpacked(one, name not in bounds and (units is None or is_no_time(units)))
            if made is not None:
                stored[name] = made
