"""What a setting's value can be: one class a kind, which reads it from text, checks it, writes it and says what is allowed.

A kind knows nothing of keys and raises a bare `ValueError`; the declaration that uses it turns that into a `ConfigError` with the
key's name. Text arrives from Spark and Hadoop, Python values from people who pass `True` or `10` as an option.
"""

# ruff: noqa: D102 - what the methods of a kind do is documented once, on the class that all kinds extend

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from indextables.config.secret import MASK, Secret

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_SHOWN_LENGTH = 200
_SHOWN_BITS = 640
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_ADDRESS = re.compile(
    r"(?:https?://)?(?:\[[0-9a-f:.]+\]|[^\s/@?#:\[\]]+)(?::[0-9]{1,5})?(?:/[^\s@?#]*)?", re.IGNORECASE
)
_SUSPICIOUS = frozenset("@?#")  # what follows or precedes these in an address may be a password or a signed token
_BOOLEANS = {"true": True, "false": False}


class Kind(ABC, Generic[T]):
    """One kind of value."""

    name: str
    """The kind as the reference table calls it."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """Which values are allowed, as the end of the sentence "Set it to …"."""

    @abstractmethod
    def read(self, text: str) -> T:
        """Return the value that a text without surrounding blanks means.

        Raises:
            ValueError: It means none that is allowed.
        """

    @abstractmethod
    def check(self, value: object) -> T:
        """Return a Python value if it is allowed.

        Raises:
            ValueError: It is of another type or out of range.
        """

    def parse(self, raw: object) -> T:
        """Return the value of an option as it arrived: text, or a Python value.

        Raises:
            ValueError: It is not allowed.
        """
        return self.read(raw.strip()) if isinstance(raw, str) else self.check(raw)

    def write(self, value: T) -> str:
        """Return the text that reads back as `value`, in the form that a person would choose."""
        return str(value)

    def show(self, raw: object) -> object:
        """Return what an error may show of a refused value: short, and nothing of an object that could hold secrets."""
        if isinstance(raw, str):
            return raw if len(raw) <= _SHOWN_LENGTH else raw[: _SHOWN_LENGTH - 1] + "…"
        if raw is None or isinstance(raw, float) or (isinstance(raw, int) and raw.bit_length() <= _SHOWN_BITS):
            return raw
        return f"<{type(raw).__name__}>"


class Boolean(Kind[bool]):
    """`true` or `false`, in any case."""

    name = "boolean"

    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, text: str) -> bool:
        return self.check(_BOOLEANS.get(text.lower()))

    def check(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError

    def write(self, value: bool) -> str:
        return "true" if value else "false"


class Integer(Kind[int]):
    """A whole number within bounds, both included."""

    name = "integer"

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum = minimum
        self._maximum = maximum

    @property
    def allowed(self) -> str:
        return f"a whole number from {self._minimum} to {self._maximum}"

    def read(self, text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError
        return self.check(int(text))

    def check(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self._minimum <= value <= self._maximum:
            raise ValueError
        return value


class Choice(Kind[T]):
    """One of a few words, in any case; kept in the case of its declaration."""

    name = "choice"

    def __init__(self, words: tuple[T, ...]) -> None:
        self._words = {str(word): word for word in words}

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self._words)}"

    def read(self, text: str) -> T:
        return self.check(text.lower())

    def check(self, value: object) -> T:
        if not isinstance(value, str) or value not in self._words:
            raise ValueError
        return self._words[value]


class LenientChoice(Choice[T]):
    """A choice for which an unknown word is no error: it gives a warning and the fallback."""

    def __init__(self, words: tuple[T, ...], *, fallback: T, subject: str) -> None:
        super().__init__(words)
        self._fallback = fallback
        self._subject = subject

    @property
    def allowed(self) -> str:
        return f"{super().allowed}; anything else gives a warning and counts as {self._fallback}"

    def parse(self, raw: object) -> T:
        try:
            return super().parse(raw)
        except ValueError:
            _LOG.warning("Unknown %s %r, using %r", self._subject, str(self.show(raw)), self._fallback)
            return self._fallback


class Text(Kind[str]):
    """Any text but the empty one."""

    name = "text"

    @property
    def allowed(self) -> str:
        return "a text"

    def read(self, text: str) -> str:
        return self.check(text)

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


class Address(Text):
    """Where a server is. A user or password in it is refused, because addresses are shown and logged."""

    name = "address"

    @property
    def allowed(self) -> str:
        return "a web address such as https://s3.example.org, without user, password or query"

    def check(self, value: object) -> str:
        text = super().check(value)
        if not _ADDRESS.fullmatch(text):
            raise ValueError
        return text

    def show(self, raw: object) -> object:
        return MASK if isinstance(raw, str) and not _SUSPICIOUS.isdisjoint(raw) else super().show(raw)


class SecretText(Kind[Secret]):
    """A text that is never shown."""

    name = "secret"

    @property
    def allowed(self) -> str:
        return "a text"

    def read(self, text: str) -> Secret:
        return self.check(Secret(text))

    def check(self, value: object) -> Secret:
        if not isinstance(value, Secret) or not value.reveal():
            raise ValueError
        return value

    def write(self, value: Secret) -> str:
        return value.reveal()

    def show(self, raw: object) -> object:
        return raw if raw is None else MASK


class Names(Kind[tuple[str, ...]]):
    """Names with commas between them; blanks around a name do not count, the empty text is the empty list."""

    name = "list"

    @property
    def allowed(self) -> str:
        return "names with commas between them"

    def read(self, text: str) -> tuple[str, ...]:
        return self.check(tuple(name.strip() for name in text.split(",")) if text else ())

    def parse(self, raw: object) -> tuple[str, ...]:
        return super().parse(tuple(raw) if isinstance(raw, list) else raw)

    def check(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, tuple) or not all(isinstance(name, str) and name for name in value):
            raise ValueError
        return value

    def write(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


class Maybe(Kind[T | None]):
    """A value that may be absent; the empty text means that it is."""

    def __init__(self, kind: Kind[T]) -> None:
        self.name = kind.name
        self._kind = kind

    @property
    def allowed(self) -> str:
        return self._kind.allowed

    def read(self, text: str) -> T | None:
        return self._kind.read(text) if text else None

    def check(self, value: object) -> T | None:
        return None if value is None else self._kind.check(value)

    def write(self, value: T | None) -> str:
        return "" if value is None else self._kind.write(value)

    def show(self, raw: object) -> object:
        return self._kind.show(raw)
