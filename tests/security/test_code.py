"""S10, S11, S22: nothing in the sources runs what it reads, and what is installed is what was chosen."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest

import indextables

SOURCES = Path(indextables.__file__).parent
ROOT = SOURCES.parents[1]
MODULES = sorted(SOURCES.rglob("*.py"))

FORBIDDEN_IMPORTS = {
    "pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "marshal",
    "shelve",
    "code",
    "codeop",
    "telnetlib",
    "ftplib",
    "xml",
    "commands",
}
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "os.execv",
    "os.execvp",
    "os.spawnv",
    "yaml.load",
    "yaml.load_all",
    "yaml.unsafe_load",
    "yaml.full_load",
    "yaml.Loader",
    "yaml.UnsafeLoader",
    "tempfile.mktemp",
    "ssl._create_unverified_context",
    "pa.serialize",
    "pa.deserialize",
    "np.load",
    "pd.read_pickle",
    "pd.eval",
}
FORBIDDEN_OPTIONS = {("shell", True), ("verify", False), ("allow_pickle", True), ("check_hostname", False)}
ALLOWED = {
    ("spark/failures.py", "pickle"): "an error on its way from a Spark task to the driver of the same application",
    ("hive/connect.py", "xml"): "Hadoop's own configuration files, which belong to whoever runs the command",
}
"""What stays although it is on the lists, and why: never bytes from a table's directory."""


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def offences(text: str, name: str) -> list[str]:
    """Return what a module does that could run what it reads."""
    found = []
    for node in ast.walk(ast.parse(text)):
        names: set[str] = set()
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_IMPORTS
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").split(".")[0]} & FORBIDDEN_IMPORTS
        elif isinstance(node, ast.Call):
            names = {dotted(node.func)} & FORBIDDEN_CALLS
            names |= {
                f"{word.arg}={word.value.value!r}"
                for word in node.keywords
                if isinstance(word.value, ast.Constant) and (word.arg, word.value.value) in FORBIDDEN_OPTIONS
            }
        found += [f"{name}:{node.lineno} {what}" for what in names if (name, what) not in ALLOWED]  # type: ignore[attr-defined]
    return found


def test_no_module_runs_what_it_reads() -> None:
    assert len(MODULES) > 200
    assert [offence for path in MODULES for offence in offences(path.read_text(), str(path.relative_to(SOURCES)))] == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import xml.etree",
        "eval('1')",
        "exec(x)",
        "os.system('x')",
        "yaml.load(x)",
        "subprocess.run(x, shell=True)",
        "np.load(x, allow_pickle=True)",
        "requests.get(x, verify=False)",
    ],
)
def test_the_rule_notices(text: str) -> None:
    assert len(offences(text, "m.py")) >= 1


def test_what_is_allowed_is_still_there() -> None:
    for name, module in ALLOWED:
        assert re.search(rf"^(?:import|from) {module}\b", (SOURCES / name).read_text(), re.MULTILINE), name


def test_names_of_classes_and_modules_come_from_no_table() -> None:
    """A module is imported by a name that stands in the sources, and an attribute is looked up by one as well."""
    dynamic = {}
    for path in MODULES:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        named = {"import_module", "importlib.import_module"}
        count = sum(dotted(call.func) in named and not isinstance(call.args[0], ast.Constant) for call in calls)
        if count:
            dynamic[str(path.relative_to(SOURCES))] = count
    assert set(dynamic) <= {"__init__.py", "spark/__init__.py", "cli/group.py"}, dynamic


def requirements() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for group in project["optional-dependencies"].values() for one in group)]
    pattern = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(.*)")
    return {_name(match[1]): match[2] for text in wanted if (match := pattern.match(text))}


def pins() -> dict[str, str]:
    lines = [text.split("#")[0].strip() for text in (ROOT / "constraints.txt").read_text().splitlines()]
    split = [text.partition("==") for text in lines if text]
    assert all(separator for _, separator, _ in split), "every line pins one version"
    return {_name(name): exact for name, _, exact in split}


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def test_everything_that_the_project_asks_for_is_pinned_to_one_version() -> None:
    wanted = requirements()
    assert len(wanted) > 15
    assert sorted(set(wanted) - set(pins())) == []


def test_no_pinned_version_is_below_what_the_project_asks_for() -> None:
    for name, bound in requirements().items():
        lower = re.search(r">=\s*([0-9.]+)", bound)
        assert lower, f"{name} has no lower bound"
        assert _numbers(pins()[name]) >= _numbers(lower[1]), name


def test_libraries_with_known_holes_are_below_the_bounds() -> None:
    """pyarrow before 14.0.1 ran code in extension types, and parquet-java before 1.15.1 in parquet-avro schemas."""
    assert re.search(r">=\s*18", requirements()["pyarrow"])
    assert _numbers(version("pyarrow")) >= (14, 0, 1)
    jars = list((Path(pyspark.__file__).parent / "jars").glob("parquet-column-*.jar"))
    assert jars
    assert all(_numbers(jar.stem.rpartition("-")[2]) >= (1, 15, 1) for jar in jars)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])
