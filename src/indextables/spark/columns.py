"""Whether a DataFrame fits a table, decided before any task starts, with all differences in one error.

A user who mends one column only to hear of the next has run the job twice. Names are compared without regard to case, as Spark
does; types exactly, since a silent cast can change values; and what may be null cannot go where the table says that nothing is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from indextables.errors import SchemaError
from indextables.log.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNWRITABLE: Final = {"void": "it holds nothing but null", "interval": "Parquet has no such interval"}
_UNFIT_FOR_DIRECTORIES: Final = ("binary", "variant", "interval", "time(")


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnPlan:
    """How the columns of a DataFrame become those of a table.

    Attributes:
        schema: The table's schema after the write, in Spark's JSON form.
        widened: Whether that is more than the table has now.
        sources: For each column of the table its name, its type, and the DataFrame's column that fills it; None is null.
        partition_columns: The columns that directories are named after.
    """

    schema: str
    widened: bool
    sources: tuple[tuple[str, Any, str | None], ...]
    partition_columns: tuple[str, ...]


def plan_new(given: str, partition_by: Sequence[str]) -> ColumnPlan:
    """Return the plan for a table that does not exist yet; its columns may all be null, as those of Spark's own files.

    Raises:
        SchemaError: The columns cannot be a table's; all reasons are in its text.
    """
    fields = [_nullable_field(field) for field in json.loads(given)["fields"]]
    problems = [*_clashes(fields), *_unwritable(fields)]
    partition_columns, wrong = _partition_columns(fields, partition_by)
    _raise_all(problems + wrong, subject="The rows cannot be written")
    return ColumnPlan(
        schema=json.dumps({"type": "struct", "fields": fields}),
        widened=False,
        sources=tuple((field["name"], field["type"], field["name"]) for field in fields),
        partition_columns=partition_columns,
    )


def plan_existing(
    given: str, table: str, *, table_partitions: Sequence[str], partition_by: Sequence[str], merge_schema: bool
) -> ColumnPlan:
    """Return the plan for a table that exists.

    Args:
        given: The DataFrame's schema, in Spark's JSON form.
        table: The table's.
        table_partitions: The table's partition columns.
        partition_by: Those that the caller named; none means the table's.
        merge_schema: Add columns that the table does not have, and fill with null what the DataFrame does not have.

    Raises:
        SchemaError: They do not fit; every difference is in its text.
    """
    fields = json.loads(given)["fields"]
    wanted = json.loads(table)["fields"]
    problems = [*_clashes(fields), *_unwritable(fields)]
    have = {field["name"].casefold(): field for field in fields}
    sources: list[tuple[str, Any, str | None]] = []
    for field in wanted:
        own = have.pop(field["name"].casefold(), None)
        if own is not None:
            problems += _differences(own, field, field["name"])
        elif not merge_schema or not field.get("nullable", True):
            problems.append(f"column {field['name']} is missing")
        sources.append((field["name"], field["type"], own and own["name"]))
    extra = [_nullable_field(field) for field in have.values()]
    if not merge_schema:
        problems += [f"column {field['name']} is not in the table" for field in extra]
    if partition_by and [name.casefold() for name in partition_by] != [name.casefold() for name in table_partitions]:
        problems.append(
            f"it is partitioned by {_listed(table_partitions) or 'nothing'}, not by {_listed(partition_by)}"
        )
    hint = "" if merge_schema or not extra else ", or pass merge_schema=True to add columns"
    _raise_all(problems, subject="The rows do not fit the table", hint=hint)
    sources += [(field["name"], field["type"], field["name"]) for field in extra]
    return ColumnPlan(
        schema=json.dumps({"type": "struct", "fields": wanted + extra}) if extra else table,
        widened=bool(extra),
        sources=tuple(sources),
        partition_columns=tuple(table_partitions),
    )


def _raise_all(problems: Sequence[str], *, subject: str, hint: str = "") -> None:
    if problems:
        raise SchemaError(f"{subject}: {'; '.join(problems)}", way_out=f"Correct the columns of the DataFrame{hint}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _clashes(fields: Sequence[dict[str, Any]]) -> list[str]:
    seen: dict[str, str] = {}
    problems = []
    for field in fields:
        name = field["name"]
        if not name:
            problems.append("a column has no name")
        elif (other := seen.get(name.casefold())) is not None:
            same = "have the same name" if other == name else "differ in nothing but case"
            problems.append(f"columns {other} and {name} {same}")
        seen.setdefault(name.casefold(), name)
    return problems


def _unwritable(fields: Sequence[dict[str, Any]]) -> list[str]:
    problems = []
    for field in fields:
        reason = _why_unwritable(field["type"])
        if reason is None:
            try:
                parse_schema(json.dumps({"type": "struct", "fields": [field]}))
            except SchemaError as error:
                reason = error.problem
        if reason is not None:
            problems.append(f"column {field['name']} of type {_shown(field['type'])} cannot be written: {reason}")
    return problems


def _why_unwritable(kind: Any) -> str | None:
    if isinstance(kind, str):
        return _UNWRITABLE.get(kind)
    inner = [kind[key] for key in ("elementType", "keyType", "valueType") if key in kind]
    inner += [field["type"] for field in kind.get("fields", [])]
    return next(filter(None, map(_why_unwritable, inner)), None)


def _partition_columns(fields: Sequence[dict[str, Any]], names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    known = {field["name"].casefold(): field for field in fields}
    chosen, problems = [], []
    for name in names:
        field = known.get(name.casefold())
        if field is None:
            problems.append(f"partition column {name} is missing")
        elif not isinstance(field["type"], str) or field["type"].startswith(_UNFIT_FOR_DIRECTORIES):
            problems.append(f"column {name} of type {_shown(field['type'])} cannot name directories")
        elif field["name"] in chosen:
            problems.append(f"partition column {name} is given twice")
        else:
            chosen.append(field["name"])
    if chosen and len(chosen) == len(fields):
        problems.append("every column is a partition column")
    return tuple(chosen), problems


def _differences(own: dict[str, Any], wanted: dict[str, Any], place: str) -> list[str]:
    if _bare(own["type"]) != _bare(wanted["type"]):
        return [f"column {place} has type {_shown(own['type'])}, not {_shown(wanted['type'])}"]
    if own.get("nullable", True) and not wanted.get("nullable", True):
        return [f"column {place} may be null, and the table's may not"]
    return [f"{inner} may be null, and the table's may not" for inner in _looser(own["type"], wanted["type"], place)]


def _looser(own: Any, wanted: Any, place: str) -> list[str]:
    """Return the places inside a type where the first allows null and the second does not; they are equal otherwise."""
    if isinstance(own, str):
        return []
    found = []
    for flag, inner in (("containsNull", "elementType"), ("valueContainsNull", "valueType")):
        if inner in own:
            below = f"{place}.{inner.removesuffix('Type')}"
            found += [below] if own[flag] and not wanted[flag] else []
            found += _looser(own[inner], wanted[inner], below)
    for mine, theirs in zip(own.get("fields", []), wanted.get("fields", []), strict=True):
        below = f"{place}.{mine['name']}"
        found += [below] if mine["nullable"] and not theirs["nullable"] else []
        found += _looser(mine["type"], theirs["type"], below)
    return found


def _bare(kind: Any) -> Any:
    """Return a type without what it says about nulls, comments and lengths of text."""
    if isinstance(kind, str):
        return "string" if kind.startswith(("char(", "varchar(")) else kind.replace(" ", "")
    kept = {key: _bare(value) for key, value in kind.items() if key in {"type", "elementType", "keyType", "valueType"}}
    if "fields" in kind:
        kept["fields"] = [(field["name"], _bare(field["type"])) for field in kind["fields"]]
    return kept


def _nullable_field(field: dict[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in (field.get("metadata") or {}).items() if not key.startswith("__")}
    return {"name": field["name"], "type": _nullable(field["type"]), "nullable": True, "metadata": own}


def _nullable(kind: Any) -> Any:
    if isinstance(kind, str):
        return kind
    changed = {key: _nullable(value) if key.endswith("Type") else value for key, value in kind.items()}
    for flag in ("containsNull", "valueContainsNull"):
        if flag in changed:
            changed[flag] = True
    if "fields" in changed:
        changed["fields"] = [_nullable_field(field) for field in changed["fields"]]
    return changed


def _shown(kind: Any) -> str:
    """Return a type in SQL's words."""
    if isinstance(kind, str):
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_shown(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_shown(kind['keyType'])},{_shown(kind['valueType'])}>"
    if kind["type"] == "struct":
        return f"struct<{','.join(field['name'] + ':' + _shown(field['type']) for field in kind['fields'])}>"
    return str(kind["type"])
