"""What each kind of value accepts, means and refuses."""

from __future__ import annotations

import logging
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Secret
from indextables.config.declare import Setting
from indextables.config.groups import LogCodec
from indextables.config.quantities import DAY_MS, HOUR_MS, LONGEST_MS, SECOND_MS, Duration, Milliseconds, Size
from indextables.config.settings import registry
from indextables.config.values import (
    Address,
    Boolean,
    Choice,
    Integer,
    Kind,
    LenientChoice,
    Maybe,
    Names,
    SecretText,
    Text,
)
from indextables.errors import ConfigError

KEY = "spark.indextables.some.key"
MILLISECONDS = Milliseconds()
SECONDS = Duration(unit_ms=SECOND_MS)
HOURS = Duration(unit_ms=HOUR_MS)
SIZE = Size()

KINDS = [entry.setting for entry in registry().values()]
SETTINGS = st.sampled_from(KINDS)
JUNK = st.one_of(
    st.text(),
    st.sampled_from(
        [
            "",
            " ",
            "-1",
            "1e9",
            "NaN",
            "inf",
            "\N{ARABIC-INDIC DIGIT ONE}",
            "9" * 5000,
            "1" * 19 + "d",
            "true false",
            "1.5",
            "0x10",
        ]
    ),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(),
    st.lists(st.one_of(st.text(), st.integers())),
    st.dictionaries(st.text(), st.text()),
)


def parsed(kind: Kind[Any], raw: object) -> Any:
    return Setting(key=KEY, kind=kind, doc="").parse(raw)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (Boolean(), "true", True),
        (Boolean(), " FALSE ", False),
        (Boolean(), True, True),
        (Integer(0, 9), "0", 0),
        (Integer(0, 9), " +9 ", 9),
        (Integer(-5, 5), "-5", -5),
        (Integer(0, 9), 6, 6),
        (Choice(get_args(LogCodec)), "GZip", "gzip"),
        (MILLISECONDS, "2592000000", 30 * DAY_MS),
        (MILLISECONDS, "30d", 30 * DAY_MS),
        (MILLISECONDS, "2h", 7_200_000),
        (MILLISECONDS, "500ms", 500),
        (MILLISECONDS, "1.5 s", 1_500),
        (MILLISECONDS, "10m", 600_000),
        (MILLISECONDS, "10 MIN", 600_000),
        (MILLISECONDS, 250, 250),
        (SECONDS, "30", 30),
        (SECONDS, "500ms", 0.5),
        (SECONDS, "0.25", 0.25),
        (SECONDS, "5m", 300),
        (SECONDS, 0.5, 0.5),
        (HOURS, "24", 24),
        (HOURS, "1d", 24),
        (HOURS, "30m", 0.5),
        (SIZE, "134217728", 134_217_728),
        (SIZE, "128MB", 134_217_728),
        (SIZE, "128 mib", 134_217_728),
        (SIZE, "5G", 5 << 30),
        (SIZE, "1.5k", 1536),
        (SIZE, "7B", 7),
        (SIZE, "2TB", 2 << 40),
        (SIZE, 1024, 1024),
        (Names(), "a, b ,c", ("a", "b", "c")),
        (Names(), "", ()),
        (Names(), ["a", "b"], ("a", "b")),
        (Names(), ("a",), ("a",)),
        (Text(), " eu-west-1 ", "eu-west-1"),
        (Address(), "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        (Address(), "https://s3.example.org/base", "https://s3.example.org/base"),
        (Address(), "minio:9000", "minio:9000"),
        (Address(), "HTTP://[::1]:9000", "HTTP://[::1]:9000"),
        (SecretText(), "hidden", Secret("hidden")),
        (SecretText(), Secret("hidden"), Secret("hidden")),
        (Maybe(Text()), "", None),
        (Maybe(Boolean()), "true", True),
        (Maybe(Boolean()), None, None),
    ],
)
def test_a_value_means(kind: Kind[Any], raw: object, value: object) -> None:
    assert parsed(kind, raw) == value
    assert type(parsed(kind, raw)) in {type(value), float}


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (Boolean(), "yes"),
        (Boolean(), ""),
        (Boolean(), 1),
        (Integer(0, 9), "10"),
        (Integer(0, 9), "-1"),
        (Integer(0, 9), "6.0"),
        (Integer(0, 9), "six"),
        (Integer(0, 9), "1_0"),
        (Integer(0, 9), "\N{ARABIC-INDIC DIGIT SIX}"),
        (Integer(0, 9), True),
        (Integer(0, 9), 6.0),
        (Choice(get_args(LogCodec)), "brotli"),
        (Choice(get_args(LogCodec)), 1),
        (MILLISECONDS, "-1"),
        (MILLISECONDS, "0.5"),
        (MILLISECONDS, "0.0001s"),
        (MILLISECONDS, "1 fortnight"),
        (MILLISECONDS, "d"),
        (MILLISECONDS, ""),
        (MILLISECONDS, True),
        (MILLISECONDS, 0.5),
        (MILLISECONDS, str(LONGEST_MS + 1)),
        (Milliseconds(minimum_ms=1), "0"),
        (SECONDS, float("nan")),
        (SECONDS, float("inf")),
        (SECONDS, -1),
        (SECONDS, False),
        (SIZE, "12.5"),
        (SIZE, "1.0001KB"),
        (SIZE, "-5"),
        (SIZE, "5X"),
        (SIZE, "99999999TB"),
        (Size(minimum=1024), "1023"),
        (SIZE, 1.0),
        (Names(), "a,,b"),
        (Names(), [1]),
        (Text(), ""),
        (Text(), 5),
        (Address(), "http://"),
        (Address(), "http://host:port"),
        (Address(), "ftp://example.org"),
        (Address(), "https://example.org/a b"),
        (SecretText(), ""),
        (SecretText(), 5),
        (Maybe(Boolean()), "maybe"),
    ],
)
def test_a_value_is_refused_with_key_value_and_what_is_allowed(kind: Kind[Any], raw: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(kind, raw)
    assert caught.value.key == KEY
    assert caught.value.allowed == kind.allowed
    assert KEY in str(caught.value)
    assert kind.allowed in str(caught.value)
    assert repr(caught.value.value) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        (Integer(0, 9), "a whole number from 0 to 9"),
        (Choice(("a", "b")), "one of a, b"),
        (
            Milliseconds(minimum_ms=1),
            "1ms to 36500d: a plain number of milliseconds, or one with the unit ms, s, m, h or d",
        ),
        (HOURS, "0 to 36500d: a plain number of hours, or one with the unit ms, s, m, h or d"),
        (Size(minimum=1024), "1KB or more: a plain number of bytes, or one with the unit KB, MB, GB or TB"),
    ],
)
def test_what_is_allowed_is_said_in_words(kind: Kind[Any], allowed: str) -> None:
    assert kind.allowed == allowed


def test_an_unknown_word_of_a_lenient_choice_warns_and_counts_as_the_fallback(caplog: pytest.LogCaptureFixture) -> None:
    kind = LenientChoice(("drop", "keep"), fallback="drop", subject="truncation strategy")
    with caplog.at_level(logging.WARNING, logger="indextables"):
        assert parsed(kind, "Shorten") == "drop"
    assert caplog.messages == ["Unknown truncation strategy 'Shorten', using 'drop'"]


def test_a_refused_secret_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(SecretText(), b"canary")
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert caught.value.value == "***"


@pytest.mark.parametrize("address", ["https://user:canary@host", "user:canary@host", "https://host/?token=canary"])
def test_an_address_with_a_password_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(Address(), address)
    assert "canary" not in str(caught.value)
    assert "canary" not in repr(vars(caught.value))


def test_a_refused_value_is_shown_only_in_part_when_it_is_long() -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(Integer(0, 9), "x" * 100_000)
    assert len(str(caught.value)) < 400


def test_a_refused_object_is_named_by_its_type_alone() -> None:
    with pytest.raises(ConfigError, match="<dict>") as caught:
        parsed(Integer(0, 9), {"password": "canary"})
    assert "canary" not in str(caught.value)


@given(SETTINGS, JUNK)
def test_junk_raises_nothing_but_a_config_error(setting: Setting, junk: object) -> None:
    try:
        value = setting.parse(junk)
    except ConfigError as error:
        assert setting.key in str(error)  # noqa: PT017 - most junk is refused, some means something
    else:
        setting.check(value)


@pytest.mark.parametrize("kind", [MILLISECONDS, SECONDS, HOURS])
@given(data=st.data())
def test_durations_survive_writing_and_reading(kind: Duration | Milliseconds, data: st.DataObject) -> None:
    ms = data.draw(st.integers(0, LONGEST_MS) | st.integers(0, 36_500).map(lambda days: days * DAY_MS))
    value = parsed(kind, f"{ms}ms")
    assert parsed(kind, kind.write(value)) == value
    assert MILLISECONDS.read(kind.write(value) if value else "0") == ms


@given(st.integers(0, (1 << 63) - 1) | st.integers(0, 8191).map(lambda count: count << 40))
def test_sizes_survive_writing_and_reading(size: int) -> None:
    assert parsed(SIZE, SIZE.write(size)) == size


@given(st.booleans())
def test_booleans_survive_writing_and_reading(value: bool) -> None:
    assert parsed(Boolean(), Boolean().write(value)) is value


@given(st.integers(-(10**9), 10**9))
def test_integers_survive_writing_and_reading(value: int) -> None:
    kind = Integer(-(10**9), 10**9)
    assert parsed(kind, kind.write(value)) == value


@given(st.lists(st.text(min_size=1).filter(lambda name: name == name.strip() and "," not in name)))
def test_names_survive_writing_and_reading(names: list[str]) -> None:
    assert parsed(Names(), Names().write(tuple(names))) == tuple(names)


@given(st.text(min_size=1).filter(lambda text: text == text.strip()))
def test_secrets_survive_writing_and_reading(text: str) -> None:
    assert parsed(SecretText(), SecretText().write(Secret(text))) == Secret(text)


@pytest.mark.parametrize("setting", KINDS, ids=lambda setting: setting.key)
def test_every_default_survives_writing_and_reading(setting: Setting) -> None:
    default = registry()[setting.key.lower()].default
    assert setting.parse(setting.kind.write(default)) == default
