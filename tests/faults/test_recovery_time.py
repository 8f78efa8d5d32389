"""A long log whose last writer died opens, takes a commit and is summed up in no more time than anybody notices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from indextables.log import open as open_log
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.log.lines import format_lines
from indextables.runtime import SYSTEM
from indextables.storage.temporary import temporary_name
from tests.support.logs import SCHEMA, add

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSIONS = 1_000
LONGEST_S = 2.0


def test_a_log_of_a_thousand_versions_is_recovered_within_two_seconds(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    open_log(str(tmp_path)).initialize(SCHEMA)
    for version in range(1, VERSIONS):
        (tmp_path / commit_path(version)).write_bytes(format_lines([add(f"file-{version}.split")]))
    (tmp_path / LOG_DIRECTORY / temporary_name(SYSTEM)).write_bytes(b'{"add":{"path":"cut o')
    started = time.process_time()  # of this process alone, for tests share the machine
    log = open_log(str(tmp_path))
    result = log.add_files([add("after.split")])
    log.checkpoint()
    seconds = time.process_time() - started
    assert result.version == VERSIONS
    assert log.list_files().num_rows == VERSIONS
    print(f"{VERSIONS} versions recovered in {seconds:.2f} s")
    record_property("milliseconds to recover a log of 1,000 versions", round(seconds * 1000))
    assert seconds <= LONGEST_S
