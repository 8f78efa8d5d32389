"""Tables made by hand as somebody who may write into a directory would make them, and every way into them that people use."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables import Table, repair
from indextables.log.layout import commit_path
from indextables.spark.purge import purge
from tests.fuzz.targets import outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECONDS: Final = 20
SLOW: Final = {"spark.indextables.transaction.useOptimized": "false"}


def table(root: Path, *, rows: int = 3) -> Path:
    """Return the directory of a good table: a row a version."""
    for number in range(rows):
        Table(str(root)).append(pa.table({"id": [number]}))
    return root


def line(kind: str, **fields: Any) -> bytes:
    """Return one action as a line; what an add needs is filled in."""
    needed: dict[str, Any] = {"dataChange": True} if kind in {"add", "remove"} else {}
    if kind == "add":
        needed |= {"partitionValues": {}, "size": 1, "modificationTime": 1}
    return json.dumps({kind: needed | fields}).encode() + b"\n"


def commit(root: Path, data: bytes, version: int | None = None) -> Path:
    """Write a commit as it stands, after the last one if it is not said where, and return its file."""
    if version is None:
        version = 0
        while (root / commit_path(version)).exists():
            version += 1
    file = root / commit_path(version)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def copied(source: Path, target: Path) -> Path:
    """Return a copy of a table, in place of what was there."""
    if target.exists():
        shutil.rmtree(target)
    return shutil.copytree(source, target, symlinks=True)


ENTRANCES: Final[dict[str, Callable[[str], object]]] = {
    "rows": lambda path: Table(path).to_arrow(),
    "files": lambda path: Table(path).files(),
    "the plain reader": lambda path: Table(path, options=SLOW).to_arrow(),
    "append": lambda path: Table(path).append(pa.table({"id": [9]})),
    "delete": lambda path: Table(path).delete("id >= 0"),
    "checkpoint": lambda path: Table(path).checkpoint(),
    "cleanup": lambda path: Table(path).cleanup(),
    "purge": lambda path: purge(None, path, dry_run=False),
    "repair, looking": repair,
    "repair": lambda path: repair(path, dry_run=False),
}
"""What people do with a table, by its path."""


def entered(entrance: str, root: Path) -> Any:
    """Return what an entrance answers, or the typed error that it raises."""
    return outcome(lambda: ENTRANCES[entrance](str(root)))


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@contextmanager
def within(seconds: int = SECONDS) -> Iterator[None]:
    """Fail if something takes longer: a hang is an answer that never comes."""

    def late(*_: object) -> None:
        raise AssertionError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)  # whoever else had set one waits on


_CHILD: Final = """
import json, resource, sys, time
limit, code = int(sys.argv[1]), sys.argv[2]
import pyarrow as pa, pyarrow.parquet, indextables, indextables.errors
from tests.security.crafted import ENTRANCES
for path in sys.argv[3:]:
    before = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_AS, (limit << 20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        result = ["answered", str(ENTRANCES[code](path))[:200]]
    except indextables.errors.IndexTablesError as error:
        result = [type(error).__name__, str(error)]
    except BaseException as error:
        result = ["NOT OURS: " + type(error).__name__, str(error)]
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([*result, after.ru_utime - before.ru_utime, (after.ru_maxrss - before.ru_maxrss) / 1024]))
"""


def confined(paths: list[Path], entrance: str, *, mebibytes: int = 3000) -> list[tuple[str, str, float, float]]:
    """Enter tables in a child process that cannot have more memory.

    Returns:
        For each: the name of the typed error or `answered`, its text, seconds of CPU, and MiB that it took beyond those before.
    """
    command = [sys.executable, "-c", _CHILD, str(mebibytes), entrance, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [tuple(json.loads(answer)) for answer in done.stdout.splitlines()]
    assert len(answers) == len(paths), done.stderr[-2000:]
    return answers
