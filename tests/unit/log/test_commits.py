"""Which reader takes some commits: the one that begins at once, or the one that is quick when it has begun."""

from __future__ import annotations

from functools import partial

import pytest

from indextables.log import commits
from tests.support.logs import add, new_table, paths


@pytest.mark.parametrize(
    ("versions", "files", "reader"),
    [(8, 1, "decode_few"), (60, 1, "decode_few"), (80, 1, "decode_commits"), (2, 4000, "decode_commits")],
)
def test_dozens_of_small_commits_are_read_line_by_line_and_others_in_bulk(
    versions: int, files: int, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, log = new_table()
    for version in range(versions):
        log.add_files([add(f"{version}/{number * 7919 % 10007}") for number in range(files)])
    asked = []

    def noted(name: str, read: object, *arguments: object, **options: object) -> object:
        assert callable(read)
        asked.append(name)
        return read(*arguments, **options)

    for name in ("decode_few", "decode_commits"):
        monkeypatch.setattr(commits, name, partial(noted, name, getattr(commits, name)))
    assert paths(place.log()) == paths(log)
    assert set(asked) == {reader}
