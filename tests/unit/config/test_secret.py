"""A secret is seen only by code that asks for it."""

from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
from typing import TYPE_CHECKING

from indextables.config import Aws, Secret, Settings

if TYPE_CHECKING:
    import pytest

CANARY = "canary-7f3a"
HIDDEN = Aws(access_key=Secret(CANARY), secret_key=Secret(CANARY), session_token=Secret(CANARY))


def test_only_reveal_shows_it() -> None:
    secret = Secret(CANARY)
    assert secret.reveal() == CANARY
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "%s %r" % (secret, secret), repr([secret])]  # noqa: UP031
    assert not any(CANARY in text for text in shown)
    assert str(secret) == "***"


def test_settings_with_secrets_can_be_shown() -> None:
    settings = Settings(aws=HIDDEN)
    shown = [repr(settings), str(settings), repr(settings.aws), repr(dataclasses.asdict(settings))]
    assert not any(CANARY in text for text in shown)


def test_settings_with_secrets_can_be_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("indextables.test").debug("settings %s %r", HIDDEN, HIDDEN.secret_key)
    assert caplog.messages
    assert CANARY not in caplog.text


def test_it_compares_by_content_and_with_nothing_else() -> None:
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


def test_it_survives_pickling_and_copying() -> None:
    assert pickle.loads(pickle.dumps(Secret(CANARY))) == Secret(CANARY)
    assert copy.deepcopy(Settings(aws=HIDDEN)) == Settings(aws=HIDDEN)
    assert pickle.loads(pickle.dumps(Settings(aws=HIDDEN))) == Settings(aws=HIDDEN)
