"""Creating a table: version 0 is written once, and whoever comes second finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    LogCorruptionError,
    OutcomeUnknownError,
    TableExistsError,
)
from indextables.log.actions import Format, MetaData
from indextables.log.commit import encode_commit
from indextables.log.commit_info import CommitInfo, stamp
from indextables.log.layout import LOG_DIRECTORY, commit_path, commit_version
from indextables.log.protocol import DEFAULT
from indextables.log.schema import format_schema, normal_schema, parse_schema, validate_schema
from indextables.log.versions import list_versions
from indextables.storage.probe import probe_conditional_put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store


def new_metadata(
    schema: pa.Schema | str,
    partition_columns: Sequence[str],
    *,
    name: str | None,
    description: str | None,
    configuration: Mapping[str, str] | None,
    runtime: Runtime,
) -> MetaData:
    """Return the metadata of a table to be made.

    Raises:
        SchemaError: The schema cannot be a table's.
    """
    arrow = parse_schema(schema) if isinstance(schema, str) else schema
    validate_schema(arrow, partition_columns)
    text = schema if isinstance(schema, str) else format_schema(arrow)
    parse_schema(text)
    return MetaData(
        id=runtime.new_id(),
        name=name,
        description=description,
        format=Format(provider="indextables", options={}),
        schema_string=text,
        partition_columns=list(partition_columns),
        configuration=dict(configuration or {}),
        created_time=runtime.now_ms(),
    )


def create(store: Store, metadata: MetaData, *, settings: Settings, runtime: Runtime) -> bool:
    """Write version 0; False means that a table is there already.

    Raises:
        TableExistsError: The log has files but no version 0: a table was here.
        UnsupportedStoreError: The store cannot tell racing writers apart.
        CommitUnknownError: It may have been written.
    """
    path = commit_path(0)
    if store.exists(path):
        return False
    for meta in store.list_from(LOG_DIRECTORY):
        if meta.path == path or (commit_version(meta.path) is not None and _is_kept(store)):
            return False
        if not meta.path.startswith(f"{LOG_DIRECTORY}/."):
            raise TableExistsError(
                store.url, detail=f"its log holds {meta.path} but not version 0, so repair it or remove the rest"
            )
    probe_conditional_put(store, directory=LOG_DIRECTORY, runtime=runtime)
    info = CommitInfo(
        id=runtime.new_id(), timestamp=runtime.now_ms(), operation="create", version=0, metadata=0, protocol=0
    )
    data = encode_commit(stamp([DEFAULT, metadata], info), settings, path=f"{store.url}/{path}")
    try:
        store.put_if_absent(path, data)
    except AlreadyExistsError:
        return False
    except OutcomeUnknownError as error:
        raise CommitUnknownError(store.url, version=0, commit_id=info.id, detail=error.detail) from error
    return True


def _is_kept(store: Store) -> bool:
    """Tell whether the log is whole although version 0 is gone, because it was cleaned up."""
    try:
        return bool(list_versions(store))
    except LogCorruptionError:
        return False


def same_table(one: MetaData, other: MetaData) -> bool:
    """Tell whether two metadata describe a table with the same columns and partition columns."""
    if one.partition_columns != other.partition_columns:
        return False
    mine, theirs = normal_schema(one.schema_string), normal_schema(other.schema_string)
    return list(mine.items()) == list(theirs.items())
