"""Tables of the original implementation: their log is ours to read, their splits are not Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from indextables.errors import SplitCorruptionError

if TYPE_CHECKING:
    from indextables.log.snapshot import Snapshot


def refuse_foreign(snapshot: Snapshot) -> None:
    """Refuse a table whose files Spark could not read, before it tries.

    Raises:
        SplitCorruptionError: Some files were written by another implementation, which stores them in a form of its own.
    """
    ours = snapshot.ours
    if len(ours) and not pc.all(ours).as_py():
        first = snapshot.files["path"].filter(pc.invert(ours))[0].as_py()
        raise SplitCorruptionError(
            f"{snapshot.url}/{first}",
            "another implementation wrote it, in a form that is not Parquet",
            way_out="Read the table with that implementation, and write its rows to a new table",
        )
