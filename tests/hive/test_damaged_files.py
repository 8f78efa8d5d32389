"""Files of a Hive table that are damaged: the table is refused with the file's name, and no damaged value becomes a sound one.

Compaction writes values anew, with new checksums. What it took for a value would look sound for ever after.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from indextables.errors import StorageError, TableRefusedError, VerificationError
from indextables.hive.filesystem import Entry
from indextables.hive.local import LocalFileSystem
from indextables.hive.rewrite import Group, rewrite
from indextables.testing.virtual import dice
from tests.hive.tables import events
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = times(560)
ROWS = events(0, 20)
CODECS = ("none", "snappy", "gzip", "zstd")


def parquet(codec: str = "snappy") -> bytes:
    """Return a file as Spark and Hive write them: with a checksum of every page."""
    sink = io.BytesIO()
    pq.write_table(ROWS, sink, store_schema=False, compression=codec, write_page_checksum=True)
    return sink.getvalue()


def orc_file() -> bytes:
    sink = io.BytesIO()
    orc.write_table(ROWS, sink)
    return sink.getvalue()


def footer_of(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def compacted(data: bytes, place: Path, kind: str = "parquet") -> pa.Table:
    """Rewrite a file, and return the rows of what was written."""
    for name in ("source", "target"):
        (place / name).mkdir(exist_ok=True)
    file = place / "source" / f"damaged.{kind}"
    file.write_bytes(data)
    files = (Entry(file.name, len(data), 1),)
    group = Group("db.t", str(file.parent), str(place / "target"), 0, 1, files, kind)
    try:
        written = rewrite(group).files
        return pa.concat_tables(
            (pq.read_table if kind == "parquet" else orc.read_table)(place / "target" / name) for name in written
        )
    finally:
        for left in (place / "target").iterdir():
            left.unlink()


@pytest.mark.slow
def test_no_flipped_bit_in_a_page_becomes_a_value(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance, refused = dice(1), 0
    for case in range(CASES):
        data = parquet(CODECS[case % len(CODECS)])
        bit = chance.randrange(8 * footer_of(data))
        try:
            assert compacted(flipped(data, bit), tmp_path).equals(ROWS), f"bit {bit}, {CODECS[case % len(CODECS)]}"
        except TableRefusedError as error:
            refused += "damaged.parquet is not a whole Parquet file" in str(error)
    assert refused > CASES / 2
    record_property("damaged pages of Hive tables", CASES)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), [("parquet", parquet), ("orc", orc_file)])
def test_whatever_is_flipped_or_cut_a_file_is_read_or_the_table_refused(
    kind: str, make: Callable[[], bytes], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance, data = dice(2), make()
    for case in range(CASES):
        damaged = (
            data[: chance.randrange(len(data))] if case % 8 == 0 else flipped(data, chance.randrange(8 * len(data)))
        )
        with suppress(TableRefusedError):  # and nothing else
            compacted(damaged, tmp_path, kind)
    record_property(f"damaged {'Parquet' if kind == 'parquet' else 'ORC'} files of Hive tables", CASES)


def test_a_page_that_does_not_match_its_checksum_is_refused(tmp_path: Path) -> None:
    data = parquet("none")
    with pytest.raises(TableRefusedError, match=r"damaged\.parquet is not a whole Parquet file .*CRC"):
        compacted(data.replace(b"name-19", b"name-18"), tmp_path)


def test_what_is_written_has_checksums_again(tmp_path: Path) -> None:
    group = Group("db.t", str(tmp_path), f"{tmp_path}/new", 0, 1, (Entry("a.parquet", len(parquet()), 1),), "parquet")
    (tmp_path / "a.parquet").write_bytes(parquet("none"))
    (tmp_path / "new").mkdir()
    rewrite(group)
    (written,) = (tmp_path / "new").iterdir()
    written.write_bytes(written.read_bytes().replace(b"name-19", b"name-18"))
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(written, page_checksum_verification=True)


@pytest.mark.parametrize("bit", range(7))
def test_a_column_of_another_type_than_its_pages_does_not_end_the_process(bit: int, tmp_path: Path) -> None:
    data = parquet()
    kind = data.index(b"\x18\x02id", footer_of(data)) - 3  # of the column, which stands before its name
    with pytest.raises(TableRefusedError, match=r"damaged\.parquet is not a whole Parquet file"):
        compacted(flipped(data, 8 * kind + bit), tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_what_was_written_and_cannot_be_read_is_thrown_away(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = LocalFileSystem.open_input

    def halved(system: LocalFileSystem, location: str, length: int) -> object:
        if "/target/" not in location:
            return plain(system, location, length)
        return pa.BufferReader(plain(system, location, length).read()[: length // 2])

    monkeypatch.setattr(LocalFileSystem, "open_input", halved)
    with pytest.raises(VerificationError, match="is not a whole"):
        compacted(parquet() if kind == "parquet" else orc_file(), tmp_path, kind)


def test_a_disk_that_fails_is_not_taken_for_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("indextables.hive.parquet.pq.ParquetFile", failing)
    with pytest.raises(StorageError, match="Input/output error"):
        compacted(parquet(), tmp_path)
