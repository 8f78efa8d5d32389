"""A text that must not be seen: it shows itself only to code that asks for it by name."""

from __future__ import annotations

MASK = "***"
"""What stands in place of a secret wherever a person could read it."""


class Secret:
    """A password, key or token; `repr`, `str`, format strings and log lines show a mask.

    It pickles with its content, because Spark carries settings to its workers.
    """

    __slots__ = ("_content",)

    def __init__(self, content: str) -> None:
        self._content = content

    def reveal(self) -> str:
        """Return the text itself, for the one call that needs it."""
        return self._content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._content == other._content

    def __hash__(self) -> int:
        return hash((Secret, self._content))

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK
