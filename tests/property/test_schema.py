from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from indextables.log.evolution import widened
from indextables.log.schema import format_schema, parse_schema

NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
DECIMALS = st.integers(1, 38).flatmap(
    lambda digits: st.integers(0, digits).map(lambda scale: f"decimal({digits},{scale})")
)
INTERVALS = "interval day to second|interval year to month|interval month"
PLAIN = "string|binary|boolean|byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|variant|time(3)"
SIMPLE = st.one_of(
    st.sampled_from([*PLAIN.split("|"), *INTERVALS.split("|"), "string collate UNICODE"]),
    DECIMALS,
    st.integers(1, 10_000).map(lambda length: f"varchar({length})"),
    st.integers(1, 255).map(lambda length: f"char({length})"),
)


def fields(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    field = st.fixed_dictionaries(
        {
            "name": NAMES,
            "type": kinds,
            "nullable": st.booleans(),
            "metadata": st.dictionaries(NAMES, st.one_of(NAMES, st.integers(-5, 5), st.booleans()), max_size=2),
        }
    )
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda field: field["name"].casefold())


KINDS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "elementType": inner, "containsNull": st.booleans()}),
        st.fixed_dictionaries(
            {"type": st.just("map"), "keyType": inner, "valueType": inner, "valueContainsNull": st.booleans()}
        ),
        st.fixed_dictionaries({"type": st.just("struct"), "fields": fields(inner)}),
    ),
    max_leaves=8,
)
SCHEMAS = fields(KINDS).map(lambda columns: {"type": "struct", "fields": columns})


@given(SCHEMAS)
def test_every_schema_of_spark_comes_back_from_arrow(schema: dict[str, Any]) -> None:
    arrow = parse_schema(json.dumps(schema))
    assert json.loads(format_schema(arrow)) == schema
    assert parse_schema(format_schema(arrow)).equals(arrow, check_metadata=True)


@given(SCHEMAS, SCHEMAS, st.data())
def test_a_schema_grows_by_nullable_columns_wherever_they_stand(
    schema: dict[str, Any], more: dict[str, Any], data: st.DataObject
) -> None:
    known = {column["name"].casefold() for column in schema["fields"]}
    new = [{**column, "nullable": True} for column in more["fields"] if column["name"].casefold() not in known]
    columns = list(schema["fields"])
    for column in new:
        columns.insert(data.draw(st.integers(0, len(columns))), column)
    wanted = json.dumps({"type": "struct", "fields": columns})
    assert json.loads(widened(json.dumps(schema), wanted)) == json.loads(wanted)
