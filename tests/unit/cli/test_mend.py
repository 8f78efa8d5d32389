from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.log.actions import Add
from indextables.log.open import open_log
from indextables.log.schema import format_schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def _commit(table: Path, version: int) -> Path:
    return table / "_transaction_log" / f"{version:020}.json"


def test_verify_finds_nothing_wrong_with_a_sound_table(run: Callable[..., Answer], table: Path) -> None:
    answer = run("verify", table)
    assert answer.code == 0
    assert answer.out == "Checked 13 commits, 1 checkpoint and 12 data files: all is well.\n"
    assert run("verify", table, "--json").json["healthy"] is True


def test_verify_finds_a_gap(run: Callable[..., Answer], copy: Path) -> None:
    _commit(copy, 3).unlink()
    answer = run("verify", copy, "--json")
    assert answer.code == 3
    assert [(one["problem"], one["version"]) for one in answer.json["findings"]] == [("missing commit", 3)]
    assert run("verify", copy).code == 3


def test_verify_finds_a_damaged_commit(run: Callable[..., Answer], copy: Path) -> None:
    _commit(copy, 11).write_bytes(b"{not json\n")
    answer = run("verify", copy)
    assert answer.code == 3
    assert "damaged commit" in answer.out
    assert "lines 1" in answer.out
    assert answer.err == f"What a repair would do: indextables repair {copy}\n"


def test_verify_finds_a_checkpoint_whose_bytes_changed(run: Callable[..., Answer], copy: Path) -> None:
    (part,) = (copy / "_transaction_log" / "_checkpoints").glob("*.parquet")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    answer = run("verify", copy, "--json")
    assert answer.code == 3
    assert "damaged checkpoint" in {one["problem"] for one in answer.json["findings"]}


def test_verify_finds_a_missing_data_file(run: Callable[..., Answer], copy: Path) -> None:
    next(copy.rglob("*.split")).unlink()
    answer = run("verify", copy, "--json")
    assert answer.code == 3
    assert [one["problem"] for one in answer.json["findings"]] == ["missing data file"]


def test_verify_finds_a_data_file_that_cannot_be_read(run: Callable[..., Answer], copy: Path) -> None:
    split = next(copy.rglob("*.split"))
    split.write_bytes(bytes(split.stat().st_size))
    answer = run("verify", copy, "--json")
    assert answer.code == 3
    assert [one["problem"] for one in answer.json["findings"]] == ["unreadable data file"]
    assert run("verify", copy, "--no-data").code == 0


def test_verify_finds_statistics_that_lie(run: Callable[..., Answer], copy: Path) -> None:
    log = open_log(str(copy))
    (row,) = log.list_files().slice(0, 1).to_pylist()
    log.remove_files([row["path"]])
    lie = Add(
        path=row["path"],
        partition_values=row["partition_values"],
        size=row["size"],
        modification_time=row["modification_time"],
        data_change=True,
        num_records=row["num_records"],
        min_values={"id": "1000"},
        max_values={"id": "2000"},
    )
    log.add_files([lie])
    answer = run("verify", copy, "--json")
    assert answer.code == 3
    (finding,) = answer.json["findings"]
    assert finding["problem"] == "wrong statistics"
    assert finding["column"] == "id"
    assert "1000 stated" in finding["detail"]


def test_repair_only_tells_until_it_is_told_to_do_it(run: Callable[..., Answer], copy: Path) -> None:
    _commit(copy, 3).unlink()
    before = sorted(file.name for file in copy.rglob("*"))
    foretold = run("repair", copy)
    assert foretold.code == 0
    assert foretold.out.startswith("Would repair")
    assert foretold.err == "Nothing was changed; --no-dry-run does it.\n"
    assert sorted(file.name for file in copy.rglob("*")) == before
    done = run("repair", copy, "--no-dry-run")
    assert done.out.startswith("Repaired")
    assert run("verify", copy).code == 0
    assert run("repair", copy).out.startswith("Nothing to repair")
    assert run("repair", copy, "--undo").out.startswith("Undid the repair")
    assert run("verify", copy).code == 3


def test_repair_as_json_names_what_is_lost(run: Callable[..., Answer], copy: Path) -> None:
    _commit(copy, 3).unlink()
    result = run("repair", copy, "--json").json
    assert result["dry_run"] is True
    assert result["lost_versions"] == [3]
    assert result["findings"][0]["problem"] == "missing commit"
    assert run("repair", copy, "--no-dry-run", "--json").json["changed"] is True
    assert run("repair", copy, "--undo", "--json").json["files"] > 0


def test_repair_writes_a_log_elsewhere(run: Callable[..., Answer], copy: Path, tmp_path: Path) -> None:
    _commit(copy, 12).write_bytes(b"")
    answer = run("repair", copy, "--target", tmp_path / "target", "--no-dry-run")
    assert answer.code == 0
    assert run("describe", tmp_path / "target", "--json").json["files"] >= 11


def test_repair_takes_missing_files_out_if_asked(run: Callable[..., Answer], copy: Path) -> None:
    next(copy.rglob("*.split")).unlink()
    result = run("repair", copy, "--drop-missing-files", "--no-dry-run", "--json").json
    assert len(result["dropped_files"]) == 1
    assert run("count", copy).out == "110\n"


def test_repair_makes_a_table_of_its_data_files_if_it_is_told_the_schema(
    run: Callable[..., Answer], copy: Path, tmp_path: Path
) -> None:
    for file in (copy / "_transaction_log").rglob("*"):
        if file.is_file():
            file.unlink()
    columns = tmp_path / "schema.json"
    columns.write_text(format_schema(pa.schema([("id", pa.int64()), ("level", pa.string()), ("day", pa.date32())])))
    answer = run("repair", copy, "--schema", columns, "--no-dry-run")
    assert answer.code == 0, answer.err
    assert run("count", copy).out == "120\n"
