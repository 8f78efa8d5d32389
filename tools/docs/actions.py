"""The field tables of the five actions, written from their classes into the specification: python -m tools.docs.actions.

Names, types and what is required come from the code. Only what a field means is said here, and a field without a meaning, or a
meaning without a field, is an error: the specification cannot fall behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from indextables.log.actions import ACTIONS, Add, Format, MetaData, Protocol, Remove, Skip

TARGET: Final = Path(__file__).parents[2] / "docs" / "spec" / "log-format.md"
BEGIN: Final = "<!-- generated: python -m tools.docs.actions -->"
END: Final = "<!-- end of the generated part -->"

_MS: Final = "milliseconds since 1970"
MEANING: Final[dict[type[Any], dict[str, str]]] = {
    Protocol: {
        "minReaderVersion": "the least version of software that may read the table",
        "minWriterVersion": "the least version that may write it",
        "readerFeatures": "features that a reader must know, from version 3 on",
        "writerFeatures": "features that a writer must know, from version 3 on",
    },
    MetaData: {
        "id": "the table's identity, for ever",
        "name": "a name for people",
        "description": "a text for people",
        "format": "what the data files are; see below",
        "schemaString": "the schema in Spark's JSON form",
        "partitionColumns": "the columns that directories are named after, outermost first",
        "configuration": "properties of the table",
        "createdTime": f"when it was created, {_MS}",
    },
    Format: {"provider": "the kind of files, `indextables`", "options": "options of that kind"},
    Add: {
        "path": "the file, relative to the table's root",
        "partitionValues": "its value of each partition column, as text; null is null",
        "size": "bytes",
        "modificationTime": f"when it was written, {_MS}",
        "dataChange": "false if it only rearranges rows that the table had",
        "stats": "null counts and what else is known, the text of a JSON object",
        "tags": "free keys; ours begin with `indextables.`",
        "minValues": "no value of a column is below this",
        "maxValues": "no value of a column is above this",
        "numRecords": "rows",
        "footerStartOffset": "where the file's footer begins",
        "footerEndOffset": "where it ends",
        "hotcacheStartOffset": "kept for the original implementation",
        "hotcacheLength": "kept for the original implementation",
        "hasFooterOffsets": "whether the two offsets are meant",
        "timeRangeStart": "the least value of the first column of timestamps, microseconds since 1970",
        "timeRangeEnd": "its greatest value",
        "splitTags": "kept for the original implementation",
        "deleteOpstamp": "kept for the original implementation",
        "numMergeOps": "how many merges its rows went through",
        "docMappingJson": "which fields have a text index; `[]` for none",
        "uncompressedSizeBytes": "bytes of all its columns, decompressed",
    },
    Remove: {
        "path": "the file, as its add named it",
        "deletionTimestamp": f"when it was removed, {_MS}",
        "dataChange": "false if its rows went on in other files",
        "extendedFileMetadata": "whether the next three are meant",
        "partitionValues": "as in the add",
        "size": "as in the add",
        "tags": "free keys; ours begin with `indextables.`",
    },
    Skip: {
        "path": "the file that could not be used",
        "skipTimestamp": f"when that was, {_MS}",
        "reason": "why, for people",
        "operation": "what could not use it, such as `merge`",
        "partitionValues": "as in the add",
        "size": "as in the add",
        "retryAfter": f"when it may be tried again, {_MS}",
        "skipCount": "how often it was skipped",
    },
}


def field_table(kind: type[Any]) -> list[str]:
    """Return the table of one class.

    Raises:
        ValueError: The meanings and the fields are not the same.
    """
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "extra"]
    known = MEANING[kind]
    if set(known) != {field.encode_name for field in fields}:
        raise ValueError(
            f"{kind.__name__} has fields {[field.encode_name for field in fields]}, described are {list(known)}"
        )
    rows = [
        f"| `{field.encode_name}` | {'yes' if field.required else 'no'} | {_type(field.type)} | {known[field.encode_name]} |"
        for field in fields
    ]
    return ["| field | required | type | meaning |", "| --- | --- | --- | --- |", *rows]


def _type(annotation: Any) -> str:
    """Return the name of a type, as JSON has it, with null where it is allowed."""
    node = msgspec.inspect.type_info(annotation)
    kinds = list(node.types) if isinstance(node, msgspec.inspect.UnionType) else [node]
    names = [_NAMES[type(kind)] for kind in kinds if type(kind) in _NAMES]
    return " or ".join(names)


_NAMES: Final[dict[type[Any], str]] = {
    msgspec.inspect.StrType: "text",
    msgspec.inspect.IntType: "integer",
    msgspec.inspect.BoolType: "boolean",
    msgspec.inspect.ListType: "list of texts",
    msgspec.inspect.DictType: "map of texts",
    msgspec.inspect.StructType: "object",
}


def tables() -> str:
    """Return the generated part."""
    lines = [BEGIN, ""]
    for key, kind in ACTIONS.items():
        lines += [f"### `{key}`", "", *field_table(kind), ""]
        if kind is MetaData:
            lines += ["The object `format`:", "", *field_table(Format), ""]
    return "\n".join([*lines, END])


def page(current: str) -> str:
    """Return the specification with the generated part written anew."""
    before, _, rest = current.partition(BEGIN)
    return before + tables() + rest.partition(END)[2]


if __name__ == "__main__":
    TARGET.write_text(page(TARGET.read_text()))
