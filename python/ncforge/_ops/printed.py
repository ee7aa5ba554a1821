"""The output of ``print`` for datasets, groups, variables, dimensions and types: facts and layout as in netCDF4-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ncforge._core import shown
from ncforge._dataset.masking import default_fillvals
from ncforge.types import EnumType, UserType, VLType

if TYPE_CHECKING:
    from ncforge.dataset import Group
    from ncforge.dimension import Dimension
    from ncforge.variable import Variable

__all__ = ["dimension_text", "group_text", "type_text", "variable_text"]


def _class(of: object) -> str:
    """The type of an object by its public name."""
    kind = next(k for k in type(of).__mro__ if not k.__name__.startswith("_"))
    public = kind.__module__.partition(".")[0] == "ncforge"
    return f"<class 'ncforge.{kind.__name__}'>" if public else repr(kind)


def _each(words: str | list[str]) -> str:
    """A word; for many files read as one, each different word once."""
    return words if isinstance(words, str) else ", ".join(dict.fromkeys(words))


def group_text(group: Group) -> str:
    """A dataset or a group: attributes, dimensions with lengths, variables with dimensions, groups."""
    core = group._core
    if not core.is_open():
        return f"{_class(group)}\n`{shown(core.path)}` (closed)"
    head = f"group {group.path}:"
    if group.path == "/":
        head = f"root group ({_each(group.data_model)} data model, file format {_each(group.disk_format)}):"
    dims = (f"{name}({len(dim)})" for name, dim in group.dimensions.items())
    variables = (f"{_dtype(v)} {name}({', '.join(v.dimensions)})" for name, v in group.variables.items())
    return "\n".join(
        (
            _class(group),
            head,
            *_attributes(group),
            f"    dimensions(sizes): {', '.join(dims)}",
            f"    variables(dimensions): {', '.join(variables)}",
            f"    groups: {', '.join(group.groups)}",
        )
    )


def variable_text(variable: Variable) -> str:
    """A variable: type and dimensions, attributes, unlimited dimensions, shape, fill value."""
    if not variable._core.is_open():
        return f"{_class(variable)}\n{variable.name} (of `{shown(variable._core.path)}`, which is closed)"
    kind = _kind(variable)
    lines = [_class(variable), f"{kind or _dtype(variable)} {variable.name}({', '.join(variable.dimensions)})"]
    lines += _attributes(variable)
    if kind:
        lines.append(f"{kind} data type: {_dtype(variable)}")
    path = variable.group().path
    if path != "/":
        lines.append(f"path = {path}")
    unlimited = (dim.name for dim in variable.get_dims() if dim.isunlimited())
    lines.append(f"unlimited dimensions: {', '.join(unlimited)}")
    lines.append(f"current shape = {variable.shape!r}")
    if not kind:
        lines.append(_filling(variable))
    return "\n".join(lines)


def _attributes(of: Any) -> list[str]:
    # Formatted, a number of NumPy would have the digits of Python's float.
    return [f"    {name}: {of.getncattr(name)!s}" for name in of.ncattrs()]


def _kind(variable: Variable) -> str:
    """The kind of a type that is not simply that of numbers or characters; empty for those."""
    name = variable._kind
    if isinstance(name, str):
        return "vlen" if name == "str" else ""
    return str(variable._types.info(name)["kind"])


def _dtype(variable: Variable) -> str:
    kind = variable.datatype
    return str(kind.dtype if isinstance(kind, UserType) else kind)


def _filling(variable: Variable) -> str:
    if not variable._core.fills(variable._var_id):
        return "filling off"
    if "_FillValue" in variable.ncattrs():
        return "filling on"
    code = variable.dtype.str[1:]
    # For bytes, every value may be valid.
    use = "ignored" if code in ("u1", "i1") else "used"
    return f"filling on, default _FillValue of {default_fillvals[code]} {use}"


def dimension_text(dim: Dimension) -> str:
    """A dimension: its name and its length."""
    unlimited = " (unlimited)" if dim.isunlimited() else ""
    size = str(dim.size) if dim._group._core.is_open() else "unknown (the dataset is closed)"
    return f"\"{_class(dim)}\"{unlimited}: name = '{dim.name}', size = {size}"


def type_text(kind: UserType) -> str:
    """A user-defined type: its name and the NumPy type of its values."""
    text = f"name = '{kind.name}', numpy dtype = {kind.dtype}"
    match kind:
        case VLType(_id="str"):
            return f'"{_class(kind)}": string type'
        case EnumType():
            return f'"{_class(kind)}": {text}, fields/values ={kind.enum_dict}'
        case VLType():
            return f'"{_class(kind)}": {text}'
        case _:
            return f"{_class(kind)}: {text}"
