"""The names that people import, and what importing them costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import indextables

README = Path(__file__).parents[2] / "README.md"


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


def test_the_samples_of_the_readme_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) == 2
    code = "\n".join(blocks).replace('"/tmp/', f'"{tmp_path}/').replace("'/tmp/", f"'{tmp_path}/")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "0 of 2 files stay" in done.stdout
