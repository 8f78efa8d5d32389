"""Stores that publish by rename: what they make of a rename whose answer is lost, late, or contradicts itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
)
from indextables.runtime import SYSTEM
from indextables.storage.renaming import Entry, RenamingStore
from indextables.storage.retry import RetryingStore
from indextables.storage.temporary import is_temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class LostError(Exception):
    """No answer came."""


class FileTable(RenamingStore):
    """Files in a dictionary; a test replaces single steps."""

    def __init__(self) -> None:
        super().__init__("table://test", runtime=SYSTEM)
        self.files: dict[str, bytes] = {}
        self.before_rename: Callable[[], None] = lambda: None
        self.after_rename: Callable[[], None] = lambda: None
        self.before_close: Callable[[], None] = lambda: None
        self.before_remove: Callable[[], None] = lambda: None

    @contextmanager
    def _translated(self, path: str, otherwise: type[StorageError]) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise NotFoundError(path, store=self.url) from error
        except FileExistsError as error:
            raise AlreadyExistsError(path, store=self.url) from error
        except PermissionError as error:
            raise PermissionDeniedError(path, store=self.url) from error
        except LostError as error:
            raise otherwise(path, store=self.url, detail="lost") from error

    def _create(self, path: str, data: bytes) -> None:
        self.files[path] = data[: len(data) // 2]
        self.before_close()
        self.files[path] = data

    def _rename(self, source: str, target: str, *, overwrite: bool) -> None:
        self.before_rename()
        if source not in self.files:
            raise FileNotFoundError(source)
        if target in self.files and not overwrite:
            raise FileExistsError(target)
        self.files[target] = self.files.pop(source)
        self.after_rename()

    def _remove(self, path: str) -> bool:
        self.before_remove()
        return self.files.pop(path, None) is not None

    def _read(self, path: str, start: int, length: int | None) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path][start:][:length]

    def _status(self, path: str) -> Entry:
        return Entry(path.rpartition("/")[2], is_directory=False, size=len(self._read(path, 0, None)), modified_ms=0)

    def _entries(self, directory: str) -> list[Entry]:
        return [self._status(path) for path in self.files if path.rpartition("/")[0] == directory]


def lose() -> None:
    raise LostError


@pytest.fixture
def store() -> FileTable:
    return FileTable()


def test_a_lost_answer_leaves_the_outcome_unknown(store: FileTable) -> None:
    store.after_rename = lose
    with pytest.raises(OutcomeUnknownError) as caught:
        store.put_if_absent("a", b"ours")
    assert isinstance(caught.value.__cause__, LostError)
    assert store.files == {"a": b"ours"}


def test_a_lost_request_surely_did_not_happen(store: FileTable) -> None:
    store.before_rename = lose
    with pytest.raises(StorageUnavailableError) as caught:
        store.put_if_absent("a", b"ours")
    assert isinstance(caught.value.__cause__, LostError)
    assert store.files == {}


def test_a_request_that_arrives_after_the_verdict_publishes_nothing(store: FileTable) -> None:
    late: list[str] = []

    def delay() -> None:
        late.extend(name for name in store.files if is_temporary(name))
        raise LostError

    store.before_rename = delay
    with pytest.raises(StorageUnavailableError):
        store.put_if_absent("a", b"ours")
    store.before_rename = lambda: None
    with pytest.raises(FileNotFoundError):
        store._rename(late[0], "a", overwrite=False)
    assert store.files == {}


def test_a_repeated_request_that_misses_its_own_source_leaves_the_outcome_unknown(store: FileTable) -> None:
    def repeat() -> None:
        raise FileNotFoundError("the first request has moved it")

    store.after_rename = repeat
    with pytest.raises(OutcomeUnknownError):
        store.put_if_absent("a", b"ours")
    assert store.files == {"a": b"ours"}


@pytest.mark.parametrize("refusal", [FileExistsError, PermissionError])
def test_a_refusal_after_a_rename_that_happened_is_not_believed(store: FileTable, refusal: type[OSError]) -> None:
    def refuse() -> None:
        raise refusal

    store.after_rename = refuse
    with pytest.raises(OutcomeUnknownError):
        store.put_if_absent("a", b"ours")


def test_a_refusal_is_believed_while_the_staged_file_is_still_there(store: FileTable) -> None:
    store.put("a", b"theirs")
    with pytest.raises(AlreadyExistsError):
        store.put_if_absent("a", b"ours")
    assert store.files == {"a": b"theirs"}


def test_without_an_answer_to_the_clean_up_a_failed_rename_is_unknown(store: FileTable) -> None:
    store.before_rename = store.before_remove = lose
    with pytest.raises(OutcomeUnknownError):
        store.put("a", b"ours")


def test_a_failed_close_is_a_failed_write(store: FileTable) -> None:
    store.before_close = lose
    with pytest.raises(StorageUnavailableError):
        store.put_if_absent("a", b"ours")
    assert store.files == {}


def test_a_parent_that_is_a_file_is_no_missing_object_to_a_writer(store: FileTable) -> None:
    def refuse() -> None:
        raise FileNotFoundError("its parent is a file")

    store.before_close = refuse
    with pytest.raises(StorageUnavailableError):
        store.put_if_absent("a", b"ours")
    assert store.files == {}


@pytest.mark.parametrize("step", ["before_close", "before_rename", "after_rename"])
def test_an_interrupt_leaves_no_staged_file(store: FileTable, step: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    setattr(store, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.put_if_absent("d/a", b"ours")
    assert store.files in ({}, {"d/a": b"ours"})


def test_staged_files_are_not_listed(store: FileTable) -> None:
    seen: list[str] = []
    store.before_rename = lambda: seen.extend(meta.path for meta in store.list_from("d"))
    store.put("d/a", b"ours")
    assert seen == []
    assert [meta.path for meta in store.list_from("d")] == ["d/a"]


@pytest.mark.parametrize("step", ["before_close", "before_rename", "after_rename"])
def test_retries_settle_a_single_loss(store: FileTable, step: str) -> None:
    losses = iter([LostError()])

    def lose_once() -> None:
        for error in losses:
            raise error

    setattr(store, step, lose_once)
    RetryingStore(store).put_if_absent("a", b"ours")
    assert store.files == {"a": b"ours"}
