"""A file that cannot be read is a reason to leave its table alone, whatever the library that reads it raises.

Damage shows up late: when a footer is opened, when its texts are asked for, when a page is unpacked. Parquet's and ORC's libraries say
so by errors of many types, none of which names the file.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.errors import IndexTablesError, StorageError, TableRefusedError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_file(table: str, place: str, kind: str, *, is_ours: bool = False) -> Iterator[None]:
    """Turn what a library says of a damaged file into an error that names it.

    Args:
        table: The table's full name.
        place: The file.
        kind: What it should be: `Parquet` or `ORC`.
        is_ours: Whether this run has written it.

    Raises:
        TableRefusedError: A file of the table is not what it should be.
        VerificationError: One that was written is not.
        StorageError: The disk could not read it.
    """
    try:
        yield
    except IndexTablesError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:  # which is the disk's word and not the library's
            raise StorageError(place, detail=error.strerror or str(error)) from error
        reason = f"{place} is not a whole {kind} file ({error})"
        if is_ours:
            raise VerificationError(table, reason) from error
        way_out = "Wait until its writer is done, restore the file from a copy, or move it away"
        raise TableRefusedError(table, reason, way_out=way_out) from error
