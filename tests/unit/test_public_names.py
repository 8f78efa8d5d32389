"""The names that people import, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import indextables


@pytest.mark.parametrize("name", sorted(set(indextables.__all__)))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(indextables, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_this"):
        _ = indextables.nothing_like_this


def test_all_names_are_listed() -> None:
    assert dir(indextables) == sorted(indextables.__all__)


def test_spark_is_imported_by_nobody_who_does_not_use_it() -> None:
    code = "import sys, indextables; indextables.Table; indextables.repair; indextables.drop_partitions; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
