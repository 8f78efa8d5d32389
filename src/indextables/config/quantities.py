"""Durations and sizes: the plain numbers of old, whose unit belongs to the key, and the forms that people write (`30d`, `128MB`).

Arithmetic is exact. A duration is a whole number of milliseconds and a size a whole number of bytes; what would need rounding is
refused instead.
"""

# ruff: noqa: D102 - what the methods of a kind do is documented once, on the class that all kinds extend

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeVar

from indextables.config.values import Kind

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
LONGEST_MS = 36_500 * DAY_MS
"""A hundred years: no setting means more, and in seconds or hours a float still holds every millisecond of it."""
KB = 1 << 10
MB = 1 << 20
GB = 1 << 30

N = TypeVar("N", int, float)

_LARGEST = (1 << 63) - 1
_QUANTITY = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)")
_TIME_UNITS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "min": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_TIME_FORMS = (("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS), ("s", SECOND_MS), ("ms", 1))
_PLAIN_UNITS = {1: "milliseconds", SECOND_MS: "seconds", HOUR_MS: "hours"}
_SIZE_UNITS = {"": 1, "b": 1} | {
    letter + ending: 1 << (10 * power) for power, letter in enumerate("kmgt", start=1) for ending in ("", "b", "ib")
}
_SIZE_FORMS = (("TB", 1 << 40), ("GB", GB), ("MB", MB), ("KB", KB))


def _whole(text: str, units: dict[str, int]) -> int:
    match = _QUANTITY.fullmatch(text)
    factor = units.get(match[2].lower()) if match else None
    if not match or factor is None:
        raise ValueError
    quantity = Fraction(match[1]) * factor
    if quantity.denominator != 1:
        raise ValueError
    return quantity.numerator


def _form(quantity: int, forms: tuple[tuple[str, int], ...]) -> str:
    """Return the shortest form that loses nothing."""
    return next(
        (f"{quantity // size}{unit}" for unit, size in forms if quantity and quantity % size == 0), str(quantity)
    )


class _Duration(Kind[N]):
    name = "duration"

    def __init__(self, *, unit_ms: int, minimum_ms: int) -> None:
        self._unit_ms = unit_ms
        self._units = _TIME_UNITS | {"": unit_ms}
        self._minimum_ms = minimum_ms

    @property
    def allowed(self) -> str:
        least, most = (_form(limit, _TIME_FORMS) for limit in (self._minimum_ms, LONGEST_MS))
        return (
            f"{least} to {most}: a plain number of {_PLAIN_UNITS[self._unit_ms]}, or one with the unit ms, s, m, h or d"
        )

    def _read_ms(self, text: str) -> int:
        ms = _whole(text, self._units)
        self._check_ms(ms)
        return ms

    def _check_ms(self, ms: float) -> None:
        if not self._minimum_ms <= ms <= LONGEST_MS:
            raise ValueError


class Milliseconds(_Duration[int]):
    """A duration in milliseconds, as plain numbers mean it too."""

    def __init__(self, *, minimum_ms: int = 0) -> None:
        super().__init__(unit_ms=1, minimum_ms=minimum_ms)

    def read(self, text: str) -> int:
        return self._read_ms(text)

    def check(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            self._check_ms(value)
            return value
        raise ValueError

    def write(self, value: int) -> str:
        return _form(value, _TIME_FORMS)


class Duration(_Duration[float]):
    """A duration in seconds or hours, as plain numbers mean it too; fractions of the unit come from finer forms (`500ms`)."""

    def __init__(self, *, unit_ms: int, minimum_ms: int = 0) -> None:
        super().__init__(unit_ms=unit_ms, minimum_ms=minimum_ms)

    def read(self, text: str) -> float:
        return self._read_ms(text) / self._unit_ms

    def check(self, value: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_ms(value * self._unit_ms)
            return value
        raise ValueError

    def write(self, value: float) -> str:
        return _form(round(value * self._unit_ms), _TIME_FORMS)


class Size(Kind[int]):
    """A number of bytes; `KB`, `MB`, `GB` and `TB` are powers of 1024, as 128MB = 134217728 has always been here."""

    name = "size"

    def __init__(self, *, minimum: int = 0) -> None:
        self._minimum = minimum

    @property
    def allowed(self) -> str:
        return f"{_form(self._minimum, _SIZE_FORMS)} or more: a plain number of bytes, or one with the unit KB, MB, GB or TB"

    def read(self, text: str) -> int:
        return self.check(_whole(text, _SIZE_UNITS))

    def check(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self._minimum <= value <= _LARGEST:
            raise ValueError
        return value

    def write(self, value: int) -> str:
        return _form(value, _SIZE_FORMS)
