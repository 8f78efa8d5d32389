"""A table as Spark's Python workers see it: an address and options, no session, and nothing that does not pickle."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from indextables.config import Settings
from indextables.errors import ConfigError, SchemaError
from indextables.log import TransactionLog
from indextables.spark.addresses import qualified
from indextables.storage.open import open_store

if TYPE_CHECKING:
    from indextables.log.snapshot import Snapshot
    from indextables.storage.base import Store


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table, and one version of it once it is pinned.

    Attributes:
        path: Where it is.
        options: What the user gave besides; values are kept out of `repr`, since they may be secrets.
    """

    path: str
    options: dict[str, str]
    version: int | None = None
    schema: str = ""

    def __repr__(self) -> str:
        return f"SourceTable({self.path!r}, version={self.version})"

    def option(self, name: str) -> str | None:
        """Return an option, whatever the case of its name."""
        return next((value for key, value in self.options.items() if key.lower() == name.lower()), None)

    def names(self, name: str) -> list[str]:
        """Return an option that is a list of names."""
        return [part.strip() for part in (self.option(name) or "").split(",") if part.strip()]

    def flag(self, name: str) -> bool:
        """Return an option that is true or false; false if it is not given.

        Raises:
            ConfigError: It is neither.
        """
        text = (self.option(name) or "false").lower()
        if text not in {"true", "false"}:
            raise ConfigError(name, text, "true or false")
        return text == "true"

    def settings(self) -> Settings:
        """Return the settings that hold."""
        return Settings.resolve(self.options)

    def store(self) -> Store:
        """Open the table's store."""
        return open_store(qualified(self.path, self.options), settings=self.settings(), properties=self.options)

    def log(self) -> TransactionLog:
        """Open the table's log."""
        return TransactionLog(self.store(), settings=self.settings())

    def snapshot(self) -> Snapshot:
        """Return the version that is read: the pinned one, else the one that the options name, else the newest."""
        if self.version is not None:
            return self.log().snapshot(self.version)
        version = self.option("version")
        if version is not None and not version.isdigit():
            raise ConfigError("version", version, "the number of a version")
        return self.log().snapshot(None if version is None else int(version), self.option("timestamp"))

    def pinned(self) -> SourceTable:
        """Return this table at one version."""
        snapshot = self.snapshot()
        return replace(self, version=snapshot.version, schema=snapshot.metadata.schema_string)

    def spark_schema(self) -> StructType:
        """Return the columns that are read, which may all be null, as those of Spark's own files.

        Raises:
            SchemaError: The option `columns` names others than the table has.
        """
        fields = {field["name"].lower(): field for field in json.loads(self.schema)["fields"]}
        wanted = self.names("columns")
        if missing := [name for name in wanted if name.lower() not in fields]:
            raise SchemaError(
                f"The table has no columns {', '.join(missing)}",
                columns=missing,
                way_out=f"Its columns are {', '.join(field['name'] for field in fields.values())}",
            )
        chosen = [fields[name.lower()] for name in wanted] if wanted else list(fields.values())
        return StructType.fromJson({"type": "struct", "fields": [{**field, "nullable": True} for field in chosen]})
