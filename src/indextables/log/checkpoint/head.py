"""What a checkpoint says of the table itself: enough for whoever does not ask for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.log.actions import MetaData, Protocol
    from indextables.log.state import LogState


@dataclass(frozen=True, kw_only=True)
class Head:
    """What a checkpoint says of the table itself, without the files."""

    version: int
    protocol: Protocol | None
    protocol_version: int
    metadata: MetaData | None
    metadata_version: int


def head_of(state: LogState) -> Head:
    """Return what a state says of the table."""
    return Head(
        version=state.version,
        protocol=state.protocol,
        protocol_version=state.protocol_version,
        metadata=state.metadata,
        metadata_version=state.metadata_version,
    )
