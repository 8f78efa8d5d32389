"""The five actions, which are all that a line of the log can hold, as typed values.

A field that a line does not have is `UNSET`, one that is null is None, and an empty one is empty: a reader that folds these
into one writes back something else than it read. Fields that this version does not know are kept in `extra` and written back,
so that an older reader never destroys what a newer writer said.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from indextables.errors import IndexTablesError

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
TextMap: TypeAlias = dict[str, str | None]

# The library wants a wire name for every field. A line that really has this key is noticed, and read the exact way.
_EXTRA = "(unknown fields)"


class Fields(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """What every object in the log shares: known fields in a fixed order, and room for the unknown ones.

    Attributes:
        extra: Fields that this version does not know, by name, with their JSON text.
    """

    extra: dict[str, Raw] = msgspec.field(default_factory=dict, name=_EXTRA)


class Protocol(Fields, frozen=True, kw_only=True):
    """The least versions of software that may read and write the table."""

    key: ClassVar[str] = "protocol"

    min_reader_version: Int64
    min_writer_version: Int64
    reader_features: list[str] | UnsetType | None = UNSET
    writer_features: list[str] | UnsetType | None = UNSET


class Format(Fields, frozen=True, kw_only=True):
    """What the data files are, as the metadata states it."""

    provider: str
    options: TextMap | UnsetType | None = UNSET


class MetaData(Fields, frozen=True, kw_only=True):
    """The table's identity, schema (Spark's JSON form), partition columns and properties."""

    key: ClassVar[str] = "metaData"

    id: str
    name: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    format: Format | UnsetType | None = UNSET
    schema_string: str
    partition_columns: list[str]
    configuration: TextMap | UnsetType | None = UNSET
    created_time: Int64 | UnsetType | None = UNSET


class Add(Fields, frozen=True, kw_only=True):
    """A split file that belongs to the table from this version on."""

    key: ClassVar[str] = "add"

    path: str
    partition_values: TextMap
    size: Int64
    modification_time: Int64
    data_change: bool
    stats: str | UnsetType | None = UNSET
    tags: TextMap | UnsetType | None = UNSET
    min_values: TextMap | UnsetType | None = UNSET
    max_values: TextMap | UnsetType | None = UNSET
    num_records: Int64 | UnsetType | None = UNSET
    footer_start_offset: Int64 | UnsetType | None = UNSET
    footer_end_offset: Int64 | UnsetType | None = UNSET
    hotcache_start_offset: Int64 | UnsetType | None = UNSET
    hotcache_length: Int64 | UnsetType | None = UNSET
    has_footer_offsets: bool | UnsetType | None = UNSET
    time_range_start: str | UnsetType | None = UNSET
    time_range_end: str | UnsetType | None = UNSET
    split_tags: list[str | None] | UnsetType | None = UNSET
    delete_opstamp: Int64 | UnsetType | None = UNSET
    num_merge_ops: Int64 | UnsetType | None = UNSET
    doc_mapping_json: str | UnsetType | None = UNSET
    uncompressed_size_bytes: Int64 | UnsetType | None = UNSET


class Remove(Fields, frozen=True, kw_only=True):
    """A split file that no longer belongs to the table; the file itself stays until a purge."""

    key: ClassVar[str] = "remove"

    path: str
    deletion_timestamp: Int64 | UnsetType | None = UNSET
    data_change: bool
    extended_file_metadata: bool | UnsetType | None = UNSET
    partition_values: TextMap | UnsetType | None = UNSET
    size: Int64 | UnsetType | None = UNSET
    tags: TextMap | UnsetType | None = UNSET


class Skip(Fields, frozen=True, kw_only=True):
    """A split file that an operation could not use, and when to try it again."""

    key: ClassVar[str] = "mergeskip"

    path: str
    skip_timestamp: Int64
    reason: str
    operation: str
    partition_values: TextMap | UnsetType | None = UNSET
    size: Int64 | UnsetType | None = UNSET
    retry_after: Int64 | UnsetType | None = UNSET
    skip_count: Int64 | UnsetType | None = UNSET


Action: TypeAlias = Protocol | MetaData | Add | Remove | Skip

ACTIONS: dict[str, type[Action]] = {kind.key: kind for kind in (Protocol, MetaData, Add, Remove, Skip)}
"""The action classes by the key that their lines carry."""

_encode = msgspec.json.Encoder().encode


def encode_action(action: Action) -> bytes:
    """Return the line of an action, without its newline: compact, known fields in the order of their class, then `extra`.

    Raises:
        IndexTablesError: A text holds half of a surrogate pair, which no JSON can carry.
    """
    try:
        return b'{"%b":%b}' % (action.key.encode(), _encode_fields(action))
    except UnicodeEncodeError as error:
        raise IndexTablesError(
            f"The {action.key} action cannot be written: it holds half of a surrogate pair",
            "Correct the text that it was made from",
        ) from error


def encode_extra(action: Action) -> str | None:
    """Return the unknown fields of an action as the text of a JSON object, and None if there are none."""
    return _encode(action.extra).decode() if action.extra else None


def _encode_fields(fields: Fields) -> bytes:
    replaced: dict[str, object] = {}
    if isinstance(fields, MetaData) and isinstance(fields.format, Format) and fields.format.extra:
        # A placeholder keeps the position, and so the order of fields, of the only object that nests.
        replaced["format"] = Raw(_encode_fields(fields.format))
    if fields.extra:
        replaced["extra"] = {}
    if not replaced:
        return _encode(fields)
    body = _encode(msgspec.structs.replace(fields, **replaced))
    return b"%b,%b" % (body[:-1], _encode(fields.extra)[1:]) if fields.extra else body
