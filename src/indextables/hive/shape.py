"""What must not change about a Parquet file beside its values: its shape.

Engines disagree about how they find a column (by name, by position), how they read a list, which calendar and time zone an INT96
has, and they decide it by the file's schema, its metadata and the program that wrote it. So files are merged only with files of
the same shape, and what is written must have that shape, too. A column that some files lack stays absent from those rows' file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.errors import TableRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARROW = b"ARROW:schema"
_PANDAS = b"pandas"  # holds the number of rows of each file
_OBJECT_LINE = re.compile(r"^<.*>\n")
_ROOT_NAME = re.compile(r"\A((?:required|optional|repeated) group field_id=-?\d+) \S+")
_ORIGIN = re.compile(r", is_from_converted_type=\w+, force_set_converted_type=\w+")
# The name of the group that repeats, and its annotation, differ between writers and mean nothing: its place says what it is.
_REPEATED = re.compile(r"^(\s*)repeated group field_id=-?\d+ .*\{$", re.MULTILINE)
_INTEGER_DECIMAL = re.compile(r"^\s*\w+ int(?:32|64) .*\(Decimal\(", re.MULTILINE)
_UTC_TIME = re.compile(r"\(Time\(isAdjustedToUTC=true")
_INT96 = re.compile(r"^\s*\w+ int96 ", re.MULTILINE)
_WRITABLE = frozenset({"SNAPPY", "GZIP", "ZSTD", "BROTLI", "UNCOMPRESSED"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What files must have in common to be merged.

    Attributes:
        schema: The physical schema as text, without what writers are free in.
        metadata: The file's own key-value pairs, which say for example which calendar dates follow.
        writer: The program that wrote it, where the rules for INT96 depend on it.
        arrow: The types in Arrow, with what the file's own Arrow schema adds.
        keeps_arrow: Whether the file carries an Arrow schema.
    """

    schema: str
    metadata: frozenset[tuple[bytes, bytes]]
    writer: str
    arrow: Any = field(hash=False)
    keeps_arrow: bool

    @property
    def has_int96(self) -> bool:
        """Whether a column is a 12-byte timestamp."""
        return _INT96.search(self.schema) is not None

    def writer_options(self) -> dict[str, Any]:
        """Return the switches with which pyarrow writes this shape."""
        return {
            "use_deprecated_int96_timestamps": self.has_int96,
            "store_decimal_as_integer": _INTEGER_DECIMAL.search(self.schema) is not None,
            "write_time_adjusted_to_utc": _UTC_TIME.search(self.schema) is not None,
            "use_compliant_nested_type": " element;" in self.schema or " element " in self.schema,
            "store_schema": self.keeps_arrow,
        }


def shape_of(file: Any) -> Shape:
    """Return the shape of an open Parquet file."""
    metadata = file.metadata.metadata or {}
    schema = physical_schema(file)
    return Shape(
        schema=schema,
        metadata=frozenset((key, value) for key, value in metadata.items() if key not in {_ARROW, _PANDAS}),
        writer=str(file.metadata.created_by or "").partition(" ")[0] if _INT96.search(schema) else "",
        arrow=file.schema_arrow.remove_metadata(),
        keeps_arrow=_ARROW in metadata,
    )


def physical_schema(file: Any) -> str:
    """Return an open file's physical schema as text: names, order, nesting, physical and logical types, field ids."""
    text = _OBJECT_LINE.sub("", str(file.schema))
    text = _ROOT_NAME.sub(r"\1 root", text)
    return _REPEATED.sub(r"\1repeated group {", _ORIGIN.sub("", text))


def codec_of(files: Iterable[Any], table: str) -> str:
    """Return the codec that most column chunks of these open files use, by pyarrow's name.

    Raises:
        TableRefusedError: pyarrow cannot write it as Hive reads it.
    """
    found: Counter[str] = Counter()
    for file in files:
        if file.metadata.num_row_groups and file.metadata.num_columns:
            found[str(file.metadata.row_group(0).column(0).compression)] += 1
    codec = found.most_common(1)[0][0] if found else "SNAPPY"
    if codec not in _WRITABLE:
        raise TableRefusedError(
            table, f"its files are compressed with {codec}", way_out="Name another codec with --codec, for example zstd"
        )
    return "NONE" if codec == "UNCOMPRESSED" else codec
