from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError, LogCorruptionError, ProtocolError
from indextables.log.layout import LOG_DIRECTORY, POINTER, commit_path, floor_path, manifest_path
from indextables.log.repair import UndoResult, Way
from indextables.log.repair import in_place as in_place_module
from indextables.log.repair import undo as undo_module
from indextables.log.repair.backup import BACKUP_DIRECTORY, make_backup
from indextables.log.repair.undo import undo
from indextables.log.repair.write import whole_commit
from tests.support.logs import add
from tests.unit.log.test_repair import Damaged, all_files

if TYPE_CHECKING:
    from collections.abc import Callable


def undone(table: Damaged) -> UndoResult:
    return undo(table.store, settings=Settings(), runtime=table.place.runtime)


def _with_checkpoint(table: Damaged) -> None:
    table.log.checkpoint(3)
    table.lose(commit_path(4), commit_path(2))


def _ahead(table: Damaged) -> None:
    table.log.checkpoint()
    table.lose(commit_path(4), commit_path(5))


def _trimmed(table: Damaged) -> None:
    table.log.checkpoint(4)
    table.place.model.put(floor_path(1), b"{}\n")
    table.lose(commit_path(0), commit_path(2))


def _bad_checkpoint(table: Damaged) -> None:
    table.log.checkpoint(4)
    table.spoil(manifest_path(4))


DAMAGES: dict[str, tuple[Callable[[Damaged], object], Way]] = {
    "a gap": (lambda table: table.lose(commit_path(3)), Way.REWRITE),
    "a damaged commit": (lambda table: table.spoil(commit_path(3)), Way.REWRITE),
    "damage around a checkpoint": (_with_checkpoint, Way.REWRITE),
    "a checkpoint ahead": (_ahead, Way.REWRITE),
    "damage below a checkpoint": (_trimmed, Way.TRIM),
    "a damaged checkpoint": (_bad_checkpoint, Way.CHECKPOINTS),
}


@pytest.mark.parametrize(("damage", "way"), DAMAGES.values(), ids=DAMAGES.keys())
def test_gives_every_file_of_the_old_log_back(damage: Callable[[Damaged], object], way: Way) -> None:
    table = Damaged()
    damage(table)
    before = table.place.model.tree()
    assert table.repair().way is way
    assert table.place.model.tree() != before
    result = undone(table)
    assert result.way is way
    after = table.place.model.tree()
    assert {path: after.get(path) for path in before} == before
    extra = set(after) - set(before)
    assert all(path.startswith(f"{LOG_DIRECTORY}/_checkpoints/") or path == POINTER for path in extra), extra
    if way is Way.REWRITE:
        assert not extra
    assert not any(path.startswith(BACKUP_DIRECTORY) for path in after)
    assert table.repair().way is way


def test_is_refused_once_somebody_has_written() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    table.repair()
    table.place.log().add_files([add("later.split")])
    before = table.place.model.tree()
    with pytest.raises(ConcurrentWriteError, match="written to after the repair"):
        undone(table)
    assert table.place.model.tree() == before


def test_of_a_trimmed_log_keeps_what_was_written_since() -> None:
    table = Damaged()
    table.log.checkpoint(4)
    table.lose(commit_path(2))
    table.repair()
    table.place.log().add_files([add("later.split")])
    undone(table)
    assert table.files() == [*all_files(), "later.split"]


def test_is_refused_where_there_is_nothing_to_undo() -> None:
    table = Damaged()
    with pytest.raises(LogCorruptionError, match="nothing to undo"):
        undone(table)
    table.lose(commit_path(3))
    table.repair()
    undone(table)
    with pytest.raises(LogCorruptionError, match="nothing to undo"):
        undone(table)


def test_is_refused_if_a_copy_of_the_old_log_is_damaged() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    backup = table.repair().backup
    table.spoil(f"{backup}/{commit_path(2)}")
    before = table.place.model.tree()
    with pytest.raises(LogCorruptionError, match="missing or changed"):
        undone(table)
    assert table.place.model.tree() == before


def test_goes_back_one_repair_at_a_time() -> None:
    table = Damaged()
    _bad_checkpoint(table)
    first = table.place.model.tree()
    assert table.repair().way is Way.CHECKPOINTS
    table.place.runtime.sleep(5)
    table.spoil(manifest_path(5))
    table.lose(commit_path(3))
    second = table.place.model.tree()
    assert table.repair().way is Way.REWRITE
    assert undone(table).way is Way.REWRITE
    assert table.place.model.tree() == second
    assert undone(table).way is Way.CHECKPOINTS
    assert table.place.model.get(manifest_path(4)) == first[manifest_path(4)]
    assert table.place.model.get(POINTER) == first[POINTER]


def test_keeps_writers_away_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Damaged()
    table.lose(commit_path(3))
    table.repair()
    refused = []

    def write_meanwhile(*_: object) -> None:
        with pytest.raises(ProtocolError):
            table.place.log().add_files([add("lost.split")])
        refused.append(table.files())
        raise KeyboardInterrupt

    monkeypatch.setattr(undo_module, "_take_away", write_meanwhile)
    with pytest.raises(KeyboardInterrupt):
        undone(table)
    assert refused == [all_files(2)], "readers still see the repaired table"
    with pytest.raises(LogCorruptionError, match="Run undo_repair"):
        table.repair()
    monkeypatch.undo()
    undone(table)
    assert commit_path(6) not in table.names()


def test_a_writer_that_is_faster_than_a_repair_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Damaged()
    table.spoil(commit_path(3))
    made: list[int] = []

    def meddle(*args: object, **options: object) -> object:
        if len(made) < 2:
            made.append(table.place.log().add_files([add(f"late{len(made)}.split")]).version)
        return make_backup(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(in_place_module, "make_backup", meddle)
    result = table.repair()
    assert (made, result.version) == ([6, 7], 8)
    assert table.files() == [*all_files(2), "late0.split", "late1.split"]
    backups = {path.split("/")[1] for path in table.place.model.tree() if path.startswith(BACKUP_DIRECTORY)}
    assert len(backups) == 1, "what was copied in vain is gone"


def test_a_repair_gives_up_when_others_are_faster_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Damaged()
    table.spoil(commit_path(3))

    def meddle(*args: object, **options: object) -> object:
        table.place.log().add_files([add(f"late{table.place.commits()}.split")])
        return make_backup(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(in_place_module, "make_backup", meddle)
    with pytest.raises(ConcurrentWriteError, match="committed during each of 5 repairs"):
        table.repair()
    assert not any(path.startswith(BACKUP_DIRECTORY) for path in table.place.model.tree())


def test_a_writer_that_knows_only_an_old_version_is_not_acknowledged_into_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Damaged()
    stale = table.place.open()
    old = dict(table.place.model.tree())
    for version in (3, 4, 5):
        table.lose(commit_path(version))
    stale.log.latest_version()
    for version in (4, 5):
        table.place.model.put(commit_path(version), old[commit_path(version)])

    def meddle(*args: object) -> object:
        assert stale.log.add_files([add("stale.split")]).version in {3, 6}
        monkeypatch.setattr(in_place_module, "whole_commit", whole_commit)
        return whole_commit(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(in_place_module, "whole_commit", meddle)
    table.repair()
    assert "stale.split" in table.files()
