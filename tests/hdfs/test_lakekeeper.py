"""Lakekeeper on a real HDFS with a real Metastore service."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hdfs_native import AclEntry, Client

from examples.lakekeeper_demo import TABLES, DemoTable
from indextables.errors import ConcurrentChangeError, TableRefusedError
from indextables.hive import Lake, compact, list_runs, rollback
from indextables.hive.find import find_table
from indextables.hive.names import PROBE
from tests.hive.crashes import COMMANDS, Patient, kill_at_every_step, kill_at_random_moments
from tests.hive.pictures import Album
from tests.hive.tables import create_table, events, fill, new_database, opened, read_table, write_parquet
from tests.support.effort import EFFORT, times
from tests.support.hdfs import _java
from tests.support.metastore import MetastoreService, metastore_service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.hdfs import MiniHdfs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def metastore() -> Iterator[MetastoreService]:
    with metastore_service() as running:
        yield running


@pytest.fixture
def lake(metastore: MetastoreService) -> Iterator[Lake]:
    with opened(metastore) as lake:
        yield lake


@pytest.fixture
def database(metastore: MetastoreService, tmp_path: Path) -> Iterator[str]:
    with new_database(metastore, tmp_path) as name:
        yield name


@pytest.fixture
def patient(lake: Lake, cluster: MiniHdfs, metastore: MetastoreService, database: str) -> Patient:
    return Patient.make(lake, metastore, f"{database}.patient", f"{cluster.url}/patients/{database}")


@pytest.fixture(scope="module")
def demo(cluster: MiniHdfs, metastore: MetastoreService) -> str:
    base = f"{cluster.url}/demo"
    command = [sys.executable, "examples/lakekeeper_demo.py", "--only-create", "--base", base]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src"}
    subprocess.run(
        [*command, "--metastore", metastore.uri],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        timeout=500,
    )
    return base


# A change shows one of them on HDFS, and all on a disk.
@pytest.mark.parametrize("table", TABLES[1:2] if EFFORT == 1 else TABLES, ids=lambda table: table.name)
def test_every_picture_is_true_on_hdfs(lake: Lake, demo: str, table: DemoTable) -> None:
    album = Album(lake, table, demo, lambda _: table.total_rows)
    album.count = lambda name: album.rows(album.locations(name))
    album.show()


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_step_on_hdfs(
    patient: Patient, command: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("lakekeeper on HDFS: SIGKILLs at a step", kill_at_every_step(patient, command))


def test_killed_at_random_moments_on_hdfs(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    kills = kill_at_random_moments(patient, kills=times(8), seed=60)
    record_property("lakekeeper on HDFS: SIGKILLs at random moments", kills)


def test_owner_group_mode_acl_and_replication_are_restored(lake: Lake, cluster: MiniHdfs, database: str) -> None:
    place = f"{cluster.url}/rights/{database}"
    create_table(lake, f"{database}.t", place)
    fill(lake, place, files=3, rows=2)
    path = place.removeprefix(cluster.url)
    client = Client(cluster.url)
    client.set_owner(path, "alice", "analysts")
    client.set_permission(path, 0o1750)
    client.set_acl(
        path,
        [
            AclEntry("user", "access", "rwx"),
            AclEntry("group", "access", "r-x"),
            AclEntry("other", "access", "---"),
            AclEntry("user", "access", "r-x", "bob"),
            AclEntry("user", "default", "rwx"),
            AclEntry("group", "default", "r-x"),
            AclEntry("other", "default", "---"),
            AclEntry("user", "default", "r-x", "carol"),
        ],
    )
    client.set_owner(f"{path}/part-00000.parquet", "alice", "analysts")
    client.set_permission(f"{path}/part-00000.parquet", 0o640)
    client.set_replication(f"{path}/part-00000.parquet", 1)
    system = lake.systems.at(place)
    before = system.security(place), system.security(f"{place}/part-00000.parquet")
    assert any(name == "bob" for _, _, name, _ in before[0].acl)
    compact(lake, f"{database}.t")
    assert (system.security(place), system.security(f"{place}/part-00000.parquet")) == before
    rollback(lake, f"{database}.t")
    assert (system.security(place), system.security(f"{place}/part-00000.parquet")) == before


def test_a_directory_with_snapshots_is_refused(lake: Lake, cluster: MiniHdfs, database: str, tmp_path: Path) -> None:
    place = f"{cluster.url}/snapshots/{database}"
    path = place.removeprefix(cluster.url)
    create_table(lake, f"{database}.t", place)
    fill(lake, place, files=3, rows=2)
    cluster.run_tool("DFSAdmin", "-allowSnapshot", path)
    assert lake.systems.at(place).obstacles(place, added=0) == []
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    *java, jars = _java()
    shell = [*java, f"{jars}{os.pathsep}{tmp_path}", "org.apache.hadoop.fs.FsShell", "-fs", cluster.url]
    subprocess.run([*shell, "-createSnapshot", path], check=True, capture_output=True, timeout=90)
    with pytest.raises(TableRefusedError, match="snapshots"):
        compact(lake, f"{database}.t")
    assert list_runs(lake, table=f"{database}.t") == []


def test_a_quota_that_is_too_small_is_refused_before_anything_is_written(
    lake: Lake, cluster: MiniHdfs, database: str
) -> None:
    parent = f"{cluster.url}/quota-{database}"
    create_table(lake, f"{database}.t", f"{parent}/t")
    fill(lake, f"{parent}/t", files=3, rows=2)
    cluster.run_tool("DFSAdmin", "-setQuota", "5", parent.removeprefix(cluster.url))
    with pytest.raises(TableRefusedError, match="name quota"):
        compact(lake, f"{database}.t")
    assert list_runs(lake, table=f"{database}.t") == []
    cluster.run_tool("DFSAdmin", "-clrQuota", parent.removeprefix(cluster.url))


@pytest.mark.parametrize("step", ["rename to old: ", "point backup at old: ", "rename to live: "])
def test_a_writer_during_the_swap_loses_nothing_on_hdfs(
    lake: Lake, cluster: MiniHdfs, database: str, step: str
) -> None:
    place = f"{cluster.url}/writer/{database}"
    name = f"{database}.t"
    create_table(lake, name, place)
    fill(lake, place, files=3, rows=2)

    def on_step(reached: str) -> None:
        if reached == step:
            write_parquet(lake, f"{place}/part-77777.parquet", events(900, 4))

    with pytest.raises(ConcurrentChangeError):
        compact(replace(lake, on_step=on_step, threads=1), name)
    assert read_table(lake, name).count == 10
    system = lake.systems.at(place)
    beside = [entry.path for entry in system.entries(f"{cluster.url}/writer", recursive=False)]
    assert [path for path in beside if path.startswith(database)] == [database]
    assert find_table(lake, name).location == place


def test_a_probe_that_was_cut_off_leaves_nothing_behind(lake: Lake, cluster: MiniHdfs, database: str) -> None:
    place = f"{cluster.url}/probe/{database}"
    create_table(lake, f"{database}.t", place)
    fill(lake, place, files=3, rows=2)
    system = lake.systems.at(place)
    before = system.entries(place)

    def on_step(reached: str) -> None:
        if reached == "probe: ":
            system.write(f"{place}/{PROBE}", b"")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compact(replace(lake, on_step=on_step), f"{database}.t")
    assert system.entries(place) == before
