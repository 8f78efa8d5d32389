"""Which tables this version may read and write.

Versions 1 and 2 are plain numbers. Version 3 names features: a reader must know every reader feature, a writer every writer
feature, and what is unknown is refused by name, because a guess here is how clients corrupt tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.errors import ProtocolError, SchemaError
from indextables.log.actions import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT: Final = Protocol(min_reader_version=2, min_writer_version=2)
"""What a new table needs."""

LEGACY: Final = Protocol(min_reader_version=1, min_writer_version=1)
"""What a table without a protocol line needs."""

SUPPORTED_VERSION: Final = 3
READER_FEATURES: Final[frozenset[str]] = frozenset()
WRITER_FEATURES: Final[frozenset[str]] = frozenset()


def check_readable(protocol: Protocol, *, table: str) -> None:
    """Refuse a table whose reader needs something that this version does not have.

    Raises:
        ProtocolError: It names the version or the features that are missing.
    """
    _check("reader", protocol.min_reader_version, protocol.reader_features, READER_FEATURES, table)


def check_writable(protocol: Protocol, *, table: str) -> None:
    """Refuse to write to a table whose writer needs something that this version does not have.

    Raises:
        ProtocolError: It names the version or the features that are missing.
    """
    check_readable(protocol, table=table)
    _check("writer", protocol.min_writer_version, protocol.writer_features, WRITER_FEATURES, table)


def check_upgrade(now: Protocol, wanted: Protocol, *, table: str) -> None:
    """Refuse a protocol that goes down, or that would shut this version out of its own table.

    Raises:
        SchemaError: It goes down.
        ProtocolError: This version could not write the table afterwards.
    """
    check_writable(wanted, table=table)
    if wanted.min_reader_version < now.min_reader_version or wanted.min_writer_version < now.min_writer_version:
        at = f"{now.min_reader_version}/{now.min_writer_version}"
        raise SchemaError("A protocol never goes down", way_out=f"The table is at {at}: ask for that or more")


def _check(role: str, version: int, features: object, known: frozenset[str], table: str) -> None:
    if version > SUPPORTED_VERSION:
        raise ProtocolError(
            table, needs=f"{role} version {version}", supported=f"up to {role} version {SUPPORTED_VERSION}"
        )
    named: Iterable[str] = features if isinstance(features, list | tuple | set | frozenset) else ()
    if version >= SUPPORTED_VERSION and (missing := sorted(set(named) - known)):
        have = ", ".join(sorted(known)) or "no optional ones"
        raise ProtocolError(
            table, needs=f"the {role} features {', '.join(missing)}", supported=f"{have}", missing=missing
        )
