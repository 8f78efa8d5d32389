"""The one exception hierarchy: whatever goes wrong, a caller catches `IndexTablesError` or something below it.

    IndexTablesError
    ├── ConfigError                     a setting has a value that it cannot have (also a ValueError)
    ├── StorageError                    a call to a store failed
    │   ├── NotFoundError               nothing is stored there (also a FileNotFoundError)
    │   ├── AlreadyExistsError          somebody else's bytes are stored there (also a FileExistsError)
    │   ├── PermissionDeniedError       the store refused us (also a PermissionError)
    │   ├── StorageUnavailableError     it did not happen; asking again may help
    │   ├── OutcomeUnknownError         it may or may not have happened
    │   └── UnsupportedStoreError       the store, or the scheme, cannot do what a table needs
    ├── UnsafePathError                 a path points, or could point, outside its table (also a ValueError)
    ├── LogCorruptionError              bytes of the log are not what a writer wrote
    │   └── UnknownActionError          a line holds an action that this version does not know
    ├── SplitCorruptionError            a data file is not what the log says it is
    ├── ProtocolError                   the table needs a newer reader or writer
    ├── ConcurrentWriteError            another writer's commit rules ours out
    ├── CommitUnknownError              the commit may or may not have landed
    ├── CheckpointError
    │   ├── CheckpointWriteError        it could not be written; the commit before it stands
    │   ├── CheckpointValidationError   what was written does not read back as what was meant
    │   └── CheckpointCorruptionError   an existing one is damaged
    ├── TableNotFoundError              no table is there (also a FileNotFoundError)
    ├── TableExistsError                another table is there (also a FileExistsError)
    ├── VersionNotFoundError            the table never had, or no longer has, that version (also a LookupError)
    ├── SchemaError                     a schema, or a change of one, that cannot be (also a ValueError)
    ├── MetastoreError                  a call to the Hive Metastore failed
    ├── CompactionError                 Lakekeeper did not do what it was asked; no row is lost
    │   ├── TableRefusedError           this kind of table, or its state, is not compacted
    │   ├── UnfinishedRunError          an earlier run ended half-way and comes first
    │   ├── ConcurrentChangeError       files changed while they were being compacted
    │   ├── VerificationError           what was written is not what was read
    │   ├── RollbackRefusedError        going back would lose newer files
    │   └── RecoveryError               directories are as no run leaves them; nothing was touched
    ├── PredicateError                  a filter that cannot be read, or does not fit its table (also a ValueError)
    └── EnvironmentSetupError           something outside Python is missing: Java, a server, a tool

Every error carries what a caller needs as attributes, and its text ends with the way out. Errors pickle with all their
attributes, because Spark carries them from workers to the driver.

Three words keep storage honest. *Done* is a normal return. *Not done* is any `StorageError` but one. *Unknown* is
`OutcomeUnknownError`, and code that meets it never deletes anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _rebuild(cls: type[IndexTablesError], args: tuple[object, ...], state: dict[str, object]) -> IndexTablesError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class IndexTablesError(Exception):
    """The root. `str(error)` is one or two sentences, the last of which says what to do."""

    def __init__(self, problem: str, way_out: str) -> None:
        self.problem = problem
        self.way_out = way_out
        super().__init__(f"{problem.rstrip('.')}. {way_out.rstrip('.')}.")

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else type(self).__name__

    def __reduce__(self) -> tuple[Callable[..., IndexTablesError], tuple[Any, ...]]:
        return _rebuild, (type(self), self.args, self.__dict__)


class ConfigError(IndexTablesError, ValueError):
    """A setting has a value that it cannot have."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        self.key = key
        self.value = value
        self.allowed = allowed
        super().__init__(f"{key} is set to {value!r}, which is not allowed", f"Set it to {allowed}")


class StorageError(IndexTablesError):
    """A call to a store failed; `path` is the key inside the store, `store` says which store (never its secrets)."""

    _problem = "The store failed at {path} in {store}"
    _way_out = "Check that the store can be reached, then try again"

    def __init__(self, path: str, *, store: str = "the store", detail: str = "", way_out: str = "") -> None:
        self.path = path
        self.store = store
        self.detail = detail
        problem = self._problem.format(path=path or "its root", store=store)
        super().__init__(f"{problem}: {detail}" if detail else problem, way_out or self._way_out)


class NotFoundError(StorageError, FileNotFoundError):
    """Nothing is stored there."""

    _problem = "There is no {path} in {store}"
    _way_out = "Check the path, and whether another process deleted it"


class AlreadyExistsError(StorageError, FileExistsError):
    """Somebody else's bytes are stored there."""

    _problem = "{path} exists already in {store} and is not ours"
    _way_out = "Choose another name, or read what is there first"


class PermissionDeniedError(StorageError, PermissionError):
    """The store refused us."""

    _problem = "Access to {path} in {store} was refused"
    _way_out = "Check the credentials and the rights on that path"


class StorageUnavailableError(StorageError):
    """It did not happen, and asking again may help."""

    _problem = "{path} in {store} cannot be reached"
    _way_out = "Check the network and the endpoint, then try again"


class OutcomeUnknownError(StorageError):
    """The answer to a write got lost: it may or may not have happened, or may still happen.

    `readable_is_durable` is false where reading the bytes back proves nothing, because a power cut could still take them.
    """

    _problem = "It is not known whether the write of {path} in {store} happened"
    _way_out = "Read it back before you write it again, and delete nothing that belongs to it until then"

    def __init__(
        self,
        path: str,
        *,
        store: str = "the store",
        detail: str = "",
        way_out: str = "",
        readable_is_durable: bool = True,
    ) -> None:
        self.readable_is_durable = readable_is_durable
        super().__init__(path, store=store, detail=detail, way_out=way_out)


class UnsupportedStoreError(StorageError):
    """The store, or the scheme, cannot do what a table needs."""

    _problem = "{store} cannot hold a table"
    _way_out = "Use a local path, s3://, gs://, abfss:// or hdfs://"


class UnsafePathError(IndexTablesError, ValueError):
    """A path points, or could point, outside its table."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"The path {path[:200]!r} is refused: {reason}",
            "Paths in a table are relative to its root, with / between names, no . or .. and no control characters",
        )


class LogCorruptionError(IndexTablesError):
    """Bytes of the log are not what a writer wrote."""

    def __init__(
        self,
        path: str,
        reason: str,
        *,
        line: int | None = None,
        offset: int | None = None,
        codec: str | None = None,
        versions: Sequence[int] = (),
        way_out: str = "Restore it from a copy of the table, or see what indextables repair can save",
    ) -> None:
        self.path = path
        self.reason = reason
        self.line = line
        self.offset = offset
        self.codec = codec
        self.versions = tuple(versions)
        place = "".join(
            f", {name} {value}"
            for name, value in (("line", line), ("codec", codec), ("byte", offset))
            if value is not None
        )
        super().__init__(f"{path}{place} is damaged: {reason}", way_out)


class UnknownActionError(LogCorruptionError):
    """A line holds an action that this version does not know."""

    def __init__(self, path: str, *, line: int, action: str) -> None:
        self.action = action
        super().__init__(
            path,
            f"unknown action {action!r}, known are protocol, metaData, add, remove and mergeskip",
            line=line,
            way_out="Read the table with the newer version of the software that wrote it",
        )


class SplitCorruptionError(IndexTablesError):
    """A data file is damaged, was replaced by another one, or is of a kind that cannot be read here."""

    def __init__(
        self, path: str, reason: str, *, way_out: str = "Restore the file from a copy, or remove it from the table"
    ) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"The file {path} cannot be read: {reason}", way_out)


class ProtocolError(IndexTablesError):
    """The table needs a newer reader or writer."""

    def __init__(self, path: str, *, needs: str, supported: str, missing: Sequence[str] = ()) -> None:
        self.path = path
        self.needs = needs
        self.supported = supported
        self.missing = tuple(missing)
        super().__init__(
            f"The table {path} needs {needs}, and this version supports {supported}", "Upgrade indextables to use it"
        )


class ConcurrentWriteError(IndexTablesError):
    """Another writer's commit rules ours out: nothing of ours was committed."""

    def __init__(
        self,
        path: str,
        *,
        version: int,
        operation: str,
        cause: str,
        files: Sequence[str] = (),
        retryable: bool = True,
    ) -> None:
        self.path = path
        self.version = version
        self.operation = operation
        self.cause = cause
        self.files = tuple(files)
        self.retryable = retryable
        shown = ", ".join(self.files[:3]) + (f" and {len(self.files) - 3} more" if len(self.files) > 3 else "")
        super().__init__(
            f"Version {version} of {path} ({operation}) conflicts with this commit: {cause}{f' ({shown})' if shown else ''}",
            "It is safe to read the table again and retry"
            if retryable
            else "Do not retry as it is: read the table again and decide anew",
        )


class CommitUnknownError(IndexTablesError):
    """The commit may or may not have landed; it stays recognisable by `commit_id` at `version`."""

    def __init__(self, path: str, *, version: int, commit_id: str, detail: str = "") -> None:
        self.path = path
        self.version = version
        self.commit_id = commit_id
        self.detail = detail
        super().__init__(
            f"It is not known whether commit {commit_id} became version {version} of {path}"
            + (f": {detail}" if detail else ""),
            "Ask resolve_commit for its fate before you retry, and delete none of its files until then",
        )


class CheckpointError(IndexTablesError):
    """Something is wrong with a checkpoint; the commits that it sums up are not affected."""

    _problem = "The checkpoint of version {version} failed"
    _way_out = "The table stays readable without it; run checkpoint to write a new one"

    def __init__(self, version: int, *, path: str = "", reason: str = "") -> None:
        self.version = version
        self.path = path
        self.reason = reason
        problem = self._problem.format(version=version) + (f" at {path}" if path else "")
        super().__init__(f"{problem}: {reason}" if reason else problem, self._way_out)


class CheckpointWriteError(CheckpointError):
    """It could not be written; the commit before it stands."""

    _problem = "The checkpoint of version {version} could not be written"


class CheckpointValidationError(CheckpointError):
    """What was written does not read back as what was meant."""

    _problem = "The checkpoint of version {version} does not read back as it was written"


class CheckpointCorruptionError(CheckpointError):
    """An existing checkpoint is damaged."""

    _problem = "The checkpoint of version {version} is damaged"


class TableNotFoundError(IndexTablesError, FileNotFoundError):
    """No table is there."""

    def __init__(
        self,
        path: str,
        *,
        detail: str = "it holds no _transaction_log",
        way_out: str = "Check the path, or create the table by writing to it",
    ) -> None:
        self.path = path
        super().__init__(f"There is no table at {path}: {detail}", way_out)


class TableExistsError(IndexTablesError, FileExistsError):
    """Another table is there."""

    def __init__(self, path: str, *, detail: str) -> None:
        self.path = path
        super().__init__(
            f"There is a table at {path} already: {detail}", "Append to it, overwrite it, or choose another path"
        )


class VersionNotFoundError(IndexTablesError, LookupError):
    """The table never had, or no longer has, that version."""

    def __init__(self, path: str, *, version: int | str, available: str) -> None:
        self.path = path
        self.version = version
        self.available = available
        super().__init__(f"{path} has no version {version}", f"Available: {available}")


class SchemaError(IndexTablesError, ValueError):
    """A schema, or a change of one, that cannot be."""

    def __init__(
        self, problem: str, *, columns: Sequence[str] = (), way_out: str = "Correct the schema and try again"
    ) -> None:
        self.columns = tuple(columns)
        super().__init__(problem, way_out)


class PredicateError(IndexTablesError, ValueError):
    """A filter that cannot be read, or that does not fit its table.

    Where the text is known, `position` is the character that the error is about, counted from 0, and `snippet` shows it: the
    line, and under it a caret. Tracebacks show the snippet too.
    """

    def __init__(
        self,
        problem: str,
        *,
        text: str | None = None,
        position: int | None = None,
        way_out: str = "Correct the predicate and try again",
    ) -> None:
        self.text = text
        self.position = position
        self.snippet: str | None = None
        place = ""
        if text is not None and position is not None:
            start = text.rfind("\n", 0, position) + 1
            line = text[start:].split("\n", 1)[0]
            left = max(0, position - start - 60)
            self.snippet = f"{line[left : left + 120]}\n{' ' * (position - start - left)}^"
            place = f", at character {position + 1}"
        super().__init__(f"{problem.rstrip('.')}{place}", way_out)
        if self.snippet is not None:
            self.add_note(self.snippet)


class EnvironmentSetupError(IndexTablesError):
    """Something outside Python is missing: Java, a server, a tool."""


class MetastoreError(IndexTablesError):
    """A call to the Hive Metastore failed; `kind` is the name of its own exception, where it sent one."""

    def __init__(self, call: str, *, kind: str, detail: str, way_out: str = "") -> None:
        self.call = call
        self.kind = kind
        self.detail = detail
        super().__init__(
            f"The Metastore call {call} failed with {kind}: {' '.join(detail.split())}",
            way_out or "Check the Metastore's log, then run the command again",
        )


class CompactionError(IndexTablesError):
    """Lakekeeper did not do what it was asked; no row is lost. `table` is the Hive table, as `database.name`."""

    _way_out = "Nothing is lost; run the command again when the cause is gone"

    def __init__(self, table: str, reason: str, *, way_out: str = "") -> None:
        self.table = table
        self.reason = reason
        super().__init__(f"{table}: {' '.join(reason.split())}", way_out or self._way_out)


class TableRefusedError(CompactionError):
    """This kind of table, or its state, is not compacted."""

    _way_out = "The table is as it was"


class UnfinishedRunError(CompactionError):
    """An earlier run ended half-way and comes first."""

    def __init__(self, table: str, *, run: str, state: str) -> None:
        self.run = run
        self.state = state
        super().__init__(
            table, f"run {run} is unfinished (state {state})", way_out=f"Run lakekeeper recover --table {table} first"
        )


class ConcurrentChangeError(CompactionError):
    """Files changed while they were being compacted."""

    _way_out = "Every directory is back as it was; run compact again when no job writes to the table"


class VerificationError(CompactionError):
    """What was written is not what was read."""

    _way_out = "The table is as it was; what was written has been thrown away"


class RollbackRefusedError(CompactionError):
    """Going back would lose newer files."""

    _way_out = "Pass --keep-newer to carry files that were added since into the restored table"


class RecoveryError(CompactionError):
    """Directories are as no run leaves them; nothing was touched."""

    _way_out = (
        "Nothing was touched: look at the directories named here, and decide by hand which of them holds the rows"
    )
