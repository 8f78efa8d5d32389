from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.errors import TableNotFoundError
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG
from indextables.log.plain import replay_plainly
from indextables.log.protocol import DEFAULT, LEGACY
from indextables.log.snapshot import Snapshot
from indextables.version import VERSION
from tests.support.logs import PARTITIONED, SCHEMA, Place, add, foreign_add, new_table


def test_tells_what_the_table_is() -> None:
    _, log = new_table(PARTITIONED, ("day",))
    snapshot = log.snapshot()
    assert snapshot.version == 0
    assert snapshot.url == "s3 model"
    assert snapshot.protocol == DEFAULT
    assert snapshot.schema.equals(PARTITIONED)
    assert snapshot.partition_columns == ["day"]
    assert snapshot.metadata.partition_columns == ["day"]
    assert repr(snapshot) == "Snapshot('s3 model', version=0, files=0)"


def test_sums_up_its_files() -> None:
    _, log = new_table()
    assert (log.snapshot().num_files, log.snapshot().size_in_bytes, log.snapshot().num_records) == (0, 0, 0)
    log.add_files([add("a", size=10, num_records=3), add("b", size=2**40, num_records=0)])
    assert (log.snapshot().num_files, log.snapshot().size_in_bytes, log.snapshot().num_records) == (2, 2**40 + 10, 3)


def test_does_not_guess_how_many_rows_a_file_has() -> None:
    _, log = new_table()
    log.add_files([add("a", num_records=3), add("b")])
    assert log.snapshot().num_records is None


def test_keeps_its_files_in_the_order_in_which_they_came() -> None:
    _, log = new_table()
    log.add_files([add("b"), add("a")])
    log.add_files([add("c"), add("b")])
    assert log.snapshot().files["path"].to_pylist() == ["a", "c", "b"]
    assert log.snapshot().files["version"].to_pylist() == [1, 2, 2]


def test_properties_do_not_show_what_commits_wrote_there() -> None:
    _, log = new_table()
    log.update_metadata(configuration={"owner": "me"})
    assert COMMIT_TAG in (log.metadata.configuration or {})
    assert log.snapshot().configuration == {"owner": "me"}


def test_files_of_ours_are_marked_and_those_of_others_are_not() -> None:
    place, log = new_table(files=1)
    place.write(2, foreign_add("theirs", tags={"a": "b"}), foreign_add("bare"))
    snapshot = log.snapshot()
    assert snapshot.ours.to_pylist() == [True, False, False]
    assert snapshot.files["tags"].to_pylist()[0][WRITER_TAG] == VERSION


def test_of_a_table_of_others_only_no_file_is_ours() -> None:
    place, log = new_table()
    place.write(1, foreign_add("a"), foreign_add("b"))
    assert log.snapshot().ours.to_pylist() == [False, False]
    assert new_table()[1].snapshot().ours.to_pylist() == []


def test_of_a_log_without_metadata_has_files_but_no_schema() -> None:
    place = Place()
    place.write(0, foreign_add("a"))

    snapshot = Snapshot("here", replay_plainly(place.model))
    assert snapshot.protocol == LEGACY
    assert snapshot.num_files == 1
    with pytest.raises(TableNotFoundError, match="There is no table at here: its log holds no metaData action"):
        _ = snapshot.metadata


def test_holds_columns_and_no_object_for_each_file() -> None:
    _, log = new_table()
    log.add_files([add(f"f{number}", num_records=number) for number in range(1000)])
    files = log.snapshot().files
    assert isinstance(files, pa.Table)
    assert files.num_rows == 1000
    assert files.schema.field("num_records").type == pa.int64()
    assert isinstance(files.schema.field("min_values").type, pa.StructType)


def test_typed_columns_have_a_row_for_each_file() -> None:
    _, log = new_table(PARTITIONED, ("day",))
    days = ["2024-01-01", None, "2024-01-02"]
    log.add_files([add(f"f{day}", partition_values={"day": day}, min_values={"id": "1"}) for day in days])
    snapshot = log.snapshot()
    assert snapshot.partition_values["day"].type == pa.date32()
    assert [str(day) for day in snapshot.partition_values["day"].to_pylist()] == ["2024-01-01", "None", "2024-01-02"]
    assert snapshot.min_values["id"].to_pylist() == [1, 1, 1]
    assert SCHEMA.field("id").type == snapshot.min_values["id"].type
