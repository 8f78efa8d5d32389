"""S17: names of files that are not published yet cannot be guessed, taken beforehand or led elsewhere."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.errors import IndexTablesError
from indextables.runtime import SYSTEM
from indextables.storage.local import LocalStore
from indextables.storage.temporary import is_temporary, temporary_name

if TYPE_CHECKING:
    from pathlib import Path


def test_names_are_random_and_never_come_twice(record_property: Any) -> None:
    names = {temporary_name(SYSTEM) for _ in range(10_000)}
    assert len(names) == 10_000
    assert all(is_temporary(name) and re.fullmatch(r"\.it-tmp-[0-9a-f]{32}", name) for name in names)
    starts = {name[8:12] for name in names}
    assert len(starts) > 5_000, "they do not count upwards"
    record_property("security payloads", 1)


@pytest.mark.parametrize("trap", ["a file", "a link to a file", "a link to nothing", "a directory", "a pipe"])
def test_a_name_that_somebody_took_beforehand_is_not_written_through(
    trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    root, victim = tmp_path / "t", tmp_path / "victim"
    root.mkdir()
    victim.write_bytes(b"precious")
    name = temporary_name(SYSTEM)
    monkeypatch.setattr("indextables.storage.local.temporary_name", lambda _: name)
    place = root / name
    match trap:
        case "a file":
            os.link(victim, place)
        case "a link to a file":
            place.symlink_to(victim)
        case "a link to nothing":
            place.symlink_to(tmp_path / "new")
        case "a directory":
            place.mkdir()
        case _:
            os.mkfifo(place)
    store = LocalStore(root)
    for write in (store.put, store.put_if_absent):
        with pytest.raises(IndexTablesError):
            write("a", b"mine")
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "new").exists()
    assert not (root / "a").exists()
    record_property("security payloads", 2)


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_files_and_directories_have_the_rights_that_the_users_mask_leaves(
    mask: int, tmp_path: Path, record_property: Any
) -> None:
    before = os.umask(mask)
    try:
        Table(str(tmp_path / "t")).append(pa.table({"id": [1], "p": ["a"]}), partition_by=["p"])
        Table(str(tmp_path / "t")).checkpoint()
    finally:
        os.umask(before)
    for path in (tmp_path / "t").rglob("*"):
        rights = stat.S_IMODE(path.stat().st_mode)
        assert rights & mask == 0, path
        assert rights & 0o111 == 0 or path.is_dir(), path
    assert not list((tmp_path / "t").rglob(".it-tmp-*"))
    record_property("security payloads", 1)


def test_an_existing_target_that_is_a_link_is_replaced_and_not_followed(tmp_path: Path, record_property: Any) -> None:
    root, victim = tmp_path / "t", tmp_path / "victim"
    root.mkdir()
    victim.write_bytes(b"precious")
    (root / "hint").symlink_to(victim)
    store = LocalStore(root)
    store.put("hint", b"mine")
    assert victim.read_bytes() == b"precious"
    assert store.get("hint") == b"mine"
    (root / "slot").symlink_to(tmp_path / "new")
    with pytest.raises(IndexTablesError):
        store.put_if_absent("slot", b"mine")
    assert not (tmp_path / "new").exists()
    record_property("security payloads", 2)
