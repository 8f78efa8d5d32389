"""A merge from plan to result: plan, have the groups worked on, commit each of them, and look again until nothing is left to do.

Each group is a commit of its own, which appends cannot fail and which fails no append. Of two merges that chose the same file one
wins; the other throws its new file away, and the table is right either way. Files that are new to the table since the merge
began are left to the next one, or a merge beside busy writers would not end.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CommitUnknownError, ConcurrentWriteError, TableNotFoundError
from indextables.log.actions import Skip
from indextables.runtime import SYSTEM, Runtime
from indextables.table.adds import add_of
from indextables.table.merge_group import MergeTask
from indextables.table.merging import MergePlan, plan_merges
from indextables.table.write import Staged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from indextables.config import Settings
    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.storage.base import Store
    from indextables.table.merge_group import Outcome
    from indextables.table.merging import Group, MergePolicy

    Execute = Callable[[Sequence[Group], MergeTask], Iterable[Outcome]]

_LOG = logging.getLogger(__name__)
OPERATION: Final = "merge"
_MOST_LOSSES: Final = 10

GROUPS_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("files", pa.int64()),
        ("rows", pa.int64()),
        ("bytes_before", pa.int64()),
        ("bytes_after", pa.int64()),
        ("path", pa.string()),
        ("version", pa.int64()),
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MergeResult:
    """What a merge did, or would do.

    Attributes:
        version: The newest version when it was done.
        groups: A row a new file: `partition`, how many `files` became one, `rows`, `bytes_before`, `bytes_after`, its `path`, and
            the `version` that holds it. In a dry run the last three are null, as are the rows.
        left: A row a file that was left alone: `path`, `size` and the `reason`.
        failures: What went wrong, if anything did; the table is right all the same.
        seconds: How long it took.
        dry_run: Whether it only looked.
    """

    version: int
    groups: pa.Table
    left: pa.Table
    failures: tuple[str, ...]
    seconds: float
    dry_run: bool

    @property
    def files_merged(self) -> int:
        """How many files became fewer."""
        return int(pc.sum(self.groups["files"]).as_py() or 0)

    @property
    def files_added(self) -> int:
        """How many they became."""
        return int(self.groups.num_rows)


class MergeRun:
    """One merge of one table.

    Args:
        log: Of the table.
        store: Where the table is.
        settings: Which columns get statistics.
        execute: Works on groups, here or elsewhere, and returns an outcome for each, in their order.
        runtime: Clock.
    """

    def __init__(
        self, log: TransactionLog, store: Store, settings: Settings, execute: Execute, *, runtime: Runtime = SYSTEM
    ) -> None:
        self._log = log
        self._store = store
        self._settings = settings
        self._execute = execute
        self._runtime = runtime
        self._made: list[str] = []
        self._done: list[dict[str, object]] = []
        self._refused: dict[str, str] = {}
        self._failures: list[str] = []
        self._losses = 0

    def run(self, policy: MergePolicy, *, dry_run: bool = False) -> MergeResult:
        """Merge until nothing is left to merge.

        Raises:
            TableNotFoundError: There is no table, or another one was made in its place.
            StorageError: The store failed during a commit; what was committed before stands.
        """
        began = self._runtime.monotonic()
        snapshot = self._log.snapshot()
        known = snapshot.files["path"].to_pylist()
        plan = self._plan(snapshot, policy)
        if dry_run:
            self._done = [_planned(group) for group in plan.groups]
        while plan.groups and not dry_run:
            self._round(snapshot, plan)
            snapshot = self._same(snapshot)
            plan = self._plan(snapshot, replace(policy, only=[*known, *self._made]))
        return MergeResult(
            version=snapshot.version,
            groups=pa.Table.from_pylist(self._done, schema=GROUPS_SCHEMA),
            left=plan.left,
            failures=tuple(self._failures),
            seconds=self._runtime.monotonic() - began,
            dry_run=dry_run,
        )

    def _plan(self, snapshot: Snapshot, policy: MergePolicy) -> MergePlan:
        most = None if policy.max_groups is None else policy.max_groups - len(self._done)
        chosen = replace(policy, max_groups=most, refused=self._refused)
        return plan_merges(snapshot, chosen, now_ms=self._runtime.now_ms())

    def _round(self, snapshot: Snapshot, plan: MergePlan) -> None:
        task = MergeTask(
            schema=snapshot.schema,
            partition_columns=tuple(snapshot.partition_columns),
            table_id=snapshot.metadata.id,
            settings=self._settings,
        )
        unreadable: list[Skip] = []
        for group, outcome in zip(plan.groups, self._execute(plan.groups, task), strict=True):
            skips = _skips(group, outcome)
            self._refused |= {skip.path: f"it could not be read: {skip.reason}" for skip in skips}
            if outcome.failure is not None:
                self._give_up(group, outcome.failure)
            elif outcome.file is None:
                unreadable += skips
            else:
                self._commit(snapshot, group, outcome, skips)
        if unreadable:
            self._log.record_skipped_files(unreadable)

    def _commit(self, planned: Snapshot, group: Group, outcome: Outcome, skips: Sequence[Skip]) -> None:
        assert outcome.file is not None  # noqa: S101 - for the type checker; the caller has looked
        staged = Staged(self._store, [outcome.file])
        try:
            now = self._same(planned)
        except TableNotFoundError:
            staged.discard()
            raise
        active = pc.is_in(pa.array(outcome.merged, pa.string()), value_set=now.files["path"].combine_chunks())
        if not pc.all(active).as_py():
            staged.discard()
            self._lose(group, "another commit removed a file of its group meanwhile")
            return
        add = add_of(outcome.file, data_change=False)
        try:
            with staged.committing():
                done = self._log.merge_files(outcome.merged, [add], skips=skips, read_version=now.version)
        except ConcurrentWriteError as error:
            self._lose(group, f"another commit was faster: {error.cause}")
            return
        except CommitUnknownError as error:
            self._give_up(group, str(error))
            return
        self._made.append(outcome.file.path)
        sizes = dict(zip(group.paths, group.sizes, strict=True))
        self._done.append(
            {
                **_planned(group),
                "files": len(outcome.merged),
                "bytes_before": sum(sizes[path] for path in outcome.merged),
                "rows": outcome.file.num_records,
                "bytes_after": outcome.file.size,
                "path": outcome.file.path,
                "version": done.version,
            }
        )

    def _give_up(self, group: Group, reason: str) -> None:
        self._refused |= dict.fromkeys(group.paths, reason)
        self._failures.append(reason)
        _LOG.warning("%d files of %s were not merged: %s", len(group.sources), self._store.url, reason)

    def _lose(self, group: Group, reason: str) -> None:
        """Leave it to the next round what becomes of the files that are still there, unless that went on too long."""
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            self._refused |= dict.fromkeys(group.paths, reason)
        _LOG.info("%d files of %s were not merged: %s", len(group.sources), self._store.url, reason)

    def _same(self, before: Snapshot) -> Snapshot:
        """Return the newest version of the same table."""
        now = self._log.snapshot()
        if now.metadata.id != before.metadata.id:
            raise TableNotFoundError(self._store.url, detail="another one was made in its place while it was merged")
        return now


def _planned(group: Group) -> dict[str, object]:
    values = "/".join(f"{name}={value}" for name, value in group.partition_values.items())
    return {"partition": values, "files": len(group.sources), "bytes_before": group.bytes}


def _skips(group: Group, outcome: Outcome) -> list[Skip]:
    sizes = dict(zip(group.paths, group.sizes, strict=True))
    return [
        Skip(
            path=path,
            skip_timestamp=0,
            reason=reason,
            operation=OPERATION,
            partition_values=dict(group.partition_values),
            size=sizes[path],
        )
        for path, reason in outcome.unreadable
    ]
