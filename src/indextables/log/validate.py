"""What an add must be before it is committed: a path inside the table, the table's partition columns, a real size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import SchemaError
from indextables.log.layout import LOG_DIRECTORY
from indextables.storage.paths import canonical, is_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Add, MetaData


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
        if is_below(add.path, LOG_DIRECTORY):
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
