"""Faults of data files: of their statistics and partitions, of merges and purges, and of directories that are swapped."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from indextables.errors import NotFoundError, SplitCorruptionError
from indextables.hive import parquet as hive_parquet
from indextables.hive.swap import Swapper
from indextables.split import statistics, truncation
from indextables.storage import paths
from indextables.table import merge_group, purging
from indextables.table.write import Staged
from tests.hive import test_damaged_files
from tests.property import test_paths, test_skipping_end_to_end
from tests.unit.split import test_statistics
from tests.unit.table import test_converting, test_merging, test_purging, test_silent_wrong_answers, test_table
from tests.zoo.detectors import existing
from tests.zoo.entry import Entry
from tests.zoo.lake_checks import SWAPS_BY_CALL, SWAPS_BY_STEP
from tests.zoo.table_checks import MISREAD, SILENCED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pytest

    from indextables.hive.directory import Directory
    from indextables.hive.filesystem import Entry as File
    from indextables.log.snapshot import Snapshot
    from indextables.split import SplitAddress
    from indextables.storage.base import Store
    from indextables.values import Leaf

_NEVER = 2**62
SKIPPING = existing("random tables", test_skipping_end_to_end.test_skipping_never_loses_a_row, seed=1)


def _deleted_on_unknown(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def committing(self: Staged) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard()
            raise

    patch.setattr(Staged, "committing", committing)


def _maximum_cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(truncation, "_upper", truncation._lower)


def _counts(**wrong: int) -> Any:
    known = statistics._column_statistics

    def column_statistics(values: pa.ChunkedArray, leaf: Leaf) -> dict[str, Any]:
        right = known(values, leaf)
        return right | {name: count for name, count in wrong.items() if name in right}

    return column_statistics


def _no_nan(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statistics, "_column_statistics", _counts(nan=0))


def _no_nulls(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statistics, "_column_statistics", _counts(null=0))


def _escapes_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(paths, "unescape_partition_value", lambda text: text)


def _age_ignored(patch: pytest.MonkeyPatch) -> None:
    old = purging._old

    def anything(free: pa.Table, newest: Snapshot, limit: int) -> pa.Table:
        del limit
        return old(free, newest, _NEVER)

    patch.setattr(purging, "_old", anything)


def _unreadable_is_empty(patch: pytest.MonkeyPatch) -> None:
    def read(store: Store, source: SplitAddress, schema: pa.Schema) -> pa.Table:
        try:
            return merge_group._rows(store, source, schema)
        except (SplitCorruptionError, NotFoundError):
            return schema.empty_table()

    patch.setattr(merge_group, "_read", read)


def _not_listed_again(patch: pytest.MonkeyPatch) -> None:
    unchanged = Swapper._require_unchanged

    def before_only(self: Swapper, directory: Directory, entries: list[File] | None, when: str) -> None:
        if when == "before the swap":
            unchanged(self, directory, entries, when)

    patch.setattr(Swapper, "_require_unchanged", before_only)


def _foreign_files_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Swapper, "_extras", lambda *_: ())


def _pages_trusted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hive_parquet, "_opened", pq.ParquetFile)


DATA_FAULTS = (
    Entry(
        "the files of a commit of unknown outcome are deleted",
        "Whoever cleans up after any error deletes the data of commits that landed; three table formats did, one twice.",
        _deleted_on_unknown,
        (
            SILENCED,
            existing("unit", test_merging.test_a_commit_of_unknown_outcome_keeps_the_new_file),
            existing("unit", test_table.TestFailures().test_files_of_a_commit_whose_fate_is_unknown_stay),
        ),
    ),
    Entry(
        "a long maximum is cut and not rounded up",
        "A prefix is a lower bound; as an upper one it hides the very row that it was taken from.",
        _maximum_cut,
        (
            SKIPPING,
            existing(
                "unit",
                test_silent_wrong_answers.test_e03_a_column_of_long_texts_is_skipped_by_rounded_bounds_and_rightly,
            ),
        ),
    ),
    Entry(
        "NaN is not counted",
        "Bounds leave NaN out, and whoever does not say so skips the files that hold it, which SQL orders above all numbers.",
        _no_nan,
        (SKIPPING, existing("unit", test_statistics.test_nan_is_counted_and_is_no_bound)),
    ),
    Entry(
        "nulls are counted as none",
        "A count that is not known was written as zero, and IS NULL then found no file.",
        _no_nulls,
        (
            SKIPPING,
            existing("unit", test_silent_wrong_answers.test_e08_absent_null_and_zero_are_three_states),
        ),
    ),
    Entry(
        "partition values stay escaped when directories are read",
        "Writers escape and readers of directories forget to, so a/b comes back as a%2Fb, in some engines to this day.",
        _escapes_stay,
        (
            existing(
                "property",
                test_paths.test_every_partition_path_is_safe_and_is_read_back.hypothesis.inner_test,  # type: ignore[attr-defined]
                pairs=[("day", "a/b=c"), ("part%", "100%")],
            ),
            existing("unit", test_converting.test_names_in_directories_are_unescaped_once),
        ),
    ),
    Entry(
        "a purge does not ask how old a file is",
        "What no version names may belong to a commit that is a second away; shops that purged with no retention lost it.",
        _age_ignored,
        (
            existing("overtaken at a call", test_purging.test_a_writer_that_has_not_committed_yet_keeps_its_files),
            existing("unit", test_purging.test_leftovers_of_dead_writers_go_when_they_are_old),
        ),
    ),
    Entry(
        "a merge takes a file that it cannot read for an empty one",
        "Readers that skip corrupt files are meant for queries; under a compaction they delete what can still be saved.",
        _unreadable_is_empty,
        (
            MISREAD,
            existing("unit", test_merging.test_a_file_that_cannot_be_read_is_noted_and_the_others_are_merged),
        ),
    ),
    Entry(
        "a swapped directory is not listed again after it was moved away",
        "Between the last look and the rename a writer adds a file, which then goes with the old ones.",
        _not_listed_again,
        (SWAPS_BY_STEP, SWAPS_BY_CALL),
    ),
    Entry(
        "undoing a swap drops files that it did not write",
        "The replacement's directory was deleted as a whole, and with it what writers had added since.",
        _foreign_files_dropped,
        (SWAPS_BY_STEP, SWAPS_BY_CALL),
    ),
    Entry(
        "a compaction does not hold pages against their checksums",
        "Libraries check them only if they are asked to, so a rewrite gave damaged values a new file, in which they look sound.",
        _pages_trusted,
        (
            existing("random damage", test_damaged_files.test_no_flipped_bit_in_a_page_becomes_a_value),
            existing("unit", test_damaged_files.test_a_page_that_does_not_match_its_checksum_is_refused),
        ),
    ),
)
