"""Rules about the code itself that no linter knows."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import indextables

SOURCES = Path(indextables.__file__).parent
LOG_MODULES = sorted((SOURCES / "log").rglob("*.py"))
FORBIDDEN_MODULES = {"os", "random", "uuid", "secrets", "tempfile", "shutil", "glob"}
FORBIDDEN_CALLS = {
    "open",
    "time.time",
    "time.time_ns",
    "time.sleep",
    "datetime.now",
    "datetime.utcnow",
    "datetime.datetime.now",
}
MOST_LINES = 300
LONG_WITH_A_REASON = {
    "errors.py": "the whole hierarchy in one place, mostly docstrings",
    "log/log.py": "everything that changes a table in one class, mostly signatures and docstrings",
}


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("module", LOG_MODULES, ids=lambda path: path.name)
def test_the_log_takes_time_chance_and_files_only_as_arguments(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES, f"line {node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES, f"line {node.lineno}"
        elif isinstance(node, ast.Call):
            assert _dotted(node.func) not in FORBIDDEN_CALLS, f"line {node.lineno}"


def test_the_rule_about_the_log_has_modules_to_check() -> None:
    assert len(LOG_MODULES) > 5


@pytest.mark.parametrize("module", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_module_holds_one_idea(module: Path) -> None:
    name = str(module.relative_to(SOURCES))
    lines = len(module.read_text().splitlines())
    assert lines <= MOST_LINES or name in LONG_WITH_A_REASON, f"{lines} lines"
    assert ast.get_docstring(ast.parse(module.read_text())), "no docstring"


def test_the_root_exports_what_it_says() -> None:
    assert (
        sorted(indextables.__all__) == indextables.__all__
        or sorted(indextables.__all__, key=str.lower) == indextables.__all__
    )
    for name in indextables.__all__:
        assert hasattr(indextables, name)


def test_importing_the_package_and_its_log_starts_no_spark() -> None:
    code = "import sys, indextables, indextables.log.columns, indextables.storage.open; print('pyspark' in sys.modules, 'py4j' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]


def test_every_package_of_the_constraints_installs_on_the_oldest_python_that_is_promised() -> None:
    # One of them asked for 3.11.5, and Debian 12, whose Python is 3.11.2, could install nothing.
    asked = {each.metadata["Name"]: each.metadata["Requires-Python"] for each in metadata.distributions()}
    oldest = asked["indextables"].removeprefix(">=") + ".0"
    assert oldest == "3.11.0"
    assert not {name: wanted for name, wanted in asked.items() if not SpecifierSet(wanted or "").contains(oldest)}


@pytest.mark.xdist_group("named")
def test_a_worker_knows_the_group_of_a_test(request: pytest.FixtureRequest) -> None:
    # Where it does not, two workers start every server and every Spark, and nobody notices but the clock.
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@named")
