"""Tables that are not compacted: each is refused with its reason, before anything moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import orc

from indextables.errors import TableRefusedError
from indextables.hive import Lake, compact, recover
from indextables.hive.eligible import refusals
from tests.hive.tables import ORC, TEXT, add_partition, create_table, fill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def orc_timestamps(lake: Lake, full_name: str, place: Path) -> None:
    create_table(lake, full_name, str(place), formats=ORC, columns=[("ts", "timestamp")])
    for index in range(2):
        orc.write_table(pa.table({"ts": pa.array([0], pa.timestamp("ns"))}), str(place / f"{index}.orc"))


def orc_varchar(lake: Lake, full_name: str, place: Path) -> None:
    create_table(lake, full_name, str(place), formats=ORC, columns=[("v", "varchar(3)")])


def with_parameters(**parameters: str) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        held = {key.replace("__", "."): value for key, value in parameters.items()}
        table = create_table(lake, full_name, str(place))
        fill(lake, str(place), files=3, rows=2)
        lake.metastore.alter(table.changed(parameters=table.parameters | held))

    return make


def made_with(**options: Any) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        create_table(lake, full_name, str(place), **options)
        fill(lake, str(place), files=3, rows=2)

    return make


def with_content(relative: str, *, link: bool = False) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        made_with()(lake, full_name, place)
        path = place / relative
        path.parent.mkdir(exist_ok=True)
        if link:
            path.symlink_to(place / "part-00000.parquet")
        else:
            path.write_bytes((place / "part-00000.parquet").read_bytes())

    return make


def shared(lake: Lake, full_name: str, place: Path) -> None:
    made_with()(lake, full_name, place)
    create_table(lake, f"{full_name}_twin", str(place))


def nested_in_another(lake: Lake, full_name: str, place: Path) -> None:
    made_with()(lake, full_name, place)
    create_table(lake, f"{full_name}_outer", str(place.parent))


def linked(lake: Lake, full_name: str, place: Path) -> None:
    real = place.parent / "real"
    real.mkdir(parents=True)
    place.symlink_to(real)
    made_with()(lake, full_name, place)


REFUSED: dict[str, tuple[Callable[[Lake, str, Path], None], str]] = {
    "text": (made_with(formats=TEXT), "neither Parquet nor ORC"),
    "bucketed": (made_with(buckets=4, bucket_columns=["id"]), "bucketed"),
    "bucketed by Spark": (with_parameters(spark__sql__sources__schema__numBuckets="4"), "bucketed"),
    "Iceberg": (with_parameters(table_type="ICEBERG"), "iceberg"),
    "Delta": (with_parameters(spark__sql__sources__provider="delta"), "delta"),
    "Hudi": (with_parameters(spark__sql__sources__provider="hudi"), "hudi"),
    "a storage handler": (with_parameters(storage_handler="org.hbase.Handler"), "storage handler"),
    "a Delta log without a property": (with_content("_delta_log/0.parquet"), "another table format"),
    "a shared location": (shared, "shares its files"),
    "a location inside another table": (nested_in_another, "shares its files"),
    "data in a subdirectory": (with_content("HIVE_UNION_SUBDIR_1/000000_0"), "subdirectory"),
    "partition directories in a flat table": (with_content("date=2020-01-01/f.parquet"), "subdirectory"),
    "a linked file": (with_content("link.parquet", link=True), "symbolic link"),
    "a linked directory": (linked, "symbolic link"),
    "partition discovery by Hive": (with_parameters(discover__partitions="true"), "discovers its partitions"),
    "ORC timestamps": (orc_timestamps, "time zone"),
    "ORC varchar": (orc_varchar, "varchar"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason_and_nothing_moved(lake: Lake, database: str, tmp_path: Path, case: str) -> None:
    make, reason = REFUSED[case]
    place = tmp_path / "home" / "t"
    make(lake, f"{database}.t", place)
    before = sorted(str(path) for path in (tmp_path / "home").rglob("*"))
    with pytest.raises(TableRefusedError, match=reason):
        compact(lake, f"{database}.t")
    assert sorted(str(path) for path in (tmp_path / "home").rglob("*")) == before
    assert recover(lake, table=f"{database}.t") == []


@pytest.mark.parametrize(
    ("parameters", "location", "reason"),
    [
        ({"transactional": "true"}, None, "transactional"),
        ({"transactional": "true", "transactional_properties": "insert_only"}, None, "transactional"),
        ({}, "s3a://bucket/table", "cannot be renamed in one step"),
        ({}, "ftp://host/table", "not read here"),
        ({"lakekeeper.run": "1"}, None, "a backup"),
    ],
)
def test_refused_for_what_the_metastore_says(
    lake: Lake, database: str, tmp_path: Path, parameters: dict[str, str], location: str | None, reason: str
) -> None:
    table = create_table(lake, f"{database}.t", f"{tmp_path}/t")
    assert refusals(lake, table) == []
    changed = table.changed(parameters=table.parameters | parameters, location=location)
    assert any(reason in text for text in refusals(lake, changed))


def test_a_view_is_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.v", f"{tmp_path}/v", kind="VIRTUAL_VIEW")
    with pytest.raises(TableRefusedError, match="view"):
        compact(lake, table.full_name)


def test_partitions_that_share_or_contain_one_another_are_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.odd", f"{tmp_path}/odd", keys=[("k", "string")])
    place = add_partition(lake, table, ["1"])
    fill(lake, place, files=2, rows=1)
    add_partition(lake, table, ["2"], location=place)
    with pytest.raises(TableRefusedError, match="share the location"):
        compact(lake, table.full_name)
