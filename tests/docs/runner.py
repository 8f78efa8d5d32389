"""Runs the blocks of one page, in order and in one namespace, as a reader would who types them all."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import indextables as it
from tests.docs.blocks import OUTPUT, Block, differs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

_PLACE: Final = re.compile(r"(?<![\w/.])/(?:data|tmp)/")
_METASTORE: Final = "thrift://metastore:9083"


class Page:
    """A page that is being run.

    Args:
        name: What tracebacks call it.
        work: Where its files go: what a page puts under `/data` or `/tmp` lands here.
        spark: Starts the session when a block needs it.
        metastore: Starts the Metastore, and returns its address, when a block needs it.
        environment: Variables for commands.
    """

    def __init__(
        self,
        name: str,
        work: Path,
        *,
        spark: Callable[[], SparkSession],
        metastore: Callable[[], str],
        environment: Mapping[str, str],
    ) -> None:
        self._name = name
        self._work = work
        self._spark = spark
        self._metastore = metastore
        self._environment = {**os.environ, **environment}
        self._environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._names: dict[str, Any] = {"__name__": f"page {name}"}
        self._printed = ""

    def run(self, blocks: list[Block]) -> int:
        """Run the blocks and return how many there were; output that differs from what the page says is an error."""
        count = 0
        with chdir(self._work):
            for block in blocks:
                if block.before:
                    self._python(block.before, block.line)
                if block.title == OUTPUT:
                    said = self._placed(block.code)
                    assert not differs(said, self._printed), (
                        f"{self._name}, line {block.line} says\n{said}\nbut this is printed:\n{self._printed}"
                    )
                elif block.title:
                    Path(block.title).write_text(self._placed(block.code))
                if block.language in _WAYS and not block.not_run:
                    self._printed = _WAYS[block.language](self, block.code, block.line)
                    count += 1
        return count

    def _placed(self, code: str) -> str:
        code = _PLACE.sub(f"{self._work}/", code)
        return code.replace(_METASTORE, self._metastore()) if _METASTORE in code else code

    def _python(self, code: str, line: int) -> str:
        if re.search(r"\bspark\b", code) and "spark" not in self._names:
            self._names["spark"] = self._spark()
        printed = io.StringIO()
        # Blank lines first, so that a traceback names the line of the page.
        source = "\n" * (line - 1) + self._placed(code)
        with redirect_stdout(printed):
            exec(compile(source, self._name, "exec"), self._names)
        return printed.getvalue()

    def _bash(self, code: str, line: int) -> str:
        if "lakekeeper" in code:
            self._environment["LAKEKEEPER_METASTORE"] = self._metastore()
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self._placed(code)],
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=120,
        )
        assert done.returncode == 0, f"{self._name}, line {line} ends with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def _sql(self, code: str, line: int) -> str:  # noqa: ARG002 - as the other ways
        spark = self._spark()
        printed = io.StringIO()
        with redirect_stdout(printed):
            for statement in re.split(r";\s*(?:\n|\Z)", self._placed(code)):
                if statement.strip():
                    it.sql(spark, statement).show(truncate=False)
        return printed.getvalue()


_WAYS: Final[dict[str, Callable[[Page, str, int], str]]] = {
    "python": Page._python,
    "bash": Page._bash,
    "sql": Page._sql,
}
