"""Every key exists once, is documented, and is used by the code that it claims to steer."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

import indextables
from indextables.config import Settings
from indextables.config.docs import render
from indextables.config.settings import registry

PACKAGE = Path(indextables.__file__).parent
# Credentials reach a store as a mapping by key, beside those under Hadoop's names.
CREDENTIALS = PACKAGE / "storage" / "credentials.py"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"
GROUP_OF_CLASS = {type(getattr(Settings(), entry.name)).__name__: entry.name for entry in fields(Settings)}

# Settings whose feature does not exist yet. A setting leaves this list with the code that uses it and never comes back.
NOT_YET_USED = {"delta.enabled"}


def uses(source: str) -> set[str]:
    """Return the settings, as `group.field`, that a module reads.

    It reads one as `settings.group.field`, or as `name.field` where `name` is annotated with a group that the module imports
    or assigned as `name = settings.group`.
    """
    nodes = list(ast.walk(ast.parse(source)))
    imported = {
        alias.asname or alias.name: GROUP_OF_CLASS[alias.name]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("indextables.config")
        for alias in node.names
        if alias.name in GROUP_OF_CLASS
    }
    annotated = [
        (node.arg.lstrip("_") if isinstance(node, ast.arg) else _last(node.target), node.annotation)
        for node in nodes
        if isinstance(node, ast.arg | ast.AnnAssign)
    ]
    owners = {name: imported[kind.id] for name, kind in annotated if isinstance(kind, ast.Name) and kind.id in imported}
    owners |= {
        _last(node.targets[0]): node.value.attr
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Attribute)
        and _last(node.value.value) == "settings"
    }
    found = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and _last(node.value) in owners:
            found.add(f"{owners[_last(node.value)]}.{node.attr}")
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and _last(node.value.value) == "settings"
        ):
            found.add(f"{node.value.attr}.{node.attr}")
    return found


def keys_named(source: str) -> set[str]:
    """Return the settings, as `group.field`, whose full key is a text of its own in a module."""
    texts = {
        node.value.lower()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {f"{entry.group}.{entry.field}" for key, entry in registry().items() if key in texts}


def _last(node: ast.expr) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lstrip("_")


def test_uses_are_found_in_each_form_and_nowhere_else() -> None:
    source = """
from indextables.config import Retry, Settings
from indextables.log import Checkpoint
class A:
    \"\"\"Not a use: spark.indextables.stats.columns.\"\"\"
    def __init__(self, settings: Settings, retry: Retry) -> None:
        self._retry = retry
        self._settings = settings
    def f(self, checkpoint: Checkpoint) -> None:
        stats = self._settings.stats
        self._retry.max_attempts, self._settings.cache.enabled, checkpoint.format, other.delta.enabled, stats.columns
        options["spark.indextables.aws.region"]
"""
    assert uses(source) == {"retry.max_attempts", "cache.enabled", "stats.columns"}
    assert keys_named(source) == {"aws.region"}


def test_every_setting_is_used_or_known_to_wait_for_its_feature() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if "config" not in path.relative_to(PACKAGE).parts]
    used = set().union(*(uses(path.read_text()) for path in modules), keys_named(CREDENTIALS.read_text()))
    declared = {f"{entry.group}.{entry.field}" for entry in registry().values()}
    assert declared - used == NOT_YET_USED


def test_every_key_is_declared_once() -> None:
    keys = [entry.setting.key for entry in registry().values()]
    declarations = re.findall(r'setting\(\s*"([\w.]+)"', (PACKAGE / "config" / "groups.py").read_text())
    assert sorted(keys) == sorted(f"spark.indextables.{name}" for name in declarations)
    assert max(Counter(key.lower() for key in keys).values()) == 1


def test_every_key_is_documented_in_one_line() -> None:
    for entry in registry().values():
        assert entry.setting.doc.endswith("."), entry.setting.key
        assert not re.search(r"[\n|]", entry.setting.doc), entry.setting.key
        assert "|" not in entry.setting.kind.allowed


def test_the_reference_page_is_up_to_date() -> None:
    command = "run python -m indextables.config.docs > docs/reference/settings.md"
    assert PAGE.read_text(encoding="utf-8") == render(), command


def test_the_reference_page_has_one_row_for_every_key() -> None:
    rows = re.findall(r"^\| `(spark\.indextables\.[\w.]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows == [entry.setting.key for entry in registry().values()]


def test_the_command_prints_the_page() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "indextables.config.docs"], capture_output=True, text=True
    )
    assert done.stdout == render()
    assert done.stderr == ""


def test_settings_load_without_spark() -> None:
    code = "import sys, indextables.config; assert not {'pyspark', 'py4j', 'pyarrow'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
