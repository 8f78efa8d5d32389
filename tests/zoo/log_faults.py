"""Faults of the log: of commits, checkpoints, cleanup and what is remembered of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from indextables.log import cleanup, commit, restore, state, tip, versions
from indextables.log.checkpoint.writer import CheckpointWriter
from indextables.log.commit import Committer
from indextables.log.commits import CommitReader
from indextables.log.loader import Loader
from indextables.log.snapshot import Snapshot
from indextables.testing.faulty import FaultKind
from indextables.testing.models import S3Model
from tests.faults import test_repair_restore, test_upkeep_floor
from tests.faults.test_upkeep_interleavings import SLEEPING
from tests.faults.upkeep_judge import WitnessedS3
from tests.unit.log import test_cleanup, test_loader, test_restore, test_skips
from tests.unit.table import test_purging, test_table
from tests.zoo.detectors import crowded, existing, interleaved, swept, upkeep_crowded, upkeep_swept
from tests.zoo.entry import Entry
from tests.zoo.log_checks import EMPTIED, REPLAYED, SKEWED, SUMMED_UP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pytest

    from indextables.log.cache import Level
    from indextables.log.checkpoint.writer import CheckpointResult
    from indextables.log.state import LogState
    from indextables.log.tip import Tip
    from indextables.storage.base import Store

CLEANING_WRITER = "a writer that cleans up, a writer, a reader"


def _hint_trusted(patch: pytest.MonkeyPatch) -> None:
    latest = versions.latest_version

    def latest_version(store: Store, *, hint: int = -1) -> int:
        return hint if hint > 0 else latest(store)

    patch.setattr(tip, "latest_version", latest_version)


def _cleaner_believes_its_clock(patch: pytest.MonkeyPatch) -> None:
    # The lesser of two clocks decides, and `min` is what says so.
    patch.setattr(cleanup, "min", lambda ours, _: ours, raising=False)


def _short_checkpoint(patch: pytest.MonkeyPatch) -> None:
    write = CheckpointWriter.write

    def short(self: CheckpointWriter, snapshot: Snapshot, **rest: Any) -> CheckpointResult:
        files = snapshot.state.files
        kept = replace(snapshot.state, files=files.slice(0, max(files.num_rows - 1, 0)))
        return write(self, Snapshot(snapshot.url, kept), **rest)

    patch.setattr(CheckpointWriter, "write", short)


def _removes_lost(patch: pytest.MonkeyPatch) -> None:
    def kept(_: CheckpointWriter, whole: LogState) -> LogState:
        return replace(whole, removes=whole.removes.slice(0, 0))

    patch.setattr(CheckpointWriter, "_kept", kept)


def _checkpoints_unchecked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup._Valid, "has", lambda *_: True)


def _cleaned_slot_won(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Committer, "_check_floor", lambda *_: None)


def _empty_commit_accepted(patch: pytest.MonkeyPatch) -> None:
    stream = CommitReader._stream

    def whole(self: CommitReader, wanted: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        return ((version, data) for version, data in stream(self, wanted) if data)

    patch.setattr(CommitReader, "_stream", whole)


def _batches_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(state, "note_batch", lambda *_: None)


def _no_conflicts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "find_conflict", lambda *_, **__: None)


def _skips_for_ever(patch: pytest.MonkeyPatch) -> None:
    live = state._live_skips

    def untouched(
        before: pa.Table | None, new: pa.Table, touched: pa.Array, last_touch: npt.NDArray[np.int64]
    ) -> pa.Table:
        return live(before, new, touched.slice(0, 0), last_touch[:0])

    patch.setattr(state, "_live_skips", untouched)


def _cache_by_place(patch: pytest.MonkeyPatch) -> None:
    def remembered(_: Loader, level: Level[Any], _tip: Tip, _version: int, find: Callable[[], Any]) -> Any:
        value = level.get("here")
        if value is None:
            value = find()
            level.put("here", value, size=1)
        return value

    patch.setattr(Loader, "_remembered", remembered)


def _restore_forgets(patch: pytest.MonkeyPatch) -> None:
    coming = restore._coming_back

    def all_but_the_last(now: pa.Table, then: pa.Table) -> pa.Table:
        back = coming(now, then)
        return back.slice(0, max(back.num_rows - 1, 0))

    patch.setattr(restore, "_coming_back", all_but_the_last)


LOG_FAULTS = (
    Entry(
        "the pointer to the last checkpoint is taken for the newest version",
        "It is one read instead of a listing; and it is written after the commit, by somebody who may die before.",
        _hint_trusted,
        (
            upkeep_crowded(CLEANING_WRITER, runs=5),
            upkeep_swept("checkpoint", FaultKind.CRASH_AFTER, every=4),
        ),
    ),
    Entry(
        "cleanup goes by the cleaner's own clock",
        "Retention was computed as now minus thirty days on machines whose now was wrong.",
        _cleaner_believes_its_clock,
        (
            SKEWED,
            existing(
                "unit", test_cleanup.TestClocksThatAreWrong().test_delete_nothing_early, whose="ours", hours=24 * 40
            ),
        ),
    ),
    Entry(
        "a checkpoint whose writer broke off is published, valid and short",
        "A Parquet writer in a with-block closes on error and leaves a file that reads well and lacks rows.",
        _short_checkpoint,
        (SUMMED_UP, upkeep_swept("checkpoint", FaultKind.CRASH_AFTER, every=4)),
    ),
    Entry(
        "removes get lost in a checkpoint",
        "Tombstones look like garbage to whoever writes a summary; purges and late readers rely on them.",
        _removes_lost,
        (
            SUMMED_UP,
            existing("purge", test_purging.test_a_file_that_was_removed_lately_stays_for_those_who_still_read_it),
        ),
    ),
    Entry(
        "commits go before the checkpoint that stands for them was read back",
        "Cleanup was ordered by age alone, and one bad checkpoint then took the table with it.",
        _checkpoints_unchecked,
        (
            upkeep_crowded(CLEANING_WRITER, runs=5),
            upkeep_swept("cleanup", FaultKind.BIT_FLIP),
        ),
    ),
    Entry(
        "a writer that slept wins a version that was cleaned up",
        "An absent file means a free version, until a cleaner makes used ones absent again.",
        _cleaned_slot_won,
        (
            upkeep_crowded(SLEEPING, runs=60),
            existing(
                "unit",
                test_upkeep_floor.TestAWriterThatWinsACleanedSlot().test_is_told_that_it_did_not_commit,
                make=WitnessedS3,
            ),
        ),
    ),
    Entry(
        "an empty commit file is taken for a version in which nothing happened",
        "Stores without atomic creation leave files of no bytes, and a loop over no lines finds nothing wrong.",
        _empty_commit_accepted,
        (
            EMPTIED,
            existing("unit", test_loader.TestErrors().test_of_a_file_that_is_no_commit_name_it, data=b""),
        ),
    ),
    Entry(
        "the id of an application's batch is dropped",
        "Streams that start again send their last batch again; the id that says so was lost in a summary.",
        _batches_forgotten,
        (
            swept("repeated batch", FaultKind.CRASH_BEFORE),
            REPLAYED,
            existing(
                "unit",
                test_table.TestAppend().test_a_batch_of_an_application_is_written_once_and_its_repetition_leaves_no_file,
            ),
        ),
    ),
    Entry(
        "nobody looks what the winner of a race did",
        "Whoever lost the version tried the next one, and two merges of the same files doubled their rows.",
        _no_conflicts,
        (
            interleaved("merge, merge"),
            swept("racing merges", FaultKind.CRASH_BEFORE, make=S3Model),
            existing(
                "unit", test_table.TestRaces().test_an_overwrite_that_missed_an_append_is_refused_and_leaves_no_file
            ),
        ),
    ),
    Entry(
        "a skip outlives the file that it was about",
        "What is kept beside the files is easily forgotten when they go; new files then inherit it.",
        _skips_for_ever,
        (
            REPLAYED,
            crowded("skippers, merger, appender", runs=20),
            existing("unit", test_skips.TestASkippedFile().test_that_is_removed_or_written_anew_loses_its_skips),
        ),
    ),
    Entry(
        "a cache is keyed by the place alone",
        "Caches of file lists knew the path and not the version, and readers missed what they had just written.",
        _cache_by_place,
        (
            swept("read a growing table", FaultKind.UNAVAILABLE),
            existing("unit", test_loader.TestFreshness().test_a_read_sees_every_commit_that_was_acknowledged_before),
        ),
    ),
    Entry(
        "a restore forgets a file",
        "Going back was computed from the difference of two lists, and one end of a range was left out.",
        _restore_forgets,
        (
            existing(
                "fault sweep", test_repair_restore.test_no_fault_makes_a_restore_lie_or_leave_half_of_it, make=S3Model
            ),
            existing("unit", test_restore.test_removes_what_is_new_and_adds_what_is_gone_as_a_new_version),
        ),
    ),
)
