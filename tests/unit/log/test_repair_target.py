from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indextables.config import Settings
from indextables.errors import LogCorruptionError, TableExistsError
from indextables.log.codec import detect
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.log.log import TransactionLog
from indextables.log.open import open_log
from indextables.log.repair import RepairResult, Way, repair, repair_store, undo_repair, write
from indextables.storage.retry import RetryingStore
from indextables.testing.models import S3Model
from tests.support.logs import SCHEMA, add
from tests.unit.log.test_repair import PLAIN, Damaged, all_files

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.storage.base import Store


def copied(table: Damaged, target: Store, *, dry_run: bool = False) -> RepairResult:
    return repair_store(table.place.model, target, settings=Settings(), runtime=table.place.runtime, dry_run=dry_run)


def files(store: Store, settings: Settings | None = None) -> list[str]:
    return sorted(TransactionLog(store, settings=settings).snapshot().files["path"].to_pylist())


def test_writes_what_survives_as_version_0_in_gzip_and_leaves_the_source_alone() -> None:
    table, target = Damaged(), S3Model()
    table.lose(commit_path(3))
    before = table.place.model.tree()
    result = copied(table, target)
    assert (result.way, result.changed, result.version, result.lost_versions) == (Way.COPY, True, 0, (3,))
    assert table.place.model.tree() == before
    assert list(target.tree()) == [commit_path(0)]
    assert detect(target.get(commit_path(0))) == "gzip"
    assert files(target) == files(target, PLAIN) == all_files(2)
    assert TransactionLog(target).metadata.id == table.id


def test_of_a_sound_log_is_a_copy_without_its_history() -> None:
    table, target = Damaged(), S3Model()
    assert copied(table, target).exact
    assert files(target) == all_files()
    assert TransactionLog(target).history()["operation"].to_pylist() == ["repair"]


def test_that_is_dry_writes_nothing() -> None:
    table, target = Damaged(), S3Model()
    result = copied(table, target, dry_run=True)
    assert (result.dry_run, result.changed, target.tree()) == (True, False, {})
    assert "Write 5 files as version 0 of s3 model, in gzip" in str(result)


@pytest.mark.parametrize("name", [commit_path(0), commit_path(7), f"{LOG_DIRECTORY}/_last_checkpoint"])
def test_refuses_a_place_that_holds_a_log_or_parts_of_one(name: str) -> None:
    table, target = Damaged(), S3Model()
    target.put(name, b"theirs")
    with pytest.raises(TableExistsError, match="only writes where none is"):
        copied(table, target)
    assert target.tree() == {name: b"theirs"}


def test_refuses_the_source_itself() -> None:
    table = Damaged()
    before = table.place.model.tree()
    with pytest.raises(TableExistsError):
        copied(table, table.place.model)
    assert table.place.model.tree() == before


def test_knows_the_batches_of_applications() -> None:
    table, target = Damaged(), S3Model()
    table.log.add_files([add("s.split")], app="stream", batch=7)
    table.log.add_files([add("t.split")], app="other", batch=1)
    table.lose(commit_path(3))
    assert copied(table, target).version == 2
    log = TransactionLog(RetryingStore(target))
    assert {app: batch.number for app, batch in log.snapshot().transactions.items()} == {"stream": 7, "other": 1}
    assert not log.add_files([add("s.split")], app="stream", batch=7).written
    assert log.add_files([add("u.split")], app="stream", batch=8).version == 3


def test_of_more_than_one_file_can_hold_is_several_commits_and_visible_only_when_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "MAX_FILE_BYTES", 2_000)
    monkeypatch.setattr(write, "_ROWS", 3)
    table, target = Damaged(files=10), S3Model()
    seen = []

    class Watching(S3Model):
        def put_if_absent(self, path: str, data: bytes) -> None:
            super().put_if_absent(path, data)
            if path.endswith(".json"):
                seen.append(path)

    target = Watching()
    result = copied(table, target)
    assert result.version == 4
    assert seen == [commit_path(version) for version in (4, 3, 2, 1, 0)]
    assert files(target) == files(target, PLAIN) == all_files(of=10)


def test_is_not_written_if_it_would_not_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    table, target = Damaged(), S3Model()
    whole = write.whole_commit
    monkeypatch.setattr(
        write, "whole_commit", lambda state, info: whole(replace(state, files=state.files.slice(1)), info)
    )
    with pytest.raises(LogCorruptionError, match="does not read back"):
        copied(table, target)
    assert not any(path.endswith(".json") for path in target.tree())


def test_takes_addresses_of_tables_and_of_their_logs(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    log = open_log(str(source))
    log.initialize(SCHEMA)
    log.add_files([add("a.split"), add("b.split")])
    log.add_files([add("c.split")])
    (source / commit_path(1)).write_bytes(b"")
    dry = repair(str(source))
    assert (dry.dry_run, dry.lost_versions) == (True, (1,))
    assert repair(f"{source}/_transaction_log/", f"{target}/_transaction_log", dry_run=False).changed
    assert open_log(str(target)).list_files()["path"].to_pylist() == ["c.split"]
    assert repair(f"{source}/_transaction_log", dry_run=False).changed
    assert open_log(str(source)).list_files()["path"].to_pylist() == ["c.split"]
    assert undo_repair(f"{source}/_transaction_log").files == 3
    assert (source / commit_path(1)).read_bytes() == b""
