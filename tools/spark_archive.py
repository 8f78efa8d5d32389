"""Keeps the classes that a Spark session loads in one archive, so that each Java of the tests starts in half the time.

    python tools/spark_archive.py .tools/spark.jsa

Tests start dozens of Javas, and half of what each does in its first seconds is to unpack and verify the same classes.
Java writes those of one session to the archive when that session ends, and maps them into memory afterwards. An archive of
another Java or of other jars is ignored by Java itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

# The collector and the compiler of the tests: an archive serves only the collector that it was written under. Without its second
# compiler Java reserves 48 MB for code, which some hundred queries fill; it interprets from then on, and may fail.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"


def main() -> int:
    target = Path(sys.argv[1]).absolute()
    if len(sys.argv) > 2:
        use_spark(Path(sys.argv[2]))
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    print("Keeping Spark's classes, so that tests start faster (about a minute, once)", flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        written = Path(work) / target.name
        options = f"{OPTIONS} -Xlog:disable -XX:ArchiveClassesAtExit={written}"
        session = subprocess.run(
            [sys.executable, __file__, target, work],
            env={**os.environ, "SPARK_SUBMIT_OPTS": options},
            capture_output=True,  # which waits for Java, too, for it writes to the same pipe
            text=True,
            check=False,
        )
        if session.returncode:
            print(session.stderr, file=sys.stderr)
            return session.returncode
        if not written.is_file():
            print("This Java keeps no classes; the tests run all the same, and take longer.")
            return 0
        written.replace(target)
    return 0


def use_spark(work: Path) -> None:
    """Start Spark with a Metastore in it, and do a little of everything; its Java ends with the process."""
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={work / 'db'};create=true")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={work}")
        .enableHiveSupport()
        .getOrCreate()
    )
    rows = session.range(1000).selectExpr("id", "cast(id % 7 as string) as name", "id * 0.5 as amount")
    rows.write.partitionBy("name").parquet(str(work / "files"))
    read = session.read.parquet(str(work / "files"))
    read.filter("id > 10 and name = '3'").groupBy("name").agg({"amount": "max"}).orderBy("name").collect()
    read.join(rows, "id").toPandas()
    session.sql("create table kept (id bigint, amount double) partitioned by (name string) stored as parquet")
    session.sql(f"insert into kept partition (name = 'a') select id, amount from parquet.`{work / 'files'}`")
    session.sql("select name, count(*) from kept where id < 100 group by name").collect()
    session.sql("drop table kept")
    session.stop()


if __name__ == "__main__":
    sys.exit(main())
