"""Going back: the commit that makes a table what it was at an earlier version, as a new version on top of the newest.

Nothing is forgotten: the versions in between stay, and can be gone back to themselves. Adds come back exactly as they were, so
one that another software wrote is not vouched for by us only because it was restored.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import NotFoundError
from indextables.log.bulk_encode import encode_adds
from indextables.log.commit import Intent
from indextables.log.commit_info import COMMIT_TAG
from indextables.log.conflicts import Kind, shape
from indextables.log.lines import parse_lines
from indextables.log.removal import removes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config import Settings
    from indextables.log.actions import Action, MetaData
    from indextables.log.snapshot import Snapshot
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

RESTORE: Final = "restore"
"""What history shows for such a commit."""

_SHOWN: Final = 10


class DataFilesMissingError(NotFoundError):
    """Data files that a version consists of are gone from the store; `files` names all of them."""

    def __init__(self, store: str, *, version: int, files: Sequence[str]) -> None:
        self.version = version
        self.files = tuple(files)
        shown = ", ".join(self.files[:_SHOWN]) + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")
        super().__init__(
            self.files[0],
            store=store,
            detail=f"version {version} needs {len(files)} data files that are gone: {shown}",
            way_out="Put them back from a copy, or restore a version that does not need them",
        )


def restoring(
    store: Store, now: Snapshot, then: Snapshot, *, settings: Settings, runtime: Runtime, user: str | None = None
) -> Intent | None:
    """Return the commit that turns one version of a table into an earlier one; None where they are the same.

    Protocol, batches of applications and skips stay as they are: the first never goes down, the second must not be repeated,
    and the third is no part of the table's content.

    Raises:
        DataFilesMissingError: A data file that has to come back is gone.
    """
    back = _coming_back(now.files, then.files)
    _check_there(store, back["path"], version=then.version, workers=settings.checkpoint.parallelism)
    leaving = now.files.filter(pc.invert(pc.is_in(now.files["path"], value_set=then.files["path"].combine_chunks())))
    actions: list[Action] = []
    kinds = {Kind.OVERWRITE}
    if _described(now.metadata) != _described(then.metadata):
        actions.append(then.metadata)
        kinds.add(Kind.METADATA)
    actions += removes_of(leaving, now_ms=runtime.now_ms(), data_change=True)
    actions += parse_lines(encode_adds(back), path=f"version {then.version}") if back.num_rows else []
    if not actions:
        return None
    return Intent(
        actions=actions,
        operation=RESTORE,
        kinds=frozenset(kinds),
        id=runtime.new_id(),
        basis=shape(now.metadata),
        user=user,
    )


def _coming_back(now: pa.Table, then: pa.Table) -> pa.Table:
    """Return the files of then that are not there now, or are there with another add."""
    at = pc.index_in(then["path"], value_set=now["path"].combine_chunks())
    both = pc.is_valid(at)
    gone = then.filter(pc.invert(both))
    before, after = then.filter(both), now.take(at.drop_null())
    same_place = pc.and_(pc.equal(before["version"], after["version"]), pc.equal(before["ordinal"], after["ordinal"]))
    doubtful = pc.invert(same_place)
    before, after = before.filter(doubtful), after.filter(doubtful)
    if before.num_rows:
        differs = pc.not_equal(_lines(before), _lines(after))
        gone = pa.concat_tables([gone, before.filter(differs)])
    return gone


def _lines(files: pa.Table) -> pa.Array:
    """Return what the adds say, without the facts about the commits that they were in."""
    return pa.array(encode_adds(without_facts(files)).splitlines(), pa.binary())


def without_facts(rows: pa.Table) -> pa.Table:
    """Return rows whose tags no longer tell of the commits that they were in, which are not true of any other one."""
    tags = rows["tags"].combine_chunks()
    if tags.type.get_field_index(COMMIT_TAG) < 0:
        return rows
    fields = [field for field in tags.type if field.name != COMMIT_TAG]
    if fields:
        children = [pc.struct_field(tags, field.name) for field in fields]
        tags = pa.StructArray.from_arrays(children, fields=fields, mask=pc.is_null(tags))
    else:
        tags = pa.nulls(len(tags), pa.struct([]))
    return rows.set_column(rows.schema.get_field_index("tags"), "tags", tags)


def _check_there(store: Store, paths: pa.ChunkedArray, *, version: int, workers: int) -> None:
    wanted = paths.to_pylist()
    if not wanted:
        return
    with ThreadPoolExecutor(max(1, min(workers, len(wanted))), thread_name_prefix="indextables-restore") as pool:
        there = list(pool.map(store.exists, wanted))
    if missing := [path for path, found in zip(wanted, there, strict=True) if not found]:
        raise DataFilesMissingError(store.url, version=version, files=sorted(missing))


def _described(metadata: MetaData) -> MetaData:
    """Return metadata without the facts about its commit."""
    given = metadata.configuration or {}
    return msgspec.structs.replace(
        metadata, configuration={key: value for key, value in given.items() if key != COMMIT_TAG}
    )
