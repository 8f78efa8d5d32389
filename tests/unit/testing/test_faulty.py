"""Each kind of fault does exactly what its text says: which error, which effect, once or for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsafePathError,
)
from indextables.storage.local import LocalStore
from indextables.testing.faults import Crash, FaultKind, Mode, Op, Plan, applicable
from indextables.testing.faulty import FaultStore
from indextables.testing.models import MODELS, HdfsModel, Model, PosixModel, S3Model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.storage.base import ObjectMeta, Store

SEEDS = range(40)
OPS: dict[Op, Callable[[Store], object]] = {
    "put_if_absent": lambda store: store.put_if_absent("new", b"data"),
    "put": lambda store: store.put("old", b"data"),
    "delete": lambda store: store.delete("old"),
    "get": lambda store: store.get("old"),
    "get_range": lambda store: store.get_range("old", 0, 3),
    "head": lambda store: store.head("old"),
    "exists": lambda store: store.exists("old"),
    "list_from": lambda store: list(store.list_from("")),
}
BEFORE = {"old": b"before"}
AFTER: dict[Op, dict[str, bytes]] = {
    "put_if_absent": {"old": b"before", "new": b"data"},
    "put": {"old": b"data"},
    "delete": {},
}
WRITES: tuple[Op, ...] = ("put_if_absent", "put", "delete")


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Model:
    model: Model = request.param()
    model.put("old", b"before")
    return model


def faulty(inner: Store, kind: FaultKind, mode: Mode = "once", *, index: int = 1, seed: int = 0) -> FaultStore:
    return FaultStore(inner, Plan(index, kind, mode, seed))


def listed(store: Store) -> list[str]:
    return [meta.path for meta in store.list_from("")]


class TestCounting:
    def test_without_a_plan_every_call_passes_and_is_recorded(self, model: Model) -> None:
        store = FaultStore(model)
        assert store.url == model.url
        store.put_if_absent("new", b"0123")
        store.put("new", b"4567")
        assert store.get("new") == b"4567"
        assert store.get_range("new", 1, 2) == b"56"
        assert store.head("new").size == 4
        assert store.exists("new")
        assert listed(store) == ["new", "old"]
        assert [meta.path for meta in store.list_from("", "new")] == ["old"]
        store.delete("new")
        assert not store.exists("new")
        assert store.calls == [
            ("put_if_absent", "new"),
            ("put", "new"),
            ("get", "new"),
            ("get_range", "new"),
            ("head", "new"),
            ("exists", "new"),
            ("list_from", ""),
            ("list_from", ""),
            ("delete", "new"),
            ("exists", "new"),
        ]
        assert store.fired == 0

    def test_a_listing_counts_when_it_is_first_asked_for_an_object(self, model: Model) -> None:
        store = FaultStore(model)
        listing = store.list_from("")
        assert store.calls == []
        store.exists("old")
        next(listing)
        assert store.calls == [("exists", "old"), ("list_from", "")]

    def test_an_unsafe_path_is_refused_as_ever(self, model: Model) -> None:
        store = FaultStore(model)
        with pytest.raises(UnsafePathError):
            store.get("../a")
        with pytest.raises(UnsafePathError):
            store.list_from("../a")

    def test_calls_of_many_threads_are_all_counted(self, model: Model) -> None:
        store = faulty(model, FaultKind.UNAVAILABLE, index=500)

        def read(_: int) -> int:
            try:
                store.get("old")
            except StorageUnavailableError:
                return 1
            return 0

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(read, range(1000))) == 1
        assert len(store.calls) == 1000

    def test_a_fault_inside_a_write_takes_a_model(self, tmp_path: Path) -> None:
        local = LocalStore(tmp_path)
        with pytest.raises(TypeError, match="TORN_WRITE"):
            faulty(local, FaultKind.TORN_WRITE)
        store = faulty(local, FaultKind.ANSWER_LOST_DONE)
        with pytest.raises(OutcomeUnknownError):
            store.put("a", b"1")
        assert local.get("a") == b"1"


class TestModes:
    @pytest.mark.parametrize(("mode", "failing"), [("once", [3]), ("forever", [3, 4, 6])])
    def test_once_strikes_one_call_and_forever_every_later_one_where_it_can(
        self, model: Model, mode: Mode, failing: list[int]
    ) -> None:
        store = faulty(model, FaultKind.ANSWER_LOST_NOT_DONE, mode, index=3)
        failed = []
        for number in range(1, 7):
            try:
                store.exists("a") if number == 5 else store.put("a", str(number).encode())
            except OutcomeUnknownError:
                failed.append(number)
        assert failed == failing
        assert store.fired == len(failing)

    def test_a_fault_that_cannot_strike_its_call_does_not_strike(self, model: Model) -> None:
        store = faulty(model, FaultKind.BIT_FLIP)
        store.put("a", b"1")
        assert store.get("a") == b"1"
        assert store.fired == 0

    @pytest.mark.parametrize("op", OPS)
    @pytest.mark.parametrize("kind", FaultKind)
    def test_every_applicable_pair_fires_and_no_other(self, model: Model, kind: FaultKind, op: Op) -> None:
        store = faulty(model, kind)
        try:
            OPS[op](store)
        except (StorageError, Crash):
            assert applicable(kind, op)
        assert store.fired == applicable(kind, op)


class TestCrashes:
    @pytest.mark.parametrize("op", OPS)
    def test_before_a_call_nothing_was_done(self, model: Model, op: Op) -> None:
        with pytest.raises(Crash):
            OPS[op](faulty(model, FaultKind.CRASH_BEFORE))
        assert model.tree() == BEFORE

    @pytest.mark.parametrize("op", OPS)
    def test_after_a_call_all_was_done(self, model: Model, op: Op) -> None:
        with pytest.raises(Crash):
            OPS[op](faulty(model, FaultKind.CRASH_AFTER))
        assert model.tree() == AFTER.get(op, BEFORE)

    def test_after_a_refused_call_are_crashes_all_the_same(self, model: Model) -> None:
        with pytest.raises(Crash):
            faulty(model, FaultKind.CRASH_AFTER).put_if_absent("old", b"data")
        assert model.tree() == BEFORE

    @pytest.mark.parametrize("kind", [FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.TORN_WRITE])
    def test_are_final_even_for_clean_up_code(self, model: Model, kind: FaultKind) -> None:
        store = faulty(model, kind)
        try:
            store.put("old", b"before")
        except Crash:
            assert store.dead
        for call in OPS.values():
            with pytest.raises(Crash):
                call(store)
        assert model.tree() == BEFORE

    def test_are_caught_by_no_ordinary_handler(self) -> None:
        assert not issubclass(Crash, Exception)

    def test_in_a_listing_strike_at_its_start_or_in_its_midst(self) -> None:
        model = S3Model()
        for number in range(10):
            model.put(str(number), b"")
        seen = set()
        for seed in SEEDS:
            got: list[ObjectMeta] = []
            with pytest.raises(Crash):
                got.extend(faulty(model, FaultKind.CRASH_AFTER, seed=seed).list_from(""))
            seen.add(len(got))
        assert seen == {0, 1, 2, 3}


class TestTornWrites:
    @pytest.mark.parametrize("kind", [PosixModel, HdfsModel])
    @pytest.mark.parametrize("op", ["put", "put_if_absent"])
    def test_leave_pieces_in_temporary_files_only(self, kind: type[Model], op: Op) -> None:
        pieces = set()
        for seed in SEEDS:
            model = kind()
            model.put("old", b"before")
            with pytest.raises(Crash):
                OPS[op](faulty(model, FaultKind.TORN_WRITE, seed=seed))
            model.crash(seed)
            assert model.tree() == BEFORE
            pieces |= {data for path, data in model.raw_tree().items() if path != "old"}
        assert {b"", b"da", b"data"} <= pieces

    def test_leave_nothing_on_s3(self) -> None:
        for seed in SEEDS:
            model = S3Model()
            with pytest.raises(Crash):
                faulty(model, FaultKind.TORN_WRITE, seed=seed).put("a", b"data")
            assert model.raw_tree() == {}

    def test_on_posix_can_lose_the_tail_of_the_piece_to_zeros(self) -> None:
        tails = set()
        for seed in range(200):
            model = PosixModel()
            with pytest.raises(Crash):
                faulty(model, FaultKind.TORN_WRITE, seed=seed).put("a", b"data")
            model.crash(seed)
            tails |= {data.endswith(b"\0") for data in model.raw_tree().values()}
        assert tails == {True, False}


class TestLostAnswers:
    @pytest.mark.parametrize("op", WRITES)
    def test_of_a_write_that_was_done(self, model: Model, op: Op) -> None:
        with pytest.raises(OutcomeUnknownError):
            OPS[op](faulty(model, FaultKind.ANSWER_LOST_DONE))
        assert model.tree() == AFTER[op]

    @pytest.mark.parametrize("op", WRITES)
    def test_of_a_write_that_was_not_done(self, model: Model, op: Op) -> None:
        with pytest.raises(OutcomeUnknownError):
            OPS[op](faulty(model, FaultKind.ANSWER_LOST_NOT_DONE))
        model.crash(0)
        assert model.tree() == BEFORE

    def test_hide_a_refusal_too(self, model: Model) -> None:
        with pytest.raises(OutcomeUnknownError):
            faulty(model, FaultKind.ANSWER_LOST_DONE).put_if_absent("old", b"data")
        assert model.tree() == BEFORE


class TestLateEffects:
    @pytest.mark.parametrize("op", WRITES)
    def test_land_some_calls_later_or_when_the_store_settles(self, model: Model, op: Op) -> None:
        fates = set()
        for seed in SEEDS:
            twin = model.clone()
            store = faulty(twin, FaultKind.LATE_EFFECT, seed=seed)
            with pytest.raises(OutcomeUnknownError):
                OPS[op](store)
            assert twin.tree() == BEFORE
            for calls in range(1, 10):
                store.exists("elsewhere")
                if twin.tree() == AFTER[op]:
                    fates.add(f"after {calls}")
                    break
            else:
                twin.crash(seed)
                fates.add("landed in the crash" if twin.tree() == AFTER[op] else "never")
        assert fates == {"after 1", "after 2", "after 3", "after 4", "landed in the crash", "never"}

    def test_of_a_creation_never_replace_what_came_first(self, model: Model) -> None:
        for seed in SEEDS:
            twin = model.clone()
            with pytest.raises(OutcomeUnknownError):
                faulty(twin, FaultKind.LATE_EFFECT, seed=seed).put_if_absent("new", b"late")
            try:
                twin.put_if_absent("new", b"theirs")
                expected = b"theirs"
            except AlreadyExistsError:
                expected = b"late"
            for _ in range(6):
                assert twin.get("new") == expected
            twin.crash(seed)
            assert twin.get("new") == expected


class TestDuplicates:
    def test_a_creation_meets_its_own_write(self, model: Model) -> None:
        with pytest.raises(AlreadyExistsError):
            faulty(model, FaultKind.DUPLICATE).put_if_absent("new", b"data")
        assert model.get("new") == b"data"

    def test_a_creation_meets_another_write_as_ever(self, model: Model) -> None:
        with pytest.raises(AlreadyExistsError):
            faulty(model, FaultKind.DUPLICATE).put_if_absent("old", b"data")
        assert model.tree() == BEFORE

    def test_a_replacement_is_acknowledged_and_happens_again_later(self, model: Model) -> None:
        came_back = set()
        for seed in SEEDS:
            twin = model.clone()
            store = faulty(twin, FaultKind.DUPLICATE, seed=seed)
            store.put("old", b"first")
            assert twin.tree() == {"old": b"first"}
            store.put("old", b"second")
            reads = [store.get("old") for _ in range(5)]
            came_back.add(reads.index(b"first") if b"first" in reads else None)
        assert came_back == {None, 0, 1, 2}

    def test_a_delete_is_acknowledged_and_happens_again_later(self, model: Model) -> None:
        went_again = set()
        for seed in SEEDS:
            twin = model.clone()
            store = faulty(twin, FaultKind.DUPLICATE, seed=seed)
            store.delete("old")
            assert twin.tree() == {}
            store.put("old", b"again")
            reads = [store.exists("old") for _ in range(5)]
            went_again.add(reads.index(False) if False in reads else None)
        assert went_again == {None, 0, 1, 2}


class TestRefusals:
    def test_a_409_says_exists_of_nothing(self, model: Model) -> None:
        with pytest.raises(AlreadyExistsError):
            faulty(model, FaultKind.CONFLICT_409).put_if_absent("new", b"data")
        assert model.tree() == BEFORE

    @pytest.mark.parametrize("op", OPS)
    @pytest.mark.parametrize(
        ("kind", "error"),
        [(FaultKind.UNAVAILABLE, StorageUnavailableError), (FaultKind.PERMISSION, PermissionDeniedError)],
    )
    def test_a_call_that_is_turned_away_does_nothing(
        self, model: Model, kind: FaultKind, error: type[StorageError], op: Op
    ) -> None:
        store = faulty(model, kind)
        with pytest.raises(error):
            OPS[op](store)
        assert model.tree() == BEFORE
        OPS[op](store)
        assert model.tree() == AFTER.get(op, BEFORE)

    def test_a_listing_may_break_off_in_its_midst(self) -> None:
        model = S3Model()
        for number in range(10):
            model.put(str(number), b"")
        seen = set()
        for seed in SEEDS:
            got: list[ObjectMeta] = []
            with pytest.raises(StorageUnavailableError):
                got.extend(faulty(model, FaultKind.UNAVAILABLE, seed=seed).list_from(""))
            assert [meta.path for meta in got] == [str(number) for number in range(len(got))]
            seen.add(len(got))
        assert seen == {0, 1, 2, 3}


class TestDiskTrouble:
    @pytest.mark.parametrize("op", ["put", "put_if_absent"])
    def test_a_full_disk_leaves_part_of_a_temporary_file(self, op: Op) -> None:
        pieces = set()
        for seed in SEEDS:
            model = PosixModel()
            model.put("old", b"before")
            with pytest.raises(StorageUnavailableError):
                OPS[op](faulty(model, FaultKind.DISK_FULL, seed=seed))
            assert model.tree() == BEFORE
            pieces |= {data for path, data in model.raw_tree().items() if path != "old"}
        assert b"da" in pieces

    @pytest.mark.parametrize("op", ["put", "put_if_absent"])
    def test_a_close_that_fails_leaves_the_whole_temporary_file(self, model: Model, op: Op) -> None:
        with pytest.raises(StorageUnavailableError):
            OPS[op](faulty(model, FaultKind.CLOSE_FAILS))
        assert model.tree() == BEFORE
        left = [data for path, data in model.raw_tree().items() if path != "old"]
        assert left == ([] if isinstance(model, S3Model) else [b"data"])

    @pytest.mark.parametrize("op", WRITES)
    def test_a_sync_that_fails_leaves_a_write_that_only_a_power_cut_can_undo(self, model: Model, op: Op) -> None:
        with pytest.raises(OutcomeUnknownError):
            OPS[op](faulty(model, FaultKind.SYNC_FAILS))
        assert model.tree() == AFTER[op]
        after_crashes = []
        for seed in SEEDS:
            twin = model.clone()
            twin.crash(seed)
            after_crashes.append(twin.tree())
        assert AFTER[op] in after_crashes
        assert (BEFORE in after_crashes) == isinstance(model, PosixModel)

    def test_a_sync_that_fails_does_not_hide_a_refusal(self, model: Model) -> None:
        with pytest.raises(AlreadyExistsError):
            faulty(model, FaultKind.SYNC_FAILS).put_if_absent("old", b"data")


class TestLyingReads:
    @pytest.mark.parametrize("op", ["get", "get_range", "head"])
    def test_an_object_is_missing_once(self, model: Model, op: Op) -> None:
        store = faulty(model, FaultKind.MISSING)
        with pytest.raises(NotFoundError):
            OPS[op](store)
        OPS[op](store)

    def test_existence_is_denied_once(self, model: Model) -> None:
        store = faulty(model, FaultKind.MISSING)
        assert [store.exists("old"), store.exists("old")] == [False, True]

    def test_one_bit_is_wrong(self, model: Model) -> None:
        for seed in SEEDS:
            store = faulty(model, FaultKind.BIT_FLIP, seed=seed)
            damaged = store.get("old")
            assert (int.from_bytes(damaged) ^ int.from_bytes(b"before")).bit_count() == 1
            assert store.get("old") == b"before"

    def test_the_end_is_missing(self, model: Model) -> None:
        lengths = set()
        for seed in SEEDS:
            damaged = faulty(model, FaultKind.TRUNCATED_READ, seed=seed).get_range("old", 0, 6)
            assert b"before".startswith(damaged)
            lengths.add(len(damaged))
        assert lengths == set(range(6))

    @pytest.mark.parametrize("kind", [FaultKind.BIT_FLIP, FaultKind.TRUNCATED_READ])
    def test_nothing_cannot_be_damaged(self, model: Model, kind: FaultKind) -> None:
        model.put("empty", b"")
        assert faulty(model, kind).get("empty") == b""


class TestLyingListings:
    NAMES = ("a", "b", "c", "d", "e", "f")

    @pytest.fixture
    def six(self) -> Model:
        model = S3Model()
        for name in reversed(self.NAMES):
            model.put(name, b"")
        return model

    def test_a_stale_one_lacks_the_newest(self, six: Model) -> None:
        seen = {tuple(listed(faulty(six, FaultKind.STALE_LIST, seed=seed))) for seed in SEEDS}
        assert seen == {self.NAMES[1:], self.NAMES[2:], self.NAMES[3:]}

    def test_a_duplicated_one_is_in_order_and_holds_something_twice(self, six: Model) -> None:
        for seed in SEEDS:
            got = listed(faulty(six, FaultKind.DUPLICATE_LIST, seed=seed))
            assert len(got) > 6
            assert got == sorted(got)
            assert set(got) == set(self.NAMES)

    def test_a_truncated_one_ends_early_without_a_word(self, six: Model) -> None:
        seen = {tuple(listed(faulty(six, FaultKind.TRUNCATED_LIST, seed=seed))) for seed in SEEDS}
        assert seen == {self.NAMES[:length] for length in range(6)}

    @pytest.mark.parametrize("kind", [FaultKind.STALE_LIST, FaultKind.DUPLICATE_LIST, FaultKind.TRUNCATED_LIST])
    def test_of_nothing_is_nothing(self, kind: FaultKind) -> None:
        assert listed(faulty(S3Model(), kind)) == []


def test_every_kind_is_applicable_somewhere() -> None:
    for kind in FaultKind:
        assert any(applicable(kind, op) for op in OPS)
