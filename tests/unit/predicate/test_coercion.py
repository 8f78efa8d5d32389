"""Where a literal cuts a column of whole numbers, against the cast that Spark makes, value by value."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.predicate import coercion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def agrees(
    span: coercion.Span, values: Iterable[int], cast: Callable[[int], Decimal | float], literal: Decimal | float
) -> None:
    for value in values:
        converted = cast(value)
        side = (converted > literal) - (converted < literal)
        assert side == (-1 if value < span.first else 1 if value >= span.end else 0), value


@pytest.mark.parametrize("literal", ["0", "0.01", "-0.01", "0.02", "-0.02", "1", "-1", "0.005", "-0.005"])
@pytest.mark.parametrize(("own", "common"), [(3, 2), (4, 2), (2, 2), (1, 2), (2, 1)])
def test_decimals_that_lose_digits_are_rounded_half_away_from_zero_as_spark_casts_them(
    literal: str, own: int, common: int
) -> None:
    unit = Decimal(1).scaleb(-common)

    def cast(number: Decimal) -> Decimal:
        return number.quantize(unit, rounding=ROUND_HALF_UP)

    span = coercion._decimal_span(Decimal(literal), own, common)
    agrees(span, range(-1200, 1201), lambda value: cast(Decimal(value).scaleb(-own)), cast(Decimal(literal)))


@pytest.mark.parametrize("base", [0, 2**53, 2**54, -(2**53), -(2**54), 2**60, 2**63 - 40])
def test_whole_numbers_beside_a_double_are_rounded_to_double(base: int) -> None:
    numbers = range(base - 40, base + 41)
    for literal in {float(number) for number in numbers} | {base + 0.5, math.nextafter(float(base), math.inf)}:
        agrees(coercion._double_span(literal, 0), numbers, float, literal)


@given(st.integers(-(10**6), 10**6), st.floats(-1e4, 1e4))
def test_decimals_beside_a_double_are_rounded_to_double(near: int, literal: float) -> None:
    def cast(value: int) -> float:
        return float(Decimal(value).scaleb(-2))

    around = round(literal * 100)
    for chosen in (literal, cast(near)):
        agrees(
            coercion._double_span(chosen, 2), [near - 1, near, near + 1, around - 1, around, around + 1], cast, chosen
        )


def test_infinities_and_nan_leave_all_values_on_one_side() -> None:
    assert coercion._double_span(math.inf, 0) == coercion.Span(math.inf, math.inf)
    assert coercion._double_span(math.nan, 5) == coercion.Span(math.inf, math.inf)
    assert coercion._double_span(-math.inf, 0) == coercion.Span(-math.inf, -math.inf)


@pytest.mark.parametrize(
    ("types", "scale"),
    [
        ([(10, 2), (5, 4)], 4),
        ([(38, 0), (1, 1)], 0),
        ([(38, 38), (5, 0)], 33),
        ([(20, 0), (38, 38)], 18),
        ([(38, 10), (38, 20)], 10),
        ([(5, 2), (3, 3), (4, 0)], 3),
    ],
)
def test_decimals_widen_as_in_spark_and_keep_their_whole_digits(types: list[tuple[int, int]], scale: int) -> None:
    assert coercion._common_scale(types) == scale
