from __future__ import annotations

import os
import resource
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageUnavailableError,
    UnsafePathError,
    UnsupportedStoreError,
)
from indextables.storage.local import LocalStore

if TYPE_CHECKING:
    from pathlib import Path


def test_the_directory_comes_into_being_with_the_first_write(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "new" / "table")
    assert not (tmp_path / "new").exists()
    store.put_if_absent("a/b", b"x")
    assert (tmp_path / "new" / "table" / "a" / "b").read_bytes() == b"x"


def test_a_link_below_the_root_that_leads_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "link").symlink_to(tmp_path / "outside")
    store = LocalStore(tmp_path / "table")
    for call in (
        lambda: store.get("link/secret"),
        lambda: store.put("link/new", b""),
        lambda: store.delete("link/secret"),
    ):
        with pytest.raises(UnsafePathError, match="symbolic link leads outside"):
            call()
    assert (tmp_path / "outside" / "secret").exists()


def test_a_linked_directory_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "link").symlink_to(tmp_path / "outside")
    assert list(LocalStore(tmp_path / "table").list_from("")) == []


def test_a_root_that_is_itself_a_link_is_what_the_user_meant(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    LocalStore(tmp_path / "link").put("a", b"x")
    assert (tmp_path / "real" / "a").read_bytes() == b"x"


def test_a_crashed_writers_leftovers_are_not_listed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("d/a", b"x")
    (tmp_path / "d" / ".it-tmp-0123456789abcdef0123456789abcdef").write_bytes(b"half")
    assert [meta.path for meta in store.list_from("")] == ["d/a"]


def test_temporary_files_are_gone_after_success_and_failure(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put_if_absent("a", b"x")
    with pytest.raises(FileExistsError):
        store.put_if_absent("a", b"y")
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - hidden names count


def test_a_full_disk_is_not_done_and_leaves_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(StorageUnavailableError, match="Check the disk's space"):
            store.put_if_absent("a", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden names count


def test_a_directory_that_cannot_be_synced_leaves_the_outcome_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.put("first", b"x")
    synced = os.fsync

    def fail_on_directories(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112 - a descriptor, not a path
            raise OSError(5, "Input/output error")
        synced(descriptor)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_on_directories)
        with pytest.raises(OutcomeUnknownError) as caught:
            store.put_if_absent("second", b"x")
        assert not caught.value.readable_is_durable
        with pytest.raises(OutcomeUnknownError):
            store.put_if_absent("second", b"x")
        with pytest.raises(OutcomeUnknownError):
            store.delete("first")
    with pytest.raises(AlreadyExistsError):
        store.put_if_absent("second", b"x")


def test_bytes_that_cannot_be_synced_are_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    store.put("first", b"x")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageUnavailableError, match="Input/output error"):
        store.put_if_absent("second", b"x")
    assert not store.exists("second")


def test_a_file_system_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(UnsupportedStoreError, match="no hard links"):
        LocalStore(tmp_path).put_if_absent("a", b"x")


def test_a_refused_directory_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionDeniedError, match="Permission denied"):
        LocalStore(tmp_path).put_if_absent("a", b"x")


def test_an_object_replaced_by_another_is_told_apart(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"one")
    before = store.head("a")
    store.put("a", b"two")
    assert store.head("a") != before


def test_a_name_that_only_a_directory_has_is_not_an_object(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(NotFoundError):
        LocalStore(tmp_path).head("d")


def test_a_directory_that_another_process_made_is_synced_before_the_first_write_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table" / "d").mkdir(parents=True)
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(str((tmp_path / f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    LocalStore(tmp_path / "table").put("d/a", b"x")
    assert {str(tmp_path), str(tmp_path / "table"), str(tmp_path / "table" / "d")} <= set(synced)


def test_a_table_that_was_dropped_is_written_anew_by_the_same_store(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "table")
    store.put("d/a", b"one")
    shutil.rmtree(tmp_path / "table")
    store.put("d/a", b"two")
    assert store.get("d/a") == b"two"


def test_a_directory_is_neither_deleted_nor_replaced(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("d/a", b"x")
    store.delete("d")
    with pytest.raises(AlreadyExistsError, match="a directory has that name"):
        store.put("d", b"y")
    assert store.get("d/a") == b"x"


def test_a_file_where_a_directory_must_be_is_named(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"x")
    with pytest.raises(StorageUnavailableError, match="a file is where a directory must be"):
        store.put("a/b", b"y")
