"""What statistics decide, one rule a test; the pains of other formats in skipping are each one of them."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.errors import PredicateError
from indextables.predicate import FileStatistics, bind

NAN = math.nan


def held_against(
    text: str, kind: pa.DataType, files: list[tuple[Any, Any]], *, nulls: list[int | None] | None = None, **more: Any
) -> tuple[list[bool], list[bool]]:
    """Return may_match and must_match of a predicate on the column `a` for files of ten rows with these bounds."""
    known = FileStatistics(
        num_files=len(files),
        num_records=pa.array([10] * len(files), pa.int64()),
        min_values={"a": pa.array([low for low, _ in files], kind)},
        max_values={"a": pa.array([high for _, high in files], kind)},
        null_counts={"a": pa.array([0] * len(files) if nulls is None else nulls, pa.int64())},
        **more,
    )
    predicate = bind(text, pa.schema([("a", kind)]))
    return predicate.may_match(known).to_pylist(), predicate.must_match(known).to_pylist()


FILES = [(1, 3), (3, 3), (4, 9)]


@pytest.mark.parametrize(
    ("text", "may", "must"),
    [
        ("a = 3", [True, True, False], [False, True, False]),
        ("a <=> 3", [True, True, False], [False, True, False]),
        ("a != 3", [True, False, True], [False, False, True]),
        ("NOT a = 3", [True, False, True], [False, False, True]),
        ("a < 3", [True, False, False], [False, False, False]),
        ("a <= 3", [True, True, False], [True, True, False]),
        ("a > 3", [False, False, True], [False, False, True]),
        ("a >= 4", [False, False, True], [False, False, True]),
        ("a BETWEEN 0 AND 3", [True, True, False], [True, True, False]),
        ("a NOT BETWEEN 0 AND 3", [False, False, True], [False, False, True]),
        ("a IN (0, 2, 10)", [True, False, False], [False, False, False]),
        ("a IN (3, 10)", [True, True, False], [False, True, False]),
        ("a NOT IN (3, 10)", [True, False, True], [False, False, True]),
        ("a IN (3, NULL)", [True, True, False], [False, True, False]),
        ("a NOT IN (3, NULL)", [False, False, False], [False, False, False]),
        ("a IS NULL", [False, False, False], [False, False, False]),
        ("a IS NOT NULL", [True, True, True], [True, True, True]),
        ("a <=> NULL", [False, False, False], [False, False, False]),
        ("a = NULL", [False, False, False], [False, False, False]),
        ("a = 300", [False, False, False], [False, False, False]),
        ("a < 300", [True, True, True], [True, True, True]),
        ("a > -1000000000000", [True, True, True], [True, True, True]),
        ("a > 3.5", [False, False, True], [False, False, True]),
        ("a = 3.5", [False, False, False], [False, False, False]),
        ("TRUE", [True, True, True], [True, True, True]),
        ("FALSE", [False, False, False], [False, False, False]),
        ("NULL", [False, False, False], [False, False, False]),
        ("a = 3 OR a > 8", [True, True, True], [False, True, False]),
        ("a = 3 AND a > 8", [False, False, False], [False, False, False]),
        ("a = 9 OR a < 4", [True, True, True], [True, True, False]),
        ("(a = 3) IS TRUE", [True, True, False], [False, True, False]),
        ("(a = 3) IS FALSE", [True, False, True], [False, False, True]),
        ("(a = 3) IS NULL", [False, False, False], [False, False, False]),
    ],
)
def test_bounds_decide(text: str, may: list[bool], must: list[bool]) -> None:
    assert held_against(text, pa.int8(), FILES) == (may, must)


@pytest.mark.parametrize("text", ["a = 3", "a != 3", "a < 3", "a IN (3)", "a IS NULL", "a IS NOT NULL", "NOT (a > 3)"])
def test_absent_statistics_keep_every_file_and_cover_none(text: str) -> None:
    predicate = bind(text, pa.schema([("a", pa.int32())]))
    known = FileStatistics(num_files=2)
    assert predicate.may_match(known).to_pylist() == [True, True]
    assert predicate.must_match(known).to_pylist() == [False, False]


def test_absent_null_and_zero_are_three_states() -> None:
    may, must = held_against("a IS NULL", pa.int32(), [(1, 2)] * 3, nulls=[None, 0, 10])
    assert may == [True, False, True]
    assert must == [False, False, True]
    may, must = held_against("a IS NOT NULL", pa.int32(), [(1, 2)] * 3, nulls=[None, 0, 10])
    assert may == [True, True, False]
    assert must == [False, True, False]


def test_bounds_that_are_missing_do_not_mean_that_all_is_null() -> None:
    assert held_against("a = 3", pa.int32(), [(None, None)], nulls=[0])[0] == [True]
    assert held_against("a = 3", pa.int32(), [(None, None)], nulls=[10])[0] == [False]
    assert held_against("a = 3", pa.int32(), [(None, 2), (None, 3), (4, None), (3, None)])[0] == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("text", ["a != 3", "NOT (a = 3)", "a NOT IN (3)", "a < 3 OR a > 3"])
def test_rows_without_a_value_neither_save_a_file_from_not_nor_are_covered(text: str) -> None:
    may, must = held_against(text, pa.int32(), [(3, 3), (3, 3), (4, 4), (4, 4)], nulls=[0, 1, 0, 1])
    assert may == [False, False, True, True]
    assert must == [False, False, True, False]


def test_an_unknown_count_of_nulls_leaves_nothing_covered() -> None:
    assert held_against("a = 3", pa.int32(), [(3, 3)], nulls=[None])[1] == [False]
    assert held_against("(a = 3) IS NOT FALSE", pa.int32(), [(3, 3)], nulls=[None])[1] == [True]


ANSWERS = {"true": "t = 1", "false": "t = 2", "null": "n = 1", "maybe": "m = 1", "unknown": "u = 1"}
POSSIBLE: dict[str, set[bool | None]] = {
    "true": {True},
    "false": {False},
    "null": {None},
    "maybe": {True, False},
    "unknown": {True, False, None},
}


@pytest.mark.parametrize("first", ANSWERS)
@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("joined", ["AND", "OR"])
@pytest.mark.parametrize("negated", [False, True])
def test_mixed_predicates_follow_the_truth_table(first: str, second: str, joined: str, negated: bool) -> None:
    schema = pa.schema([(name, pa.int32()) for name in "tnmu"])
    known = FileStatistics(
        num_files=1,
        num_records=pa.array([10]),
        min_values={"t": pa.array([1], pa.int32()), "m": pa.array([0], pa.int32())},
        max_values={"t": pa.array([1], pa.int32()), "m": pa.array([5], pa.int32())},
        null_counts={"t": pa.array([0]), "m": pa.array([0]), "n": pa.array([10])},
    )
    text = f"({ANSWERS[first]}) {joined} ({ANSWERS[second]})"
    predicate = bind(f"NOT ({text})" if negated else text, schema)
    results = set()
    for left, right in itertools.product(POSSIBLE[first], POSSIBLE[second]):
        decisive = joined == "OR"
        answer = decisive if decisive in (left, right) else None if None in (left, right) else not decisive
        results.add(None if answer is None else answer is not negated)
    assert predicate.may_match(known).to_pylist() == [True in results]
    assert predicate.must_match(known).to_pylist() == [results == {True}]


@pytest.mark.parametrize(
    ("text", "with_nan", "without"),
    [
        ("a > 5", True, False),
        ("a >= 5", True, False),
        ("a != 3", True, True),
        ("NOT a <= 5", True, False),
        ("NOT a < 5", True, False),
        ("a = CAST('NaN' AS DOUBLE)", True, False),
        ("a <=> CAST('NaN' AS DOUBLE)", True, False),
        ("a IN (7, CAST('NaN' AS DOUBLE))", True, False),
        ("a NOT IN (1, 2)", True, True),
        ("a > CAST('NaN' AS DOUBLE)", False, False),
        ("a >= CAST('NaN' AS DOUBLE)", True, False),
        ("a < 1", False, False),
        ("a = 5", False, False),
        ("a < CAST('NaN' AS DOUBLE)", True, True),
    ],
)
def test_nan_is_above_all_numbers_although_no_bound_tells_of_it(text: str, with_nan: bool, without: bool) -> None:
    flags = {"a": pa.array([True, False, None])}
    assert held_against(text, pa.float64(), [(1.0, 3.0)] * 3, may_have_nan=flags)[0] == [with_nan, without, with_nan]
    assert held_against(text, pa.float64(), [(1.0, 3.0)])[0] == [with_nan]


def test_a_file_that_may_hold_nan_is_not_covered_from_above() -> None:
    flags = {"a": pa.array([True, False])}
    assert held_against("a <= 5", pa.float64(), [(1.0, 3.0)] * 2, may_have_nan=flags)[1] == [False, True]
    assert held_against("a >= 1", pa.float64(), [(1.0, 3.0)] * 2, may_have_nan=flags)[1] == [True, True]
    assert held_against("a IN (3)", pa.float64(), [(3.0, 3.0)] * 2, may_have_nan=flags)[1] == [False, True]


def test_a_bound_that_is_nan_all_the_same_is_no_bound() -> None:
    assert held_against("a = 2", pa.float64(), [(NAN, NAN), (NAN, 1.0), (3.0, NAN)])[0] == [True, False, False]


def test_the_two_zeros_are_one_and_infinities_are_numbers() -> None:
    files = [(-0.0, -0.0), (0.0, 0.0), (-math.inf, math.inf)]
    for text in ("a = 0", "a = -0.0D", "a IN (0, 7)", "a IN (-0.0D)", "a >= 0.0D", "a <= -0.0D"):
        assert held_against(text, pa.float64(), files)[0] == [True, True, True]
    assert held_against("a < 0", pa.float64(), files)[0] == [False, False, True]
    assert held_against("a = CAST('Infinity' AS DOUBLE)", pa.float64(), files)[0] == [False, False, True]


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_timestamps_decide_to_the_microsecond(step: int) -> None:
    at = 1_704_067_200_000_000
    kind = pa.timestamp("us", "UTC")
    text = f"TIMESTAMP '2024-01-01 00:00:00.{500_000 + step:06d}Z'"
    files = [(at + 500_000, at + 500_000)]
    assert held_against(f"a = {text}", kind, files)[0] == [step == 0]
    assert held_against(f"a >= {text}", kind, files)[0] == [step <= 0]
    assert held_against(f"a > {text}", kind, files)[0] == [step < 0]
    assert held_against(f"a < {text}", kind, files)[1] == [step > 0]


def test_decimals_decide_exactly_where_doubles_would_not() -> None:
    kind = pa.decimal128(38, 0)
    nines, less = Decimal("9" * 38), Decimal("9" * 37 + "8")
    files = [(less, less), (nines, nines)]
    assert held_against(f"a = {nines}", kind, files)[0] == [False, True]
    assert held_against(f"a < {nines}", kind, files)[1] == [True, False]
    assert held_against("a = 1e38D", kind, files)[0] == [True, True]


def test_numbers_are_not_compared_as_text() -> None:
    known = FileStatistics(num_files=3, exact_values={"a": pa.array([2, 9, 10], pa.int32())})
    assert bind("a < 10", pa.schema([("a", pa.int32())])).may_match(known).to_pylist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("a LIKE 'b%'", [False, True, True, False, True]),
        ("startswith(a, 'b')", [False, True, True, False, True]),
        ("a LIKE 'b%x'", [False, True, True, False, True]),
        ("a LIKE 'b_'", [False, True, True, False, True]),
        ("a LIKE 'b'", [False, True, True, False, False]),
        ("a LIKE '%b'", [True, True, True, True, True]),
        ("a NOT LIKE 'b%'", [True, True, False, True, True]),
        ("a LIKE '%'", [True, True, True, True, True]),
        ("a NOT LIKE '%'", [False, False, False, False, False]),
        ("a LIKE 'b\\\\%%'", [False, True, True, False, False]),
    ],
)
def test_a_pattern_skips_on_what_it_starts_with(text: str, may: list[bool]) -> None:
    files = [("a", "azz"), ("a", "c"), ("b", "bzz"), ("c", "d"), ("bb", "c")]
    assert held_against(text, pa.string(), files)[0] == may


@pytest.mark.parametrize("prefix", ["\ud7ff", "\U0010ffff", "a\U0010ffff", "😀", "\uffff", "x" * 2000])
def test_a_prefix_at_the_edge_of_the_code_points_loses_nothing(prefix: str) -> None:
    inside = [prefix, prefix + "\0", prefix + "\U0010ffff" * 3]
    above = (
        [prefix[:-1] + chr(ord(prefix[-1]) + 1)]
        if ord(prefix[-1]) not in (0xD7FF, 0x10FFFF)
        else ["\ue000"] * (prefix == "\ud7ff")
    )
    files = [(text, text) for text in [*inside, *above]]
    may, must = held_against(f"startswith(a, '{prefix}')", pa.string(), files)
    assert may == must == [True] * len(inside) + [False] * len(above)


def test_a_partition_value_is_known_exactly_null_included() -> None:
    known = FileStatistics(num_files=4, exact_values={"a": pa.array(["x", "y", "", None])})
    schema = pa.schema([("a", pa.string())])

    def verdict(text: str) -> tuple[list[bool], list[bool]]:
        predicate = bind(text, schema)
        return predicate.may_match(known).to_pylist(), predicate.must_match(known).to_pylist()

    for text, expected in {
        "a = 'x'": [True, False, False, False],
        "a != 'x'": [False, True, True, False],
        "a IS NULL": [False, False, False, True],
        "a = ''": [False, False, True, False],
        "a LIKE '%y%'": [False, True, False, False],
        "a <=> NULL": [False, False, False, True],
        "a NOT IN ('x', NULL)": [False, False, False, False],
        "a IN ('x', 'y')": [True, True, False, False],
    }.items():
        assert verdict(text) == (expected, expected), text


def test_partition_values_in_dictionary_form_or_in_chunks_answer_the_same() -> None:
    values = pa.array(["x", "y", None, "x"])
    schema = pa.schema([("a", pa.string())])
    for form in (values, values.dictionary_encode(), pa.chunked_array([values.slice(0, 1), values.slice(1)])):
        known = FileStatistics(num_files=4, exact_values={"a": form})
        assert bind("a = 'x'", schema).may_match(known).to_pylist() == [True, False, False, True]


def test_a_file_without_rows_matches_nothing_and_is_covered_by_anything() -> None:
    known = FileStatistics(num_files=3, num_records=pa.array([0, 1, None], pa.int64()))
    predicate = bind("a = 1", pa.schema([("a", pa.int32())]))
    assert predicate.may_match(known).to_pylist() == [False, True, True]
    assert predicate.must_match(known).to_pylist() == [True, False, False]


def test_statistics_of_a_field_inside_a_struct_go_by_its_dotted_path() -> None:
    schema = pa.schema([("s", pa.struct([("x", pa.int32())]))])
    known = FileStatistics(
        num_files=2,
        min_values={"s.x": pa.array([1, 5], pa.int32())},
        max_values={"s.x": pa.array([2, 6], pa.int32())},
    )
    assert bind("s.x = 5", schema).may_match(known).to_pylist() == [False, True]


def test_statistics_under_a_name_that_means_two_columns_are_of_neither() -> None:
    schema = pa.schema([("s", pa.struct([("x", pa.int32())])), ("s.x", pa.int32())])
    known = FileStatistics(
        num_files=1, min_values={"s.x": pa.array([1], pa.int32())}, max_values={"s.x": pa.array([2], pa.int32())}
    )
    assert bind("s.x = 5", schema).may_match(known).to_pylist() == [True]
    assert bind("`s.x` = 5", schema).may_match(known).to_pylist() == [True]
    assert bind("`s.x` = 5", pa.schema([("s.x", pa.int32())])).may_match(known).to_pylist() == [False]


def test_statistics_of_an_older_type_are_widened_and_of_another_ignored() -> None:
    schema = pa.schema([("a", pa.int64())])
    narrow = {"a": pa.array([1, 9], pa.int32())}
    known = FileStatistics(num_files=2, min_values=narrow, max_values=narrow)
    assert bind("a = 9", schema).may_match(known).to_pylist() == [False, True]
    text = {"a": pa.array(["q", "q"])}
    known = FileStatistics(num_files=2, min_values=text, max_values=text)
    assert bind("a = 9", schema).may_match(known).to_pylist() == [True, True]


def test_two_columns_are_held_against_each_other() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.int64())])
    known = FileStatistics(
        num_files=4,
        num_records=pa.array([10] * 4),
        min_values={"a": pa.array([1, 1, 5, None], pa.int32()), "b": pa.array([5, 2, 1, 1])},
        max_values={"a": pa.array([4, 4, 9, None], pa.int32()), "b": pa.array([9, 9, 4, 1])},
        null_counts={"a": pa.array([0] * 4), "b": pa.array([0] * 4)},
    )
    less = bind("a < b", schema)
    assert less.may_match(known).to_pylist() == [True, True, False, True]
    assert less.must_match(known).to_pylist() == [True, False, False, False]
    assert bind("a = b", schema).may_match(known).to_pylist() == [False, True, False, True]
    assert bind("a != b", schema).must_match(known).to_pylist() == [True, False, True, False]


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.float32(), pa.string(), pa.decimal128(20, 3), pa.timestamp("us"), pa.date32()]
)
@pytest.mark.parametrize("count", [3, 40])
def test_a_list_finds_the_files_that_hold_a_member(kind: pa.DataType, count: int) -> None:
    rng = np.random.default_rng(3)
    low = rng.integers(0, 5000, 500)
    high = low + rng.integers(0, 60, 500)
    members = sorted(rng.choice(5200, count, replace=False).tolist())

    def typed(numbers: Any) -> pa.Array:
        array = pa.array([None if index % 17 == 0 else int(number) for index, number in enumerate(numbers)], pa.int32())
        if pa.types.is_string(kind):
            return pc.utf8_lpad(array.cast(pa.string()), 6, "0")
        return array.cast(pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else array.cast(kind)

    shown = {
        "string": [f"'{member:06d}'" for member in members],
        "timestamp[us]": [f"TIMESTAMP_NTZ '1970-01-01 00:00:00.{member:06d}'" for member in members],
        "date32[day]": [f"DATE '{np.datetime64(member, 'D')}'" for member in members],
    }.get(str(kind), [str(member) for member in members])
    known = FileStatistics(
        num_files=500,
        min_values={"a": typed(low)},
        max_values={"a": pa.chunked_array([typed(high)])},
        may_have_nan={"a": pa.array([False] * 500)},
    )
    expected = [
        index % 17 == 0 or any(first <= member <= last for member in members)
        for index, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ]
    assert bind(f"a IN ({', '.join(shown)})", pa.schema([("a", kind)])).may_match(known).to_pylist() == expected


def test_looking_at_fewer_and_fewer_files_changes_no_answer() -> None:
    rng = np.random.default_rng(5)
    number = 5000
    bounds = {name: rng.integers(0, 1000, number) for name in "abc"}
    known = FileStatistics(
        num_files=number,
        num_records=pa.array(rng.integers(0, 3, number)),
        min_values={
            name: pa.chunked_array([pa.array(values[:999]), pa.array(values[999:])]) for name, values in bounds.items()
        },
        max_values={name: pa.array(values + rng.integers(0, 100, number)) for name, values in bounds.items()},
        null_counts={"a": pa.array(rng.integers(0, 2, number)), "b": pa.array(rng.integers(0, 2, number))},
        exact_values={"p": pa.array(rng.choice(["x", "y", "z"], number).tolist())},
    )
    schema = pa.schema([*((name, pa.int64()) for name in "abc"), ("p", pa.string())])
    parts = ["p = 'x'", "a BETWEEN 500 AND 520", "b > 900", "(c < 500 OR p = 'y')", "a IS NOT NULL", "a < c"]
    for count in range(1, len(parts) + 1):
        for chosen in itertools.combinations(parts, count):
            masks = [bind(part, schema).may_match(known) for part in chosen]
            together = masks[0]
            for mask in masks[1:]:
                together = pc.and_(together, mask)
            assert bind(" AND ".join(chosen), schema).may_match(known).equals(together), chosen


def test_statistics_of_different_lengths_are_refused() -> None:
    with pytest.raises(PredicateError, match=r"min_values\['a'\] has 1 values for 2 files"):
        FileStatistics(num_files=2, min_values={"a": pa.array([1])})


def test_no_files_need_no_answer() -> None:
    known = FileStatistics(
        num_files=0, num_records=pa.array([], pa.int64()), min_values={"a": pa.array([], pa.int32())}
    )
    for text in ("a = 1", "a = 1 AND a IS NULL", "a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "TRUE"):
        assert len(bind(text, pa.schema([("a", pa.int32())])).may_match(known)) == 0


def test_explain_counts_for_each_condition_what_it_removed_and_why_the_rest_stayed() -> None:
    schema = pa.schema([("day", pa.string()), ("a", pa.int32()), ("b", pa.int32())])
    known = FileStatistics(
        num_files=4,
        exact_values={"day": pa.array(["mon", "tue", "tue", "tue"])},
        min_values={"a": pa.array([1, 1, 9, None], pa.int32())},
        max_values={"a": pa.array([2, 2, 9, None], pa.int32())},
    )
    day, a, b = bind("day = 'tue' AND a < 5 AND b = 1", schema).explain(known)
    assert (day.condition, day.removed, day.stayed, day.unknown, day.by_partition) == ("day = 'tue'", 1, 3, 0, True)
    assert (a.condition, a.removed, a.stayed, a.unknown, a.by_partition) == ("a < 5", 1, 2, 1, False)
    assert (b.removed, b.stayed, b.unknown) == (0, 2, 2)
    assert str(a) == "a < 5: removed 1 by statistics, 2 stayed, 1 of them for lack of statistics"
    assert str(day) == "day = 'tue': removed 1 by partition values, 3 stayed"


def test_conditions_under_not_or_are_split_as_well() -> None:
    schema = pa.schema([("p", pa.int32()), ("a", pa.int32())])
    inside, outside = bind("NOT (p = 1 OR a = 2 OR NOT (p < 9))", schema).split_by({"p"})
    assert inside is not None
    assert outside is not None
    assert inside.sql() == "NOT (p = 1) AND p < 9"
    assert outside.sql() == "NOT (a = 2)"
    assert bind("p = 1 OR a = 2", schema).split_by(["p"])[0] is None
    assert bind("p = 1", schema).split_by(["p"])[1] is None
