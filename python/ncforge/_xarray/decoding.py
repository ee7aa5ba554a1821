"""Which of xarray's decoders a variable needs.

xarray sends every variable through all of them, and each makes a new one: for a file of thousands of variables that takes
longer than reading its header several times. xarray is told, by variable, which decoders would change nothing; packed variables are
unpacked by the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xarray.backends.common import AbstractDataStore
from xarray.core.utils import FrozenDict
from xarray.core.variable import Variable

from ncforge._xarray.unpacking import unpacked

_MASKED = frozenset(("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned"))
_TIME_UNITS = frozenset(("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"))
"""As xarray knows time differences."""


def needed(variables: Mapping[Any, Variable], decode: Mapping[str, Any]) -> dict[str, Any]:
    """The decoding options of ``xr.open_dataset``, with ``False`` for variables on which a decoder does nothing."""
    if decode.get("use_cftime") is not None:
        # xarray tells people that it is deprecated where it decodes times.
        return dict(decode)
    bounds = _bounds(variables)
    plain: dict[str, set[Any]] = {"concat_characters": set(), "mask_and_scale": set(), "decode_times": set()}
    for name, variable in variables.items():
        attrs = variable.attrs
        if variable.dtype.kind not in "iuf":
            continue
        if "_Encoding" not in attrs:
            plain["concat_characters"].add(name)
        if _MASKED.isdisjoint(attrs):
            plain["mask_and_scale"].add(name)
        units = attrs.get("units")
        if name not in bounds and (units is None or is_no_time(units)):
            plain["decode_times"].add(name)
    plain["decode_timedelta"] = plain["decode_times"]
    options = dict(decode)
    for option, names in plain.items():
        asked = options.get(option)
        if not names or asked is False:
            continue
        if isinstance(asked, Mapping):
            options[option] = {**asked, **dict.fromkeys(names, False)}
        else:
            options[option] = {**dict.fromkeys(variables, asked), **dict.fromkeys(names, False)}
    return options


def _bounds(variables: Mapping[Any, Variable]) -> set[str]:
    """Variables that are bounds of others. Those of times take their units from the times."""
    return {v.attrs["bounds"] for v in variables.values() if isinstance(v.attrs.get("bounds"), str)}


def is_no_time(units: Any) -> bool:
    """Whether units are neither of a time since an epoch nor of a length of time."""
    text = str(units)
    return "since" not in text and text not in _TIME_UNITS


class Loaded(AbstractDataStore):
    """A store whose variables were made already."""

    def __init__(self, store: AbstractDataStore) -> None:
        self._store = store
        self._loaded = store.load()

    def unpack(self, asked: Any) -> None:
        """Has packed variables unpacked as they are read, where that is asked for and gives what xarray's decoders give."""
        found, attrs = self._loaded
        new = {}
        bounds = _bounds(found)
        for name, variable in found.items():
            wanted = asked.get(name, True) if isinstance(asked, Mapping) else asked
            if wanted and variable.dtype.kind in "iuf" and not _MASKED.isdisjoint(variable.attrs):
                units = variable.attrs.get("units")
                made = unpacked(variable, name not in bounds and (units is None or is_no_time(units)))
                if made is not None:
                    new[name] = made
        if new:
            self._loaded = FrozenDict({**found, **new}), attrs

    def load(self) -> Any:
        """Its variables and attributes."""
        return self._loaded

    def get_encoding(self) -> Any:
        """Its encoding."""
        return self._store.get_encoding()

    def close(self) -> None:
        """Closes it."""
        self._store.close()

    @property
    def variables(self) -> Mapping[Any, Variable]:
        """Its variables."""
        found: Mapping[Any, Variable] = self._loaded[0]
        return found
