"""Tables cut into files, with statistics worked out in plain Python as a careful, a careless or a forgetful writer leaves them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from indextables.predicate import FileStatistics
from indextables.predicate import expression as tree
from tests.support.predicates import DAY, FLOATS, SORTS, Columns, Row, Sort, one_of_these, rank

CUT = 32
MODES = ("off", "drop", "truncate", "bounds")


@dataclass(frozen=True)
class Files:
    """Rows in files; the column `p` has one value a file, and the field `n.c0` is `c0` once more, inside a struct."""

    columns: Columns
    files: list[list[Row]]
    partition: str | None
    unknown: list[bool]

    def schema(self) -> pa.Schema:
        first = self.columns["c0"]
        plain = [pa.field(name, sort.arrow) for name, sort in self.columns.items()]
        return pa.schema([*plain, pa.field("n", pa.struct([("c0", first.arrow)]))])

    def batch(self) -> pa.RecordBatch:
        rows = [row for file in self.files for row in file]
        arrays = [sort.array([row[name] for row in rows]) for name, sort in self.columns.items()]
        present = pa.array([row["c0"] is None for row in rows], pa.bool_())
        struct = pa.StructArray.from_arrays([arrays[0]], fields=[pa.field("c0", arrays[0].type)], mask=present)
        return pa.RecordBatch.from_arrays([*arrays, struct], schema=self.schema())

    def statistics(self, mode: str) -> FileStatistics:
        """Return what a writer with this strategy for long texts would leave, with some of it lost."""
        lost = iter(self.unknown * 100)
        names = [name for name in self.columns if name != self.partition]
        groups: dict[str, dict[str, pa.Array]] = {"min": {}, "max": {}, "nulls": {}, "nan": {}}
        for name in names:
            sort = self.columns[name]
            held = [[row[name] for row in file] for file in self.files]
            for key in (name, "n.c0") if name == "c0" else (name,):
                if next(lost):
                    continue
                bounds = [bound(values, mode) for values in held]
                groups["min"][key] = sort.array([None if next(lost) else low for low, _ in bounds])
                groups["max"][key] = sort.array([None if next(lost) else high for _, high in bounds])
                if not next(lost):
                    groups["nulls"][key] = pa.array(
                        [None if next(lost) else values.count(None) for values in held], pa.int64()
                    )
                if not next(lost) and pa.types.is_floating(sort.arrow):
                    nan = [any(value is not None and math.isnan(value) for value in values) for values in held]
                    groups["nan"][key] = pa.array([None if next(lost) else has for has in nan], pa.bool_())
        exact = {}
        if self.partition:
            firsts = [file[0][self.partition] if file else None for file in self.files]
            exact[self.partition] = self.columns[self.partition].array(firsts)
        counts = pa.array([None if next(lost) else len(file) for file in self.files], pa.int64())
        return FileStatistics(
            num_files=len(self.files),
            num_records=None if next(lost) else counts,
            min_values=groups["min"],
            max_values=groups["max"],
            null_counts=groups["nulls"],
            exact_values=exact,
            may_have_nan=groups["nan"],
        )


def bound(values: list[Any], mode: str) -> tuple[Any, Any]:
    known = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
    if not known:
        return None, None
    low, high = min(known, key=rank), max(known, key=rank)
    if not isinstance(low, str) or mode == "off":
        return low, high
    if mode == "drop":
        return (None, None) if max(len(low), len(high)) > CUT else (low, high)
    if mode == "truncate":
        return low[:CUT], high if len(high) <= CUT else None
    return low[:CUT], high if len(high) <= CUT else successor(high[:CUT])


def successor(prefix: str) -> str | None:
    while prefix:
        code = ord(prefix[-1]) + 1
        if code <= 0x10FFFF:
            return prefix[:-1] + chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)
        prefix = prefix[:-1]
    return None


@st.composite
def tables(draw: st.DrawFn) -> Files:
    """Draw a table: up to three columns of any types, in up to five files, one of them maybe empty."""
    sorts = draw(st.lists(st.sampled_from(SORTS), min_size=1, max_size=3))
    columns = {f"c{index}": sort for index, sort in enumerate(sorts)}
    partition = "p" if draw(st.booleans()) else None
    if partition:
        columns[partition] = draw(st.sampled_from(SORTS))
    values = {name: sort.values() for name, sort in columns.items()}
    files = []
    for _ in range(draw(st.integers(1, 5))):
        shared = draw(values["p"]) if partition else None
        # Few distinct values a file make bounds that touch, and files of one value, common.
        choices = {
            name: draw(st.lists(strategy, min_size=1, max_size=3)) for name, strategy in values.items() if name != "p"
        }
        count = draw(st.integers(0, 4))
        rows = [{name: draw(one_of_these(few)) for name, few in choices.items()} for _ in range(count)]
        files.append([{**row, "p": shared} if partition else row for row in rows])
    unknown = draw(st.lists(st.integers(0, 5).map(lambda number: number == 0), min_size=7, max_size=23))
    return Files(columns, files, partition, unknown)


def literals(sort: Sort, held: list[Any]) -> st.SearchStrategy[tree.Literal]:
    """Literals that touch the values: those in the table, those of the pool, and those of other types."""
    own = [*sort.pool, *(value for value in held if value is not None)]
    same = one_of_these(own).map(lambda value: tree.Literal(sort.literal, value))
    others: list[st.SearchStrategy[tree.Literal]] = [st.just(tree.Literal("null", None))]
    if sort.literal == "integer":
        numbers = [value + step for value in own for step in (-1, 0, 1)]
        others.append(one_of_these(numbers).map(lambda value: tree.Literal("integer", value)))
        others.append(one_of_these(numbers).map(lambda value: tree.Literal("decimal", Decimal(value) / 2)))
        others.append(st.sampled_from(FLOATS).map(lambda value: tree.Literal("double", value)))
        others.append(one_of_these(numbers).map(lambda value: tree.Literal("double", float(value))))
    elif sort.literal == "decimal":
        others.append(one_of_these(own).map(lambda value: tree.Literal("double", float(value))))
        others.append(st.sampled_from(FLOATS).map(lambda value: tree.Literal("double", value)))
    elif sort.literal in ("float", "double"):
        others.append(st.sampled_from(FLOATS).map(lambda value: tree.Literal("double", value)))
        others.append(st.integers(-3, 2**60).map(lambda value: tree.Literal("integer", value)))
        others.append(
            st.sampled_from(["0.1", "1.5", "-1", "1e30"]).map(lambda value: tree.Literal("decimal", Decimal(value)))
        )
    elif sort.literal == "date":
        # A date reaches further than a timestamp can.
        times = [value * DAY + step for value in own for step in (-1, 0, 1) if abs(value * DAY + step) < 2**63] or [0]
        others.append(one_of_these(times).map(lambda value: tree.Literal("timestamp", value)))
    elif sort.literal == "timestamp":
        near = [value + step for value in own for step in (-1, 1) if abs(value + step) < 2**63]
        others.append(one_of_these(near).map(lambda value: tree.Literal("timestamp", value)))
        others.append(st.integers(-10, 20_000).map(lambda value: tree.Literal("date", value)))
    return st.one_of(same, same, *others)


def leaves(name: str, table: Files) -> st.SearchStrategy[tree.Expression]:
    """Conditions on one column."""
    sort = table.columns[name]
    held = [row[name] for file in table.files for row in file]
    reference = tree.Reference(("n", "c0")) if name == "c0" and len(held) % 3 == 0 else tree.Reference((name,))
    values = literals(sort, held)
    operators = st.sampled_from(["=", "<=>", "!=", "<", "<=", ">", ">="])
    choices: list[st.SearchStrategy[tree.Expression]] = [
        st.builds(tree.Comparison, operators, st.just(reference), values),
        st.builds(tree.Comparison, operators, st.just(reference), values),
        st.builds(tree.In, st.just(reference), st.lists(values, min_size=1, max_size=12).map(tuple)),
        st.just(tree.IsNull(reference)),
    ]
    twins = [other for other, kind in table.columns.items() if kind is sort and other != name]
    if twins:
        other = st.sampled_from(twins).map(lambda twin: tree.Reference((twin,)))
        choices.append(st.builds(tree.Comparison, operators, st.just(reference), other))
    if sort.literal == "boolean":
        choices.append(st.just(tree.Flag(reference)))
    if sort.literal == "string":
        texts = [text for text in [*sort.pool, *held] if text]
        cuts = st.builds(
            lambda text, end: text[:end], one_of_these(texts), st.sampled_from([0, 1, 2, 31, 32, 33, 1995, 2000])
        )
        pieces = st.lists(st.one_of(st.sampled_from(["%", "_", "!%", "!_", "!!"]), cuts.map(escaped)), max_size=4).map(
            "".join
        )
        choices.append(st.builds(tree.StartsWith, st.just(reference), cuts))
        choices.append(st.builds(tree.Like, st.just(reference), pieces, st.just("!")))
        choices.append(st.builds(lambda text: tree.Like(reference, escaped(text) + "%", "!"), cuts))
    return st.one_of(choices)


def escaped(text: str) -> str:
    return "".join(f"!{character}" if character in "%_!" else character for character in text)


def predicates(table: Files) -> st.SearchStrategy[tree.Expression]:
    """Trees of conditions."""
    leaf = st.one_of([leaves(name, table) for name in table.columns])

    def branch(inner: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
        pairs = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            inner.map(tree.Not),
            pairs.map(lambda children: tree.And(tuple(children))),
            pairs.map(lambda children: tree.Or(tuple(children))),
            st.builds(tree.Is, inner, st.sampled_from([True, False, None])),
        )

    return st.recursive(leaf, branch, max_leaves=5)
