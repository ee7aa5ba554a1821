"""The exceptions of ncforge.

Each is a :class:`NcforgeError` and also the built-in exception that a Python programmer expects, so that
``except OSError`` or ``except KeyError`` work as usual. What a file does not allow, or does not have, is also what
netCDF4-python raises, whose exceptions differ from call to call: one class of ncforge is all of them.
"""

from __future__ import annotations

import errno as errno_codes
import sys
import warnings
from types import FrameType


class NcforgeError(Exception):
    """The base class of all errors of ncforge."""


class IoError(NcforgeError, OSError):
    """The operating system refused a request."""

    def __str__(self) -> str:
        # Python would add the path, which the message has.
        return super().__str__() if self.errno is None else f"[Errno {self.errno}] {self.strerror}"


class MissingFileError(IoError, FileNotFoundError):
    """There is no such file."""


class AccessError(IoError, PermissionError):
    """The system does not allow it."""


class TimeOutError(IoError, TimeoutError):
    """A server did not answer in time."""


class LockedError(IoError, BlockingIOError):
    """Another program, or another dataset of this one, has the file open and excludes this use of it."""


class UnlockedWarning(UserWarning):
    """A file was written on a file system that has no locks: two writers are not detected."""


class DamagedWarning(UserWarning):
    """A file is damaged, and what is left of it is read; the message says what may be lost."""


class CorruptError(NcforgeError, OSError):
    """The bytes do not follow their format; the message says where."""


class ChangedError(NcforgeError, OSError):
    """A file was replaced, or written to, after it was opened."""


class NotNetcdfError(NcforgeError, OSError):
    """The file has none of the formats that ncforge reads."""


class UnsupportedError(NcforgeError, OSError):
    """Legal, but not supported; the message names the feature."""


class UnsupportedCallError(UnsupportedError, NotImplementedError):
    """A call that is not possible in this form; the message says which one is."""


class _PlainKeyError(KeyError):
    """Prints its message; ``KeyError`` prints the repr of it."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotFoundError(NcforgeError, _PlainKeyError, IndexError, ValueError, RuntimeError):
    """A name that is not in the file."""


class NoSuchAttributeError(NotFoundError, AttributeError):
    """An attribute that is not in the file."""


class NotRepresentableError(NcforgeError, OSError, ValueError, RuntimeError):
    """The target format cannot hold this."""


class InvalidError(NcforgeError, ValueError, RuntimeError):
    """A request that this file does not allow."""


class ReadOnlyError(InvalidError, AttributeError):
    """An attempt to change a dataset that is open for reading."""


class NoSuchTypeError(InvalidError, _PlainKeyError):
    """A type that is not available here."""


class RefusedAttributeError(InvalidError, AttributeError):
    """An attribute that cannot be had or set in this way."""


class FixedAttributeError(RefusedAttributeError):
    """An attribute that is set when its variable is defined, and not after."""


class ExistsError(NcforgeError, FileExistsError):
    """The output exists, and overwriting was not asked for."""


class BudgetError(NcforgeError, MemoryError):
    """The memory budget is too small for the smallest unit of work."""


class OutOfMemoryError(NcforgeError, MemoryError):
    """The system does not give the memory that a result, or a part of the work, needs."""


class InterruptedCopyError(NcforgeError):
    """The work was stopped; completed steps are saved and the work can be resumed."""


class VerifyError(NcforgeError):
    """A verification found a difference."""


class InternalError(NcforgeError, RuntimeError):
    """A bug in ncforge."""


class SelectionError(NcforgeError, IndexError, ValueError):
    """An index out of range, or of a kind that is not supported."""


_CLASSES: dict[str, type[NcforgeError]] = {
    c.__name__: c
    for c in (
        IoError,
        CorruptError,
        NotNetcdfError,
        UnsupportedError,
        NotFoundError,
        NotRepresentableError,
        InvalidError,
        ExistsError,
        BudgetError,
        OutOfMemoryError,
        InterruptedCopyError,
        VerifyError,
        InternalError,
        ReadOnlyError,
        FixedAttributeError,
        ChangedError,
    )
}


def warn(category: str, message: str) -> None:
    """Issues a warning of the extension module, at the line outside the package that caused it."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ncforge":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, globals()[category], stacklevel=level + 1)


def build(name: str, message: str, errno: int | None, path: str | None) -> NcforgeError:
    """The exception that the extension module raises. ``errno`` and ``filename`` are set for system errors."""
    if name == "LockedError":
        return LockedError(errno_codes.EAGAIN, message, path)
    kind = _CLASSES.get(name, NcforgeError)
    if kind is not IoError or errno is None:
        return kind(message)
    by_code = {
        errno_codes.ENOENT: MissingFileError,
        errno_codes.EACCES: AccessError,
        errno_codes.EPERM: AccessError,
        errno_codes.ETIMEDOUT: TimeOutError,
    }
    return by_code.get(errno, IoError)(errno, message.replace(f" (os error {errno})", ""), path)
