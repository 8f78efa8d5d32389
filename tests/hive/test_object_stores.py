"""Tables on an object store, where only the Metastore can be switched.

The Metastore of the tests has no client for S3. It is told of local places, and a lake finds these on a real S3 protocol instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from indextables.errors import ConcurrentChangeError, TableRefusedError
from indextables.hive import Lake, Options, analyze, cleanup, compact, rollback
from indextables.hive.filesystem import FileSystems
from indextables.hive.find import find_table
from indextables.hive.objects import ObjectFileSystem
from indextables.storage.object_store import open_object_store
from tests.hive.tables import add_partition, create_table, events, fill, read_table, write_parquet
from tests.support.s3 import moto_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCATION = Options(swap="location")


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectFileSystem]:
    with moto_server() as endpoint:
        yield ObjectFileSystem(open_object_store(f"s3://{endpoint.bucket}", options=endpoint.options()))


@pytest.fixture
def cloud(lake: Lake, bucket: ObjectFileSystem) -> Lake:
    return replace(lake, systems=FileSystems({"": lambda _: bucket, "file": lambda _: bucket}))


@pytest.fixture
def table(cloud: Lake, database: str, tmp_path: Path) -> str:
    held = create_table(cloud, f"{database}.t", f"{tmp_path}/t", keys=[("k", "string")])
    for index, value in enumerate(("a", "b")):
        fill(cloud, add_partition(cloud, held, [value]), files=3, rows=4, start=100 * index)
    return held.full_name


def test_a_rename_is_refused_and_the_other_way_is_named(cloud: Lake, table: str) -> None:
    with pytest.raises(TableRefusedError, match="cannot be renamed in one step; --swap location"):
        compact(cloud, table)
    assert "--swap location" in analyze(cloud, table).refused[0]


def test_a_table_is_switched_switched_back_and_cleaned_up(cloud: Lake, table: str, bucket: ObjectFileSystem) -> None:
    before, root = read_table(cloud, table), find_table(cloud, table).location
    objects = bucket.entries(root)
    assert compact(cloud, table, options=LOCATION).files_after == 2
    assert read_table(cloud, table) == before
    rollback(cloud, table)
    assert bucket.entries(root) == objects
    assert read_table(cloud, table) == before
    run = compact(cloud, table, options=LOCATION).run
    assert cleanup(cloud, table).files == 6
    assert [entry.path for entry in bucket.entries(root)] == [
        f"_lakekeeper/{run}/k=a/part-00000.parquet",
        f"_lakekeeper/{run}/k=b/part-00000.parquet",
    ]
    assert read_table(cloud, table) == before


def test_an_object_rewritten_with_the_same_length_stops_the_run(
    cloud: Lake, table: str, bucket: ObjectFileSystem
) -> None:
    place = f"{find_table(cloud, table).location}/k=a"
    held = bucket.read(f"{place}/part-00000.parquet", 0)

    def on_step(reached: str) -> None:
        if reached == "restore rights":
            bucket._store.put(f"{place}/part-00000.parquet".removeprefix("file:").strip("/"), held[::-1])

    with pytest.raises(ConcurrentChangeError):
        compact(replace(cloud, on_step=on_step), table, options=LOCATION)


def test_newer_objects_are_carried_back(cloud: Lake, table: str) -> None:
    run = compact(cloud, table, options=LOCATION).run
    place = f"{find_table(cloud, table).location}/_lakekeeper/{run}/k=b"
    write_parquet(cloud, f"{place}/late.parquet", events(900, 2))
    assert rollback(cloud, table, keep_newer=True).carried == ("k=b/late.parquet",)
    assert read_table(cloud, table).count == 26


def test_large_objects_are_read_in_pieces(
    cloud: Lake, bucket: ObjectFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.hive.objects._WHOLE", 100)
    write_parquet(cloud, f"{tmp_path}/large.parquet", events(0, 5000))
    (entry,) = bucket.entries(str(tmp_path))
    with bucket.open_input(f"{tmp_path}/large.parquet", entry.length) as source:
        assert pq.ParquetFile(source).read() == events(0, 5000)


def test_directories_are_shown_without_what_is_in_them(bucket: ObjectFileSystem, tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "b"):
        bucket.write(f"{tmp_path}/top/{name}", b"x")
    held = bucket.entries(f"{tmp_path}/top", recursive=False)
    assert [(entry.path, entry.is_dir) for entry in held] == [("a", True), ("b", False)]
