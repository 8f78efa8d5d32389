from __future__ import annotations

import inspect
import pickle

import pytest

from indextables import errors
from indextables.errors import IndexTablesError

EXAMPLES: list[IndexTablesError] = [
    errors.ConfigError("spark.indextables.x", "y", "1 to 9"),
    errors.StorageError("a/b", store="s3://bucket/t"),
    errors.NotFoundError("a/b", store="s3://bucket/t"),
    errors.AlreadyExistsError("a/b", store="s3://bucket/t"),
    errors.PermissionDeniedError("a/b", store="s3://bucket/t"),
    errors.StorageUnavailableError("a/b", store="s3://bucket/t", detail="timed out"),
    errors.OutcomeUnknownError("a/b", store="s3://bucket/t"),
    errors.UnsupportedStoreError("a/b", store="ftp://host"),
    errors.UnsafePathError("../x", "it holds a dot segment"),
    errors.LogCorruptionError("t/00.json", "not JSON", line=3, offset=17, codec="gzip", versions=[4]),
    errors.UnknownActionError("t/00.json", line=2, action="cdc"),
    errors.ProtocolError("t", needs="reader version 9", supported="up to 3", missing=["x"]),
    errors.ConcurrentWriteError(
        "t", version=7, operation="merge", cause="it removed a file that we remove", files=["f"] * 5
    ),
    errors.CommitUnknownError("t", version=7, commit_id="id"),
    errors.CheckpointError(7, path="p", reason="r"),
    errors.CheckpointWriteError(7, path="p", reason="r"),
    errors.CheckpointValidationError(7, path="p", reason="r"),
    errors.CheckpointCorruptionError(7, path="p", reason="r"),
    errors.TableNotFoundError("t"),
    errors.TableExistsError("t", detail="its schema differs"),
    errors.VersionNotFoundError("t", version=9, available="0 to 4"),
    errors.SchemaError("Two columns clash", columns=["a", "A"]),
    errors.PredicateError("Nothing follows the =", text="a = ", position=2),
    errors.EnvironmentSetupError("Java is missing", "Install it"),
    errors.SplitCorruptionError("t/f.split", "its footer is damaged"),
    errors.MetastoreError("get_table", kind="NoSuchObjectException", detail="no table\nof that name"),
    errors.CompactionError("db.t", "the cause"),
    errors.TableRefusedError("db.t", "it is bucketed"),
    errors.UnfinishedRunError("db.t", run="20260101_000000", state="swapping"),
    errors.ConcurrentChangeError("db.t", "a file appeared"),
    errors.VerificationError("db.t", "rows differ"),
    errors.RollbackRefusedError("db.t", "newer files"),
    errors.RecoveryError("db.t", "live and old are both gone"),
]


def test_every_class_of_the_module_has_an_example() -> None:
    classes = {cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, IndexTablesError)}
    assert classes - {IndexTablesError} == {type(error) for error in EXAMPLES}


def test_every_class_stands_in_the_tree_of_the_docstring() -> None:
    for error in EXAMPLES:
        assert f"─ {type(error).__name__} " in f"{errors.__doc__}".replace("\n", " \n")


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_is_sentences_that_end_with_the_way_out(error: IndexTablesError) -> None:
    text = str(error)
    assert "\n" not in text
    assert text.endswith(error.way_out.rstrip(".") + ".")
    assert error.problem.rstrip(".") in text


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_the_way_from_a_worker_to_the_driver(error: IndexTablesError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.NotFoundError("a"), FileNotFoundError),
        (errors.AlreadyExistsError("a"), FileExistsError),
        (errors.PermissionDeniedError("a"), PermissionError),
        (errors.TableNotFoundError("a"), FileNotFoundError),
        (errors.ConfigError("k", 1, "2"), ValueError),
        (errors.SchemaError("x"), ValueError),
        (errors.VersionNotFoundError("t", version=1, available="0"), LookupError),
    ],
)
def test_where_callers_expect_a_builtin_the_error_is_one(error: IndexTablesError, builtin: type[Exception]) -> None:
    assert isinstance(error, builtin)


def test_a_conflict_says_whether_a_retry_is_safe() -> None:
    assert "safe to read the table again and retry" in str(
        errors.ConcurrentWriteError("t", version=1, operation="append", cause="c")
    )
    assert "Do not retry" in str(
        errors.ConcurrentWriteError("t", version=1, operation="append", cause="c", retryable=False)
    )


def test_a_conflict_shows_three_files_and_counts_the_rest() -> None:
    error = errors.ConcurrentWriteError(
        "t", version=1, operation="merge", cause="c", files=["f1", "f2", "f3", "f4", "f5"]
    )
    assert "(f1, f2, f3 and 2 more)" in str(error)
    assert error.files == ("f1", "f2", "f3", "f4", "f5")
