"""Values as the log writes them, text a type, and the way back into typed Arrow columns.

Statistics and partition values are maps of strings on the wire. As text, 10 is less than 9; so nothing is ever compared before
it went through here. Text that does not fit its column's type becomes null, which means unknown and keeps the file.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def format_value(value: Any, kind: pa.DataType) -> str | None:
    """Return the text of one value: lossless, and the same for everybody who writes it. Null stays None."""
    if value is None:
        return None
    if pa.types.is_boolean(kind):
        return "true" if value else "false"
    if pa.types.is_floating(kind):
        return _format_float(value, single=pa.types.is_float32(kind))
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if pa.types.is_date(kind):
        return str(value.isoformat())
    if pa.types.is_timestamp(kind):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return str((moment - _EPOCH) // _MICROSECOND)
    if pa.types.is_duration(kind):
        return str(value // _MICROSECOND)
    if pa.types.is_time(kind):
        return str(value.isoformat(timespec="microseconds"))
    if pa.types.is_binary(kind):
        return base64.b64encode(value).decode()
    return str(value)


def _format_float(value: float, *, single: bool) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(pa.scalar(value, pa.float32()).as_py()) if single else repr(float(value))


def parse_values(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return the typed column behind a column of text; text that is no such value becomes null."""
    if pa.types.is_string(kind):
        return texts.cast(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return parse_values(texts, pa.int64()).cast(kind)
    if (form := _form(kind)) is not None:
        # Parsers of numbers and dates take more than the log's own forms, each other things.
        texts = pc.if_else(pc.match_substring_regex(texts, form), texts, pa.scalar(None, texts.type))
    if pa.types.is_binary(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return _parse_one_by_one(texts, kind)
    try:
        return pc.cast(texts, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _parse_one_by_one(texts, kind)


def _form(kind: pa.DataType) -> str | None:
    if pa.types.is_integer(kind):
        return r"^-?[0-9]+$"
    if pa.types.is_floating(kind):
        return r"^-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)$|^NaN$"
    if pa.types.is_decimal(kind):
        return r"^-?[0-9]+(?:\.[0-9]+)?$"
    if pa.types.is_date(kind):
        return r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    return r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?$" if pa.types.is_time(kind) else None


def _parse_one_by_one(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Parse the distinct texts in Python: these types are rare in statistics, and their texts repeat."""
    encoded = texts.combine_chunks().dictionary_encode()
    parse = _parser(kind)
    values = []
    for text in encoded.dictionary.to_pylist():
        try:
            values.append(pa.scalar(parse(text), kind).as_py())
        except (ValueError, ArithmeticError, pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, binascii.Error):
            values.append(None)
    return pa.chunked_array([pa.array(values, kind).take(encoded.indices)], kind)


def _parser(kind: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get
    if pa.types.is_decimal(kind):
        return decimal.Decimal
    if pa.types.is_binary(kind):
        return lambda text: base64.b64decode(text, validate=True)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_time(kind):
        return dt.time.fromisoformat
    return int
