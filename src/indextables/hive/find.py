"""Databases and tables by the names that people type; a name that leads nowhere is answered with the nearest ones."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from indextables.errors import ConfigError, TableNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable

_NEAR: Final = 3


def split_name(full_name: str) -> tuple[str, str]:
    """Return database and table; without a database, it is `default`."""
    database, separator, name = full_name.strip().replace("`", "").lower().partition(".")
    return (database, name) if separator else ("default", database)


def find_table(lake: Lake, full_name: str) -> HiveTable:
    """Return a table by `database.name`.

    Raises:
        TableNotFoundError: There is none.
    """
    database, name = split_name(full_name)
    table = lake.metastore.table(database, name)
    if table is not None:
        return table
    databases = lake.metastore.databases()
    if database not in databases:
        detail, near = f"the Metastore has no database {database}", _near(database, databases)
    else:
        detail, near = (
            f"the database {database} has none of that name",
            _near(name, lake.metastore.table_names(database)),
        )
    raise TableNotFoundError(
        full_name, detail=detail, way_out=f"Check its name; similar: {near}" if near else "Create it"
    )


def find_database(lake: Lake, name: str) -> str:
    """Return a database's name as the Metastore writes it; its list of tables would be as empty as that of a new one.

    Raises:
        ConfigError: There is none.
    """
    known = lake.metastore.databases()
    if name.lower() not in known:
        raise ConfigError("--database", name, f"a database that there is, such as {_near(name, known)}")
    return name.lower()


def _near(name: str, known: Sequence[str]) -> str:
    return ", ".join(difflib.get_close_matches(name.lower(), known, n=_NEAR, cutoff=0.0))
