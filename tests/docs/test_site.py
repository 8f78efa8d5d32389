"""The site builds without a warning and without a network, and its generated parts are what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from benchmarks.measured import FOLDER
from benchmarks.page import ASSETS, PAGE, page, plot, runs_in
from tests.docs.blocks import ROOT, name_of, pages
from tools.docs import actions, diagrams, errors

if TYPE_CHECKING:
    from pathlib import Path


class Fetched(HTMLParser):
    """Collects what a browser fetches by itself to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
        self.addresses |= {value for name, value in attrs if value and names.get(tag) == name}


def test_the_site_builds_strictly_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    site = sorted((tmp_path / "site").rglob("*.html"))
    assert len(site) > 30
    for built in site:
        reader = Fetched()
        reader.feed(built.read_text())
        assert [address for address in reader.addresses if re.match(r"(https?:)?//", address)] == [], built.name


def test_the_page_of_errors_is_what_the_classes_say() -> None:
    assert (ROOT / "docs" / "reference" / "errors.md").read_text() == errors.page(), "run make docs"


def test_every_error_of_the_package_is_on_its_page() -> None:
    text = errors.page()
    assert len(errors.classes()) > 30
    for kind in errors.classes():
        assert f"\n## {kind.__name__}\n" in text


def test_the_field_tables_are_what_the_actions_are() -> None:
    current = actions.TARGET.read_text()
    assert current == actions.page(current), "run make docs"


@pytest.mark.parametrize("draw", diagrams.DRAWINGS, ids=lambda draw: draw.__name__)
def test_a_drawing_is_what_its_description_draws(draw: diagrams.Draw) -> None:
    assert (diagrams.TARGET / f"{draw.__name__}.svg").read_text() == draw().render(), "run make docs"


def test_the_benchmark_page_is_made_of_the_results() -> None:
    runs = runs_in(FOLDER)
    assert PAGE.read_text() == page(runs), "run make bench, or python -m benchmarks.page"
    for run in runs:
        assert not run.is_quick, f"{run.bench} was measured with small sizes"
        drawn = ASSETS / f"bench-{run.bench}.svg"
        assert not drawn.exists() or drawn.read_text() == plot(run)


def test_every_setting_that_a_page_names_exists() -> None:
    known = (ROOT / "docs" / "reference" / "settings.md").read_text()
    named = {
        (name_of(one), key)
        for one in pages()
        for key in re.findall(r"spark\.indextables\.[A-Za-z.]*[A-Za-z]", one.read_text())
        if key not in known
    }
    assert named == set()
