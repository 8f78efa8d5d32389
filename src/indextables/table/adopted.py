"""Columns of files that others wrote: what their footers and their directories say, brought together or refused.

Types must be the same everywhere, since a cast that fits today's rows need not fit tomorrow's. Columns that some files lack are
null there. Directories are read as Spark reads them, but for moments, which stay texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.log.schema import format_schema, parse_schema
from indextables.storage.paths import parse_partition_path
from indextables.values import format_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from indextables.split.footer import Footer

_SPARK_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"
_SHOWN: Final = 20
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_NUMBER: Final = re.compile(r"-?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Columns:
    """The columns of many files.

    Args:
        footers: Of the files, in their order.
        partition_columns: Columns that count as read from directories, also where a file has them.
    """

    def __init__(self, footers: Sequence[Footer], *, partition_columns: Sequence[str]) -> None:
        self._partition = {name.casefold() for name in partition_columns}
        self._first: dict[str, tuple[pa.Field, str]] = {}
        self._problems: dict[str, None] = {}
        known: dict[bytes, pa.Schema] = {}
        for footer in footers:
            # Files of one writer have one schema, and parsing it is most of the work.
            key = (footer.metadata.metadata or {}).get(_SPARK_SCHEMA) or footer.schema.serialize().to_pybytes()
            if key not in known:
                known[key] = self._schema(footer)
                self._take(known[key], footer.path)

    def merged(self, wanted: pa.Schema | None) -> pa.Schema:
        """Return the columns of all files together; if some are wanted, in that order and no others.

        Raises:
            SchemaError: They do not fit together; all differences are in its text.
        """
        fields = [field for field, _ in self._first.values()]
        if wanted is not None:
            fields = self._as_wanted(wanted)
        problems = list(self._problems)
        if not fields and not problems:
            problems = ["no file has a column besides those of its directories"]
        if problems:
            more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
            raise SchemaError(
                f"The files do not fit together: {'; '.join(problems[:_SHOWN])}{more}",
                way_out="Rewrite the files that differ, or move them away",
            )
        return pa.schema(fields)

    def _schema(self, footer: Footer) -> pa.Schema:
        text = (footer.metadata.metadata or {}).get(_SPARK_SCHEMA)
        try:
            if text is not None:
                return parse_schema(text.decode())
            schema = _as_spark_reads(footer).remove_metadata()
            for field in schema:
                for kind in _simple_types(field.type):
                    if pa.types.is_float16(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
                        self._problems[f"column {field.name} is {kind} in {footer.path}, which Spark does not read"] = (
                            None
                        )
            return parse_schema(format_schema(schema))
        except SchemaError as error:
            self._problems[f"{footer.path}: {error.problem}"] = None
            return pa.schema([])

    def _take(self, schema: pa.Schema, path: str) -> None:
        for given in schema:
            name = given.name.casefold()
            if name in self._partition:
                continue
            field = pa.field(given.name, nullable(given.type), metadata=given.metadata)
            first, where = self._first.setdefault(name, (field, path))
            if first.name != field.name:
                self._problems[f"{where} has a column {first.name}, and {path} has {field.name}"] = None
            elif not first.type.equals(field.type):
                self._problems[f"column {field.name} is {first.type} in {where} and {field.type} in {path}"] = None

    def _as_wanted(self, wanted: pa.Schema) -> list[pa.Field]:
        fields = []
        extra = dict(self._first)
        for given in wanted:
            name = given.name.casefold()
            if name in self._partition:
                continue
            field, where = extra.pop(name, (pa.field(given.name, nullable(given.type), metadata=given.metadata), ""))
            if not field.type.equals(nullable(given.type)):
                self._problems[f"column {given.name} is {given.type} in the catalog and {field.type} in {where}"] = None
            fields.append(field)
        for field, where in extra.values():
            self._problems[f"column {field.name} is in {where} and not in the catalog"] = None
        return fields


def _as_spark_reads(footer: Footer) -> pa.Schema:
    """Return the columns of a file with moments in the old form of Hive and Impala as Spark takes them, which is as instants."""
    columns = footer.metadata.schema
    if not any(columns.column(index).physical_type == "INT96" for index in range(footer.metadata.num_columns)):
        return footer.schema
    return pa.schema([field.with_type(_instants(field.type)) for field in footer.schema])


def _instants(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz is None:
        return pa.timestamp("us", "UTC")
    return _inside(kind, lambda field: field.with_type(_instants(field.type)))


def _simple_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    if not pa.types.is_nested(kind):
        yield kind
    for index in range(kind.num_fields):
        yield from _simple_types(kind.field(index).type)


def nullable(kind: pa.DataType) -> pa.DataType:
    """Return a type in which everything may be null, but keys of maps."""
    return _inside(kind, lambda field: pa.field(field.name, nullable(field.type), metadata=field.metadata))


def _inside(kind: pa.DataType, change: Any) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([change(field) for field in kind])
    if pa.types.is_map(kind):
        key = change(kind.key_field)
        return pa.map_(pa.field(key.name, key.type, nullable=False), change(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(change(kind.value_field))
    return kind


def partition_types(
    paths: Sequence[str], names: Sequence[str] | Mapping[str, str | pa.DataType] | None
) -> dict[str, pa.DataType]:
    """Return the columns that directories are named after, outermost first, with their types.

    Args:
        paths: Of all files.
        names: What they must be, maybe with types, which may be in Spark's words; None finds out.

    Raises:
        SchemaError: Directories are not named after the same columns, or after others than these.
    """
    directories = {path.rpartition("/")[0] for path in paths}
    shapes = {tuple(name for name, _ in parse_partition_path(directory)): directory for directory in directories}
    plain = [
        directory for directory in sorted(directories) if any("=" not in part for part in directory.split("/") if part)
    ]
    if plain:
        raise SchemaError(
            f"The directory {plain[0]} is not named after a column",
            way_out="Move its files to where the others are, or convert it as a table of its own",
        )
    if len(shapes) > 1:
        listed = "; ".join(
            f"{directory or 'the top'} by {', '.join(shape) or 'nothing'}" for shape, directory in shapes.items()
        )
        raise SchemaError(f"Directories are not named after the same columns: {listed}")
    shape = next(iter(shapes))
    if names is not None and [name.casefold() for name in names] != [name.casefold() for name in shape]:
        raise SchemaError(
            f"Directories are named after {', '.join(shape) or 'nothing'}, not after {', '.join(names) or 'nothing'}",
            columns=list(names),
            way_out="Leave partition_by out, or name the columns that they are named after",
        )
    given = list(names.values()) if isinstance(names, dict) else [None] * len(shape)
    called = list(names) if names is not None else list(shape)
    parsed = [dict(enumerate(text for _, text in parse_partition_path(directory))) for directory in directories]
    return {
        name: _inferred([values[index] for values in parsed]) if kind is None else _type(name, kind)
        for index, (name, kind) in enumerate(zip(called, given, strict=True))
    }


def _type(name: str, kind: str | pa.DataType) -> pa.DataType:
    if not isinstance(kind, str):
        return kind
    words = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}
    field = {"name": name, "type": words.get(kind.lower(), kind.lower()), "nullable": True, "metadata": {}}
    return parse_schema(msgspec.json.encode({"type": "struct", "fields": [field]}).decode()).field(0).type


def _inferred(texts: Sequence[str | None]) -> pa.DataType:
    known = [text for text in texts if text is not None]
    if known and all(_INTEGER.fullmatch(text) for text in known):
        largest = max(abs(int(text)) for text in known)
        return pa.int32() if largest < 2**31 else pa.int64() if largest < 2**63 else pa.string()
    if known and all(_NUMBER.fullmatch(text) or _INTEGER.fullmatch(text) for text in known):
        return pa.float64()
    if known and all(_DATE.fullmatch(text) for text in known):
        return pa.date32()
    return pa.string()


def partition_texts(paths: Sequence[str], types: Mapping[str, pa.DataType]) -> dict[str, dict[str, str | None]]:
    """Return the partition values of each file in the log's form.

    Raises:
        SchemaError: A directory holds what is no value of its column.
    """
    by_directory: dict[str, dict[str, str | None]] = {}
    problems = []
    for directory in sorted({path.rpartition("/")[0] for path in paths}):
        values: dict[str, str | None] = {}
        for (name, kind), (_, text) in zip(types.items(), parse_partition_path(directory), strict=True):
            try:
                values[name] = format_scalar(pc.cast(pa.scalar(text, pa.string()), kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                problems.append(f"{directory}: {text} is no {kind}")
        by_directory[directory] = values
    if problems:
        raise SchemaError(
            f"Directories do not fit their columns: {'; '.join(problems[:_SHOWN])}",
            way_out="Rename them, or give other types",
        )
    return {path: by_directory[path.rpartition("/")[0]] for path in paths}
