"""Defaults, precedence, refusals and warnings of the settings as a whole."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from indextables.config import Aws, Checkpoint, Compression, Retry, Settings, Staleness, Stats, Truncation
from indextables.config import settings as settings_module
from indextables.config.settings import registry
from indextables.errors import ConfigError
from tests.support.cpu import least_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

P = "spark.indextables."
DEFAULTS: dict[str, object] = {
    "transaction.compression.enabled": True,
    "transaction.compression.codec": "gzip",
    "transaction.compression.gzip.level": 6,
    "transaction.useOptimized": True,
    "transaction.retry.maxAttempts": 10,
    "transaction.retry.baseDelayMs": 100,
    "transaction.retry.maxDelayMs": 5000,
    "checkpoint.enabled": True,
    "checkpoint.interval": 10,
    "checkpoint.retention": 30,
    "checkpoint.compression": "snappy",
    "checkpoint.compression.enabled": True,
    "checkpoint.maxFileSize": 134217728,
    "checkpoint.parallelism": 4,
    "checkpoint.read.timeoutSeconds": 30,
    "checkpoint.format": "parquet",
    "checkpoint.background": False,
    "logRetention.duration": 2592000000,
    "checkpointRetention.duration": 7200000,
    "cleanup.enabled": True,
    "cleanup.failurePolicy": "continue",
    "stats.columns": (),
    "indexing.fastfields": (),
    "stats.truncation.enabled": True,
    "stats.truncation.maxLength": 1024,
    "stats.truncation.strategy": "drop",
    "transaction.cache.enabled": True,
    "transaction.cache.expirationSeconds": 300,
    "transaction.cache.maxSize": 1 << 30,
    "transaction.maxStalenessSeconds": 0,
    "skippedFiles.cooldownDuration": 24,
    "skippedFiles.cooldownDoubling": False,
    "storage.hdfs.client": "native",
    "delta.enabled": False,
    "aws.accessKey": None,
    "aws.secretKey": None,
    "aws.sessionToken": None,
    "aws.region": None,
    "aws.endpoint": None,
    "aws.pathStyleAccess": None,
}
# Three texts for every key that mean three values, none of them the default.
OTHERS: dict[str, tuple[str, str, str]] = {
    "transaction.compression.codec": ("zstd", "lz4", "none"),
    "transaction.compression.gzip.level": ("0", "1", "9"),
    "checkpoint.compression": ("zstd", "gzip", "none"),
    "checkpoint.maxFileSize": ("64MB", "1GB", "1024"),
    "stats.columns": ("a", "a,b", "c"),
    "indexing.fastfields": ("score", "a,b", "c"),
    "transaction.cache.maxSize": ("64MB", "5G", "1024"),
    "aws.region": ("eu-west-1", "us-east-1", "local"),
    "aws.endpoint": ("http://a", "http://b", "http://c"),
    "aws.sessionToken": ("a", "b", "c"),
}
TWO_VALUED: dict[str, tuple[str, str]] = {
    "checkpoint.format": ("json", "parquet"),
    "cleanup.failurePolicy": ("fail", "continue"),
    "stats.truncation.strategy": ("bounds", "truncate"),
    "storage.hdfs.client": ("hadoop", "native"),
}
COMPANIONS = {f"{P}aws.accessKey": "id", f"{P}aws.secretKey": "key"}


def value_of(settings: Settings, key: str) -> Any:
    entry = registry()[key.lower()]
    return getattr(getattr(settings, entry.group), entry.field)


def three_values(name: str) -> tuple[str, str, str]:
    kind = registry()[(P + name).lower()].setting.kind
    if name in TWO_VALUED:
        first, second = TWO_VALUED[name]
        return first, second, first
    if name in OTHERS:
        return OTHERS[name]
    return {"boolean": ("true", "false", "true"), "secret": ("a", "b", "c")}.get(kind.name, ("40", "50", "60"))


def test_the_defaults_are_those_of_the_specification() -> None:
    assert {entry.setting.key: entry.default for entry in registry().values()} == {
        P + name: default for name, default in DEFAULTS.items()
    }
    assert Settings.resolve() == Settings()


@pytest.mark.parametrize("name", DEFAULTS)
def test_option_stands_above_session_above_hadoop_above_default(name: str) -> None:
    key = P + name
    option, session, hadoop = (
        {**COMPANIONS, key: text} if "aws." in name else {key: text} for text in three_values(name)
    )
    kind = registry()[key.lower()].setting.kind

    def meant(given: dict[str, str]) -> object:
        return kind.parse(given[key])

    assert value_of(Settings.resolve(option, session=session, hadoop=hadoop), key) == meant(option)
    assert value_of(Settings.resolve({}, session=session, hadoop=hadoop), key) == meant(session)
    assert value_of(Settings.resolve(session=session, hadoop=hadoop), key) == meant(session)
    assert value_of(Settings.resolve(hadoop=hadoop), key) == meant(hadoop)
    assert meant(option) != meant(session) != meant(hadoop)


def test_each_key_is_looked_for_on_its_own() -> None:
    settings = Settings.resolve(
        {f"{P}checkpoint.interval": "20"},
        session={f"{P}checkpoint.interval": "30", f"{P}checkpoint.retention": "40"},
        hadoop={f"{P}checkpoint.retention": "50", f"{P}checkpoint.parallelism": "8"},
    )
    assert settings.checkpoint == Checkpoint(interval=20, retention=40, parallelism=8)


@pytest.mark.parametrize("spell", [str.lower, str.upper, str.swapcase])
def test_keys_are_compared_without_regard_to_case(spell: Callable[[str], str]) -> None:
    key = f"{P}transaction.retry.maxAttempts"
    assert Settings.resolve({spell(key): "3"}, session={key: "4"}).retry == Retry(max_attempts=3)


def test_keys_without_the_prefix_are_not_ours(caplog: pytest.LogCaptureFixture) -> None:
    assert Settings.resolve({"checkpoint.interval": "20", "path": "/t", "spark.sql.x": "1"}) == Settings()
    assert not caplog.messages


def test_none_counts_as_not_given() -> None:
    key = f"{P}checkpoint.interval"
    assert Settings.resolve({key: None}, session={key: "20"}).checkpoint.interval == 20


def test_python_values_are_taken_as_options() -> None:
    settings = Settings.resolve(
        {
            f"{P}checkpoint.enabled": False,
            f"{P}checkpoint.interval": 20,
            f"{P}transaction.maxStalenessSeconds": 0.5,
            f"{P}stats.columns": ["a", "b"],
        }
    )
    assert settings == Settings(
        checkpoint=Checkpoint(enabled=False, interval=20),
        staleness=Staleness(max_staleness_s=0.5),
        stats=Stats(columns=("a", "b")),
    )


def test_a_bad_value_is_an_error_that_names_key_value_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.resolve({f"{P}Transaction.Compression.GZIP.level": "10"})
    assert str(caught.value) == (
        "spark.indextables.transaction.compression.gzip.level is set to '10', which is not allowed. "
        "Set it to a whole number from 0 to 9."
    )


def test_a_bad_value_that_another_overrides_is_no_error() -> None:
    key = f"{P}checkpoint.interval"
    assert Settings.resolve({key: "20"}, session={key: "often"}).checkpoint.interval == 20


def test_an_unknown_truncation_strategy_warns_and_drops(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="indextables"):
        settings = Settings.resolve({f"{P}stats.truncation.strategy": "shorten"})
    assert settings.truncation.strategy == "drop"
    assert caplog.messages == ["Unknown truncation strategy 'shorten', using 'drop'"]


@pytest.mark.parametrize(
    ("group", "field", "value", "key"),
    [
        (Compression, "gzip_level", 10, "transaction.compression.gzip.level"),
        (Compression, "codec", "brotli", "transaction.compression.codec"),
        (Checkpoint, "interval", 0, "checkpoint.interval"),
        (Checkpoint, "interval", "10", "checkpoint.interval"),
        (Checkpoint, "enabled", 1, "checkpoint.enabled"),
        (Retry, "base_delay_ms", -1, "transaction.retry.baseDelayMs"),
        (Stats, "columns", ["a"], "stats.columns"),
        (Truncation, "strategy", "shorten", "stats.truncation.strategy"),
        (Aws, "access_key", "plain text", "aws.accessKey"),
    ],
)
def test_a_group_built_by_hand_checks_its_values(group: type[Any], field: str, value: object, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        group(**{field: value})
    assert caught.value.key == P + key
    assert "plain text" not in str(caught.value)


def test_the_strategy_truncate_needs_room_for_its_suffix() -> None:
    assert Truncation(strategy="truncate", max_length=12).max_length == 12
    assert Truncation(strategy="drop", max_length=5).max_length == 5
    with pytest.raises(ConfigError, match=r"maxLength is set to 11.*12 or more, or choose another strategy"):
        Settings.resolve({f"{P}stats.truncation.strategy": "truncate", f"{P}stats.truncation.maxLength": "11"})


@pytest.mark.parametrize(
    ("given", "missing"), [("accessKey", "secretKey"), ("secretKey", "accessKey"), ("sessionToken", "accessKey")]
)
def test_half_of_the_credentials_is_an_error_that_shows_none(given: str, missing: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.resolve({f"{P}aws.{given}": "canary"})
    assert caught.value.key == f"{P}aws.{missing}"
    assert "canary" not in str(caught.value)


def test_an_unknown_key_warns_once_with_the_closest_known_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_module, "_reported", set())
    key = f"{P}chekpoint.intervall"
    with caplog.at_level(logging.WARNING, logger="indextables"):
        for _ in range(3):
            assert Settings.resolve({key: "20"}, session={key.upper(): "20"}) == Settings()
        Settings.resolve({f"{P}stats.truncation.maxLen": "20"})
    assert [message.lower() for message in caplog.messages] == [
        f"the unknown setting {key} is ignored; the closest known one is {P}checkpoint.interval",
        f"the unknown setting {P}stats.truncation.maxlen is ignored; the closest known one is {P}stats.truncation.maxlength",
    ]


def test_the_value_of_an_unknown_key_is_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_module, "_reported", set())
    Settings.resolve({f"{P}aws.secretKye": "canary"})
    assert caplog.messages
    assert "canary" not in caplog.text


def test_resolving_every_key_takes_less_than_a_millisecond() -> None:
    options = {entry.setting.key: entry.setting.kind.write(entry.default) for entry in registry().values()}
    session = {f"spark.sql.some.key{number}": "x" for number in range(100)} | options
    assert len(options) >= 40

    counting = sys.gettrace()
    sys.settrace(None)  # or what counts coverage would be measured, too
    try:
        assert least_seconds(lambda: Settings.resolve(options, session=session, hadoop=options), tries=50) < 0.001
    finally:
        sys.settrace(counting)


def test_settings_are_values() -> None:
    assert hash(Settings()) == hash(Settings.resolve())
    with pytest.raises(AttributeError):
        Settings().checkpoint = Checkpoint()  # type: ignore[misc]
