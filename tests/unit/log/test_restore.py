from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError, NotFoundError, ProtocolError, VersionNotFoundError
from indextables.log.actions import Add, MetaData, Protocol
from indextables.log.columns import ActionKeys, table_of
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG
from indextables.log.layout import commit_path
from indextables.log.restore import DataFilesMissingError
from indextables.log.restore import without_facts as rows_without_facts
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.logs import SCHEMA, Place, add, foreign_add, kinds, new_table, paths

if TYPE_CHECKING:
    from indextables.log.log import TransactionLog

DAYS = 24 * 3600


def table(files: int = 3) -> tuple[Place, TransactionLog]:
    """Return a table whose data files are there too."""
    place, log = new_table(files=files)
    for number in range(files):
        place.model.put(f"f{number}", b"data")
    return place, log


def adds_of(log: TransactionLog, version: int) -> dict[str, Add]:
    return {action.path: action for action in log.read_version(version) if isinstance(action, Add)}


def without_facts(action: Add) -> Add:
    tags = {key: value for key, value in (action.tags or {}).items() if key != COMMIT_TAG}
    return msgspec.structs.replace(action, tags=tags)


def test_removes_what_is_new_and_adds_what_is_gone_as_a_new_version() -> None:
    _, log = table()
    log.remove_files(["f0"])
    log.add_files([add("new")])
    result = log.restore(3)
    assert (result.version, result.written) == (6, True)
    assert paths(log) == ["f0", "f1", "f2"]
    assert kinds(log.read_version(6)) == ["remove", "add"]
    assert log.history(limit=1)["operation"].to_pylist() == ["restore"]


def test_leaves_the_versions_in_between_to_be_restored_themselves() -> None:
    place, log = table()
    log.add_files([add("new")])
    place.model.put("new", b"data")
    log.restore(1)
    log.restore(4)
    assert paths(log) == ["f0", "f1", "f2", "new"]
    assert sorted(log.snapshot(5).files["path"].to_pylist()) == ["f0"]


def test_of_the_newest_version_writes_nothing() -> None:
    _, log = table()
    result = log.restore(3)
    assert (result.version, result.written, log.latest_version()) == (3, False, 3)


def test_of_a_version_with_the_same_files_writes_nothing() -> None:
    _, log = table()
    log.record_skipped_file("f0", reason="r", operation="merge")
    assert not log.restore(3).written


def test_brings_adds_back_exactly_as_they_were() -> None:
    place, log = new_table()
    given = add("a", stats='{"x":1}', tags={"mine": "1"}, min_values={"id": "1"}, max_values={"id": "9"}, num_records=4)
    log.add_files([msgspec.structs.replace(given, extra={"later": msgspec.Raw(b'{"deep":[1,2]}')})])
    place.model.put("a", b"data")
    log.remove_files(["a"])
    log.restore(1)
    before, after = adds_of(log, 1)["a"], adds_of(log, 3)["a"]
    assert without_facts(after) == without_facts(before)
    assert bytes(after.extra["later"]) == b'{"deep":[1,2]}'


def test_does_not_vouch_for_adds_of_others() -> None:
    place, log = new_table()
    place.write(1, foreign_add("theirs"))
    log.add_files([add("ours")])
    for path in ("theirs", "ours"):
        place.model.put(path, b"data")
    log.remove_files(["theirs", "ours"])
    log.restore(2)
    restored = adds_of(log, 4)
    assert WRITER_TAG not in (restored["theirs"].tags or {})
    assert WRITER_TAG in (restored["ours"].tags or {})
    files = log.snapshot()
    assert dict(zip(files.files["path"].to_pylist(), files.ours.to_pylist(), strict=True)) == {
        "theirs": False,
        "ours": True,
    }


def test_brings_back_no_facts_of_a_commit_where_an_add_had_no_other_tags() -> None:
    rows = table_of(Add, [(1, 0, add("f", tags={COMMIT_TAG: "{}"}))], ActionKeys(tags=(COMMIT_TAG,)))
    assert rows_without_facts(rows)["tags"].to_pylist() == [None]


def test_brings_back_an_add_that_was_replaced_under_the_same_path() -> None:
    place, log = table(files=1)
    log.add_files([add("f0", size=999, num_records=7)])
    assert log.list_files()["size"].to_pylist() == [999]
    log.restore(1)
    assert log.list_files()["size"].to_pylist() == [100]
    assert place.commits() == 4


def test_brings_metadata_back() -> None:
    _, log = table()
    before = log.metadata
    log.update_metadata(name="renamed", configuration={"k": "v"})
    log.restore(3)
    after = log.metadata
    assert (after.id, after.name, after.schema_string) == (before.id, before.name, before.schema_string)
    assert log.snapshot().configuration == {}
    assert [type(action) for action in log.read_version(5)] == [MetaData]


def test_leaves_the_protocol_and_the_batches_of_applications_alone() -> None:
    place, log = table()
    log.add_files([add("b")], app="stream", batch=7)
    log.upgrade_protocol(Protocol(min_reader_version=3, min_writer_version=3))
    log.restore(3)
    assert log.protocol.min_writer_version == 3
    assert log.snapshot().transactions["stream"].number == 7
    assert not place.log().add_files([add("b")], app="stream", batch=7).written


def test_refuses_when_data_files_are_gone_and_names_all_of_them() -> None:
    place, log = table(files=3)
    log.overwrite_files([add("new")])
    place.model.delete("f0")
    place.model.delete("f2")
    with pytest.raises(DataFilesMissingError, match="version 3 needs 2 data files that are gone: f0, f2") as caught:
        log.restore(3)
    assert caught.value.files == ("f0", "f2")
    assert isinstance(caught.value, NotFoundError)
    assert log.latest_version() == 4


def test_needs_only_those_data_files_that_come_back() -> None:
    place, log = table(files=3)
    log.add_files([add("new")])
    for number in range(3):
        place.model.delete(f"f{number}")
    assert log.restore(3).written
    assert paths(log) == ["f0", "f1", "f2"]


@pytest.mark.parametrize("version", [-1, 4, 99])
def test_of_a_version_that_never_was_names_those_that_are(version: int) -> None:
    _, log = table()
    with pytest.raises(VersionNotFoundError, match="Available: 0 to 3"):
        log.restore(version)


def test_of_a_version_that_cleanup_took_away_names_those_that_are_left() -> None:
    prefix = "spark.indextables."
    settings = Settings.resolve({f"{prefix}checkpoint.retention": 2})
    runtime = virtual_runtime(0)
    place = Place(model=S3Model(now_ms=runtime.now_ms), runtime=runtime, checkpoints=True)
    log = place.log(settings)
    log.initialize(SCHEMA)
    for number in range(6):
        log.add_files([add(f"f{number}")])
    runtime.sleep(40 * DAYS)
    log.add_files([add("late")])
    log.checkpoint()
    assert log.cleanup().commits > 0
    oldest = log.versions()[0]
    with pytest.raises(VersionNotFoundError, match=f"Available: {oldest} to {log.latest_version()}"):
        log.restore(oldest - 1)
    assert log.history()["version"].to_pylist() == log.versions()[::-1]
    assert log.history(limit=10_000)["version"].to_pylist() == log.versions()[::-1]


def test_conflicts_with_an_append_that_it_did_not_see() -> None:
    place, _ = table()
    other = place.log()
    done: list[int] = []

    def meddle(op: str, path: str) -> None:
        if op == "put_if_absent" and path == commit_path(5) and not done:
            done.append(1)
            other.add_files([add("theirs")])

    log = place.open(before=meddle).log
    log.add_files([add("new")])
    with pytest.raises(ConcurrentWriteError, match="added files that our overwrite did not see"):
        log.restore(1)
    assert paths(place.log()) == ["f0", "f1", "f2", "new", "theirs"]


def test_is_refused_where_writing_is() -> None:
    place, log = table()
    place.write(4, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 99}}, foreign_add("x"))
    with pytest.raises(ProtocolError):
        log.restore(1)
