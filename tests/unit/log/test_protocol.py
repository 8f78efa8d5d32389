from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import ProtocolError, SchemaError
from indextables.log.actions import Protocol
from indextables.log.protocol import DEFAULT, LEGACY, check_readable, check_upgrade, check_writable
from tests.support.logs import Place, add, foreign_add, new_table, paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.log.log import TransactionLog


def protocol(reader: int, writer: int, **features: Any) -> Protocol:
    return Protocol(min_reader_version=reader, min_writer_version=writer, **features)


class TestCheck:
    @pytest.mark.parametrize("version", [0, 1, 2, 3])
    def test_versions_up_to_three_are_read_and_written(self, version: int) -> None:
        check_readable(protocol(version, version), table="t")
        check_writable(protocol(version, version), table="t")

    def test_a_newer_reader_version_refuses_everything(self) -> None:
        for check in (check_readable, check_writable):
            with pytest.raises(ProtocolError) as caught:
                check(protocol(4, 2), table="t")
            assert str(caught.value) == (
                "The table t needs reader version 4, and this version supports up to reader version 3. "
                "Upgrade indextables to use it."
            )

    def test_a_newer_writer_version_refuses_writes_only(self) -> None:
        check_readable(protocol(2, 4), table="t")
        with pytest.raises(
            ProtocolError, match="needs writer version 4, and this version supports up to writer version 3"
        ):
            check_writable(protocol(2, 4), table="t")

    def test_unknown_reader_features_refuse_everything_by_name(self) -> None:
        needs = protocol(3, 3, reader_features=["zorder", "deletionVectors"], writer_features=[])
        for check in (check_readable, check_writable):
            with pytest.raises(ProtocolError, match="needs the reader features deletionVectors, zorder") as caught:
                check(needs, table="t")
            assert caught.value.missing == ("deletionVectors", "zorder")

    def test_unknown_writer_features_refuse_writes_only(self) -> None:
        needs = protocol(3, 3, reader_features=[], writer_features=["appendOnly"])
        check_readable(needs, table="t")
        with pytest.raises(ProtocolError, match="needs the writer features appendOnly") as caught:
            check_writable(needs, table="t")
        assert caught.value.missing == ("appendOnly",)

    @pytest.mark.parametrize(
        "features", [{}, {"reader_features": None}, {"reader_features": [], "writer_features": []}]
    )
    def test_no_feature_list_needs_no_feature(self, features: dict[str, Any]) -> None:
        check_writable(protocol(3, 3, **features), table="t")


class TestUpgrade:
    def test_may_go_up_or_stay(self) -> None:
        check_upgrade(DEFAULT, protocol(3, 3), table="t")
        check_upgrade(DEFAULT, DEFAULT, table="t")

    @pytest.mark.parametrize("wanted", [protocol(1, 2), protocol(2, 1), protocol(3, 1)])
    def test_never_goes_down(self, wanted: Protocol) -> None:
        with pytest.raises(SchemaError, match=r"A protocol never goes down\. The table is at 2/2"):
            check_upgrade(DEFAULT, wanted, table="t")

    def test_never_shuts_us_out(self) -> None:
        with pytest.raises(ProtocolError):
            check_upgrade(DEFAULT, protocol(2, 4), table="t")

    def test_of_a_log_keeps_metadata_and_files(self) -> None:
        _, log = new_table(files=2)
        before = log.snapshot()
        result = log.upgrade_protocol(protocol(3, 3))
        assert log.protocol == protocol(3, 3)
        assert (log.metadata.id, log.schema) == (before.metadata.id, before.schema)
        assert log.snapshot().files.equals(before.files)
        assert log.history(limit=1)["operation"].to_pylist() == ["protocol"]
        assert result.version == 3

    def test_of_a_log_that_goes_down_writes_nothing(self) -> None:
        place, log = new_table()
        with pytest.raises(SchemaError):
            log.upgrade_protocol(protocol(1, 1))
        assert place.commits() == 1


class TestTables:
    """The check happens before each read and each write, also on a handle that saw the table before it changed."""

    def upgraded(self, **fields: Any) -> tuple[Place, TransactionLog]:
        place, log = new_table(files=1)
        log.list_files()
        place.write(2, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 2, **fields}})
        return place, log

    def test_that_need_a_newer_reader_are_refused_by_every_question(self) -> None:
        place, warm = self.upgraded(minReaderVersion=7)
        for log in (warm, place.log()):
            for ask in (
                log.list_files,
                partial(getattr, log, "metadata"),
                partial(getattr, log, "schema"),
                log.versions,
            ):
                with pytest.raises(ProtocolError, match="The table s3 model needs reader version 7"):
                    ask()

    @pytest.mark.parametrize("warm", [True, False])
    def test_that_need_a_newer_writer_are_read_but_not_written(self, warm: bool) -> None:
        place, log = self.upgraded(minWriterVersion=7)
        log = log if warm else place.log()
        commits = place.commits()
        writes: list[Callable[[], object]] = [
            lambda: log.add_files([add("g")]),
            lambda: log.overwrite_files([]),
            lambda: log.remove_files(["f0"]),
            lambda: log.update_metadata(name="n"),
            lambda: log.record_skipped_file("f0", reason="r", operation="o"),
            lambda: log.upgrade_protocol(protocol(3, 3)),
        ]
        for write in writes:
            with pytest.raises(ProtocolError, match="writer version 7"):
                write()
        assert paths(log) == ["f0"]
        assert place.commits() == commits

    def test_with_unknown_writer_features_are_read_but_not_written(self) -> None:
        _, log = self.upgraded(minReaderVersion=3, minWriterVersion=3, readerFeatures=[], writerFeatures=["x"])
        assert paths(log) == ["f0"]
        with pytest.raises(ProtocolError, match="needs the writer features x"):
            log.add_files([add("g")])

    def test_with_unknown_reader_features_are_not_read(self) -> None:
        _, log = self.upgraded(minReaderVersion=3, minWriterVersion=3, readerFeatures=["x", "y"], writerFeatures=[])
        with pytest.raises(ProtocolError, match="needs the reader features x, y"):
            log.list_files()

    def test_without_a_protocol_line_are_of_version_one(self) -> None:
        place = Place()
        schema = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
        place.write(0, {"metaData": {"id": "i", "schemaString": schema, "partitionColumns": []}}, foreign_add("old"))
        log = place.log()
        assert log.protocol == log.snapshot().protocol == LEGACY
        log.add_files([add("new")])
        assert paths(place.log()) == ["new", "old"]
        assert place.log().protocol == LEGACY

    def test_without_a_protocol_line_can_be_upgraded(self) -> None:
        place = Place()
        schema = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
        place.write(0, {"metaData": {"id": "i", "schemaString": schema, "partitionColumns": []}})
        log = place.log()
        log.upgrade_protocol(DEFAULT)
        assert place.log().protocol == DEFAULT
