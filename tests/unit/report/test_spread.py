from __future__ import annotations

import pyarrow as pa

from indextables.report.spread import LARGEST, partitions_of, sizes_of
from tests.support.logs import add, new_table

COLUMNS = pa.schema([("id", pa.int64()), ("day", pa.int64()), ("region", pa.string())])


def test_each_file_is_in_the_range_of_its_size() -> None:
    sizes = [0, 16383, 16384, 65535, 5 << 20, 4 << 30, 1 << 40]
    _, log = new_table()
    log.add_files([add(f"f{number}", size=size) for number, size in enumerate(sizes)])
    found = sizes_of(log.snapshot())
    for one in found:
        held = [size for size in sizes if size >= one.least and (one.below is None or size < one.below)]
        assert (one.files, one.bytes) == (len(held), sum(held))
    assert [one.below for one in found[:-1]] == [one.least for one in found[1:]]
    assert found[-1].files == 2


def test_a_table_without_partitions_has_none_to_show() -> None:
    assert partitions_of(new_table(files=1)[1].snapshot()) is None


def test_partitions_are_summed_named_and_ordered_by_their_values() -> None:
    _, log = new_table(COLUMNS, ("day", "region"))
    values = [("10", "eu"), ("9", "eu"), (None, "us"), ("9", None), ("9", "eu")]
    log.add_files(
        [
            add(f"f{number}", partition_values={"day": day, "region": region}, size=10**number, num_records=number)
            for number, (day, region) in enumerate(values)
        ]
    )
    found = partitions_of(log.snapshot())
    assert found is not None
    assert (found.columns, found.count, found.rest) == (("day", "region"), 4, None)
    assert [cell.first for cell in found.cells] == [
        "day=9/region=eu",
        "day=9/region=null",
        "day=10/region=eu",
        "day=null/region=us",
    ]
    first = found.largest[0]
    assert (first.name, first.files, first.rows, first.bytes) == ("day=9/region=eu", 2, 5, 10_010)


def test_rows_of_a_partition_are_unknown_where_a_file_does_not_say() -> None:
    _, log = new_table(COLUMNS, ("day",))
    log.add_files([add("a", partition_values={"day": "1"}), add("b", partition_values={"day": "1"}, num_records=5)])
    found = partitions_of(log.snapshot())
    assert found is not None
    assert found.largest[0].rows is None


def test_ten_thousand_partitions_become_a_few_cells_and_nothing_is_lost() -> None:
    _, log = new_table(COLUMNS, ("day",))
    count = 10_000
    log.add_files([add(f"f{day}", partition_values={"day": str(day)}, size=day, num_records=1) for day in range(count)])
    found = partitions_of(log.snapshot())
    assert found is not None
    assert found.count == count
    assert len(found.cells) <= 300
    assert sum(cell.partitions for cell in found.cells) == sum(cell.files for cell in found.cells) == count
    assert sum(cell.bytes for cell in found.cells) == sum(range(count))
    assert (found.cells[0].first, found.cells[-1].last) == ("day=0", f"day={count - 1}")
    assert [one.name for one in found.largest] == [f"day={count - 1 - place}" for place in range(LARGEST)]
    assert found.rest is not None
    assert found.rest.bytes + sum(one.bytes for one in found.largest) == sum(range(count))
    assert found.rest.files == found.rest.rows == count - LARGEST


def test_a_partitioned_table_without_files_has_no_cells() -> None:
    found = partitions_of(new_table(COLUMNS, ("day",))[1].snapshot())
    assert found is not None
    assert (found.count, found.cells, found.largest) == (0, (), ())
