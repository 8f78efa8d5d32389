"""Every filter that Spark hands to a Python data source, on awkward values: what the reader keeps is what Spark would keep."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import datasource as ds

from indextables.spark import write
from indextables.spark.source import IndexTablesSource

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

UTC = dt.UTC
VALUES: dict[str, list[tuple[Any, str]]] = {
    "number": [(5, "5L"), (500, "500L"), (2000, "2000L")],
    "name": [("", "''"), ("aé", "'aé'"), ("k", "'k'"), ("zé89", "'zé89'")],
    "ratio": [
        (0.0, "0.0D"),
        (-0.0, "-0.0D"),
        (12.25, "12.25D"),
        (float("nan"), "double('nan')"),
        (float("inf"), "double('inf')"),
    ],
    "single": [(0.1, "0.1D"), (0.10000000149011612, "float(0.1)"), (float("nan"), "float('nan')")],
    "amount": [(decimal.Decimal("1.50"), "1.50"), (decimal.Decimal("-2.40"), "-2.40")],
    "day": [(dt.date(2024, 1, 2), "DATE'2024-01-02'"), (dt.date(1500, 1, 1), "DATE'1500-01-01'")],
    "moment": [(dt.datetime(2024, 1, 5, 6, 0, 0, 1, tzinfo=UTC), "TIMESTAMP'2024-01-05 06:00:00.000001Z'")],
    "wall": [(dt.datetime(2024, 1, 5, 6), "TIMESTAMP_NTZ'2024-01-05 06:00:00'")],  # noqa: DTZ001 - a wall clock
    "flag": [(True, "true"), (False, "false")],
    "raw": [(b"\xff", "X'FF'"), (b"", "X''")],
    "inner.code": [(7, "7L")],
    "region": [("north", "'north'"), ("", "''"), ("so/uth", "'so/uth'")],
}
OPERATORS: list[tuple[Any, str]] = [
    (ds.EqualTo, "="),
    (ds.EqualNullSafe, "<=>"),
    (ds.LessThan, "<"),
    (ds.LessThanOrEqual, "<="),
    (ds.GreaterThan, ">"),
    (ds.GreaterThanOrEqual, ">="),
]
ROWS = """
    SELECT id, IF(id % 11 = 0, NULL, id * 37 % 1000) AS number,
      CASE WHEN id % 13 = 0 THEN NULL WHEN id % 17 = 0 THEN '' ELSE concat(char(97 + id % 26), 'é', CAST(id % 90 AS string)) END AS name,
      CASE WHEN id % 19 = 0 THEN double('nan') WHEN id % 23 = 0 THEN NULL WHEN id % 29 = 0 THEN -0.0D ELSE (id % 200 - 100) / 4.0D END AS ratio,
      CASE WHEN id % 19 = 0 THEN float('nan') WHEN id % 5 = 0 THEN float(0.1) ELSE float(id / 10) END AS single,
      CAST(IF(id % 7 = 0, NULL, (id % 500 - 250) / 100) AS decimal(12,2)) AS amount,
      IF(id = 40, DATE'1500-01-01', date_add(DATE'2023-12-25', CAST(id % 20 AS int))) AS day,
      IF(id % 31 = 0, NULL, timestamp_micros(1704067200000000 + id * 3600000000 + id % 2)) AS moment,
      CAST(CAST(timestamp_micros(1704067200000000 + id * 3600000000) AS string) AS timestamp_ntz) AS wall,
      IF(id % 3 = 0, NULL, id % 2 = 0) AS flag, IF(id % 4 = 0, X'FF', X'') AS raw,
      named_struct('code', id % 50) AS inner,
      CASE id DIV 60 WHEN 0 THEN 'north' WHEN 1 THEN NULL WHEN 2 THEN '' ELSE 'so/uth' END AS region
    FROM range(0, 240, 1, 3)
"""


def cases() -> list[tuple[ds.Filter, str]]:
    found: list[tuple[ds.Filter, str]] = []
    for name, values in VALUES.items():
        path = tuple(name.split("."))
        found += [(make(path, value), f"{name} {sign} {text}") for make, sign in OPERATORS for value, text in values]
        listed = ", ".join(text for _, text in values)
        found.append((ds.In(path, tuple(value for value, _ in values)), f"{name} IN ({listed})"))
        found += [(ds.IsNull(path), f"{name} IS NULL"), (ds.IsNotNull(path), f"{name} IS NOT NULL")]
    found += [
        (ds.StringStartsWith(("name",), "k"), "name LIKE 'k%'"),
        (ds.StringContains(("name",), "é1"), "name LIKE '%é1%'"),
    ]
    return found + [(ds.Not(item), f"NOT ({text})") for item, text in found]


@pytest.mark.slow
def test_a_pushed_filter_keeps_what_spark_would_keep(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        rows = spark.sql(ROWS)
        write(rows, path, partition_by=["region"])
        every = cases()
        answer = rows.selectExpr(*[f"collect_list(IF({text}, id, NULL))" for _, text in every]).first()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert answer is not None
    skipped = 0
    for (item, text), expected in zip(every, answer, strict=True):
        source = IndexTablesSource({"path": path, "columns": "id", "pushFilters": "true"})
        reader: Any = source.reader(source.schema())
        reader.pushFilters([item])
        parts = reader.partitions()
        skipped += sum(len(part.files) for part in parts) < 6
        found = [row for part in parts for batch in reader.read(part) for row in batch.column("id").to_pylist()]
        if isinstance(item, ds.StringContains) or (
            isinstance(item, ds.Not) and isinstance(item.child, ds.StringContains)
        ):
            assert len(found) == 240, text
        else:
            assert sorted(found) == sorted(expected), text
    assert len(every) > 150
    assert skipped > 40
