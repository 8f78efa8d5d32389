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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST_DAY, _LAST_DAY = (day.toordinal() - dt.date(1970, 1, 1).toordinal() for day in (dt.date.min, dt.date.max))
_SPARK_TYPE: Final = b"spark.type"
_VARIANT: Final = b"variant"


class Leaf(NamedTuple):
    """A column that statistics can be about: of a simple type, at the top or inside structs.

    Attributes:
        path: How statistics and predicates call it: its name, with dots where it lies inside structs.
        names: The same, name by name.
        field: Its own field.
    """

    path: str
    names: tuple[str, ...]
    field: pa.Field

    @property
    def ordered(self) -> bool:
        """Whether values compare as they stand: a collation compares otherwise, and `char` pads what it compares."""
        named: bytes = (self.field.metadata or {}).get(_SPARK_TYPE, b"")
        return not named.startswith((b"string collate", b"char("))


def leaves(schema: pa.Schema) -> dict[str, Leaf]:
    """Return the leaves of a schema by path, in order; where two would share a path, the one at the top has it."""
    found = {
        field.name: Leaf(field.name, (field.name,), field) for field in schema if not pa.types.is_nested(field.type)
    }
    nested: dict[str, Leaf | None] = {}
    for leaf in _inner(schema, ()):
        # A name with a dot in it could be mistaken for a way through structs.
        doubtful = leaf.path in found or leaf.path in nested or any("." in name for name in leaf.names)
        nested[leaf.path] = None if doubtful else leaf
    order = {field.name: position for position, field in enumerate(schema)}
    every = [*found.values(), *(leaf for leaf in nested.values() if leaf is not None)]
    return {leaf.path: leaf for leaf in sorted(every, key=lambda leaf: order[leaf.names[0]])}


def _inner(fields: Iterable[pa.Field], above: tuple[str, ...]) -> Iterable[Leaf]:
    for field in fields:
        names = (*above, field.name)
        if (field.metadata or {}).get(_SPARK_TYPE) == _VARIANT:
            continue  # its parts are an encoding, not values
        if pa.types.is_struct(field.type):
            yield from _inner(field.type, names)
        elif above and not pa.types.is_nested(field.type):
            yield Leaf(".".join(names), names, field)


def format_scalar(scalar: pa.Scalar) -> str | None:
    """Return the text of an Arrow value; None for null, and for a date or time that has no text."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        # Arrow's range is wider than that of Python's own times.
        return str(scalar.cast(_in_microseconds(kind)).value)
    if pa.types.is_date(kind) and not _FIRST_DAY <= scalar.cast(pa.date32()).value <= _LAST_DAY:
        return None
    return format_value(scalar.as_py(), kind)


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")


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
    if pa.types.is_binary(kind):
        return _parse_one_by_one(texts, kind)
    try:
        return pc.cast(texts, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _parse_one_by_one(texts, kind)


def _form(kind: pa.DataType) -> str | None:
    if pa.types.is_integer(kind):
        return r"^-?[0-9]+$"
    if pa.types.is_boolean(kind):
        return r"^(?:true|false)$"
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
