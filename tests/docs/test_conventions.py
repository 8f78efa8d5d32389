"""What people expect of a Python library: it logs under its own name, prints nothing, warns with a category, and is typed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import indextables
import pyspark_indextables
from tests.docs.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(indextables.__file__).parent
MODULES = sorted(SOURCES.rglob("*.py"))
VARIABLE = re.compile(r"(?:AWS|AZURE|FORCE|GOOGLE|HADOOP|HIVE|INDEXTABLES|JAVA|LAKEKEEPER|NO|PYSPARK|SPARK)_[A-Z_0-9]+")


def calls(module: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def place(module: Path, node: ast.Call) -> str:
    return f"{module.relative_to(SOURCES)}, line {node.lineno}"


def test_modules_log_under_the_packages_name_alone() -> None:
    found = [(module, name, call) for module in MODULES for name, call in calls(module)]
    loggers = [(module, call) for module, name, call in found if name.endswith("getLogger")]
    assert len(loggers) > 10
    allowed = {"__name__", "'indextables'"}
    assert [place(module, call) for module, call in loggers if ast.unparse(call.args[0]) not in allowed] == []
    root = re.compile(r"logging\.(debug|info|warning|error|critical|exception|basicConfig)")
    assert [place(module, call) for module, name, call in found if root.fullmatch(name)] == []


def test_warnings_have_a_category() -> None:
    found = [(module, call) for module in MODULES for name, call in calls(module) if name in {"warnings.warn", "warn"}]
    named = [call for _, call in found if len(call.args) > 1 or any(word.arg == "category" for word in call.keywords)]
    assert [place(module, call) for module, call in found if call not in named] == []


def test_only_commands_print() -> None:
    found = [
        place(module, call)
        for module in MODULES
        if not module.is_relative_to(SOURCES / "cli")
        for name, call in calls(module)
        if name in {"print", "sys.stdout.write", "sys.stderr.write", "click.echo"}
    ]
    # This module is the program that writes the page of settings.
    assert [where for where in found if not where.startswith("config/docs.py")] == []


def test_importing_the_package_changes_nothing_about_logging_and_prints_nothing() -> None:
    code = "import logging, indextables as it; it.Table; it.repair; print(logging.root.handlers, logging.getLogger('indextables').level)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[] 0\n", "")


@pytest.mark.parametrize("package", [indextables, pyspark_indextables], ids=lambda package: package.__name__)
def test_a_package_says_that_it_is_typed(package: object) -> None:
    assert isinstance(package.__file__, str)  # type: ignore[attr-defined]  # a module has it
    assert (Path(package.__file__).parent / "py.typed").is_file()  # type: ignore[attr-defined]  # a module has it


def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "indextables", "--version"], capture_output=True, text=True, check=True
    )
    assert indextables.__version__ in done.stdout


def test_every_environment_variable_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text()
    named = {
        node.value
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value)
    }
    assert len(named) > 8
    assert {name for name in named if f"`{name}`" not in page} == set()
