from __future__ import annotations

from dataclasses import replace

import pytest

from indextables.config import Settings
from indextables.log.layout import (
    LOG_DIRECTORY,
    POINTER,
    commit_path,
    floor_path,
    json_checkpoint_path,
    manifest_path,
    part_path,
)
from indextables.log.retention import LogFiles, aged_checkpoints, oldest_kept, settled_parts, sort_files
from indextables.storage.base import ObjectMeta
from tests.faults.upkeep_clock import DAY_MS, HOUR_MS, OldTable, configured
from tests.support.logs import paths

NOW = 2_000_000_000_000


def meta(path: str, *, days: float = 0.0, size: int = 10) -> ObjectMeta:
    return ObjectMeta(path, size, NOW - int(days * DAY_MS), path)


def commits(ages: dict[int, float]) -> LogFiles:
    return sort_files([meta(commit_path(version), days=days) for version, days in ages.items()])


def kept(files: LogFiles, *, latest: int, checkpoint: int, settings: Settings | None = None) -> int:
    return oldest_kept(files, now_ms=NOW, latest=latest, checkpoint=checkpoint, settings=settings or Settings())


def all_old(count: int = 101) -> LogFiles:
    return commits(dict.fromkeys(range(count), 47.0))


SEED_AGES = {version: 47.0 if version <= 50 else 7.0 if version <= 85 else 4.0 for version in range(101)}


class TestTheScenarioOfTheSpecification:
    """Versions 50, 85 and 95 are 47, 7 and 4 days old, the checkpoint is 90, the current version 100."""

    def test_version_50_goes_and_85_and_95_stay(self) -> None:
        assert kept(commits(SEED_AGES), latest=100, checkpoint=90) == 51

    def test_a_table_of_that_age_loses_versions_up_to_50_and_shows_the_rest(self) -> None:
        table = OldTable()
        table.create()
        table.append(50)
        table.clock.forward(days=40)
        table.append(35)
        table.clock.forward(days=3)
        table.append(5)
        table.open().checkpoint()
        table.append(10)
        table.clock.forward(days=4)
        before = {version: paths_at(table, version) for version in (51, 85, 95, 100)}
        result = table.open().cleanup()
        assert (result.oldest_version, result.commits, result.failures) == (51, 51, ())
        log = table.open()
        assert log.versions() == list(range(51, 101))
        assert {version: paths_at(table, version) for version in before} == before
        assert commit_path(50) not in table.names()
        assert {manifest_path(51), manifest_path(90), floor_path(51)} <= table.names()
        assert len(paths(log)) == 100


def paths_at(table: OldTable, version: int) -> list[str]:
    return sorted(table.open().snapshot(version).files["path"].to_pylist())


class TestEachGateAlone:
    def test_all_gates_open_leave_the_versions_that_are_kept_by_number(self) -> None:
        assert kept(all_old(), latest=100, checkpoint=100) == 71

    def test_age(self) -> None:
        ages = {version: 31.0 if version < 20 else 29.0 for version in range(101)}
        assert kept(commits(ages), latest=100, checkpoint=100) == 20

    def test_exactly_as_old_as_the_log_is_kept_is_not_older(self) -> None:
        assert kept(commits(dict.fromkeys(range(101), 30.0)), latest=100, checkpoint=100) == 0

    def test_number_of_versions(self) -> None:
        settings = configured(checkpoint__retention=95)
        assert kept(all_old(), latest=100, checkpoint=100, settings=settings) == 6

    def test_more_kept_versions_than_there_are_keep_all(self) -> None:
        assert kept(all_old(), latest=100, checkpoint=100, settings=configured(checkpoint__retention=101)) == 0

    def test_checkpoint(self) -> None:
        assert kept(all_old(), latest=100, checkpoint=40) == 40

    def test_no_checkpoint_no_cleanup(self) -> None:
        assert kept(all_old(), latest=100, checkpoint=-1) == 0

    def test_the_current_version_stays_whatever_the_other_gates_say(self) -> None:
        settings = configured(checkpoint__retention=0, logRetention__duration=0)
        assert kept(all_old(), latest=100, checkpoint=1_000, settings=settings) == 100

    @pytest.mark.parametrize("young", [0, 1, 35])
    def test_an_old_version_behind_a_young_one_stays_too(self, young: int) -> None:
        ages = {version: 1.0 if version == young else 47.0 for version in range(101)}
        assert kept(commits(ages), latest=100, checkpoint=100) == young

    def test_an_empty_log_keeps_everything(self) -> None:
        assert kept(sort_files([]), latest=0, checkpoint=-1) == 0


class TestAListingThatIsNotComplete:
    """A listing may end early, or lack a file; a version that was not seen is not known to be old."""

    def test_that_ends_early_never_reaches_beyond_its_end(self) -> None:
        files = commits(dict.fromkeys(range(10), 47.0))
        assert kept(files, latest=100, checkpoint=90) == 10

    def test_that_has_a_hole_is_trusted_up_to_the_hole(self) -> None:
        ages = {version: 47.0 for version in range(101) if version not in {20, 21}}
        assert kept(commits(ages), latest=100, checkpoint=90) == 20

    def test_that_shows_a_file_twice_is_no_hole(self) -> None:
        listing = [meta(commit_path(version), days=47) for version in range(101) for _ in range(2)]
        assert kept(sort_files(listing), latest=100, checkpoint=90) == 71


class TestTheFilesOfALog:
    def test_are_told_apart_by_their_names(self) -> None:
        listing = [
            meta(commit_path(7), size=70),
            meta(commit_path(3), size=30),
            meta(json_checkpoint_path(4), days=1),
            meta(manifest_path(3), days=2),
            meta(part_path(3), days=3),
            meta(POINTER),
            meta(floor_path(1)),
            meta(f"{LOG_DIRECTORY}/notes.txt"),
            meta(f"{LOG_DIRECTORY}/.{commit_path(3).rpartition('/')[2]}.crc"),
        ]
        files = sort_files(listing)
        assert files.versions.tolist() == [3, 7]
        assert files.sizes.tolist() == [30, 70]
        assert files.oldest == 3
        assert [(version, entry.path) for version, entry in files.checkpoints] == [
            (3, manifest_path(3)),
            (4, json_checkpoint_path(4)),
        ]
        assert [entry.path for entry in files.parts] == [part_path(3)]

    def test_the_newest_of_any_kind_tells_the_least_that_the_clock_of_the_store_shows(self) -> None:
        old = [meta(commit_path(1), days=9), meta(manifest_path(1), days=8), meta(part_path(1), days=7)]
        assert sort_files(old).newest_ms == NOW - 7 * DAY_MS
        assert sort_files(old[:2]).newest_ms == NOW - 8 * DAY_MS
        assert sort_files([]).newest_ms == 0


class TestCheckpointsThatMayGo:
    def aged(self, *, hours: float, settings: Settings | None = None) -> bool:
        files = sort_files([meta(manifest_path(1), days=hours / 24)])
        return bool(aged_checkpoints(files, now_ms=NOW, settings=settings or Settings()))

    def test_are_older_than_checkpoints_are_kept(self) -> None:
        assert not self.aged(hours=2)
        assert self.aged(hours=2.01)

    def test_are_not_being_written_whatever_the_settings_say(self) -> None:
        settings = configured(checkpointRetention__duration=0)
        assert not self.aged(hours=1, settings=settings)
        assert self.aged(hours=1.01, settings=settings)


class TestPartsThatMayGo:
    def test_belong_to_no_checkpoint_that_is_being_written_now(self) -> None:
        listing = [
            meta(part_path(2, part=1, of=2), days=1),
            replace(meta(part_path(3)), modified_ms=NOW - HOUR_MS),
            replace(meta(part_path(4)), modified_ms=NOW - HOUR_MS - 1),
        ]
        settled = settled_parts(sort_files(listing), now_ms=NOW)
        assert [entry.path for entry in settled] == [part_path(2, part=1, of=2), part_path(4)]
