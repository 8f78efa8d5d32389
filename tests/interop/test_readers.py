"""Readers that know nothing of this project open splits by their paths and find the same rows and types."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.log.schema import normal_schema
from indextables.storage.local import LocalStore
from indextables.table import Table
from tests.support.data import every_type
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMAS = times(60)
SETTINGS = Settings.resolve({"spark.indextables.indexing.fastfields": "string,long"})


def with_pyarrow(paths: list[str]) -> pa.Table:
    return pa.concat_tables(pq.read_table(path, partitioning=None) for path in paths)


def with_dataset(paths: list[str]) -> pa.Table:
    return ds.dataset(paths, format="parquet").to_table()


def with_duckdb(paths: list[str]) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql("SELECT * FROM read_parquet(?)", params=[paths]).to_arrow_table()


def with_polars(paths: list[str]) -> pa.Table:
    return pl.read_parquet(paths, hive_partitioning=False).to_arrow()


READERS: dict[str, Callable[[list[str]], pa.Table]] = {
    "pyarrow": with_pyarrow,
    "pyarrow.dataset": with_dataset,
    "duckdb": with_duckdb,
    "polars": with_polars,
}


def written(data: pa.Table, directory: Path, parts: int = 2) -> tuple[Table, list[str]]:
    table = Table.at_store(LocalStore(directory), settings=SETTINGS)
    rows = max(1, -(-data.num_rows // parts))
    for start in range(0, data.num_rows, rows):
        table.append(data.slice(start, rows))
    return table, [str(directory / path) for path in table.files()["path"].to_pylist()]


def plain(value: Any) -> Any:
    """Return a value without the differences between readers that are none: pairs of maps, names of zones, the sign of NaN."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain({"key": item[0], "value": item[1]} if isinstance(item, tuple) else item) for item in value]
    return f"{value!r}".replace("zoneinfo.ZoneInfo(key='UTC')", "UTC").replace("<UTC>", "UTC")


def rows_of(table: pa.Table) -> list[Any]:
    return [plain(row) for row in table.to_pylist()]


def spark_types(schema: pa.Schema, *, without_maps: bool) -> dict[str, Any]:
    """Return the types of columns in Spark's words; all columns of foreign readers may be null."""
    fields = [field.with_nullable(True) for field in schema]
    return {
        name: field["type"]
        for name, field in normal_schema(pa.schema(fields).remove_metadata()).items()
        if not (without_maps and ("map" in str(field["type"]) or "struct" in str(field["type"])))
    }


@pytest.mark.parametrize("reader", READERS)
def test_every_type_has_equal_rows_and_types(reader: str, tmp_path: Path) -> None:
    table, paths = written(every_type(), tmp_path)
    found = READERS[reader](paths)
    assert found.column_names == table.schema.names
    assert rows_of(found) == rows_of(table.to_arrow())
    # Polars has no maps: it reads them as lists of pairs.
    lacks_maps = reader == "polars"
    assert spark_types(found.schema, without_maps=lacks_maps) == spark_types(table.schema, without_maps=lacks_maps)


def test_pandas_reads_the_same_frame(tmp_path: Path) -> None:
    table, paths = written(every_type(), tmp_path)
    found = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    expected = pd.concat([table.to_arrow().slice(start, 2).to_pandas() for start in (0, 2)], ignore_index=True)
    pd.testing.assert_frame_equal(found, expected)


def test_duckdb_finds_nan_zero_and_long_texts_by_its_own_skipping(tmp_path: Path) -> None:
    data = pa.table(
        {
            "id": range(6),
            "f": [1.0, float("nan"), -0.0, 0.0, float("inf"), None],
            "string": ["x" * 5000, "a", "é", "😀", "", None],
        }
    )
    _, paths = written(data, tmp_path, parts=6)
    with duckdb.connect() as connection:

        def ids(where: str) -> list[int]:
            query = f"SELECT id FROM read_parquet(?) WHERE {where} ORDER BY id"
            return [row[0] for row in connection.execute(query, [paths]).fetchall()]

        assert ids("f > 5") == [1, 4]
        assert ids("f = 0.0") == [2, 3]
        assert ids(f"string = '{'x' * 5000}'") == [0]
        assert ids("string > 'é'") == [3]
        assert ids("string = ''") == [4]
        assert ids("f IS NULL") == [5]


KINDS: list[pa.DataType] = [field.type for field in every_type().schema]


def random_table(chance: random.Random) -> pa.Table:
    """Return rows of a random schema, made of the values that every type has in `every_type`, nested at random."""
    source = every_type()
    columns: dict[str, pa.ChunkedArray] = {}
    for number in range(chance.randint(1, 8)):
        name = chance.choice(["plain", "with space", "dotted.name", "ünïcode", "UPPER", "quote'd", "a-b"]) + str(number)
        column = source.column(chance.randrange(source.num_columns)).take(
            pa.array([chance.randrange(4) for _ in range(7)])
        )
        match chance.randrange(6):
            case 0:
                inner = pa.field("inner", column.type)
                column = pa.chunked_array([pa.StructArray.from_arrays([column.combine_chunks()], fields=[inner])])
            case 1:
                values = column.combine_chunks()
                kind = pa.list_(pa.field("element", values.type))
                column = pa.chunked_array([pa.ListArray.from_arrays([0, 2, 2, 3, 5, 5, 6, 7], values).cast(kind)])
        columns[name] = column
    return pa.table(columns)


def test_tables_of_random_schemas_are_equal_for_every_reader(tmp_path: Path, record_property: Any) -> None:
    chance = random.Random(4)
    for number in range(SCHEMAS):
        data = random_table(chance)
        table, paths = written(data, tmp_path / str(number), parts=1)
        expected = rows_of(data)
        assert rows_of(table.to_arrow()) == expected
        for reader, read in READERS.items():
            found = read(paths)
            assert rows_of(found) == expected, (reader, data.schema)
            lacks_maps = reader == "polars"
            assert spark_types(found.schema, without_maps=lacks_maps) == spark_types(
                table.schema, without_maps=lacks_maps
            )
    record_property("random schemas read by four readers", SCHEMAS)
