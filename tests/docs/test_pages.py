"""Every code block that a reader may copy runs, and prints what the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.blocks import RUN, SHOWN, blocks_of, differs, name_of, pages
from tests.docs.runner import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

NOT_RUN = [
    ("docs/how-to/hdfs.md", "needs a NameNode"),
    ("docs/how-to/hdfs.md", "needs a NameNode"),
    ("docs/how-to/hdfs.md", "needs a NameNode"),
    ("docs/how-to/s3.md", "the tests have an endpoint and keys of their own"),
    ("docs/how-to/s3.md", "needs the hadoop-aws jar"),
    ("docs/how-to/shell-completion.md", "it changes the files of a shell"),
    ("docs/reliability.md", "it takes many minutes and writes this page"),
    ("docs/reliability.md", "it takes an hour and writes this page"),
]
"""Blocks that can run on no machine by themselves, with the reason that their page gives."""

WITH_CODE = [
    page
    for page in pages()
    if any(block.language in RUN and not block.not_run for block in blocks_of(page.read_text()))
]


@pytest.mark.xdist_group("docs")
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs(
    page: Path,
    tmp_path: Path,
    spark: Callable[[], SparkSession],
    metastore: Callable[[], str],
    s3: Callable[[], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    text = page.read_text()
    environment = s3() if "s3://lake" in text else {}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    run = Page(name_of(page), tmp_path, spark=spark, metastore=metastore, environment=environment)
    record_property("code blocks of the documentation", run.run(blocks_of(text)))


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    found = [
        (name_of(page), block.not_run) for page in pages() for block in blocks_of(page.read_text()) if block.not_run
    ]
    assert found == NOT_RUN


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_fence_has_a_language_that_says_whether_it_is_run(page: Path) -> None:
    text = page.read_text()
    found = blocks_of(text)
    assert [block.line for block in found if block.language not in RUN | SHOWN] == []
    assert text.count("```") == 2 * len(found), "a fence is not closed, or is written in another way"


def test_output_is_compared_line_by_line_with_room_for_what_changes() -> None:
    assert not differs("a …\nb", "a 17 ms  \nb\n")
    assert differs("a …\nb", "a 17 ms\nc\n")
    assert differs("a", "a\nb\n")


def test_comments_before_a_fence_belong_to_that_fence_alone() -> None:
    first, second = blocks_of("<!-- not run: no cluster -->\n```python\na\n```\n\n```bash\nb\n```\n")
    assert (first.not_run, first.line, first.code) == ("no cluster", 3, "a\n")
    assert (second.not_run, second.language) == ("", "bash")
