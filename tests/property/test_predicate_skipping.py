"""Skipping never loses a row, and a row means what Python says it means.

A case is one predicate on one table. `INDEXTABLES_PREDICATE_TABLES` sets how many tables are drawn; each carries thirty predicates, and each
predicate is held against the statistics that every strategy for long texts leaves.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from indextables.predicate import bind, parse
from tests.support.predicate_files import MODES, Files, predicates, tables
from tests.support.predicates import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.predicate import FileStatistics, Predicate
    from indextables.predicate import expression as tree

TABLES = int(os.environ.get("INDEXTABLES_PREDICATE_TABLES", "170"))
EACH = 30
counted: Counter[str] = Counter()


# A failing table is reported as drawn: it is small, and making it smaller takes minutes.
@settings(
    max_examples=TABLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(tables(), st.data())
def skipping_holds(table: Files, data: st.DataObject) -> None:
    schema, batch = table.schema(), table.batch()
    statistics = [table.statistics(mode) for mode in MODES]
    rows = [row for file in table.files for row in file]
    expressions = data.draw(st.lists(predicates(table), min_size=EACH, max_size=EACH))
    for expression in expressions:
        predicate = bind(expression, schema)
        expected = [answer(expression, row, table.columns) for row in rows]
        assert predicate.evaluate(batch).to_pylist() == expected, predicate.sql()
        for known in statistics:
            check_files(table, predicate, expected, known)
        counted["predicate cases"] += 1


def check_files(table: Files, predicate: Predicate, expected: list[bool | None], known: FileStatistics) -> None:
    may, must = predicate.may_match(known).to_pylist(), predicate.must_match(known).to_pylist()
    assert None not in may
    assert None not in must
    start = 0
    for index, file in enumerate(table.files):
        answers = expected[start : start + len(file)]
        start += len(file)
        assert may[index] or True not in answers, f"file {index} lost by {predicate.sql()}"
        assert not must[index] or all(one is True for one in answers), (
            f"file {index} wrongly covered by {predicate.sql()}"
        )
        counted["files removed"] += not may[index]
        counted["files removed for a reason"] += not may[index] and bool(file)
        counted["files covered"] += must[index] and bool(file)


def test_no_file_with_a_matching_row_is_removed_and_no_file_with_another_is_covered(
    record_property: Callable[[str, object], None],
) -> None:
    skipping_holds()
    # Keeping every file would pass too, so it must be seen to remove and to cover.
    assert counted["predicate cases"] >= TABLES * EACH
    assert counted["files removed for a reason"] > counted["predicate cases"] / 2
    assert counted["files covered"] > counted["predicate cases"] / 20
    for name, count in counted.items():
        record_property(name, count)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.data())
def test_a_predicate_is_the_same_after_a_round_through_its_text(table: Files, data: st.DataObject) -> None:
    expression = data.draw(predicates(table))
    predicate = bind(expression, table.schema())
    assert parse(predicate.sql()) == predicate.expression
    assert bind(predicate.sql(), table.schema()) == predicate


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.data())
def test_the_filter_for_arrow_keeps_every_matching_row(table: Files, data: st.DataObject) -> None:
    batch = table.batch()
    dataset = ds.InMemoryDataset(batch.append_column("row", list(range(len(batch)))))
    for expression in data.draw(st.lists(predicates(table), min_size=5, max_size=5)):
        predicate = bind(expression, table.schema())
        matching = {row for row, one in enumerate(predicate.evaluate(batch).to_pylist()) if one}
        arrow = predicate.to_arrow_filter()
        kept = set(dataset.to_table(filter=arrow).column("row").to_pylist())
        assert matching <= kept, predicate.sql()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.data())
def test_the_parts_by_partition_and_by_data_say_together_what_the_whole_says(table: Files, data: st.DataObject) -> None:
    batch = table.batch()
    children = data.draw(st.lists(predicates(table), min_size=1, max_size=4))
    expression: tree.Expression = children[0]
    for child in children[1:]:
        expression = expression & child
    predicate = bind(expression, table.schema())
    inside, outside = predicate.split_by(["p"])
    assert inside is None or set(inside.columns) == {"p"}
    matching = [one is True for one in predicate.evaluate(batch).to_pylist()]
    parts = [part.evaluate(batch).to_pylist() for part in (inside, outside) if part is not None]
    assert matching == [all(one is True for one in answers) for answers in zip(*parts, strict=True)]
