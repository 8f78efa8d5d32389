from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def test_a_page_is_written_and_announced(run: Callable[..., Answer], table: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    answer = run("report", table, "-o", page, "--where", "level = 'ERROR'", "--where", "day = '2024-01-02'")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{page}: ")
    assert "to do." in answer.out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "4 of 12 files read" in text
    assert str(table) in text


def test_json_has_the_same_figures_and_needs_no_page(run: Callable[..., Answer], table: Path, tmp_path: Path) -> None:
    answer = run("report", table, "--json", "--where", "day = '2024-01-02'")
    figures = answer.json
    assert (figures["files"], figures["rows"], figures["version"]) == (12, 120, 12)
    assert figures["growth"]["rows"] == [10 * version for version in range(13)]
    assert figures["partitions"]["count"] == 3
    assert figures["queries"][0]["files_read"] == 4
    assert figures["log"]["checkpoints"] == [10]
    both = run("report", table, "--json", "-o", tmp_path / "report.html")
    assert json.loads(both.out)["files"] == 12
    assert (tmp_path / "report.html").exists()


def test_nothing_in_the_table_changes(run: Callable[..., Answer], copy: Path, tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {str(file): (file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(copy.rglob("*"))}

    before = state()
    assert run("report", copy, "-o", tmp_path / "report.html").code == 0
    assert state() == before


def test_an_earlier_page_is_replaced(run: Callable[..., Answer], table: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("x" * 10**6)
    assert run("report", table, "-o", page).code == 0
    assert page.stat().st_size < 10**5


def test_a_page_that_has_no_place_to_go_is_refused_before_the_work(
    run: Callable[..., Answer], table: Path, tmp_path: Path
) -> None:
    answer = run("report", table, "-o", tmp_path / "none" / "report.html")
    assert answer.code == 2
    assert f"there is no directory {tmp_path / 'none'}. Create it, or name another file." in answer.err
