"""What actions must be before they are committed: readable for everybody, and adds that belong into the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import LogCorruptionError, SchemaError
from indextables.log.actions import Add
from indextables.log.bulk_decode import decode_commits
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.lines import format_lines, parse_lines
from indextables.storage.paths import canonical, is_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Action, MetaData

_FEW = 100  # below, reading lines is quicker than columns


def check_actions(actions: Sequence[Action], metadata: MetaData) -> None:
    """Refuse actions that do not fit the table, or whose lines no reader would take.

    Raises:
        UnsafePathError: A path leads, or could lead, outside the table or into its log.
        SchemaError: Anything else is wrong with them.
    """
    try:
        lines = format_lines(actions)
        if len(actions) <= _FEW:
            parse_lines(lines, path="the commit")
        else:
            decode_commits([(0, lines)], path_of=lambda _: "the commit")
    except LogCorruptionError as error:
        raise SchemaError(f"The actions cannot be written: {error.reason}", way_out="Correct their values") from error
    except (TypeError, OverflowError) as error:
        raise SchemaError(f"The actions cannot be written: {error}", way_out="Correct their values") from error
    check_adds([action for action in actions if isinstance(action, Add)], metadata)


def check_adds(adds: Sequence[Add], metadata: MetaData) -> None:
    """Refuse adds that would make the table unreadable or unsafe.

    Raises:
        UnsafePathError: A path leads, or could lead, outside the table or into its log.
        SchemaError: Partition values do not match the partition columns, a size is negative, or a path occurs twice.
    """
    columns = frozenset(metadata.partition_columns)
    seen: set[str] = set()
    for add in adds:
        canonical(add.path)
        if add.path == LOG_DIRECTORY or is_below(add.path, LOG_DIRECTORY):
            raise SchemaError(f"{add.path} lies inside the log", way_out="Write data files beside the log, not into it")
        if add.partition_values.keys() != columns:
            raise SchemaError(
                f"{add.path} has values for the partition columns {sorted(add.partition_values)}",
                columns=sorted(columns),
                way_out=f"The table's partition columns are {sorted(columns)}",
            )
        if add.size < 0:
            raise SchemaError(f"{add.path} has the size {add.size}", way_out="Give the size of the file in bytes")
        if add.path in seen:
            raise SchemaError(f"{add.path} is added twice in one commit", way_out="Add each file once")
        seen.add(add.path)
