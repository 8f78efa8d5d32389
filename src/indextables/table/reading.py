"""From the files that pruning left to the scan that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.table.adds import addresses
from indextables.table.scan import Scan, ScanFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.storage.base import Store
    from indextables.table.pruning import Selection


def scan_of(
    store: Store,
    snapshot: Snapshot,
    columns: Sequence[str],
    predicate: Predicate | None,
    chosen: Selection,
    *,
    inverted: bool = False,
    sparing: bool = False,
) -> Scan:
    """Return the scan of the files that are chosen."""
    files = scan_files(snapshot, chosen)
    return Scan(
        store,
        schema=snapshot.schema,
        columns=columns,
        files=files,
        predicate=predicate,
        inverted=inverted,
        sparing=sparing,
    )


def scan_files(snapshot: Snapshot, chosen: Selection) -> list[ScanFile]:
    """Return what a reader needs to know of the files that are chosen."""
    values = snapshot.partition_values.take(chosen.rows) if snapshot.partition_columns else None
    names = snapshot.partition_columns
    wholes = chosen.whole.to_pylist()
    return [
        ScanFile(
            address=address,
            constants={name: values[name][index] for name in names} if values is not None else {},
            whole=wholes[index],
        )
        for index, address in enumerate(addresses(snapshot, chosen.rows))
    ]
