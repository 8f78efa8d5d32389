"""S1, S2, S3, S5, S14: no path in a log leads out of its table, and one file has one name.

What the check itself says of each path is specified in tests/unit/storage/test_paths.py; here every path lies in a real log, and
every way into the table is tried. A file outside is watched: nobody reads it into an answer, and nobody deletes it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables import IndexTablesError, Table
from indextables.errors import UnsafePathError
from indextables.storage.paths import canonical, parse_partition_path
from tests.fuzz.corpus import VALUES
from tests.fuzz.targets import outcome
from tests.security.crafted import ENTRANCES, commit, contents, copied, entered, line, table, within
from tests.support.logs import add

if TYPE_CHECKING:
    from pathlib import Path

TREASURE = b"treasure outside the table"

TRAVERSAL = [
    "../outside/treasure",
    "a/../../outside/treasure",
    "./../outside/treasure",
    "../../outside/treasure",
    "day=1/../../outside/treasure",
    "a/./b",
    "./a",
    "a/.",
    "..",
    ".",
    "%2e%2e/outside/treasure",
    "%2E%2E%2Foutside%2Ftreasure",
    "..%2foutside",
    "%252e%252e/outside",
    "%25252e%25252e/outside",
    "%2e./outside",
    ".%2e/outside",
    "..%5coutside",
    "..%252foutside",
    "..\\outside\\treasure",
    "a\\..\\..\\outside",
    "\\\\server\\share",
    "..\x00/outside",
    "\x00",
    "a\x00.split",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\x1b[2Jb",
    "a\x7fb",
    "a\x85b",
    "a\x9bb",
    "．．/outside",
    "․․/outside",
    "‥/outside",
    "．/outside",
]
ELSEWHERE = [
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "file:/etc/passwd",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "s3://other-bucket/key",
    "S3A://other-bucket/key",
    "gs://other/key",
    "abfss://c@account.dfs.core.windows.net/key",
    "hdfs://namenode:8020/key",
    "viewfs:/key",
    "http://169.254.169.254/latest/meta-data",
    "https://user:password@host/key",
    "jar:file:/x.jar!/y",
    "C:\\Windows\\system.ini",
    "C:/Windows/system.ini",
    "data:text/plain,x",
    "javascript:x",
]
TWO_NAMES = ["a//b", "a/", "/a", "a/./b", "./a", "a/b/../b", "", "x" * 1025, "y/" * 2048 + "z"]
UNSAFE = [*TRAVERSAL, *ELSEWHERE, *TWO_NAMES]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(tmp_path_factory.mktemp("paths") / "table")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "treasure").write_bytes(TREASURE)
    return directory


@pytest.mark.parametrize("kind", ["add", "remove", "mergeskip"])
def test_a_path_that_leads_or_could_lead_outside_is_refused_by_every_reader(
    kind: str, good: Path, outside: Path, tmp_path: Path, record_property: Any
) -> None:
    fields = {"skipTimestamp": 1, "reason": "r", "operation": "merge"} if kind == "mergeskip" else {}
    root = copied(good, tmp_path / "t")
    tried = UNSAFE if kind == "add" else UNSAFE[::4]
    for path in tried:
        file = commit(root, line(kind, path=path, **fields))
        for entrance in ("files", "the plain reader"):
            with pytest.raises(UnsafePathError) as caught:
                ENTRANCES[entrance](str(root))
            assert caught.value.path == path
        file.unlink()
    assert contents(outside) == {"treasure": TREASURE}
    assert Table(str(root)).count() == 3
    record_property("security payloads", len(tried))


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_no_operation_touches_what_an_unsafe_path_names(
    entrance: str, good: Path, outside: Path, tmp_path: Path, record_property: Any
) -> None:
    names = [
        "../outside/treasure",
        "%2e%2e/outside/treasure",
        f"{outside}/treasure",
    ]
    for path in names:
        root = copied(good, tmp_path / "t")
        commit(root, line("add", path=path) + line("remove", path=path, deletionTimestamp=1))
        with within():
            assert "treasure outside" not in str(entered(entrance, root))
        assert contents(outside) == {"treasure": TREASURE}
    record_property("security payloads", len(names))


def test_a_commit_with_an_unsafe_path_is_never_written(good: Path, tmp_path: Path, record_property: Any) -> None:
    root = copied(good, tmp_path / "t")
    log = Table(str(root)).log
    for path in UNSAFE:
        with pytest.raises(UnsafePathError):
            log.add_files([add(path)])
    assert Table(str(root)).version == 3
    record_property("security payloads", len(UNSAFE))


def test_a_sibling_with_the_same_beginning_is_another_place(tmp_path: Path, record_property: Any) -> None:
    root = table(tmp_path / "sales")
    evil = table(tmp_path / "sales-evil", rows=1)
    before = contents(evil)
    split = next(evil.glob("*.split")).name
    names = [f"../sales-evil/{split}", f"-evil/{split}", f"{evil}/{split}", f"{root}-evil/{split}"]
    for path in names:
        file = commit(root, line("add", path=path))
        with pytest.raises(IndexTablesError):
            Table(str(root)).to_arrow()
        file.unlink()
    assert contents(evil) == before
    record_property("security payloads", len(names))


LINKED = {
    "a commit": "_transaction_log/00000000000000000003.json",
    "the hint": "_transaction_log/_last_checkpoint",
    "a checkpoint": "_transaction_log/00000000000000000003.checkpoint.json",
    "a data file": None,
    "the log": "_transaction_log",
}


@pytest.mark.parametrize("target", ["a file outside", "a device", "a loop", "nothing"])
@pytest.mark.parametrize("name", LINKED)
def test_a_symbolic_link_that_leads_outside_is_not_followed(
    name: str, target: str, good: Path, outside: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    link = root / (LINKED[name] or next(root.glob("*.split")).name)
    if link.exists():
        link.rename(outside / "moved")
    led: dict[str, str | Path] = {
        "a file outside": outside / "moved",
        "a device": "/dev/zero",
        "a loop": link,
        "nothing": outside / "none",
    }
    if target == "a file outside" and not (outside / "moved").exists():
        (outside / "moved").write_bytes(b'{"version":3}')
    link.symlink_to(led[target])
    with within():
        rows = outcome(lambda: Table(str(root)).to_arrow())
    assert "moved" not in str(rows)
    if not isinstance(rows, IndexTablesError):
        # The last commit, the hint and a checkpoint may be missing; what is outside is no part of an answer.
        assert name in {"the hint", "a checkpoint", "a commit"}
        assert rows.num_rows == (2 if name == "a commit" else 3)
    record_property("security payloads", 1)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_linked_directories_and_files_outside_survive_every_operation(
    entrance: str, good: Path, outside: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    victim = "00000000-0000-4000-8000-000000000000.split"
    (outside / victim).write_bytes(TREASURE)
    os.utime(outside / victim, (0, 0))
    (root / "day=1").symlink_to(outside, target_is_directory=True)
    (root / "_staging").symlink_to(outside, target_is_directory=True)
    (root / victim).symlink_to(outside / victim)
    (root / "_transaction_log" / "_floor").symlink_to(outside, target_is_directory=True)
    before = contents(outside)
    with within():
        assert TREASURE.decode() not in str(entered(entrance, root))
    assert contents(outside) == before
    record_property("security payloads", 4)


@pytest.mark.parametrize(
    "name", ["_transaction_log/_last_checkpoint", "_transaction_log/00000000000000000003.json", "x.split"]
)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(
    name: str, good: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    if name == "x.split":
        commit(root, line("add", path=name))
    for entrance in ("rows", "the plain reader", "repair, looking"):
        with within():
            entered(entrance, root)
    record_property("security payloads", 1)


def test_one_file_cannot_live_twice_under_two_spellings_of_its_path(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    split = next(good.glob("*.split")).name
    spellings = [f"./{split}", f"/{split}", f"x/../{split}", f"{split}/", f"%2e/{split}", f".//{split}", f"{split}\x00"]
    for other in spellings:
        root = copied(good, tmp_path / "t")
        commit(root, line("remove", path=other))
        with pytest.raises(UnsafePathError):
            Table(str(root)).count()
    for other in (split.upper(), split.replace("-", "%2D", 1), f"{split} "):
        root = copied(good, tmp_path / "t")
        commit(root, line("remove", path=other))  # another name is another file: nothing is removed
        assert Table(str(root)).count() == 3
    record_property("security payloads", len(spellings) + 3)


def test_every_partition_value_comes_back_and_stays_inside(tmp_path: Path, record_property: Any) -> None:
    values = [value for value in VALUES if value and len(value.encode()) < 80 and value != "__HIVE_DEFAULT_PARTITION__"]
    events = Table(str(tmp_path / "t"))
    events.append(pa.table({"id": range(len(values) + 1), "p": [*values, None]}), partition_by=["p"])
    rows = events.to_arrow()
    assert dict(zip(rows["id"].to_pylist(), rows["p"].to_pylist(), strict=True)) == dict(enumerate([*values, None]))
    for path in events.files()["path"].to_pylist():
        assert canonical(path) == path
        ((name, _),) = parse_partition_path(path)
        assert name == "p"
    assert {path.name for path in tmp_path.iterdir()} == {"t"}
    assert all(len(path.relative_to(tmp_path / "t").parts) == 2 for path in (tmp_path / "t").glob("p=*/*"))
    record_property("security payloads", len(values) + 1)
