"""The page of a database of Hive tables, from its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.report.charts import bar
from indextables.report.markup import Html, el
from indextables.report.page import advice_list, card, page, section, table, tiles
from indextables.report.words import counted, minute, number, short, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.report.lake_figures import HiveTableFigures, LakeFigures, RunFigures

_MOST: Final = 100


def lake_page(figures: LakeFigures) -> str:
    """Return the page."""
    refused = [one for one in figures.tables if one.refused]
    return page(
        figures.database,
        f"Hive tables; files below {size(figures.threshold)} on average are worth compacting, to {size(figures.target_size)}",
        made=figures.made,
        command="lakekeeper report",
        body=[
            _glance(figures, refused=len(refused)),
            section(
                "What to do",
                advice_list(figures.advice, otherwise="Nothing: no table needs compaction, no run is open."),
            ),
            _tables(figures.tables),
            _refused(refused),
            _runs(figures.runs),
        ],
    )


def _glance(figures: LakeFigures, *, refused: int) -> Html:
    files = sum(one.files for one in figures.tables)
    held = sum(run.bytes_held for run in figures.runs)
    return tiles(
        [
            ("Tables", number(len(figures.tables)), f"{refused:,} refused in whole or in part" if refused else None),
            ("Files", short(files), None),
            ("Size", size(sum(one.bytes for one in figures.tables)), None),
            ("Files saved", short(sum(one.files_saved for one in figures.tables)), "if all were compacted"),
            ("Objects saved", short(sum(one.objects_saved for one in figures.tables)), "in the NameNode's memory"),
            ("Held by backups", size(held), counted(sum(run.files_held for run in figures.runs), "file")),
        ]
    )


def _tables(tables: Sequence[HiveTableFigures]) -> Html:
    if not tables:
        return section("Tables", card(el("p", "There are no tables.")))
    most = max(one.files_saved for one in tables)
    columns = [
        ("table", "name"),
        ("files saved", "bar wide"),
        ("", "num"),
        ("files", "num"),
        ("target", "num wide"),
        ("size", "num"),
    ]
    rows = [
        (
            el("code", one.table),
            bar(one.files_saved, most),
            number(one.files_saved),
            number(one.files),
            number(one.target_files),
            size(one.bytes),
        )
        for one in tables[:_MOST]
    ]
    return section("Tables by files saved", card(table(columns, rows), _more(len(tables))))


def _refused(refused: Sequence[HiveTableFigures]) -> Html | None:
    if not refused:
        return None
    rows = [(el("code", one.table), "; ".join(one.refused)) for one in refused[:_MOST]]
    return section("Not compacted", card(table([("table", "name"), ("reason", "text")], rows), _more(len(refused))))


def _runs(runs: Sequence[RunFigures]) -> Html:
    if not runs:
        return section("Runs and backups", card(el("p", "There are no runs.")))
    columns = [
        ("table", "name"),
        ("run", "label wide"),
        ("began (UTC)", "label wide"),
        ("state", "label"),
        ("directories", "num wide"),
        ("rows", "num wide"),
        ("files held", "num"),
        ("size held", "num"),
    ]
    rows = [
        (
            el("code", run.table),
            run.run,
            minute(run.began),
            run.state,
            number(run.directories),
            number(run.rows),
            number(run.files_held),
            size(run.bytes_held),
        )
        for run in list(reversed(runs))[:_MOST]
    ]
    words = "A backup keeps the original files of its run until lakekeeper cleanup gives them back; newest first."
    return section("Runs and backups", card(el("p", words, class_="soft"), table(columns, rows), _more(len(runs))))


def _more(count: int) -> Html | None:
    return el("p", f"The first {_MOST} of {count:,}; --json has all.", class_="soft") if count > _MOST else None
