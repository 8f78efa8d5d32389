"""From an error inside Spark back to the Python error that caused it.

Spark asks for a table's files while it plans, deep inside a call like `collect`. What goes wrong there travels through the JVM as
an exception that carries the pickled Python error, and PySpark would show it as a Java stack. PySpark turns Java exceptions into
Python ones in one function; ours stands before it and takes our own exceptions out.
"""

from __future__ import annotations

import pickle
import struct
from typing import TYPE_CHECKING, Any

from pyspark.errors.exceptions import captured

from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASS = "indextables.ListingException"
_DEPTH = 32  # causes can form a ring


def packed(error: BaseException, *, subject: str) -> bytes:
    """Return an error as the answer to a question of the JVM: a one, its text, and the error itself."""
    known = error if isinstance(error, IndexTablesError) else _unexpected(error, subject)
    text = str(known).encode()
    return b"\x01" + struct.pack(">i", len(text)) + text + pickle.dumps(known)


def _unexpected(error: BaseException, subject: str) -> IndexTablesError:
    return IndexTablesError(
        f"{subject} failed: {type(error).__name__}: {error}",
        "This is a defect of indextables; please report it with this text",
    )


def show_our_errors() -> None:
    """Have PySpark raise our errors as what they are. Calling it again changes nothing."""
    present = captured.convert_exception
    if not isinstance(present, _Conversion):
        captured.convert_exception = _Conversion(present)  # type: ignore[assignment]  # it stands for any error


class _Conversion:
    def __init__(self, original: Callable[[Any], Any]) -> None:
        self._original = original

    def __call__(self, error: Any) -> Any:
        return _ours(error) or self._original(error)


def _ours(error: Any) -> IndexTablesError | None:
    for _ in range(_DEPTH):
        if error is None:
            return None
        if error.getClass().getName() == _CLASS:
            carried = pickle.loads(error.pickled())  # noqa: S301 - made by `packed` in this very process
            return carried if isinstance(carried, IndexTablesError) else None
        error = error.getCause()
    return None
