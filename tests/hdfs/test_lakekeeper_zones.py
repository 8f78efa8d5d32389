"""Encryption zones: what is written outside of one must never take the place of what is inside."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from indextables.errors import TableRefusedError
from indextables.hive import compact, list_runs
from indextables.hive.filesystem import data_files
from tests.hive.tables import create_table, events, new_database, opened
from tests.support.hdfs import _java, mini_hdfs
from tests.support.metastore import metastore_service

if TYPE_CHECKING:
    from pathlib import Path


def hadoop(tmp_path: Path, name: str, *arguments: str) -> None:
    """Run a class of Hadoop's with an empty configuration."""
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    *java, jars = _java()
    command = [*java, f"{jars}{os.pathsep}{tmp_path}", f"org.apache.hadoop.{name}", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_table_is_refused_where_replacements_would_lie_in_another_zone_or_lack_its_key(tmp_path: Path) -> None:
    keys = f"jceks://file{tmp_path}/keys.jceks"
    hadoop(tmp_path, "crypto.key.KeyShell", "create", "secret", "-size", "128", "-provider", keys)
    setting = {"hadoop.security.key.provider.path": keys}
    local = [tmp_path / f"f{index:02d}.parquet" for index in range(20)]
    for index, path in enumerate(local):
        pq.write_table(events(index * 10, 10), path)
    with (
        mini_hdfs(setting) as cluster,
        metastore_service() as service,
        opened(service) as lake,
        new_database(service, tmp_path) as database,
    ):
        generic = ("-fs", cluster.url, "-D", f"hadoop.security.key.provider.path={keys}")
        for case, zone in {"itself": "/zones/itself", "above": "/zones/above"}.items():
            place = zone if case == "itself" else f"{zone}/t"
            name = f"{database}.{case}"
            system = lake.systems.at(cluster.url)
            system.make_directory(f"{cluster.url}{zone}", parents=True)
            hadoop(tmp_path, "hdfs.tools.CryptoAdmin", *generic, "-createZone", "-keyName", "secret", "-path", zone)
            create_table(lake, name, f"{cluster.url}{place}")
            hadoop(tmp_path, "fs.FsShell", *generic, "-put", *map(str, local), place)
            with pytest.raises(TableRefusedError, match=r"renamed into it .*encryption zone"):
                compact(lake, name)
            held = data_files(system.entries(f"{cluster.url}{place}"))
            assert [entry.path for entry in held] == [path.name for path in local]
            assert [run.state for run in list_runs(lake, table=name)] == ["undone"]
        assert [entry.path for entry in system.entries(f"{cluster.url}/zones") if "__" in entry.path] == []
