"""A table in whose names and values everything is that could do harm on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

from indextables.log.open import open_log
from indextables.table import Table

if TYPE_CHECKING:
    from pathlib import Path

PAYLOADS: Final = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></code><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "]]><!--",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe",
    "\x1b[31m",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A payload in the path, in names of columns, in partition values, in properties, in a note, and in a skipped file's reason."""
    path = tmp_path_factory.mktemp("report") / "<img src=x onerror=alert(1)>'\""
    columns = {f"c{number} {text}": pa.array([1, 2], pa.int64()) for number, text in enumerate(PAYLOADS)}
    log = open_log(str(path))
    log.initialize(
        pa.schema([*((name, pa.int64()) for name in columns), (PAYLOADS[0], pa.string())]),
        [PAYLOADS[0]],
        name=PAYLOADS[3],
        description=PAYLOADS[1],
        configuration={PAYLOADS[2]: PAYLOADS[0]},
    )
    table = Table(str(path))
    for text in PAYLOADS:
        table.append(pa.table({**columns, PAYLOADS[0]: [text] * 2}))
    first = log.list_files()["path"][0].as_py()
    log.record_skipped_file(first, reason=PAYLOADS[0], operation=PAYLOADS[1])
    return path
