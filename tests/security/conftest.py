"""The Spark session that tests/spark uses, so that a process starts one."""

from __future__ import annotations

from tests.spark.conftest import spark

__all__ = ["spark"]
