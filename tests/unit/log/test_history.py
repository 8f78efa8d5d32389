from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from indextables.log.actions import Skip
from indextables.log.history import SCHEMA
from tests.support.logs import add, foreign_add, new_table


def test_has_a_row_for_each_commit_newest_first() -> None:
    _, log = new_table(files=3)
    history = log.history()
    assert history.schema.equals(SCHEMA)
    assert history["version"].to_pylist() == [3, 2, 1, 0]
    assert history["operation"].to_pylist() == ["append", "append", "append", "create"]


def test_tells_what_each_commit_did() -> None:
    place, log = new_table()
    place.runtime.sleep(60)
    added = log.add_files([add("a", size=10, num_records=4), add("b", size=5)], user_metadata="first load ✓")
    skip = Skip(path="b", skip_timestamp=0, reason="r", operation="merge")
    merged = log.merge_files(["a"], [add("m", size=7, num_records=4)], skips=[skip])
    rows = {row["version"]: row for row in log.history().to_pylist()}
    assert rows[1] == {
        "version": 1,
        "timestamp": dt.datetime(2024, 1, 1, 0, 1, tzinfo=dt.UTC),
        "operation": "append",
        "commit_id": added.commit_id,
        "read_version": 0,
        "files_added": 2,
        "files_removed": 0,
        "files_skipped": 0,
        "rows_added": 4,
        "bytes_added": 15,
        "app": None,
        "batch": None,
        "user_metadata": "first load ✓",
    }
    assert (rows[2]["operation"], rows[2]["commit_id"]) == ("merge", merged.commit_id)
    assert (rows[2]["files_added"], rows[2]["files_removed"], rows[2]["files_skipped"]) == (1, 1, 1)


def test_names_every_operation() -> None:
    _, log = new_table()
    log.add_files([add("a"), add("b"), add("c")])
    log.overwrite_files([add("d"), add("e")])
    log.remove_files(["e"])
    log.merge_files(["d"], [add("f")])
    log.update_metadata(name="n")
    log.upgrade_protocol(log.protocol)
    log.record_skipped_file("f", reason="r", operation="merge")
    log.commit([add("g")], operation="import from elsewhere")
    assert log.history()["operation"].to_pylist() == [
        "import from elsewhere",
        "skip",
        "protocol",
        "metadata",
        "merge",
        "remove",
        "overwrite",
        "append",
        "create",
    ]


def test_shows_applications_and_their_batches() -> None:
    _, log = new_table()
    log.add_files([add("a")], app="stream", batch=7)
    (newest,) = log.history(limit=1).to_pylist()
    assert (newest["app"], newest["batch"]) == ("stream", 7)


def test_of_others_has_what_their_actions_tell() -> None:
    place, log = new_table()
    place.write(1, foreign_add("a", size=3, numRecords=2), {"remove": {"path": "x", "dataChange": True}})
    (newest,) = log.history(limit=1).to_pylist()
    assert (newest["operation"], newest["commit_id"], newest["read_version"]) == (None, None, None)
    assert (newest["files_added"], newest["files_removed"], newest["rows_added"], newest["bytes_added"]) == (1, 1, 2, 3)


@pytest.mark.parametrize(("limit", "versions"), [(None, [3, 2, 1, 0]), (2, [3, 2]), (99, [3, 2, 1, 0]), (0, [])])
def test_can_be_cut_to_the_newest(limit: int | None, versions: list[int]) -> None:
    _, log = new_table(files=3)
    assert log.history(limit=limit)["version"].to_pylist() == versions


def test_that_is_cut_reads_only_what_it_shows() -> None:
    place, _ = new_table(files=40)
    opened = place.open()
    opened.log.latest_version()
    assert opened.cost(lambda: opened.log.history(limit=3))["get"] <= 3


def test_shows_the_times_that_time_travel_goes_by() -> None:
    place, log = new_table()
    start = log.snapshot().timestamp
    for version, time in enumerate([start + 5000, start + 1000, start + 6000], start=1):
        place.write(version, foreign_add(f"f{version}", modificationTime=time))
    shown = log.history()["timestamp"].cast(pa.int64()).to_pylist()[::-1]
    assert shown == log.snapshot().state.timestamps.tolist()
