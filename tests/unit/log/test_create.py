from __future__ import annotations

import json

import pyarrow as pa
import pytest

from indextables.errors import (
    CommitUnknownError,
    PermissionDeniedError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedStoreError,
)
from indextables.log.actions import MetaData, Protocol
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.storage.paths import canonical
from indextables.testing.faulty import FaultKind, Plan
from indextables.testing.models import S3Model
from tests.support.logs import PARTITIONED, SCHEMA, Place, facts, foreign_add, new_table, paths


class TestANewTable:
    def test_is_version_0_with_protocol_and_metadata(self) -> None:
        place = Place()
        log = place.log()
        version = log.initialize(
            PARTITIONED, ["day"], name="events", description="all of them", configuration={"owner": "me"}
        )
        protocol, metadata = log.read_version(0)
        assert version == 0
        assert protocol == Protocol(min_reader_version=2, min_writer_version=2)
        assert isinstance(metadata, MetaData)
        assert (metadata.name, metadata.description, metadata.partition_columns) == ("events", "all of them", ["day"])
        assert metadata.created_time == place.runtime.now_ms()
        assert metadata.format.provider == "indextables"  # type: ignore[union-attr]
        assert json.loads(metadata.schema_string)["fields"][0] == {
            "name": "id",
            "type": "long",
            "nullable": True,
            "metadata": {},
        }
        assert log.snapshot().configuration == {"owner": "me"}

    def test_has_an_id_of_its_own(self) -> None:
        place = Place()
        ids = set()
        for _ in range(3):
            place.drop()
            log = place.log()
            log.initialize(SCHEMA)
            ids.add(log.metadata.id)
        assert len(ids) == 3

    def test_keeps_the_text_of_a_spark_schema_as_it_was_given(self) -> None:
        text = '{"type" : "struct","fields":[{"name":"a","type":"varchar(5)","nullable":true,"metadata":{"x":1}}]}'
        _, log = new_table(text)
        assert log.metadata.schema_string == text
        assert log.schema.names == ["a"]

    def test_leaves_nothing_but_its_version_behind(self) -> None:
        place, _ = new_table()
        assert list(place.model.raw_tree()) == [commit_path(0)]

    def test_says_who_made_it(self) -> None:
        _, log = new_table()
        (told,) = facts(log.read_version(0))
        assert (told["operation"], told["metadata"], told["protocol"]) == ("create", 0, 0)
        assert log.history()["operation"].to_pylist() == ["create"]


class TestASchemaThatCannotBe:
    @pytest.mark.parametrize(
        ("schema", "partition_columns", "problem"),
        [
            (SCHEMA, ["a", "id", "b"], "Partition columns a, b not found in schema. Its columns are id, text."),
            (
                pa.schema([("a", pa.int64()), ("A", pa.int64())]),
                [],
                "Columns a and A differ in nothing but case. Rename one.",
            ),
            (pa.schema([("a", pa.null())]), [], "Column a has type null, which Spark does not have."),
            (pa.schema([("a", pa.decimal256(50, 1))]), [], "Column a has type decimal256(50, 1)"),
            (pa.schema([]), [], "The schema has no columns."),
            (SCHEMA, ["id", "text"], "Every column is a partition column."),
            (SCHEMA, ["id", "id"], "Partition columns id are given more than once."),
            ("{", [], "The schema text is not JSON"),
            ('{"type":"struct","fields":[{"name":"a","type":"void"}]}', [], "Column a has type void"),
        ],
        ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
    )
    def test_is_refused_before_anything_is_written(
        self, schema: pa.Schema | str, partition_columns: list[str], problem: str
    ) -> None:
        place = Place()
        opened = place.open()
        with pytest.raises(SchemaError) as caught:
            opened.log.initialize(schema, partition_columns)
        assert problem in str(caught.value)
        assert opened.store.calls == []


class TestASecondCreator:
    def test_finds_the_same_table(self) -> None:
        place, first = new_table(files=2)
        second = place.log()
        assert second.initialize(SCHEMA) == 2
        assert second.metadata.id == first.metadata.id
        assert paths(second) == ["f0", "f1"]

    def test_finds_the_same_table_by_another_spelling_of_its_schema(self) -> None:
        place, first = new_table()
        spaced = json.dumps(json.loads(first.metadata.schema_string), indent=1)
        assert place.log().initialize(spaced) == 0

    @pytest.mark.parametrize(
        ("schema", "partition_columns"),
        [
            (pa.schema([("id", pa.int64())]), []),
            (pa.schema([("id", pa.int32()), ("text", pa.string())]), []),
            (pa.schema([("text", pa.string()), ("id", pa.int64())]), []),
            (pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())]), []),
            (SCHEMA, ["id"]),
        ],
    )
    def test_with_another_schema_is_refused(self, schema: pa.Schema, partition_columns: list[str]) -> None:
        place, _ = new_table()
        tree = place.model.tree()
        with pytest.raises(TableExistsError) as caught:
            place.log().initialize(schema, partition_columns)
        assert str(caught.value) == (
            "There is a table at s3 model already: its schema or partition columns differ. "
            "Append to it, overwrite it, or choose another path."
        )
        assert place.model.tree() == tree

    def test_with_types_that_only_spark_can_tell_apart_is_refused(self) -> None:
        def schema(kind: str) -> str:
            return json.dumps(
                {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}
            )

        place, _ = new_table(schema("integer"))
        with pytest.raises(TableExistsError):
            place.log().initialize(schema("interval year"))

    @pytest.mark.parametrize("same", [True, False])
    def test_that_comes_at_the_same_moment_loses(self, same: bool) -> None:
        place = Place()
        other = place.log()

        def before(op: str, path: str) -> None:
            if op == "put_if_absent" and path == commit_path(0) and not place.commits():
                other.initialize(SCHEMA if same else PARTITIONED)

        log = place.open(before=before).log
        if same:
            assert log.initialize(SCHEMA) == 0
            assert log.metadata.id == other.metadata.id
        else:
            with pytest.raises(TableExistsError):
                log.initialize(SCHEMA)
        assert place.commits() == 1


class TestRemains:
    def test_of_a_log_without_version_0_are_not_built_upon(self) -> None:
        for path in (
            commit_path(3),
            f"{LOG_DIRECTORY}/00000000000000000010.checkpoint.json",
            f"{LOG_DIRECTORY}/_last_checkpoint",
        ):
            place = Place()
            place.model.put(path, b"{}")
            with pytest.raises(TableExistsError, match="but not version 0, so repair it or remove the rest") as caught:
                place.log().initialize(SCHEMA)
            assert path in str(caught.value)
            assert list(place.model.tree()) == [path]

    def test_of_a_creator_that_died_are_passed_over(self) -> None:
        place = Place()
        place.model.put(f"{LOG_DIRECTORY}/.probe-1234", b"first")
        assert place.log().initialize(SCHEMA) == 0

    def test_of_data_without_a_log_are_passed_over(self) -> None:
        place = Place()
        place.model.put(canonical("part-0.split"), b"x")
        assert place.log().initialize(SCHEMA) == 0

    def test_a_table_of_others_is_a_table(self) -> None:
        place = Place()
        place.write(0, foreign_add("f"))
        with pytest.raises(TableNotFoundError, match="its log holds no metaData action"):
            place.log().initialize(SCHEMA)


class Overwriting(S3Model):
    """A store that ignores the condition, as some that call themselves compatible do."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.put(path, data)


class TestTheStore:
    def test_must_tell_racing_writers_apart(self) -> None:
        place = Place(Overwriting())
        with pytest.raises(UnsupportedStoreError) as caught:
            place.log().initialize(SCHEMA)
        assert "it overwrote an object that it was asked to create only if absent" in str(caught.value)
        assert place.model.tree() == {}

    def test_must_let_us_write(self) -> None:
        place = Place()
        with pytest.raises(PermissionDeniedError, match="was refused"):
            place.open(plan=Plan(1, FaultKind.PERMISSION, "forever")).log.initialize(SCHEMA)
        assert place.model.tree() == {}

    def test_may_lose_its_answer_and_then_nothing_is_guessed(self) -> None:
        place = Place()

        def before(op: str, path: str) -> None:
            if op == "get" and path == commit_path(0):
                raise PermissionDeniedError(path)

        twin = Place().open()
        twin.log.initialize(SCHEMA)
        put = [*twin.store.calls].index(("put_if_absent", commit_path(0))) + 1
        opened = place.open(plan=Plan(put, FaultKind.ANSWER_LOST_DONE), before=before)
        with pytest.raises(CommitUnknownError) as caught:
            opened.log.initialize(SCHEMA)
        assert caught.value.version == 0
        assert place.log().resolve_commit(caught.value) == 0
