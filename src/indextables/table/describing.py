"""What stands in a log, action by action, as a table that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.commit_info import plain_reason
from indextables.log.versions import checkpoint_versions

if TYPE_CHECKING:
    from indextables.log.actions import Action
    from indextables.log.log import TransactionLog
    from indextables.storage.base import Store

ACTIONS_SCHEMA: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", pa.timestamp("ms", "UTC")),
        ("operation", pa.string()),
        ("action", pa.string()),
        ("path", pa.string()),
        ("partition", pa.string()),
        ("size", pa.int64()),
        ("num_records", pa.int64()),
        ("data_change", pa.bool_()),
        ("detail", pa.string()),
    ]
)


def describe_actions(log: TransactionLog, store: Store, *, include_all: bool) -> pa.Table:
    """Return the actions of a log, newest version first.

    Args:
        log: The log.
        store: Where the table is.
        include_all: Everything that is kept; else only what came after the last checkpoint.
    """
    history = log.history().select(["version", "timestamp", "operation"]).to_pylist()
    last = max(checkpoint_versions(store), default=-1)
    chosen = [commit for commit in history if include_all or commit["version"] > last]
    rows = [{**commit, **_row(action)} for commit in chosen for action in log.read_version(commit["version"])]
    return pa.Table.from_pylist(rows, schema=ACTIONS_SCHEMA)


def _row(action: Action) -> dict[str, Any]:
    row: dict[str, Any] = {"action": action.key}
    match action:
        case Add() | Remove() | Skip():
            values = action.partition_values or {}
            row |= {
                "path": action.path,
                "partition": "/".join(f"{name}={value}" for name, value in values.items()),
                "size": action.size if isinstance(action.size, int) else None,
            }
    match action:
        case Add():
            rows = action.num_records
            row |= {"num_records": rows if isinstance(rows, int) else None, "data_change": action.data_change}
        case Remove():
            row |= {"data_change": action.data_change}
        case Skip():
            row |= {"detail": plain_reason(action.reason)}
        case MetaData():
            row |= {"detail": action.schema_string}
        case Protocol():
            row |= {"detail": f"reader {action.min_reader_version}, writer {action.min_writer_version}"}
    return row
