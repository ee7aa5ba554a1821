"""Complex numbers, which netCDF does not have, stored as pairs: in a compound, or along a last dimension of length 2.

The names are those of the nc-complex library, which netCDF4-python uses (``auto_complex=True``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ncforge._dataset.attributes import put_own
from ncforge._dataset.index import expand
from ncforge._dataset.masking import default_fill
from ncforge._dataset.values import TypeName, Types
from ncforge.errors import InvalidError
from ncforge.variable import Variable

if TYPE_CHECKING:
    from ncforge._dataset.view import Layout
    from ncforge.dataset import Group
    from ncforge.dimension import Dimension

__all__ = ["ComplexVariable", "complex_type", "fill_of", "joined", "lies_along", "pair_of", "storage_of", "variable_of"]

_DIMENSIONS = ("_pfnc_complex", "complex", "ri")
_COMPOUNDS = {"f8": "_PFNC_DOUBLE_COMPLEX_TYPE", "f4": "_PFNC_FLOAT_COMPLEX_TYPE"}
_FLOATS = {"c16": "f8", "c8": "f4"}


def complex_type(datatype: Any) -> str | None:
    """The type of the parts of a complex type that netCDF can store: "f4" or "f8"; ``None`` for other types.

    >>> complex_type("c16"), complex_type(np.complex64), complex_type("f8")
    ('f8', 'f4', None)
    """
    if (
        datatype is not complex
        and not isinstance(datatype, str | np.dtype)
        and not (isinstance(datatype, type) and issubclass(datatype, np.generic))
    ):
        return None
    try:
        dtype = np.dtype(datatype)
    except TypeError:
        return None
    return _FLOATS.get(dtype.str[1:])


def storage_of(group: Group, part: str) -> tuple[Any, list[Dimension]]:
    """The type that stores complex numbers with such parts, and the dimensions to add. They are defined in the root group if
    they do not exist.
    """
    root = group._root()
    if group._core.format() == "NETCDF4":
        for found in root.cmptypes.values():
            if pair_of(group._types, found._id) == part:
                return found, []
        return root.createCompoundType(np.dtype([("r", part), ("i", part)]), _COMPOUNDS[part]), []
    for name in _DIMENSIONS:
        there = root.dimensions.get(name)
        if there is not None and len(there) == 2 and not there.isunlimited():
            return part, [there]
    return part, [root.createDimension(_DIMENSIONS[0], 2)]


def fill_of(fill: Any, part: str, along: bool) -> Any:
    """A fill value for pairs: one number along a dimension, a pair in a compound.

    >>> fill_of(1 + 2j, "f8", False).tolist()
    (1.0, 2.0)
    >>> fill_of(-1, "f8", True), fill_of(-1 - 1j, "f8", True)
    (-1.0, -1.0)
    """
    if fill is None or fill is False:
        return fill
    if isinstance(fill, str) and fill == "default":
        value = complex(*[default_fill(np.dtype(part))] * (1 if along else 2))
    else:
        # One number, also in an array.
        value = complex(np.asarray(fill).reshape(-1)[0])
    if not along:
        return np.array((value.real, value.imag), [("r", part), ("i", part)])
    both = value.imag == value.real or (np.isnan(value.imag) and np.isnan(value.real))
    if value.imag != 0 and not both:
        raise InvalidError(f"both parts of a number have the same fill value here, which cannot be {value}")
    return value.real


def pair_of(types: Types, kind: TypeName) -> str | None:
    """The type of the parts, if this is a compound of a real and an imaginary part."""
    if isinstance(kind, str):
        return None
    info = types.info(kind)
    fields = info.get("fields", ())
    if info["kind"] != "compound" or len(fields) != 2:
        return None
    (real, _, of, shape), (imaginary, _, of_other, shape_other) = fields
    is_pair = real[:1].lower() == "r" and imaginary[:1].lower() == "i" and of == of_other and of in _COMPOUNDS
    return of if is_pair and not shape and not shape_other else None


def variable_of(group: Group, ident: int, name: str, kind: TypeName, dims: list[int]) -> Variable:
    """An existing variable: one of complex numbers if they are enabled and it stores them."""
    plain = Variable.__new__(Variable)
    plain._fill(group, ident, name, kind, dims)
    if not group._contents.auto_complex:
        return plain
    part = pair_of(group._types, kind)
    if part is not None:
        return ComplexVariable._over(plain, part, False)
    if dims and lies_along(kind, group._contents.dim(dims[-1])) and plain.shape[-1] == 2:
        return ComplexVariable._over(plain, str(kind), True)
    return plain


def lies_along(kind: TypeName, last: tuple[str, int, bool]) -> bool:
    """Whether numbers of this type are parts of complex ones if this last dimension (name, group, unlimited) has length 2."""
    return kind in _COMPOUNDS and last[0] in _DIMENSIONS and not last[2]


def joined(pairs: npt.NDArray[Any], dtype: np.dtype[Any], along: bool) -> npt.NDArray[Any]:
    """Complex numbers from pairs."""
    if along:
        return np.ascontiguousarray(pairs).view(dtype)[..., 0]
    names = pairs.dtype.names
    assert names is not None
    part = np.dtype(f"f{dtype.itemsize // 2}")
    if pairs.dtype.itemsize == dtype.itemsize and pairs.dtype == np.dtype([(name, part) for name in names]):
        # They are stored as in NumPy.
        return pairs.view(dtype)
    out = np.empty(pairs.shape, dtype)
    out.real, out.imag = pairs[names[0]], pairs[names[1]]
    return out


class ComplexVariable(Variable):
    """A variable of complex numbers over one of pairs.

    A read gives an array of complex numbers. For pairs along a dimension, numbers with a missing part are masked;
    compounds have no missing values.
    """

    __slots__ = ("_along", "_part", "_stored")

    _along: bool
    """Whether the parts are stored along a last dimension (else in a compound)."""
    _part: str
    _stored: Variable

    @classmethod
    def _over(cls, stored: Variable, part: str, along: bool) -> ComplexVariable:
        new = cls.__new__(cls)
        dims = stored._dims[:-1] if along else stored._dims
        new._fill(stored._group, stored._var_id, stored.name, stored._kind, dims)
        put_own(new, _stored=stored, _part=part, _along=along)
        return new

    @property
    def dtype(self) -> np.dtype[Any]:
        """``complex64`` or ``complex128``."""
        return np.result_type(np.complex64, self._part)

    @property
    def datatype(self) -> Any:
        """The complex type."""
        return self.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its current shape, without the parts."""
        return super().shape[: self.ndim]

    def chunking(self) -> str | list[int] | None:
        """Its chunk lengths, without the parts; see :meth:`Variable.chunking`."""
        found = super().chunking()
        return found[: self.ndim] if isinstance(found, list) else found

    @property
    def layout(self) -> Layout:
        """The layout of the parts in the file."""
        return self._stored.layout

    def get_fill_value(self) -> Any:
        """The value of both parts if they were never written; a pair for compounds; ``None`` if they are not filled."""
        return self._stored.get_fill_value()

    def _of_pairs(self, key: Any, growing: bool = False) -> Any:
        """The selection of the stored pairs."""
        if not self._along:
            return key
        unlimited = [dim.isunlimited() for dim in self.get_dims()] if growing else None
        return (*expand(key, self.shape, self.name, unlimited), slice(None))

    def _joined(self, pairs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return joined(pairs, self.dtype, self._along)

    def __getitem__(self, key: Any) -> Any:
        pairs = self._stored[self._of_pairs(key)]
        if not isinstance(pairs, np.ma.MaskedArray):
            return self._joined(pairs)
        mask = np.ma.getmaskarray(pairs).any(axis=-1) if np.ma.is_masked(pairs) else np.ma.nomask
        return np.ma.MaskedArray(self._joined(pairs.data), mask)

    def read(self, key: Any = ..., *, out: np.ndarray | None = None) -> Any:
        """Read a selection as stored: nothing is masked or scaled. See :meth:`Variable.read`."""
        return self._joined(self._stored.read(self._of_pairs(key))) if out is None else self.read_into(out, key)

    def read_into(self, out: np.ndarray, key: Any = ...) -> np.ndarray:
        """Read a selection into an array of its type and shape, and return it. See :meth:`Variable.read_into`."""
        values = self.read(key)
        if out.dtype != values.dtype or out.shape != values.shape:
            raise ValueError(
                f"{self.name!r}: the selection is {values.dtype} of shape {values.shape}, "
                f"the destination {out.dtype} of shape {out.shape}"
            )
        out[...] = values
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        self._stored[self._of_pairs(key, growing=True)] = self._pairs(value)

    def _put(self, key: Any, value: Any, truncate: bool = False) -> None:
        self._stored._put(self._of_pairs(key, growing=True), self._pairs(value), truncate)

    def _pairs(self, value: Any) -> Any:
        """Complex numbers as they are stored."""
        mask = np.ma.getmask(value)
        numbers = np.array(np.ma.getdata(value), self.dtype, order="C")
        if not self._along:
            if np.any(mask):
                raise InvalidError("masked complex numbers: fill them before writing (`.filled(value)`)")
            pairs: Any = np.empty(numbers.shape, self._types.dtype(self._kind))
            assert pairs.dtype.names is not None
            for name, part in zip(pairs.dtype.names, (numbers.real, numbers.imag), strict=True):
                pairs[name] = part
        else:
            pairs = numbers[..., None].view(self._part)
            if mask is not np.ma.nomask:
                pairs = np.ma.MaskedArray(pairs, np.repeat(mask[..., None], 2, axis=-1))
        return pairs

    def _repr_html_(self) -> str:
        from ncforge._dataset.view import html

        return html(self._stored)
