"""The part of netCDF4-python's ``utils`` that its tests import."""

from __future__ import annotations

from ncforge._dataset.masking import quantized as _quantize

__all__ = ["_quantize"]
