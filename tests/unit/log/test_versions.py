from __future__ import annotations

import pytest

from indextables.errors import LogCorruptionError, TableNotFoundError
from indextables.log.layout import LOG_DIRECTORY, commit_path, commit_version
from indextables.log.versions import latest_version, list_versions
from indextables.testing.faulty import FaultKind, FaultStore, Plan
from indextables.testing.models import S3Model
from tests.support.logs import new_table


def log_of(*versions: int) -> S3Model:
    model = S3Model()
    for version in versions:
        model.put(commit_path(version), b"{}")
    return model


class TestNames:
    def test_of_commits_have_twenty_digits(self) -> None:
        assert commit_path(7) == "_transaction_log/00000000000000000007.json"
        assert commit_version(commit_path(7)) == 7
        assert commit_version(commit_path(2**63 - 1)) == 2**63 - 1

    @pytest.mark.parametrize(
        "name",
        [
            "7.json",
            "00000000000000000007.JSON",
            "00000000000000000007.json.crc",
            ".00000000000000000007.json.crc",
            "00000000000000000007.checkpoint.json",
            "00000000000000000007.json/x",
            "000000000000000000007.json",
            "99999999999999999999.json",
            "_last_checkpoint",
            "0000000000000000000７.json",
        ],
    )
    def test_of_other_files_are_no_versions(self, name: str) -> None:
        assert commit_version(f"{LOG_DIRECTORY}/{name}") is None

    def test_of_files_elsewhere_are_no_versions(self) -> None:
        assert commit_version("00000000000000000007.json") is None
        assert commit_version(f"x/{commit_path(7)}") is None


class TestListing:
    def test_finds_every_version_in_order(self) -> None:
        assert list_versions(log_of(0, 2, 1, 3)) == [0, 1, 2, 3]
        assert list_versions(log_of(0, 1, 2, 3), after=1) == [2, 3]
        assert list_versions(log_of(0, 1), after=1) == []
        assert list_versions(log_of()) == []

    def test_passes_over_checkpoints_sidecars_and_pointers(self) -> None:
        model = log_of(0, 1, 2)
        for name in ("00000000000000000001.checkpoint.json", ".00000000000000000009.json.crc", "_last_checkpoint", "z"):
            model.put(f"{LOG_DIRECTORY}/{name}", b"x")
        model.put(f"{LOG_DIRECTORY}/_checkpoints/00000000000000000009.json", b"x")
        assert list_versions(model) == [0, 1, 2]

    @pytest.mark.parametrize("kind", [FaultKind.STALE_LIST, FaultKind.DUPLICATE_LIST, FaultKind.TRUNCATED_LIST])
    @pytest.mark.parametrize("seed", range(8))
    def test_is_a_hint_that_may_lie(self, kind: FaultKind, seed: int) -> None:
        store = FaultStore(log_of(*range(12)), Plan(1, kind, seed=seed))
        assert list_versions(store) == list(range(12))
        assert store.fired == 1

    def test_asks_for_the_next_version_only_while_there_is_one(self) -> None:
        store = FaultStore(log_of(0, 1, 2))
        list_versions(store)
        assert store.calls == [("list_from", LOG_DIRECTORY), ("exists", commit_path(3))]


class TestGaps:
    def test_in_the_middle_name_the_missing_versions(self) -> None:
        with pytest.raises(LogCorruptionError) as caught:
            list_versions(log_of(0, 1, 4, 6))
        assert caught.value.versions == (2, 3, 5)
        assert "versions 2, 3, 5 are missing below version 6" in str(caught.value)
        assert caught.value.path == "s3 model/_transaction_log"

    def test_at_the_beginning_are_gaps_too(self) -> None:
        with pytest.raises(LogCorruptionError, match="version 0 is missing below version 2") as caught:
            list_versions(log_of(1, 2))
        assert caught.value.versions == (0,)

    def test_right_after_the_known_version_are_gaps_too(self) -> None:
        with pytest.raises(LogCorruptionError) as caught:
            list_versions(log_of(0, 1, 3), after=1)
        assert caught.value.versions == (2,)

    def test_that_are_large_are_named_in_part(self) -> None:
        with pytest.raises(LogCorruptionError, match=r"versions 1, .*, 20 and 29 more are missing below version 50"):
            list_versions(log_of(0, 50))

    def test_that_are_absurd_cost_no_memory(self) -> None:
        with pytest.raises(LogCorruptionError, match="it jumps to version 9223372036854775807"):
            list_versions(log_of(0, 2**63 - 1))

    @pytest.mark.parametrize("reader", ["optimised", "plain"])
    def test_are_refused_by_every_reader_of_the_table(self, reader: str) -> None:
        from indextables.config import Settings, Transaction  # noqa: PLC0415 - beside its only use

        place, _ = new_table(files=4)
        place.model.delete(commit_path(2))
        log = place.log(Settings(transaction=Transaction(use_optimized=reader == "optimised")))
        for ask in (log.list_files, log.versions, log.latest_version, lambda: log.metadata):
            with pytest.raises(LogCorruptionError, match="version 2 is missing below version 4") as caught:
                ask()
            assert caught.value.versions == (2,)


class TestLatest:
    def test_is_the_greatest_version(self) -> None:
        assert latest_version(log_of(0, 1, 2)) == 2

    @pytest.mark.parametrize("hint", [1, 2, 3, 2**63 - 1])
    def test_is_the_same_whatever_the_hint(self, hint: int) -> None:
        assert latest_version(log_of(0, 1, 2), hint=hint) == 2

    def test_of_no_log_is_an_error(self) -> None:
        with pytest.raises(TableNotFoundError, match="There is no table at s3 model: it holds no _transaction_log"):
            latest_version(S3Model())
