"""Report pages as a browser shows them: at the width of a desk and of a phone, light and dark."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables.log.open import open_log
from indextables.report.gather import table_figures
from indextables.report.lake_advice import advise_lake
from indextables.report.lake_figures import HiveTableFigures, LakeFigures, RunFigures
from indextables.report.lake_page import lake_page
from indextables.report.table_page import table_page
from tests.support.logs import add

if TYPE_CHECKING:
    from tests.browser.chromium import Browser, Page

LONG = "a_name_without_any_place_to_break_it_" * 5
HARMFUL = "<img src=x onerror=\"document.title='harmed'\">"
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
MADE = dt.datetime(2026, 2, 23, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind, with names that are long, odd or meant to harm."""
    folder = tmp_path_factory.mktemp("pages")
    texts = {"table": _table(folder / HARMFUL.replace("/", "")), "new": _new_table(folder / "new"), "lake": _lake()}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


def _table(path: Path) -> str:
    log = open_log(str(path), {"spark.indextables.checkpoint.enabled": "false"})
    log.initialize(
        pa.schema([("id", pa.int64()), ("day", pa.string())]),
        ["day"],
        description=f"{LONG} {HARMFUL}",
        configuration={LONG: HARMFUL},
    )
    for version in range(40):
        log.add_files(
            [
                add(
                    f"day={number}/{LONG}-{version}-{number}.split",
                    partition_values={"day": HARMFUL if number == 0 else f"{LONG}{number:03}"},
                    size=(1 + number) * 10 ** (3 + version % 6),
                    num_records=1000 * version,
                )
                for number in range(30)
            ]
        )
    log.record_skipped_file(log.list_files()["path"][0].as_py(), reason=f"{HARMFUL} {LONG}", operation="merge")
    return table_page(table_figures(str(path), where=["day > 'b'", f"day = '{LONG}007'", "id = 5"]))


def _new_table(path: Path) -> str:
    open_log(str(path)).initialize(pa.schema([("id", pa.int64())]))
    return table_page(table_figures(str(path)))


def _lake() -> str:
    tables = [
        HiveTableFigures(
            table=f"sales.{HARMFUL if number == 3 else LONG[: 20 * number + 10]}",
            location="hdfs://lake/sales",
            format="parquet",
            partitions=10,
            partitions_to_compact=5,
            files=200_000 // (1 + number),
            bytes=5 * 10**9,
            target_files=40,
            files_saved=200_000 // (1 + number) - 40,
            objects_saved=400_000 // (1 + number),
            refused=(f"its files are neither Parquet nor ORC ({LONG})",) if number > 4 else (),
            warnings=(),
        )
        for number in range(8)
    ]
    runs = tuple(
        RunFigures(
            table=tables[number].table,
            run=str(1_700_000_000 + number),
            began=MADE - dt.timedelta(days=20),
            state="complete" if number else "swapping",
            finished=bool(number),
            backup=f"sales.__bkp_{number}",
            directories=12,
            rows=10**9,
            files_held=123_456,
            bytes_held=7 * 10**11,
        )
        for number in range(3)
    )
    advice = advise_lake(tables, runs, now=MADE, command="lakekeeper --metastore thrift://metastore:9083")
    return lake_page(
        LakeFigures(
            database="sales",
            made=MADE,
            threshold=1 << 27,
            target_size=1 << 27,
            tables=tuple(tables),
            runs=runs,
            advice=advice,
        )
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["table", "new", "lake"])
def test_a_page_is_shown_as_it_should_be(
    chromium: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    with chromium.show(pages[name].as_uri(), width=width, dark=scheme == "dark") as page:
        assert page.complaints == []
        assert page.requests == [pages[name].as_uri()]
        assert page.ask("document.title") != "harmed"
        assert page.ask("[document.scripts.length, document.images.length]") == [0, 0]
        assert page.ask("window.shifts") == 0
        assert page.ask("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
        assert _sticking_out(page) == []
        assert _overlapping_boxes(page) == 0
        assert _faint_text(page) == []
        if folder := os.environ.get("KEEP_PICTURES"):
            page.picture(Path(folder) / f"{name}-{width}-{scheme}.png")


def _sticking_out(page: Page) -> Any:
    """Return what reaches beyond the window and is not in something that scrolls."""
    return page.ask(
        """[...document.body.querySelectorAll('*')]
          .filter(one => !one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth + 0.5)
          .map(one => one.outerHTML.slice(0, 100))"""
    )


def _overlapping_boxes(page: Page) -> Any:
    """Return how many pairs of boxes cover each other."""
    return page.ask(
        """(() => {
          const boxes = [...document.querySelectorAll('.card')].map(one => one.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
            a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5)).length;
        })()"""
    )


def _faint_text(page: Page) -> Any:
    """Return texts whose contrast with what is behind them is less than 4.5 to 1."""
    return page.ask(
        """(() => {
          const numbers = text => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = one => {
            for (; one; one = one.parentElement) {
              const colour = numbers(getComputedStyle(one).backgroundColor);
              if (colour.length < 4 || colour[3] > 0) return colour;
            }
            return [255, 255, 255];
          };
          const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          return [...document.body.querySelectorAll('*')]
            .filter(one => !one.closest('svg') && [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
            .filter(one => contrast(light(numbers(getComputedStyle(one).color)), light(ground(one))) < 4.5)
            .map(one => one.outerHTML.slice(0, 100));
        })()"""
    )


def test_light_and_dark_are_two_looks(chromium: Browser, pages: dict[str, Path]) -> None:
    grounds = []
    for dark in (False, True):
        with chromium.show(pages["table"].as_uri(), width=1280, dark=dark) as page:
            grounds.append(page.ask("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_a_phone_shows_one_column_where_a_desk_shows_several(chromium: Browser, pages: dict[str, Path]) -> None:
    columns = "new Set([...document.querySelectorAll('.charts > *')].map(one => one.getBoundingClientRect().left)).size"
    found = []
    for width in WIDTHS:
        with chromium.show(pages["table"].as_uri(), width=width, dark=False) as page:
            found.append(page.ask(columns))
    assert found == [3, 1]


def test_a_fault_on_a_page_would_be_seen(chromium: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><body style='color:#aaa;background:#bbb'><div class=card style='width:3000px'>x</div>"
        "<div class=card style='margin-top:-9px'>y</div><img src='http://127.0.0.1:9/x.png'><script>throw 1</script>"
    )
    with chromium.show(bad.as_uri(), width=390, dark=False) as page:
        assert page.complaints
        assert len(page.requests) == 2
        assert _sticking_out(page)
        assert _overlapping_boxes(page)
        assert _faint_text(page)
