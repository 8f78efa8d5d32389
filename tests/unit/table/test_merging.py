"""Merging small files: what is planned, what is left alone and why, and that rows stay what they are, whatever goes wrong."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.errors import (
    ConfigError,
    IndexTablesError,
    OutcomeUnknownError,
    StorageUnavailableError,
    TableNotFoundError,
)
from indextables.log.layout import commit_path, commit_version
from indextables.predicate import bind
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.table.merge_group import MergeTask, Outcome, differing_columns, merge_group
from indextables.table.merge_run import MergeResult, MergeRun
from indextables.table.merging import MOST_MEMORY, MergePolicy, parse_size, plan_merges
from indextables.testing.faulty import ALL, Crash, FaultKind, FaultStore, sweep
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.data import every_type
from tests.support.effort import EFFORT
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from indextables.storage.base import Store
    from indextables.table.merging import Group
    from indextables.testing.faults import Mode
    from indextables.testing.memory import Model

TARGET = 1_000_000
SEEDS = itertools.count(100)
MODES: tuple[Mode, ...] = ("once",) if EFFORT == 1 else ("once", "forever")


def on(store: Store, **options: Any) -> Table:
    return Table.at_store(store, settings=Settings.resolve(options))


def small_files(count: int = 6, *, partition: bool = True, store: Model | None = None) -> tuple[Model, Table]:
    """Return a table with that many commits of four rows, in three partitions."""
    model = store or S3Model()
    table = on(model)
    for number in range(count):
        rows = pa.table({"id": range(4 * number, 4 * number + 4), "day": ["a", "b", "a", None]})
        table.append(rows, partition_by=["day"] if partition else ())
    return model, table


def merge(store: Store, *, dry_run: bool = False, settings: Settings | None = None, **policy: Any) -> MergeResult:
    runtime = virtual_runtime(next(SEEDS))  # two merges never give their files the same names
    settings = settings or Settings()
    table = Table.at_store(store, settings=settings, runtime=runtime)

    def execute(groups: Sequence[Group], task: MergeTask) -> Iterator[Outcome]:
        return (merge_group(store, group, task, runtime=runtime) for group in groups)

    run = MergeRun(table.log, store, settings, execute, runtime=runtime)
    return run.run(MergePolicy(**{"target_size": TARGET, **policy}), dry_run=dry_run)


def multiset(table: Table) -> Counter[str]:
    """Return the rows of a table by hash, each with how often it occurs."""
    rows = table.to_arrow().to_pylist()
    return Counter(hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest() for row in rows)


def reasons(result: MergeResult) -> dict[str, str]:
    return dict(zip(result.left["path"].to_pylist(), result.left["reason"].to_pylist(), strict=True))


def test_files_of_a_partition_become_one_and_the_rows_stay_what_they_are() -> None:
    model, table = small_files()
    before = multiset(table)
    result = merge(model)
    assert (result.files_merged, result.files_added) == (18, 3)
    assert sorted(result.groups["partition"].to_pylist()) == ["day=None", "day=a", "day=b"]
    assert sum(result.groups["rows"].to_pylist()) == 24
    assert table.files().num_rows == 3
    assert multiset(table) == before
    assert result.failures == ()


def test_a_second_call_does_nothing() -> None:
    model, table = small_files()
    first = merge(model)
    again = merge(model)
    assert again.groups.num_rows == 0
    assert again.version == first.version == table.version
    assert set(reasons(again).values()) == {"no other file of its partition fits beside it"}


def test_each_group_is_a_commit_that_changes_no_data_and_counts_the_merge() -> None:
    model, table = small_files(2)
    result = merge(model)
    assert result.groups["version"].to_pylist() == [3, 4, 5]
    actions = table.log.read_version(3)
    assert {action.data_change for action in actions if hasattr(action, "data_change")} == {False}
    assert table.history(limit=3)["operation"].to_pylist() == ["merge"] * 3
    assert table.snapshot().files["num_merge_ops"].to_pylist() == [1, 1, 1]
    table.append(pa.table({"id": [99], "day": ["a"]}))
    merge(model)
    assert sorted(table.snapshot().files["num_merge_ops"].to_pylist()) == [1, 1, 2]


def test_statistics_of_the_new_file_are_those_of_its_rows() -> None:
    model, table = small_files()
    merge(model)
    found = table.files(where="day = 'a'").to_pylist()[0]
    assert (found["num_records"], found["min_values"]["id"], found["max_values"]["id"]) == (12, 0, 22)
    assert table.verify_stats().num_rows == 0
    assert table.files(where="id > 1000").num_rows == 0


def test_rows_of_every_type_survive() -> None:
    model = S3Model()
    table = on(model)
    for _ in range(3):
        table.append(every_type())
    before = multiset(table)
    merge(model)
    assert table.files().num_rows == 1
    assert multiset(table) == before


def test_files_of_older_schemas_are_merged_through_the_newest_one() -> None:
    model = S3Model()
    table = on(model)
    table.append(pa.table({"id": [1, 2]}))
    table.log.update_metadata(schema=pa.schema([("id", pa.int64()), ("name", pa.string())]))
    table.append(pa.table({"id": [3], "name": ["x"]}))
    merge(model)
    assert table.files().num_rows == 1
    assert table.to_arrow().to_pylist() == [{"id": 1, "name": None}, {"id": 2, "name": None}, {"id": 3, "name": "x"}]


def test_a_dry_run_tells_the_groups_and_writes_nothing() -> None:
    model, table = small_files(3)
    tree = model.tree()
    result = merge(model, dry_run=True)
    assert result.dry_run
    assert sorted(result.groups["files"].to_pylist()) == [3, 3, 3]
    assert result.groups["path"].null_count == 3
    assert model.tree() == tree
    assert table.version == 3


def test_a_condition_chooses_the_files() -> None:
    model, table = small_files(3)
    result = merge(model, where=bind("day = 'a'", table.schema))
    assert result.groups["partition"].to_pylist() == ["day=a"]
    assert Counter(reasons(result).values())["it holds no row that the condition is true for"] == 6


def test_the_most_worthwhile_groups_come_first_and_the_rest_say_why_they_wait() -> None:
    model, table = small_files(2)
    for number in range(4):
        table.append(pa.table({"id": [number], "day": ["b"]}))
    result = merge(model, max_groups=1)
    assert result.groups["partition"].to_pylist() == ["day=b"]
    assert Counter(reasons(result).values())["max_groups other groups came first"] == 4


def test_files_that_are_large_enough_are_left_alone() -> None:
    model, table = small_files(3, partition=False)
    size = table.files()["size"][0].as_py()
    result = merge(model, target_size=int(size / 0.75))
    assert result.groups.num_rows == 0
    assert set(reasons(result).values()) == {"it is large enough"}


def test_groups_stay_below_the_target() -> None:
    model, table = small_files(9, partition=False)
    size = table.files()["size"][0].as_py()
    result = merge(model, target_size=3 * size + 20, dry_run=True)
    assert result.groups["files"].to_pylist() == [3, 3, 3]
    assert max(result.groups["bytes_before"].to_pylist()) <= 3 * size + 20


def test_a_group_stays_within_the_memory_of_a_merge() -> None:
    _, table = small_files(8, partition=False)
    snapshot = table.snapshot()
    one = plan_merges(snapshot, MergePolicy(target_size=TARGET), now_ms=0).groups[0].memory // 8
    plan = plan_merges(snapshot, MergePolicy(target_size=TARGET, most_memory=2 * one + 10), now_ms=0)
    assert [len(group.sources) for group in plan.groups] == [2, 2, 2, 2]
    full = plan_merges(snapshot, MergePolicy(target_size=TARGET, most_memory=one), now_ms=0)
    assert set(full.left["reason"].to_pylist()) == {"its rows are as many as fit into the memory of one merge"}
    assert MOST_MEMORY == 1024**3


def test_it_goes_on_until_nothing_fits_together_any_more() -> None:
    """Merged files are smaller than their sources together, so more of them fit together than was planned at first."""
    model, table = small_files(40, partition=False)
    size = table.files()["size"][0].as_py()
    merge(model, target_size=4 * size)
    again = merge(model, target_size=4 * size)
    assert again.groups.num_rows == 0
    assert table.count() == 160


@given(
    st.lists(st.integers(1, 400), max_size=60),
    st.integers(100, 400),
)
def test_of_two_groups_neither_fits_into_the_other(sizes: list[int], target: int) -> None:
    model = S3Model()
    table = on(model)
    table.append(pa.table({"id": [1]}))
    snapshot = table.snapshot()
    files = snapshot.files
    rows = pa.concat_tables([files] * len(sizes)) if sizes else files.slice(0, 0)
    for name, values in (
        ("size", pa.array(sizes, pa.int64())),
        ("path", pa.array([f"f{number}" for number in range(len(sizes))])),
    ):
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    object.__setattr__(snapshot.state, "files", rows)
    plan = plan_merges(snapshot, MergePolicy(target_size=target), now_ms=0)
    totals = [group.bytes for group in plan.groups]
    alone = [
        size
        for size, reason in zip(plan.left["size"].to_pylist(), plan.left["reason"].to_pylist(), strict=True)
        if reason != "it is large enough"
    ]
    outcome = sorted([*totals, *alone])
    assert all(total <= target for total in totals)
    assert len(outcome) < 2 or outcome[0] + outcome[1] > target
    assert sum(len(group.sources) for group in plan.groups) + plan.left.num_rows == len(sizes)
    assert all(len(group.sources) > 1 for group in plan.groups)


def test_a_file_that_cannot_be_read_is_noted_and_the_others_are_merged() -> None:
    model, table = small_files(4, partition=False)
    paths = table.files()["path"].to_pylist()
    model.put(paths[1], b"damaged")
    model.delete(paths[2])
    result = merge(model)
    assert result.groups["files"].to_pylist() == [2]
    skipped = table.skipped_files()
    assert sorted(skipped["path"].to_pylist()) == sorted(paths[1:3])
    assert set(skipped["operation"].to_pylist()) == {"merge"}
    assert skipped["skip_count"].to_pylist() == [1, 1]
    assert table.version == 5, "the skips ride in the merge's own commit"
    assert "it is not there" in reasons(result)[paths[2]]
    assert set(table.files()["path"].to_pylist()) >= set(paths[1:3])


def test_a_file_in_cooldown_is_left_alone_and_tried_again_when_it_is_over() -> None:
    model, table = small_files(3, partition=False)
    bad = table.files()["path"][0].as_py()
    good = model.get(bad)
    model.put(bad, b"damaged")
    settings = Settings.resolve({"spark.indextables.skippedFiles.cooldownDuration": 1})
    merge(model, settings=settings)
    model.put(bad, good)
    again = merge(model, settings=settings)
    assert again.groups.num_rows == 0
    assert reasons(again)[bad].startswith("it is in cooldown until ")
    retry_after = table.skipped_files()["retry_after"][0].as_py()
    later = plan_merges(table.snapshot(), MergePolicy(target_size=TARGET), now_ms=retry_after + 1)
    assert [len(group.sources) for group in later.groups] == [2]


def test_a_group_that_lost_all_but_one_file_commits_only_the_skip() -> None:
    model, table = small_files(2, partition=False)
    bad = table.files()["path"][0].as_py()
    model.put(bad, b"")
    result = merge(model, settings=Settings.resolve({"spark.indextables.skippedFiles.cooldownDuration": 0}))
    assert result.groups.num_rows == 0
    assert table.history(limit=1)["operation"].to_pylist() == ["skip"]
    assert table.version == 3


def test_files_of_another_implementation_are_left_alone() -> None:
    model, table = small_files(2, partition=False)
    foreign = msgspec.structs.replace(table.log.read_version(1)[0], path="part-0-0.split", tags=None)
    line = b'{"add":' + msgspec.json.encode(
        {k: v for k, v in msgspec.to_builtins(foreign).items() if k != "(unknown fields)"}
    )
    model.put(commit_path(3), line + b"}\n")
    result = merge(model)
    assert "another implementation" in reasons(result)["part-0-0.split"]
    assert result.groups["files"].to_pylist() == [2]


def test_appends_meanwhile_neither_fail_the_merge_nor_are_merged_by_it() -> None:
    model, table = small_files(3, partition=False)
    appended: list[str] = []

    def append_first(op: str, _: str) -> None:
        if op == "put_if_absent" and len(appended) < 2:
            appended.append(op)
            table.append(pa.table({"id": [1000 + len(appended)], "day": ["z"]}))

    before = multiset(table)
    result = merge(WatchedStore(model, None, append_first))
    assert len(appended) == 2
    assert result.groups["files"].to_pylist() == [3]
    assert Counter(reasons(result).values())["it was added while the merge ran"] == 2
    assert multiset(table).total() == before.total() + 2


def test_a_merge_that_lost_its_files_to_another_throws_its_own_away() -> None:
    model, table = small_files(3, partition=False)
    raced: list[MergeResult] = []

    def merge_first(op: str, path: str) -> None:
        if op == "put_if_absent" and commit_version(path) is not None and not raced:
            raced.append(merge(model))

    before = multiset(table)
    result = merge(WatchedStore(model, None, merge_first))
    assert raced[0].files_added == 1
    assert result.groups.num_rows == 0
    assert multiset(table) == before
    splits = [path for path in model.tree() if path.endswith(".split")]
    assert len(splits) == 3 + 1, "the loser's file is gone"


def test_a_table_made_anew_meanwhile_is_left_alone() -> None:
    model, _ = small_files(3, partition=False)
    swapped: list[str] = []

    def replace_table(op: str, path: str) -> None:
        if op == "put" and path.endswith(".split") and not swapped:
            swapped.append(path)
            for known in [known for known in model.tree() if known.startswith("_transaction_log/")]:
                model.delete(known)
            on(model).append(pa.table({"id": [1], "day": ["new"]}))

    store = WatchedStore(model, None, replace_table)
    with pytest.raises(TableNotFoundError, match="made in its place"):
        merge(store)
    assert on(model).to_arrow().to_pylist() == [{"id": 1, "day": "new"}]
    assert swapped[0] not in model.tree()


def test_a_commit_of_unknown_outcome_keeps_the_new_file() -> None:
    model, table = small_files(3, partition=False)

    class Doubtful(FaultStore):
        def put_if_absent(self, path: str, data: bytes) -> None:
            raise OutcomeUnknownError(path, detail=f"{len(data)} bytes")

    result = merge(Doubtful(model))
    assert result.groups.num_rows == 0
    assert "It is not known whether" in result.failures[0]
    splits = {path for path in model.tree() if path.endswith(".split")}
    assert len(splits - set(table.files()["path"].to_pylist())) == 1


def test_a_store_that_fails_in_a_group_fails_that_group_alone() -> None:
    model, table = small_files(3)
    inside = set(table.files(where="day = 'b'")["path"].to_pylist())

    class Closed(FaultStore):
        def get_range(self, path: str, start: int, length: int) -> bytes:
            if path in inside:
                raise StorageUnavailableError(path, detail="503")
            return super().get_range(path, start, length)

    result = merge(Closed(model))
    assert sorted(result.groups["partition"].to_pylist()) == ["day=None", "day=a"]
    assert len(result.failures) == 1
    assert inside < set(reasons(result))
    assert table.skipped_files().num_rows == 0, "the files are not to blame"


def test_what_was_written_is_compared_with_what_was_read() -> None:
    rows = every_type()
    assert differing_columns(rows, rows.take(list(range(rows.num_rows)))) == []
    assert differing_columns(rows, rows.slice(1)) == ["the number of rows, 4 and 3"]
    for name in rows.column_names:
        column = rows[name].take([1, 1, 2, 3])
        assert differing_columns(rows, rows.set_column(rows.column_names.index(name), name, column)) == [name]


def test_a_new_file_that_reads_back_differently_is_never_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, table = small_files(2, partition=False)
    monkeypatch.setattr("indextables.table.merge_group.differing_columns", lambda *_: ["id"])
    result = merge(model)
    assert "what was written is not what was read, in id" in result.failures[0]
    assert table.version == 2
    assert len([path for path in model.tree() if path.endswith(".split")]) == 2


@pytest.mark.parametrize(("text", "size"), [("5G", 5 * 1024**3), ("100mb", 100 * 1024**2), (77, 77), (" 1k ", 1024)])
def test_sizes_are_written_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size("target_size", text) == size


@pytest.mark.parametrize("text", ["", "5 parsecs", "-1", 0, "0", "1.0000001"])
def test_other_sizes_are_refused_by_name(text: str | int) -> None:
    with pytest.raises(ConfigError, match="target_size"):
        parse_size("target_size", text)


SWEPT = tuple(kind for kind in ALL if kind not in {FaultKind.STALE_LIST, FaultKind.TRUNCATED_LIST, FaultKind.MISSING})


@pytest.mark.slow
def test_no_fault_at_any_call_loses_or_doubles_a_row(record_property: Any) -> None:
    model, table = small_files(2)
    before = multiset(table)
    cases = 0
    for case in sweep(lambda store: merge(_retrying(store)), stores=[model.clone], kinds=SWEPT, modes=MODES):
        disturbed = case.make()
        store = FaultStore(disturbed, case.plan)
        with contextlib.suppress(Crash, IndexTablesError):
            merge(_retrying(store))
        disturbed.crash(seed=case.plan.seed)
        survivor = Table.at_store(disturbed)
        assert multiset(survivor) == before, str(case)
        assert survivor.verify_stats().num_rows == 0, str(case)
        cases += 1
    assert cases > 150
    record_property("merge faults", cases)


def _retrying(store: Store) -> Store:
    return RetryingStore(store, policy=RetryPolicy(attempts=3), runtime=virtual_runtime(1))


def test_two_merges_and_two_appenders_lose_and_double_nothing() -> None:
    model, table = small_files(6)
    problems: list[BaseException] = []
    start = threading.Barrier(4)

    def work(run: Any) -> None:
        start.wait()
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            problems.append(error)

    def append(first: int) -> None:
        mine = on(model)
        for number in range(first, first + 10):
            mine.append(pa.table({"id": [number], "day": [random.Random(number).choice(["a", "b", None])]}))

    def keep_merging() -> None:
        for _ in range(4):
            merge(model)

    threads = [
        threading.Thread(target=work, args=(run,))
        for run in (keep_merging, keep_merging, lambda: append(1000), lambda: append(2000))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    ids = Counter(table.to_arrow()["id"].to_pylist())
    assert ids == Counter([*range(24), *range(1000, 1010), *range(2000, 2010)])
    merge(model)
    assert table.files().num_rows == 3
