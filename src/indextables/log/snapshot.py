"""One version of a table, whole and unchanging: what a reader holds while others commit.

Statistics and partition values are text in the log. Their typed columns are made when somebody asks, once, because opening a
table and listing its files needs neither.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import TableNotFoundError
from indextables.log.bounds import ColumnCounts, trusted_bound, trusted_bounds, trusted_counts
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG
from indextables.log.protocol import LEGACY
from indextables.log.schema import parse_schema
from indextables.storage.paths import HIVE_DEFAULT_PARTITION, unescape_partition_value
from indextables.values import parse_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indextables.log.actions import MetaData, Protocol
    from indextables.log.state import Batch, LogState

_PERCENT: Final = "%"


class Snapshot:
    """A table as of one version.

    Attributes:
        url: Where the table is.
        state: The columns that replay made.
    """

    def __init__(self, url: str, state: LogState) -> None:
        self.url = url
        self.state = state
        self._bounds: dict[str, tuple[pa.ChunkedArray | None, pa.ChunkedArray | None]] = {}
        self._counts: dict[str, ColumnCounts] = {}

    @property
    def version(self) -> int:
        """The last commit that is part of it."""
        return self.state.version

    @property
    def timestamp(self) -> int:
        """When that commit happened, in milliseconds since the epoch."""
        return self.state.timestamp

    @property
    def protocol(self) -> Protocol:
        """What a reader and a writer must understand; tables without a word about it are of version 1."""
        return self.state.protocol or LEGACY

    @property
    def metadata(self) -> MetaData:
        """The table's identity, schema and properties.

        Raises:
            TableNotFoundError: No commit has said what the table is.
        """
        if self.state.metadata is None:
            raise TableNotFoundError(self.url, detail="its log holds no metaData action")
        return self.state.metadata

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return parse_schema(self.metadata.schema_string)

    @property
    def partition_columns(self) -> list[str]:
        """The columns that directories are named after, outermost first."""
        return list(self.metadata.partition_columns)

    @property
    def configuration(self) -> dict[str, str]:
        """The table's properties, without those that are about commits."""
        given = self.metadata.configuration or {}
        return {key: value for key, value in given.items() if value is not None and key != COMMIT_TAG}

    @property
    def transactions(self) -> Mapping[str, Batch]:
        """The last batch that each application committed."""
        return self.state.transactions

    @property
    def files(self) -> pa.Table:
        """The active files, a row each: the fields of their add actions, statistics as text."""
        return self.state.files

    @property
    def removes(self) -> pa.Table:
        """The files that were removed and not added again."""
        return self.state.removes

    @property
    def skips(self) -> pa.Table:
        """The files that an operation could not use, with counts and the times to try again."""
        return self.state.skips

    @property
    def num_files(self) -> int:
        """How many files are active."""
        return int(self.files.num_rows)

    @cached_property
    def size_in_bytes(self) -> int:
        """How large they are together."""
        return int(pc.sum(self.files["size"]).as_py() or 0)

    @cached_property
    def num_records(self) -> int | None:
        """How many rows they hold together; None where some file does not say."""
        counts = self.files["num_records"]
        return None if counts.null_count else int(pc.sum(counts).as_py() or 0)

    @cached_property
    def ours(self) -> pa.ChunkedArray:
        """Which files were added by a writer of this format, whose sizes, paths and statistics keep its promises."""
        tags = self.files["tags"]
        if tags.type.get_field_index(WRITER_TAG) < 0:
            return pa.chunked_array([pa.repeat(pa.scalar(False), self.files.num_rows)])
        return pc.is_valid(pc.struct_field(tags, WRITER_TAG))

    @cached_property
    def min_values(self) -> pa.Table:
        """Lower bounds, a typed column a column of the table; null where none can be trusted."""
        return trusted_bounds(self.files["min_values"], self.schema, ours=self.ours, lower=True)

    @cached_property
    def max_values(self) -> pa.Table:
        """Upper bounds, as `min_values`."""
        return trusted_bounds(self.files["max_values"], self.schema, ours=self.ours)

    def bounds(self, path: str) -> tuple[pa.ChunkedArray | None, pa.ChunkedArray | None]:
        """Return the typed lower and upper bounds of one column, made when it is first asked for; None where no file has any."""
        if path not in self._bounds:
            sides = (("min_values", True), ("max_values", False))
            typed = (
                trusted_bound(self.files[side], path, self.schema, ours=self.ours, lower=lower) for side, lower in sides
            )
            # Commits leave many small chunks, on which every later look at them would spend its time.
            least, greatest = (
                None if column is None else pa.chunked_array([column.combine_chunks()]) for column in typed
            )
            self._bounds[path] = (least, greatest)
        return self._bounds[path]

    @cached_property
    def trusted_records(self) -> pa.ChunkedArray:
        """How many rows each file has; null where nobody of ours says so."""
        counts = self.files["num_records"]
        return pa.chunked_array([pc.if_else(self.ours, counts, pa.scalar(None, counts.type)).combine_chunks()])

    def counts(self, paths: Iterable[str]) -> dict[str, ColumnCounts]:
        """Return the counts of nulls and of NaN, and whether bounds are inexact, of some columns."""
        wanted = list(dict.fromkeys(paths))
        if missing := [path for path in wanted if path not in self._counts]:
            self._counts |= trusted_counts(self.files["stats"], missing, ours=self.ours)
        return {path: self._counts[path] for path in wanted}

    @cached_property
    def partition_values(self) -> pa.Table:
        """The typed value of each partition column in each file; null is the null partition."""
        columns = {}
        for name in self.partition_columns:
            texts = _child(self.files["partition_values"], name)
            columns[name] = parse_values(self._unescaped(texts), self.schema.field(name).type)
        return pa.table(columns)

    def doubtful_partition(self, name: str) -> pa.Array | None:
        """Return the files whose value of a partition column is a text that its type does not know; None if there are none."""
        texts = _child(self.files["partition_values"], name)
        typed = self.partition_values[name]
        if typed.null_count == texts.null_count:
            return None
        lost = pc.and_(pc.is_null(typed), pc.is_valid(self._unescaped(texts))).combine_chunks()
        return lost if pc.any(lost).as_py() else None

    def _unescaped(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Decode values that the original implementation wrote, which are escaped like directory names."""
        escaped = pc.or_(pc.match_substring(texts, _PERCENT), pc.equal(texts, HIVE_DEFAULT_PARTITION))
        foreign = pc.and_(pc.invert(self.ours), pc.fill_null(escaped, fill_value=False))
        if not pc.any(foreign).as_py():
            return texts
        encoded = texts.combine_chunks().dictionary_encode()
        decoded = pa.array([unescape_partition_value(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return pc.if_else(foreign, decoded.take(encoded.indices), texts)

    def __repr__(self) -> str:
        return f"Snapshot({self.url!r}, version={self.version}, files={self.num_files})"


def _child(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if column.type.get_field_index(name) < 0:
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    return pc.struct_field(column, name)
