"""Pages are whole, need nothing from elsewhere, and run nothing, whatever stands in the table that they show."""

from __future__ import annotations

import datetime as dt
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.log.open import open_log
from indextables.report.gather import table_figures
from indextables.report.lake_advice import advise_lake
from indextables.report.lake_figures import HiveTableFigures, LakeFigures, RunFigures
from indextables.report.lake_page import lake_page
from indextables.report.table_page import table_page
from tests.support.logs import add
from tests.unit.report.conftest import PAYLOADS

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta", "br", "link", "col"}
# fmt: off
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "p", "div", "span",
    "b", "small", "i", "ul", "li", "dl", "dt", "dd", "code", "pre", "details", "summary", "figure", "figcaption", "table", "thead",
    "tbody", "tr", "th", "td", "svg", "rect", "line", "polygon", "polyline",
}
# fmt: on
ATTRIBUTES = {
    "class",
    "role",
    "aria-label",
    "aria-hidden",
    "lang",
    "charset",
    "name",
    "content",
    "http-equiv",
    "title",
    "scope",
    "viewbox",
    "preserveaspectratio",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "width",
    "height",
    "points",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a page, and complains about whatever this package does not write."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES, attrs
        self.text += [value for _, value in attrs if value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def _read(page: str) -> str:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return "\n".join(reader.text)


def _hostile_lake() -> LakeFigures:
    made = dt.datetime(2026, 2, 23, 12, tzinfo=dt.UTC)
    tables = [
        HiveTableFigures(
            table=f"db.{text}",
            location=text,
            format=text,
            partitions=3,
            partitions_to_compact=2,
            files=5_000,
            bytes=10**7,
            target_files=10,
            files_saved=4_990,
            objects_saved=9_980,
            refused=(text,) if number % 2 else (),
            warnings=(text,),
        )
        for number, text in enumerate(PAYLOADS)
    ]
    runs = tuple(
        RunFigures(
            table=f"db.{text}",
            run="1700000000",
            began=made - dt.timedelta(days=30),
            state="complete" if number % 2 else "swapping",
            finished=bool(number % 2),
            backup=text,
            directories=4,
            rows=None,
            files_held=100,
            bytes_held=10**6,
        )
        for number, text in enumerate(PAYLOADS)
    )
    return LakeFigures(
        database=PAYLOADS[0],
        made=made,
        threshold=1 << 27,
        target_size=1 << 27,
        tables=tuple(tables),
        runs=runs,
        advice=advise_lake(tables, runs, now=made, command="lakekeeper"),
    )


def test_nothing_in_a_table_becomes_part_of_the_page(hostile: Path) -> None:
    where = [f"`c{number} {text}` = 1" for number, text in enumerate(PAYLOADS) if "`" not in text]
    text = _read(table_page(table_figures(str(hostile), where=where)))
    for payload in PAYLOADS:
        shown = payload.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
        assert shown in text


def test_nothing_in_a_database_becomes_part_of_the_page() -> None:
    figures = _hostile_lake()
    text = _read(lake_page(figures))
    for payload in PAYLOADS:
        assert payload.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b") in text
    assert {one.kind for one in figures.advice} == {"recover", "compact", "cleanup"}


def test_a_page_forbids_its_reader_to_run_or_fetch_anything(hostile: Path) -> None:
    for page in (table_page(table_figures(str(hostile))), lake_page(_hostile_lake())):
        assert "default-src 'none'; style-src 'unsafe-inline'" in page.replace("&#x27;", "'")
        for word in ("<script", "<link", "<iframe", "<img", "url(", "@import"):
            assert word not in page


def test_a_page_of_many_files_and_partitions_stays_small(tmp_path: Path) -> None:
    log = open_log(str(tmp_path))
    log.initialize(pa.schema([("id", pa.int64()), ("day", pa.int64())]), ["day"])
    log.add_files(
        [
            add(f"day={day}/{PAYLOADS[0].replace('/', '')}{day}", partition_values={"day": str(day)}, size=day * 1000)
            for day in range(10_000)
        ]
    )
    page = table_page(table_figures(str(tmp_path), where=["day < 5"] * 20))
    _read(page)
    assert len(page.encode()) < 300_000


def test_a_new_table_has_a_page(tmp_path: Path) -> None:
    open_log(str(tmp_path)).initialize(pa.schema([("id", pa.int64()), ("day", pa.int64())]), ["day"])
    text = _read(table_page(table_figures(str(tmp_path), where=["day = 1"])))
    assert "There are no files" in text
    assert "Nothing: files, log and checkpoints are in good shape." in text


def test_an_empty_database_has_a_page() -> None:
    made = dt.datetime(2026, 2, 23, 12, tzinfo=dt.UTC)
    empty = LakeFigures(database="sales", made=made, threshold=1, target_size=1, tables=(), runs=(), advice=())
    text = _read(lake_page(empty))
    assert "There are no tables." in text
    assert "There are no runs." in text


def test_each_piece_of_advice_shows_its_command(hostile: Path) -> None:
    figures = table_figures(str(hostile))
    assert figures.advice
    text = _read(table_page(figures))
    for one in figures.advice:
        assert one.command.replace("\u202e", "\\u202e") in text
