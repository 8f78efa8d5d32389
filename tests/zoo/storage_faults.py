"""Faults of stores, and of whoever has to make something of a store's answers."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, OutcomeUnknownError, StorageUnavailableError
from indextables.log.layout import commit_path, commit_version
from indextables.storage import local
from indextables.storage.local import LocalStore
from indextables.storage.renaming import RenamingStore
from indextables.storage.retry import RetryingStore
from indextables.storage.temporary import is_temporary, temporary_name
from indextables.testing.faulty import FaultKind, FaultStore
from indextables.testing.models import S3Model
from tests.contract import test_store_contract
from tests.faults.clients import retrying
from tests.faults.invariants import violations
from tests.faults.scenarios import SCENARIOS, Site, start
from tests.unit.storage import test_local, test_renaming, test_retry
from tests.unit.table import test_purging
from tests.zoo.detectors import Detector, existing, interleaved, swept, upkeep_swept
from tests.zoo.disk import OVERTAKEN, OVERTAKEN_COMMIT, POWER_CUTS
from tests.zoo.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from indextables.runtime import Runtime
    from indextables.storage.base import ObjectMeta, Store

DOUBTS = (FaultKind.ANSWER_LOST_DONE, FaultKind.LATE_EFFECT, FaultKind.DUPLICATE)
_Settling = test_retry.TestConditionalWrites
_Creating = test_store_contract.TestPutIfAbsent


class LosesOneAnswer(FaultStore):
    """A line to a store that does not bring back the answer to the first commit sent over it."""

    _lost = False

    def put_if_absent(self, path: str, data: bytes) -> None:
        super().put_if_absent(path, data)
        if not self._lost and commit_version(path) is not None:
            self._lost = True
            raise OutcomeUnknownError(path, store=self.url)


def losing_one_answer(store: Store, runtime: Runtime) -> Store:
    return retrying(LosesOneAnswer(store), runtime)


RACING_UNHEARD = interleaved("append, append", wrap=losing_one_answer, called="append, append, an answer of each lost")


def _racing_renames(_: Path) -> Iterator[str]:
    """Run the scenarios in which a commit is overtaken on a store that publishes by renaming."""
    for scenario in SCENARIOS:
        if "racing" in scenario.name and not scenario.empty:
            begin = start(S3Model)  # made elsewhere: a creator tries a store out, and refuses one that loses races
            store, history = test_renaming.FileTable(), begin.history.copy()
            store.files |= begin.model.tree()
            scenario.run(Site(store, history))
            yield from violations(store.files, history)


RACING_RENAMES = Detector("history", "racing clients on a store that publishes by renaming", _racing_renames)


def _next_version(patch: pytest.MonkeyPatch) -> None:
    def put_if_absent(self: RetryingStore, path: str, data: bytes) -> None:
        try:
            self._inner.put_if_absent(path, data)
        except OutcomeUnknownError:
            version = commit_version(path)
            if version is None:
                raise
            self._inner.put_if_absent(commit_path(version + 1), data)

    patch.setattr(RetryingStore, "put_if_absent", put_if_absent)


def _collision_is_defeat(patch: pytest.MonkeyPatch) -> None:
    settled = RetryingStore.put_if_absent

    class Believing(FaultStore):
        def put_if_absent(self, path: str, data: bytes) -> None:
            try:
                super().put_if_absent(path, data)
            except AlreadyExistsError as error:
                raise _DefeatError(path, store=self.url) from error

    class _DefeatError(Exception):
        def __init__(self, path: str, *, store: str) -> None:
            super().__init__(path)
            self.store = store

    def put_if_absent(self: RetryingStore, path: str, data: bytes) -> None:
        believing = RetryingStore(Believing(self._inner), policy=self._policy, runtime=self._runtime)
        try:
            settled(believing, path, data)
        except _DefeatError as defeat:
            raise AlreadyExistsError(path, store=defeat.store) from defeat

    patch.setattr(RetryingStore, "put_if_absent", put_if_absent)


def _look_then_rename(patch: pytest.MonkeyPatch) -> None:
    def put_if_absent(self: LocalStore, path: str, data: bytes) -> None:
        with self._staged(path, data) as (temporary, target):
            if target.exists():
                raise FileExistsError(target)
            temporary.replace(target)

    patch.setattr(LocalStore, "put_if_absent", put_if_absent)


def _no_sync_of_directories(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local, "_sync_directory", lambda _: None)


def _close_error_swallowed(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def staged(self: LocalStore, path: str, data: bytes) -> Iterator[tuple[Path, Path]]:
        target = self._resolve(path)
        temporary = target.parent / temporary_name(self._runtime)
        with self._translated(path):
            self._make_directory(target.parent)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with suppress(OSError), os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield temporary, target
            temporary.unlink(missing_ok=True)
            self._sync(path, target.parent)

    patch.setattr(LocalStore, "_staged", staged)


def _rename_result_ignored(patch: pytest.MonkeyPatch) -> None:
    publish = RenamingStore._publish

    def forgiving(self: RenamingStore, path: str, data: bytes, *, overwrite: bool) -> None:
        with suppress(AlreadyExistsError):
            publish(self, path, data, overwrite=overwrite)

    patch.setattr(RenamingStore, "_publish", forgiving)


def _links_followed(patch: pytest.MonkeyPatch) -> None:
    def resolve(self: LocalStore, path: str, *, fresh: bool = True) -> Path:
        del fresh
        return self._root / path

    def walk(
        self: LocalStore, directory: Path, prefix: str, after: bytes, *, staged: bool = False
    ) -> Iterator[ObjectMeta]:
        del prefix
        found = []
        for place, _, names in os.walk(directory, followlinks=True):
            for name in names:
                file = Path(place) / name
                path = str(file.relative_to(self._root))
                if path.encode() > after and is_temporary(name) == staged:
                    found.append((path.encode(), local._meta(path, file.stat())))
        yield from (meta for _, meta in sorted(found, key=lambda entry: entry[0]))

    patch.setattr(LocalStore, "_resolve", resolve)
    patch.setattr(LocalStore, "_walk", walk)


def _unavailable_is_done(patch: pytest.MonkeyPatch) -> None:
    """The canary: whatever the store says, the writer hears that all went well."""
    put = RetryingStore.put_if_absent

    def put_if_absent(self: RetryingStore, path: str, data: bytes) -> None:
        with suppress(OutcomeUnknownError, StorageUnavailableError):
            put(self, path, data)

    patch.setattr(RetryingStore, "put_if_absent", put_if_absent)


CANARY = Entry(
    "every failed commit is acknowledged",
    "No system would live with it for a day, so a harness that does not report it is not running at all.",
    _unavailable_is_done,
    (swept("append without caches", FaultKind.UNAVAILABLE, FaultKind.ANSWER_LOST_NOT_DONE),),
)

STORAGE_FAULTS = (
    Entry(
        "after a lost answer the commit is sent to the next version",
        "Clients of early log formats took a timeout for a lost race, and rows whose first attempt had landed were doubled.",
        _next_version,
        (
            swept("append without caches", *DOUBTS),
            RACING_UNHEARD,
            existing("contract of retries", _Settling().test_a_lost_answer_whose_effect_happened_is_done),
        ),
    ),
    Entry(
        "a collision (409) is taken for a lost race (412)",
        "Object store clients fold both answers of S3 into one error, although the first says nothing of what is there.",
        _collision_is_defeat,
        (
            existing("contract of retries", _Settling().test_exists_said_of_nothing_is_sent_again),
            existing("contract of retries", _Settling().test_exists_said_of_our_own_bytes_is_done),
            upkeep_swept("cleanup", FaultKind.CONFLICT_409),
        ),
    ),
    Entry(
        "an object is created by looking first and renaming then",
        "On local disk rename replaces what is there, so table formats looked first; two processes then both win.",
        _look_then_rename,
        (OVERTAKEN, OVERTAKEN_COMMIT),
    ),
    Entry(
        "directories are not synced",
        "A file's fsync does not cover its name; a study of eleven systems found this in most of them.",
        _no_sync_of_directories,
        (
            POWER_CUTS,
            existing(
                "contract of the local disk",
                test_local.test_a_directory_that_cannot_be_synced_leaves_the_outcome_unknown,
            ),
        ),
    ),
    Entry(
        "errors of sync and close are swallowed",
        "Marker files of a table format were acknowledged and absent, because the error of close went to a log line.",
        _close_error_swallowed,
        (
            POWER_CUTS,
            existing("contract of the local disk", test_local.test_bytes_that_cannot_be_synced_are_not_published),
            existing("contract of the local disk", test_local.test_a_full_disk_is_not_done_and_leaves_nothing),
        ),
    ),
    Entry(
        "a rename that was refused is taken for done",
        "Hadoop's older rename answers false instead of raising, and callers do not look at the answer.",
        _rename_result_ignored,
        (
            RACING_RENAMES,
            existing(
                "contract of stores",
                _Creating().test_refuses_what_is_there_and_names_it,
                made={"store": lambda _: test_renaming.FileTable()},
            ),
        ),
    ),
    Entry(
        "a purge follows links out of the table",
        "Cleaners that walk directories as find does have deleted home directories through one symbolic link.",
        _links_followed,
        (
            existing(
                "purge on a disk",
                test_purging.test_on_a_disk_links_are_not_followed_and_unfinished_files_are_found,
            ),
            existing("contract of the local disk", test_local.test_a_link_below_the_root_that_leads_outside_is_refused),
        ),
    ),
)
