from __future__ import annotations

import pytest

from indextables.config import Compression, Settings
from indextables.errors import LogCorruptionError, TableNotFoundError, UnsafePathError, VersionNotFoundError
from indextables.log.layout import commit_path
from indextables.log.plain import replay_plainly
from indextables.testing.faulty import FaultStore
from tests.support.logs import Place, add, foreign_add, new_table


def test_reads_every_commit_once_in_order() -> None:
    place, _ = new_table(files=4)
    store = FaultStore(place.model)
    replay_plainly(store)
    assert [path for op, path in store.calls if op == "get"] == [commit_path(version) for version in range(5)]


def test_reads_no_further_than_the_version_asked_for() -> None:
    place, _ = new_table(files=4)
    store = FaultStore(place.model)
    assert replay_plainly(store, 2).version == 2
    assert [path for op, path in store.calls if op == "get"] == [commit_path(version) for version in range(3)]


def test_tells_the_same_as_the_other_reader_about_a_table_with_everything_in_it() -> None:
    place, log = new_table()
    log.add_files([add("a", min_values={"id": "1"}, num_records=1), add("b", tags={"x": "y"})], app="s", batch=1)
    place.log(Settings(compression=Compression(codec="zstd"))).add_files([add("c")])
    place.log(Settings(compression=Compression(enabled=False))).merge_files(["a", "b"], [add("m")])
    log.record_skipped_file("m", reason="r", operation="merge")
    place.write(5, foreign_add("f", later=[1, None]), {"remove": {"path": "c", "dataChange": True, "later": {}}})
    log.update_metadata(description="d")
    for version in range(7):
        plain, fast = replay_plainly(place.model, version), place.log().snapshot(version).state
        for name in ("files", "removes", "skips"):
            one, other = getattr(plain, name), getattr(fast, name)
            assert sorted(map(str, _rows(one))) == sorted(map(str, _rows(other)))
        assert (plain.metadata, plain.metadata_version) == (fast.metadata, fast.metadata_version)
        assert (plain.protocol, plain.protocol_version) == (fast.protocol, fast.protocol_version)
        assert plain.transactions == fast.transactions
        assert plain.timestamps.tolist() == fast.timestamps.tolist()


def _rows(table: object) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.to_pylist()  # type: ignore[attr-defined]
    return [
        {
            name: {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value
            for name, value in sorted(row.items())
        }
        for row in rows
    ]


def test_of_no_log_is_an_error() -> None:
    with pytest.raises(TableNotFoundError):
        replay_plainly(Place().model)


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_of_no_such_version_is_an_error(version: int) -> None:
    place, _ = new_table(files=2)
    with pytest.raises(VersionNotFoundError, match="Available: 0 to 2"):
        replay_plainly(place.model, version)


def test_of_a_gap_is_an_error() -> None:
    place, _ = new_table(files=3)
    place.model.delete(commit_path(1))
    with pytest.raises(LogCorruptionError, match="version 1 is missing below version 3"):
        replay_plainly(place.model)


def test_of_a_path_that_leads_out_of_the_table_is_an_error() -> None:
    place, _ = new_table()
    for path in ("../x", "a/../../b"):
        place.write(1, foreign_add(path))
        with pytest.raises(UnsafePathError):
            replay_plainly(place.model)
