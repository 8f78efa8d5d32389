from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import SchemaError
from indextables.log.evolution import widened
from indextables.log.schema import format_schema, parse_schema
from tests.support.logs import SCHEMA, add, new_table


def text(*columns: tuple[str, Any] | tuple[str, Any, bool]) -> str:
    fields = [
        {"name": name, "type": kind, "nullable": rest[0] if rest else True, "metadata": {}}
        for name, kind, *rest in columns
    ]
    return json.dumps({"type": "struct", "fields": fields})


OLD = text(
    ("id", "long", False),
    ("name", "string"),
    ("tags", {"type": "array", "elementType": "string", "containsNull": True}),
)


class TestASchemaMay:
    def test_stay_as_it_is(self) -> None:
        assert widened(OLD, OLD) == OLD
        assert parse_schema(widened(OLD, parse_schema(OLD))).equals(parse_schema(OLD))

    def test_gain_nullable_columns_anywhere(self) -> None:
        for wanted in (
            text(
                ("id", "long", False),
                ("name", "string"),
                ("tags", json.loads(OLD)["fields"][2]["type"]),
                ("new", "date"),
            ),
            text(
                ("new", "date"),
                ("id", "long", False),
                ("name", "string"),
                ("tags", json.loads(OLD)["fields"][2]["type"]),
            ),
        ):
            assert widened(OLD, wanted) == wanted

    def test_be_given_as_arrow_schema(self) -> None:
        wanted = parse_schema(OLD).append(pa.field("new", pa.decimal128(9, 2)))
        assert parse_schema(widened(OLD, wanted)).equals(wanted)

    def test_allow_null_where_it_did_not(self) -> None:
        assert widened(text(("id", "long", False)), text(("id", "long", True)))

    def test_change_what_is_said_about_a_column(self) -> None:
        wanted = json.loads(OLD)
        wanted["fields"][1]["metadata"] = {"comment": "a name"}
        assert widened(OLD, json.dumps(wanted)) == json.dumps(wanted)


class TestASchemaMayNot:
    def refused(self, wanted: str, problem: str, *columns: str, old: str = OLD) -> None:
        with pytest.raises(SchemaError) as caught:
            widened(old, wanted)
        assert problem in str(caught.value)
        assert caught.value.columns == columns

    def test_lose_columns_and_all_lost_ones_are_named(self) -> None:
        self.refused(text(("id", "long", False)), "Columns name, tags would be dropped", "name", "tags")

    def test_rename_a_column(self) -> None:
        self.refused(text(("key", "long")), "Columns id would be dropped", "id", old=text(("id", "long")))

    def test_change_a_type(self) -> None:
        self.refused(text(("id", "integer")), "Column id would change from", "id", old=text(("id", "long")))
        self.refused(text(("id", "long")), "Column id would change from", "id", old=text(("id", "integer")))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("integer", "interval year"),
            ("interval year", "interval month"),
            ("varchar(10)", "varchar(5)"),
            ("varchar(10)", "string"),
            ("string", "char(3)"),
            ("interval day", "interval day to second"),
            ("time(3)", "time(6)"),
            (
                {"type": "array", "elementType": "varchar(10)", "containsNull": True},
                {"type": "array", "elementType": "varchar(5)", "containsNull": True},
            ),
        ],
        ids=str,
    )
    def test_change_a_type_that_arrow_cannot_tell_from_another(self, old: Any, new: Any) -> None:
        self.refused(text(("c", new)), "Column c would change", "c", old=text(("c", old)))

    def test_change_the_inside_of_a_column(self) -> None:
        inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
        wider = {**inner, "fields": [*inner["fields"], {"name": "y", "type": "long", "nullable": True, "metadata": {}}]}
        self.refused(text(("s", wider)), "Column s would change from", "s", old=text(("s", inner)))
        array = {"type": "array", "elementType": "long", "containsNull": True}
        self.refused(
            text(("a", {**array, "containsNull": False})), "Column a would change from", "a", old=text(("a", array))
        )

    def test_change_the_order_of_its_columns(self) -> None:
        old = text(("a", "long"), ("b", "long"))
        self.refused(text(("b", "long"), ("a", "long")), "The order of existing columns would change", old=old)

    def test_forbid_null_where_it_was_allowed(self) -> None:
        self.refused(text(("a", "long", False)), "Column a would no longer allow null", "a", old=text(("a", "long")))

    def test_gain_columns_that_do_not_allow_null(self) -> None:
        wanted = text(("a", "long"), ("b", "long", False), ("c", "long", False))
        self.refused(
            wanted, "New columns b, c do not allow null, which old files have there", "b", "c", old=text(("a", "long"))
        )

    def test_gain_columns_that_clash_with_others(self) -> None:
        wanted = text(("a", "long"), ("A", "long"))
        self.refused(wanted, "Columns a and A differ in nothing but case", "a", "A", old=text(("a", "long")))

    def test_gain_columns_of_types_that_no_table_holds(self) -> None:
        self.refused(text(("a", "long"), ("b", "void")), "Column b has type void", "b", old=text(("a", "long")))
        with pytest.raises(SchemaError, match="Column n has type null, which Spark does not have"):
            widened(text(("a", "long")), pa.schema([("a", pa.int64()), ("n", pa.null())]))

    def test_be_no_schema_at_all(self) -> None:
        self.refused("{}", "The schema text is not a Spark schema")


class TestATable:
    def test_evolves_in_one_commit_and_old_versions_keep_their_schema(self) -> None:
        _, log = new_table(files=1)
        result = log.update_metadata(schema=SCHEMA.append(pa.field("more", pa.float64())))
        assert result.version == 2
        assert log.schema.names == ["id", "text", "more"]
        assert log.snapshot(1).schema.names == ["id", "text"]
        assert log.snapshot().num_files == 1

    def test_made_from_types_of_arrow_alone_evolves_by_the_same_types(self) -> None:
        schema = pa.schema(
            [
                ("u", pa.uint32()),
                ("s", pa.large_string()),
                ("d", pa.dictionary(pa.int32(), pa.string())),
                ("f", pa.binary(4)),
                ("t", pa.timestamp("ns", "UTC")),
                ("l", pa.large_list(pa.int64())),
                ("m", pa.map_(pa.string(), pa.int64())),
            ]
        )
        _, log = new_table(schema)
        log.update_metadata(schema=schema.append(pa.field("new", pa.uint8())))
        assert log.schema.names == [*schema.names, "new"]
        assert json.loads(format_schema(log.schema))["fields"][-1]["type"] == "short"

    def test_keeps_what_is_not_given(self) -> None:
        place, log = new_table()
        log.update_metadata(name="n", description="d", configuration={"a": "1"})
        log.update_metadata(configuration={"b": "2"})
        metadata = place.log().metadata
        assert (metadata.name, metadata.description) == ("n", "d")
        assert log.snapshot().configuration == {"a": "1", "b": "2"}
        assert metadata.id == log.snapshot(0).metadata.id
        assert metadata.created_time == log.snapshot(0).metadata.created_time

    def test_that_is_refused_a_schema_writes_nothing(self) -> None:
        place, log = new_table(files=1)
        tree = place.model.tree()
        for wanted in (pa.schema([("id", pa.int64())]), pa.schema([("id", pa.string()), ("text", pa.string())]), "{}"):
            with pytest.raises(SchemaError):
                log.update_metadata(schema=wanted)
        assert place.model.tree() == tree

    def test_takes_files_after_it_evolved(self) -> None:
        _, log = new_table()
        log.update_metadata(schema=SCHEMA.append(pa.field("more", pa.int64())))
        log.add_files([add("f", min_values={"more": "5"})])
        assert log.snapshot().min_values["more"].to_pylist() == [5]
