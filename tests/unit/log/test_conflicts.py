from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pytest

from indextables.errors import ConcurrentWriteError
from indextables.log.actions import MetaData, Protocol, Remove, Skip
from indextables.log.commit import kinds_for
from indextables.log.conflicts import MATRIX, Kind, Verdict, kinds_of
from indextables.log.protocol import DEFAULT
from indextables.log.schema import format_schema
from tests.support.logs import add, foreign_add, new_table, paths

if TYPE_CHECKING:
    from indextables.log.actions import Action
    from indextables.log.log import TransactionLog

PAGE = Path(__file__).parents[3] / "docs" / "spec" / "transaction-log.md"
CELLS = list(itertools.product(Kind, Kind))
WORDS = {Verdict.HOLDS: "holds", Verdict.FILES: "same file", Verdict.CONFLICTS: "**conflicts**"}


def actions_of(kind: Kind, log: TransactionLog, *, file: str, new: str) -> list[Action]:
    """Return the actions of a commit of that kind, made against what the log holds now."""
    match kind:
        case Kind.APPEND:
            return [add(new)]
        case Kind.OVERWRITE:
            return [Remove(path=file, data_change=True), add(new)]
        case Kind.REMOVE:
            return [Remove(path=file, data_change=True)]
        case Kind.MERGE:
            return [Remove(path=file, data_change=False), add(new, data_change=False)]
        case Kind.METADATA:
            wider = format_schema(log.schema.append(pa.field(new, pa.string())))
            return [msgspec.structs.replace(log.metadata, schema_string=wider)]
        case Kind.PROTOCOL:
            return [Protocol(min_reader_version=3, min_writer_version=3), log.metadata]
        case Kind.SKIP:
            return [Skip(path=file, skip_timestamp=5, reason="broken", operation="merge", skip_count=1)]


def race(ours: Kind, theirs: Kind, *, same_file: bool) -> tuple[TransactionLog, int]:
    """Let both prepare a commit against one version, theirs land first, then ours; return what ours became."""
    place, log = new_table(files=3)
    other = place.log()
    read_version = log.latest_version()
    prepared = actions_of(ours, log, file="f0", new="ours")
    others = actions_of(theirs, other, file="f0" if same_file else "f1", new="theirs")
    assert other.commit(others, operation=theirs, read_version=read_version).version == read_version + 1
    result = log.commit(prepared, operation=ours, read_version=read_version)
    return log, result.version


@pytest.mark.parametrize("same_file", [True, False], ids=["same file", "other file"])
@pytest.mark.parametrize(("ours", "theirs"), CELLS, ids=str)
def test_every_cell_of_the_matrix_holds_on_a_real_log(ours: Kind, theirs: Kind, same_file: bool) -> None:
    cell = MATRIX[ours][theirs]
    if cell.verdict is Verdict.HOLDS or (cell.verdict is Verdict.FILES and not same_file):
        log, version = race(ours, theirs, same_file=same_file)
        gone = theirs in {Kind.OVERWRITE, Kind.REMOVE, Kind.MERGE} and same_file
        assert version == (4 if ours is Kind.SKIP and gone else 5)
        added = {str(name) for name, kind in (("ours", ours), ("theirs", theirs)) if kind in WRITING}
        removed = {file for file, kind in (("f0", ours), ("f0" if same_file else "f1", theirs)) if kind in REMOVING}
        assert set(paths(log)) == {"f0", "f1", "f2"} - removed | added
        return
    with pytest.raises(ConcurrentWriteError) as caught:
        race(ours, theirs, same_file=same_file)
    error = caught.value
    assert (error.version, error.operation, error.retryable) == (4, theirs, True)
    assert error.files == (("f0",) if cell.verdict is Verdict.FILES else ())
    # A change of protocol repeats the metadata, so it may also fail as a change of metadata does.
    rows = {ours, Kind.METADATA} if ours is Kind.PROTOCOL else {ours}
    assert error.cause in {MATRIX[row][theirs].reason for row in rows}
    assert str(error).endswith("It is safe to read the table again and retry.")
    assert f"Version 4 of s3 model ({theirs})" in str(error)


WRITING = {Kind.APPEND, Kind.OVERWRITE, Kind.MERGE}
REMOVING = {Kind.OVERWRITE, Kind.REMOVE, Kind.MERGE}


def test_the_matrix_has_a_reason_for_each_of_its_49_cells() -> None:
    assert len(CELLS) == 49
    assert all(MATRIX[ours][theirs].reason for ours, theirs in CELLS)


def test_a_conflict_leaves_nothing_behind() -> None:
    place, log = new_table(files=2)
    before = log.latest_version()
    place.log().remove_files(["f0"])
    tree = place.model.tree()
    with pytest.raises(ConcurrentWriteError):
        log.commit([Remove(path="f0", data_change=True), add("n")], operation=Kind.OVERWRITE, read_version=before)
    assert place.model.tree() == tree


def test_a_conflict_names_every_file_that_is_gone() -> None:
    place, log = new_table(files=3)
    before = log.latest_version()
    place.log().remove_files(["f2", "f0"])
    removes = [Remove(path=path, data_change=True) for path in ("f0", "f1", "f2")]
    with pytest.raises(ConcurrentWriteError) as caught:
        log.commit(removes, operation=Kind.REMOVE, read_version=before)
    assert caught.value.files == ("f0", "f2")
    assert "(f0, f2)" in str(caught.value)


class TestMergesAndAppends:
    def test_never_fail_each_other_in_either_order(self) -> None:
        place, log = new_table(files=4)
        other = place.log()
        read_version = log.latest_version()
        other.add_files([add("new")])
        log.merge_files(["f0", "f1"], [add("merged")], read_version=read_version)
        other.merge_files(["f2", "f3"], [add("merged too")], read_version=read_version)
        log.commit([add("late")], operation=Kind.APPEND, read_version=read_version)
        assert paths(log) == ["late", "merged", "merged too", "new"]

    def test_a_merge_that_is_overtaken_by_many_appends_reads_them_and_lands(self) -> None:
        place, log = new_table(files=2)
        read_version = log.latest_version()
        other = place.log()
        for number in range(30):
            other.add_files([add(f"new{number}")])
        result = log.merge_files(["f0", "f1"], [add("merged")], read_version=read_version)
        assert (result.version, result.attempts) == (read_version + 31, 1)

    def test_two_merges_of_the_same_file_have_one_winner(self) -> None:
        place, log = new_table(files=3)
        read_version = log.latest_version()
        place.log().merge_files(["f0", "f1"], [add("theirs")], read_version=read_version)
        with pytest.raises(ConcurrentWriteError) as caught:
            log.merge_files(["f1", "f2"], [add("ours")], read_version=read_version)
        assert (caught.value.operation, caught.value.files) == ("merge", ("f1",))
        assert paths(log) == ["f2", "theirs"]


class TestMetadata:
    def test_of_the_same_schema_conflicts_with_nobodys_files(self) -> None:
        place, log = new_table(files=1)
        read_version = log.latest_version()
        place.log().update_metadata(description="new", configuration={"k": "v"})
        log.commit([add("n")], operation=Kind.APPEND, read_version=read_version)
        assert paths(log) == ["f0", "n"]
        assert log.snapshot().configuration == {"k": "v"}

    def test_of_the_same_schema_still_conflicts_with_metadata(self) -> None:
        place, log = new_table(files=1)
        read_version = log.latest_version()
        place.log().update_metadata(description="theirs")
        ours = msgspec.structs.replace(log.snapshot(read_version).metadata, description="ours")
        with pytest.raises(ConcurrentWriteError, match="it changed the metadata that ours replaces"):
            log.commit([ours], operation=Kind.METADATA, read_version=read_version)


class TestSkips:
    def test_both_count_and_the_later_one_goes_on_from_the_earlier_one(self) -> None:
        place, log = new_table(files=1)
        read_version = log.latest_version()
        skip = Skip(path="f0", skip_timestamp=5, reason="broken", operation="merge", skip_count=1)
        for _ in range(2):
            place.log().commit([skip], operation=Kind.SKIP, read_version=read_version)
        log.commit([skip], operation=Kind.SKIP, read_version=read_version)
        assert log.snapshot().skips["skip_count"].to_pylist() == [3]

    def test_of_a_file_that_is_gone_is_dropped_and_the_rest_is_kept(self) -> None:
        place, log = new_table(files=2)
        read_version = log.latest_version()
        skips = [Skip(path=path, skip_timestamp=5, reason="r", operation="merge") for path in ("f0", "f1")]
        place.log().remove_files(["f0"])
        result = log.commit(skips, operation=Kind.SKIP, read_version=read_version)
        assert result.written
        assert log.snapshot().skips["path"].to_pylist() == ["f1"]

    def test_writes_no_version_when_no_skip_is_left(self) -> None:
        place, log = new_table(files=1)
        read_version = log.latest_version()
        place.log().remove_files(["f0"])
        commits = place.commits()
        skip = Skip(path="f0", skip_timestamp=5, reason="r", operation="merge")
        result = log.commit([skip], operation=Kind.SKIP, read_version=read_version)
        assert (result.written, result.version) == (False, read_version + 1)
        assert place.commits() == commits


class TestKinds:
    def test_follow_from_the_actions(self) -> None:
        moved, changed = Remove(path="a", data_change=False), Remove(path="a", data_change=True)
        metadata = MetaData(id="i", schema_string="{}", partition_columns=[])
        skip = Skip(path="a", skip_timestamp=0, reason="r", operation="o")
        assert kinds_of([add("b")]) == {Kind.APPEND}
        assert kinds_of([changed]) == kinds_of([moved]) == {Kind.REMOVE}
        assert kinds_of([changed, add("b")]) == {Kind.OVERWRITE}
        assert kinds_of([moved, add("b", data_change=False)]) == {Kind.MERGE}
        assert kinds_of([moved, add("b")]) == {Kind.OVERWRITE}  # new rows came with it, so it is no mere merge
        assert kinds_of([metadata, DEFAULT, skip]) == {Kind.METADATA, Kind.PROTOCOL, Kind.SKIP}
        assert kinds_of([]) == set()

    def test_an_overwrite_of_an_empty_table_is_one_by_its_name(self) -> None:
        actions: list[Action] = [add("b")]
        assert kinds_for(actions, Kind.OVERWRITE) == {Kind.OVERWRITE}
        assert kinds_for(actions, "write") == {Kind.APPEND}
        assert kinds_for([Remove(path="a", data_change=True)], Kind.OVERWRITE) == {Kind.OVERWRITE}

    def test_two_overwrites_of_an_empty_table_have_one_winner(self) -> None:
        place, log = new_table()
        read_version = log.latest_version()
        place.log().overwrite_files([add("theirs")])
        with pytest.raises(ConcurrentWriteError, match="it added files that our overwrite did not see"):
            log.commit([add("ours")], operation=Kind.OVERWRITE, read_version=read_version)

    def test_of_commits_by_other_software_follow_from_their_actions_as_well(self) -> None:
        place, log = new_table(files=1)
        read_version = log.latest_version()
        place.write(2, {"remove": {"path": "f0", "dataChange": False}}, foreign_add("m", dataChange=False))
        log.commit([add("n")], operation=Kind.APPEND, read_version=read_version)
        with pytest.raises(ConcurrentWriteError) as caught:
            log.commit([Remove(path="f0", data_change=True)], operation=Kind.REMOVE, read_version=read_version)
        assert (caught.value.version, caught.value.operation) == (2, "merge")


def matrix_in_markdown() -> str:
    """Return the two tables of the page: the verdicts at a glance, and the reason of each."""
    head = ["ours ↓ theirs →", *Kind]
    rows = [[f"**{ours}**", *(WORDS[MATRIX[ours][theirs].verdict] for theirs in Kind)] for ours in Kind]
    reasons = [
        [ours, theirs, WORDS[MATRIX[ours][theirs].verdict], MATRIX[ours][theirs].reason] for ours, theirs in CELLS
    ]
    tables = ((head, rows), (["ours", "theirs", "verdict", "because"], reasons))
    return "\n\n".join(
        "\n".join("| " + " | ".join(cells) + " |" for cells in (names, ["---"] * len(names), *body))
        for names, body in tables
    )


def test_the_documentation_shows_the_matrix_as_it_is() -> None:
    table = matrix_in_markdown()
    assert table in PAGE.read_text(), f"Put this into {PAGE.name}:\n{table}"
