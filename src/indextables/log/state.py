"""Replay as set algebra on columns: of all actions on a path, the last one decides.

Commits are applied in batches, to nothing or to an earlier state. Every step is an operation on whole columns, so its cost in
Python does not depend on the number of files, and applying a few commits to a large state costs one pass over its paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.commit_info import COMMIT_TAG, info_of_reason, parse_info
from indextables.log.safety import check_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from indextables.log.actions import MetaData, Protocol
    from indextables.log.columns import ActionColumns
    from indextables.log.commit_info import CommitInfo

_MOST_CHUNKS: Final = 64
_MANY_ROWS: Final = 500_000
_ORDINAL_BITS: Final = 24  # a commit is at most 256 MiB, and an action at least 20 bytes


class Batch(NamedTuple):
    """A batch of an application, and the commit that it became."""

    number: int
    version: int
    timestamp: int
    commit_id: str


@dataclass(frozen=True, kw_only=True, eq=False)
class LogState:
    """What all commits up to a version add up to.

    Attributes:
        version: The last commit that is part of it.
        protocol: The newest protocol action, if any commit had one.
        metadata: The newest metadata action.
        metadata_version: The version that holds it.
        protocol_version: The version that holds the protocol.
        files: The active files, a row each, in the order in which they were added.
        removes: The last remove of each path that was not added again.
        skips: One row a skipped path: its last skip, with the greatest count and retry time of all its skips.
        transactions: The last batch that each application committed.
        first_version: The version that the first entry of `timestamps` belongs to.
        timestamps: When each version was committed, in milliseconds, never decreasing.
    """

    version: int
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    metadata_version: int = -1
    protocol_version: int = -1
    files: pa.Table
    removes: pa.Table
    skips: pa.Table
    transactions: Mapping[str, Batch] = field(default_factory=dict)
    first_version: int = 0
    timestamps: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def timestamp(self) -> int:
        """When the last commit happened."""
        return int(self.timestamps[-1])


def apply_commits(base: LogState | None, columns: ActionColumns, *, first: int, last: int) -> LogState:
    """Return the state after the commits `first` to `last`, whose actions `columns` holds, on top of `base`.

    Raises:
        UnsafePathError: An action names something outside the table.
    """
    state = _applied(base, columns, first=first, last=last)
    if columns.adds.num_rows >= _MANY_ROWS:
        # Without this the process would stay at the size that replay needed for a while, half as much again.
        pa.default_memory_pool().release_unused()
    return state


def _applied(base: LogState | None, columns: ActionColumns, *, first: int, last: int) -> LogState:
    adds, removes, skips = columns.adds, columns.removes, columns.skips
    paths = pa.chunked_array([*adds["path"].chunks, *removes["path"].chunks], pa.string())
    check_paths(paths)
    check_paths(skips["path"])
    order = np.concatenate([_order(adds), _order(removes)])
    encoded = (
        paths.combine_chunks().dictionary_encode() if len(paths) else pa.array([], pa.string()).dictionary_encode()
    )
    touched, winners = encoded.dictionary, _last_of_each(encoded.indices.to_numpy(), order, len(encoded.dictionary))
    added = np.sort(winners[winners < adds.num_rows])
    removed = np.sort(winners[winners >= adds.num_rows]) - adds.num_rows

    protocol = columns.protocols[-1] if columns.protocols else None
    metadata = columns.metadatas[-1] if columns.metadatas else None
    infos = commit_infos(columns)
    return LogState(
        version=last,
        protocol=protocol.action if protocol else (base.protocol if base else None),
        metadata=metadata.action if metadata else (base.metadata if base else None),
        metadata_version=metadata.version if metadata else (base.metadata_version if base else -1),
        protocol_version=protocol.version if protocol else (base.protocol_version if base else -1),
        files=_combined(base.files if base else None, _take(adds, added), touched),
        removes=_combined(base.removes if base else None, _take(removes, removed), touched),
        skips=_live_skips(base.skips if base else None, skips, touched, order[winners] if len(winners) else winners),
        transactions=_transactions(base, infos),
        first_version=base.first_version if base else first,
        timestamps=np.maximum.accumulate(
            np.concatenate(
                [
                    base.timestamps if base else np.empty(0, np.int64),
                    commit_times(columns, infos, first=first, last=last),
                ]
            )
        ),
    )


def _order(actions: pa.Table) -> npt.NDArray[np.int64]:
    """Return where each action stands in the log: by version, then by line."""
    versions: npt.NDArray[np.int64] = actions["version"].to_numpy()
    ordinals: npt.NDArray[np.int64] = actions["ordinal"].to_numpy().astype(np.int64)
    return (versions << _ORDINAL_BITS) + ordinals


def _last_of_each(codes: npt.NDArray[np.int32], order: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return, for each of `count` codes, the position of the entry that comes last in the log."""
    sequence = np.argsort(order, kind="stable")
    last = np.empty(count, np.int64)
    last[codes[sequence]] = sequence
    return last


def _take(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    return table if len(rows) == table.num_rows else table.take(pa.array(rows))


def _combined(before: pa.Table | None, new: pa.Table, touched: pa.Array) -> pa.Table:
    """Return the rows of `before` whose paths were not touched, and the new ones behind them."""
    if before is None:
        return new
    if len(touched):
        hit = pc.is_in(before["path"], value_set=touched)
        if pc.any(hit).as_py():
            before = before.filter(pc.invert(hit))
    if not new.num_rows:
        return before
    return _tidy(pa.concat_tables([before, new], promote_options="permissive"))


def _tidy(table: pa.Table) -> pa.Table:
    return table.combine_chunks() if table["path"].num_chunks > _MOST_CHUNKS else table


def _live_skips(
    before: pa.Table | None, new: pa.Table, touched: pa.Array, last_touch: npt.NDArray[np.int64]
) -> pa.Table:
    """Return one row a skipped path: a later add or remove of the path ends its skips."""
    if before is not None and not new.num_rows:  # what is touched now came after all that was skipped before
        return _combined(before, new, touched)
    skips = new if before is None else pa.concat_tables([before, new], promote_options="permissive")
    if not skips.num_rows:
        return skips
    code = pc.index_in(skips["path"], value_set=touched)
    at = pc.take(pa.array(np.append(last_touch, -1)), pc.fill_null(code, len(last_touch)))
    skips = skips.filter(pc.greater(pa.array(_order(skips)), at))
    if not skips.num_rows:
        return skips
    encoded = skips["path"].combine_chunks().dictionary_encode()
    if len(encoded.dictionary) == skips.num_rows:  # the usual case, in which nothing has to be summed up
        return _tidy(skips)
    newest = _last_of_each(encoded.indices.to_numpy(), _order(skips), len(encoded.dictionary))
    greatest = skips.group_by("path").aggregate([("retry_after", "max"), ("skip_count", "max")])
    rows = skips.take(pa.array(np.sort(newest)))
    match = pc.index_in(rows["path"], value_set=greatest["path"].combine_chunks())
    for name in ("retry_after", "skip_count"):
        index = rows.schema.get_field_index(name)
        rows = rows.set_column(index, rows.schema.field(name), greatest[f"{name}_max"].take(match))
    return rows


def commit_infos(columns: ActionColumns) -> dict[int, CommitInfo]:
    """Return what the commits say about themselves, by version: one small text a commit, not one a file."""
    infos: dict[int, CommitInfo] = {}
    for actions in (columns.adds, columns.removes):
        tags = actions["tags"]
        if tags.type.get_field_index(COMMIT_TAG) < 0:
            continue
        texts = pc.struct_field(tags, COMMIT_TAG)
        present = pc.is_valid(texts)
        versions = actions["version"].filter(present).to_pylist()
        for version, text in zip(versions, texts.filter(present).to_pylist(), strict=True):
            if info := parse_info(text, version):
                infos.setdefault(version, info)
    for entry in columns.metadatas:
        if info := parse_info((entry.action.configuration or {}).get(COMMIT_TAG), entry.version):
            infos.setdefault(entry.version, info)
    skips = columns.skips.select(["version", "reason", "skip_timestamp"]).to_pylist()
    for skip in skips:
        if info := info_of_reason(skip["reason"], skip["skip_timestamp"], skip["version"]):
            infos.setdefault(skip["version"], info)
    return infos


def _transactions(base: LogState | None, infos: Mapping[int, CommitInfo]) -> Mapping[str, Batch]:
    transactions = dict(base.transactions) if base else {}
    for version, info in sorted(infos.items()):
        note_batch(transactions, info, version)
    return transactions


def note_batch(transactions: dict[str, Batch], info: CommitInfo, version: int) -> None:
    """Take note of the batch that a commit holds, if it holds one and none that comes later is known."""
    if info.app is None or info.batch is None:
        return
    known = transactions.get(info.app)
    if known is None or known.number < info.batch:
        transactions[info.app] = Batch(info.batch, version, info.timestamp, info.id)


def commit_times(
    columns: ActionColumns, infos: Mapping[int, CommitInfo], *, first: int, last: int
) -> npt.NDArray[np.int64]:
    """Return when each version was committed: by its own word, else by the newest time that its actions mention."""
    known = np.zeros(last - first + 1, np.int64)
    for actions, name in (
        (columns.adds, "modification_time"),
        (columns.removes, "deletion_timestamp"),
        (columns.skips, "skip_timestamp"),
    ):
        if actions.num_rows:
            times = pc.fill_null(actions[name], 0).to_numpy()
            np.maximum.at(known, actions["version"].to_numpy() - first, times)
    for entry in columns.metadatas:
        created = entry.action.created_time
        if isinstance(created, int):
            known[entry.version - first] = max(known[entry.version - first], created)
    for version, info in infos.items():
        known[version - first] = info.timestamp
    return known
