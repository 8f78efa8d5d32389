"""Values out of SQL text: which Spark type a literal has, and what it holds."""

from __future__ import annotations

import decimal
import re
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlglot import Token, TokenType, exp

from indextables.errors import PredicateError
from indextables.predicate import strings
from indextables.predicate.expression import Kind, Literal, Place
from indextables.predicate.temporal import DAY, parse_date, parse_time, parse_timestamp, to_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WAY_OUT: Final = (
    "Compare a column with a value, such as 5, 1.5D, 'text', DATE '2024-01-01' or TIMESTAMP '2024-01-01 00:00:00'"
)
_TEXTS: Final = (TokenType.STRING, TokenType.RAW_STRING)
_EXACT: Final = decimal.Context(prec=1000)
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_MOST_DIGITS: Final = 38
_INTERVAL: Final = re.compile(r"([+-]?)(?:(\d+) )?(\d+):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?")
_UNITS: Final = {"DAY": DAY, "HOUR": DAY // 24, "MINUTE": DAY // 1440, "SECOND": DAY // 86400}
_SPECIAL: Final = {
    "nan": "nan",
    "infinity": "inf",
    "+infinity": "inf",
    "-infinity": "-inf",
    "inf": "inf",
    "-inf": "-inf",
}


class LiteralReader:
    """Reads the literals of one text."""

    def __init__(self, text: str, tokens: Sequence[Token], *, timezone: str) -> None:
        self._text = text
        self._tokens = tokens
        self._timezone = timezone
        self._by_start = {token.start: index for index, token in reversed(list(enumerate(tokens)))}
        self._casts: dict[object, Callable[[exp.Expr, Literal], Literal]] = {
            **dict.fromkeys(
                (
                    exp.DataType.Type.TINYINT,
                    exp.DataType.Type.SMALLINT,
                    exp.DataType.Type.INT,
                    exp.DataType.Type.BIGINT,
                ),
                self._to_integer,
            ),
            **dict.fromkeys((exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE), self._to_float),
            exp.DataType.Type.DECIMAL: self._to_decimal,
            exp.DataType.Type.DATE: self._to_date,
            **dict.fromkeys(
                (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ),
                self._to_timestamp,
            ),
            exp.DataType.Type.TIMESTAMPNTZ: self._to_wall_clock,
            exp.DataType.Type.TIME: self._to_time,
        }

    def read(self, node: exp.Expr) -> Literal:
        """Return the value that a node of sqlglot's tree stands for.

        Raises:
            PredicateError: It is not a value, or none that Spark has.
        """
        match node:
            case exp.Paren():
                return self.read(node.this)
            case exp.Null():
                return Literal("null", None, self._place(node))
            case exp.Boolean():
                return Literal("boolean", bool(node.this), self._place(node))
            case exp.Neg():
                return self._negated(node)
            case exp.HexString():
                return self._binary(node)
            case exp.Interval():
                return self._interval(node)
            case exp.Literal() if not node.is_string:
                return self._number(node)
            case exp.Literal() | exp.RawString() | exp.Concat():
                return Literal("string", self.text_of(node, "a text"), self._place(node))
            case exp.Cast() if node.to.this in self._casts and not _more_than(node, ("this", "to")):
                inner = self.read(node.this)
                return inner if inner.kind == "null" else self._casts[node.to.this](node, inner)
            case _:
                shown = node.sql("spark")
                raise self._refusal(node, f"{shown[:40]} is not a value")

    def text_of(self, node: exp.Expr, what: str) -> str:
        """Return the text that a literal holds, as Spark reads it from the source."""
        parts = node.expressions if isinstance(node, exp.Concat) else [node]
        index = self._by_start.get(parts[0].meta.get("start", -1))
        if index is None or self._tokens[index].token_type not in _TEXTS:
            if isinstance(node, exp.Literal) and node.is_string:
                return str(node.this)
            raise self._refusal(node, f"{node.sql('spark')[:40]} stands where {what} must")
        tokens = self._tokens[index : index + len(parts)]
        if any(token.token_type not in _TEXTS for token in tokens):
            raise self._refusal(node, f"{node.sql('spark')[:40]} stands where {what} must")
        sources: list[str] = []
        end = -1
        for token in tokens:
            source = self._text[token.start : token.end + 1]
            if token.start == end + 1 and sources:
                sources[-1] += source
            else:
                sources.append(source)
            end = token.end
        try:
            return strings.join(sources)
        except ValueError as error:
            raise self._refusal(node, f"{sources[0][:40]} holds an escape that is no character") from error

    def _refusal(self, node: exp.Expr, problem: str) -> PredicateError:
        place = self._place(node)
        return PredicateError(problem, text=self._text, position=place.start, way_out=_WAY_OUT)

    def _place(self, node: exp.Expr) -> Place:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        parent = node.parent
        while not starts and parent is not None:
            starts = [part.meta["start"] for part in parent.walk() if "start" in part.meta]
            parent = parent.parent
        return Place(self._text, min(starts, default=0))

    def _number(self, node: exp.Literal) -> Literal:
        text = str(node.this)
        place = self._place(node)
        try:
            if text.isascii() and text.isdigit():
                return Literal("integer", int(text), place)
            if "e" in text.lower():
                return Literal("double", float(text), place)
            return Literal("decimal", decimal.Decimal(text), place)
        except (ValueError, decimal.InvalidOperation) as error:
            raise self._refusal(node, f"{text[:40]} is not a number") from error

    def _negated(self, node: exp.Neg) -> Literal:
        inner = self.read(node.this)
        if isinstance(inner.value, decimal.Decimal):
            return Literal(inner.kind, inner.value.copy_negate(), inner.place)
        if isinstance(inner.value, int | float) and inner.kind in ("integer", "float", "double", "duration"):
            return Literal(inner.kind, -inner.value, inner.place)
        raise self._refusal(node, "Only a number has a negative")

    def _binary(self, node: exp.HexString) -> Literal:
        digits = str(node.this)
        place = self._place(node)
        if self._text[place.start : place.start + 1] not in ("x", "X"):
            raise self._refusal(node, f"0x{digits[:40]} is not a value in Spark")
        try:
            return Literal("binary", bytes.fromhex("0" * (len(digits) % 2) + digits), place)
        except ValueError as error:
            raise self._refusal(node, f"X'{digits[:40]}' is not hexadecimal") from error

    def _interval(self, node: exp.Interval) -> Literal:
        text = str(node.this.name) if node.this else ""
        unit = node.args.get("unit")
        place = self._place(node)
        name = unit.sql("spark").upper() if unit else ""
        if name.rstrip("S") in _UNITS and re.fullmatch(r"[+-]?\d+", text):
            return Literal("duration", int(text) * _UNITS[name.rstrip("S")], place)
        if name == "DAY TO SECOND" and (found := _INTERVAL.fullmatch(text)):
            clock = (int(found[3]) * 60 + int(found[4])) * 60 + int(found[5])
            micros = int(found[2] or 0) * DAY + clock * 1_000_000 + int((found[6] or "").ljust(6, "0")[:6])
            return Literal("duration", -micros if found[1] == "-" else micros, place)
        raise self._refusal(node, f"INTERVAL '{text[:40]}' {name} is not supported")

    def _cast(self, node: exp.Expr, literal: Literal, kind: Kind, value: int | None) -> Literal:
        if value is None:
            shown = str(literal.value)[:60]
            raise self._refusal(node, f"{shown!r} is not a {kind}")
        return Literal(kind, value, literal.place)

    def _text_in(self, node: exp.Expr, literal: Literal, kind: Kind) -> str:
        if isinstance(literal.value, str):
            return literal.value
        raise self._refusal(node, f"A {literal.kind} is not cast to a {kind}")

    def _numeric(self, node: exp.Expr, literal: Literal) -> decimal.Decimal:
        value = literal.value
        if (
            isinstance(value, bool | bytes)
            or value is None
            or literal.kind in ("date", "timestamp", "timestamp_ntz", "time")
        ):
            raise self._refusal(node, f"A {literal.kind} is not cast to a number")
        try:
            number = _EXACT.create_decimal(value.strip() if isinstance(value, str) else value)
        except (decimal.InvalidOperation, ValueError):
            number = decimal.Decimal("NaN")
        if not number.is_finite():
            raise self._refusal(node, f"{value!r} is not a number of this type")
        return number

    def _to_integer(self, node: exp.Expr, literal: Literal) -> Literal:
        return Literal("integer", int(self._numeric(node, literal)), literal.place)

    def _to_float(self, node: exp.Expr, literal: Literal) -> Literal:
        single = isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.FLOAT
        value = literal.value
        if isinstance(value, str) and value.strip().lower() in _SPECIAL:
            number = float(_SPECIAL[value.strip().lower()])
        elif isinstance(value, float):
            number = value
        else:
            number = float(self._numeric(node, literal))
        if single:
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        return Literal("float" if single else "double", number, literal.place)

    def _to_decimal(self, node: exp.Expr, literal: Literal) -> Literal:
        texts = [part.name for part in node.args["to"].expressions]
        parameters = [int(text) for text in texts if _DIGITS.fullmatch(text)]
        precision, scale = parameters[0] if parameters else 10, parameters[1] if len(parameters) > 1 else 0
        if len(parameters) != len(texts) or len(texts) > 2 or not 0 <= scale <= precision <= _MOST_DIGITS:
            raise self._refusal(node, f"decimal({','.join(texts)[:50]}) is not a type")
        number = self._numeric(node, literal)
        rounded = number.quantize(decimal.Decimal(1).scaleb(-scale), rounding=decimal.ROUND_HALF_UP, context=_EXACT)
        if rounded and rounded.adjusted() + 1 > precision - scale:
            raise self._refusal(node, f"{number} does not fit in decimal({precision},{scale})")
        return Literal("decimal", rounded, literal.place)

    def _to_date(self, node: exp.Expr, literal: Literal) -> Literal:
        return self._cast(node, literal, "date", parse_date(self._text_in(node, literal, "date")))

    def _to_timestamp(self, node: exp.Expr, literal: Literal) -> Literal:
        parsed = parse_timestamp(self._text_in(node, literal, "timestamp"))
        instant = None if parsed is None else to_instant(parsed[0], parsed[1] or self._timezone)
        return self._cast(node, literal, "timestamp", instant)

    def _to_wall_clock(self, node: exp.Expr, literal: Literal) -> Literal:
        parsed = parse_timestamp(self._text_in(node, literal, "timestamp_ntz"))
        return self._cast(node, literal, "timestamp_ntz", None if parsed is None else parsed[0])

    def _to_time(self, node: exp.Expr, literal: Literal) -> Literal:
        return self._cast(node, literal, "time", parse_time(self._text_in(node, literal, "time")))


def _more_than(node: exp.Expr, known: tuple[str, ...]) -> bool:
    return any(value for name, value in node.args.items() if name not in known)
