"""One declaration a setting: a field of a group's dataclass that carries its key, its kind, its default and its meaning.

Everything else follows from it: how options are read, what is refused, and the reference table. A group checks itself whenever it
is built, so a bad value is found where it is given and not where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

from indextables.errors import ConfigError

if TYPE_CHECKING:
    from indextables.config.values import Kind

PREFIX = "spark.indextables."
"""What every key begins with."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What is declared about one key.

    Attributes:
        key: The full name.
        kind: What a value can be.
        doc: One line that says what it does.
    """

    key: str
    kind: Kind[Any]
    doc: str

    def parse(self, raw: object) -> Any:
        """Return the value of an option as it arrived.

        Raises:
            ConfigError: It is not allowed.
        """
        try:
            return self.kind.parse(raw)
        except ValueError:
            # The cause adds nothing, and its text could repeat a secret.
            raise self.refusal(raw) from None

    def check(self, value: object) -> None:
        """Pass if a Python value is allowed.

        Raises:
            ConfigError: It is not.
        """
        try:
            self.kind.check(value)
        except ValueError:
            raise self.refusal(value) from None

    def refusal(self, value: object, *, allowed: str | None = None) -> ConfigError:
        """Return the error for a value that is not allowed, with secrets masked."""
        return ConfigError(self.key, self.kind.show(value), allowed or self.kind.allowed)


def setting(name: str, kind: Kind[T], default: T, doc: str) -> T:
    """Declare a field of a group.

    Args:
        name: The key without the prefix that all keys share.
        kind: What a value can be.
        default: The value where nobody gives one.
        doc: One line that says what it does.
    """
    declared = Setting(key=PREFIX + name, kind=kind, doc=doc)
    return field(default=default, metadata={Setting: declared})


class Group:
    """Settings of one concern; subclasses are frozen dataclasses whose fields are all made by `setting`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, declared in declared_in(type(self)).items():
            declared.check(getattr(self, name))


def declared_in(group: type[Group]) -> dict[str, Setting]:
    """Return a group's settings by the names of their fields, in the order of their declaration."""
    return {entry.name: entry.metadata[Setting] for entry in fields(cast("Any", group))}
