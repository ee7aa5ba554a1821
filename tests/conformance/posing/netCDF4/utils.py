"""What netCDF4-python's tests import of its ``utils``."""

from __future__ import annotations

from ncforge._masking import quantized as _quantize

__all__ = ["_quantize"]
