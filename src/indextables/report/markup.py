"""HTML from values. Whatever comes out of a table or a Metastore is somebody's text, so text is escaped unless it was made here.

There is one way to make an element, and it escapes; `Html` is the only thing that it leaves as it is, and only this package makes
that. Characters that would change how the text around them looks are spelled out.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*\Z", re.IGNORECASE)
_VOID: Final = frozenset({"br", "col", "link", "meta"})
# Control characters, those that turn the direction of writing, and halves of characters that no encoding has.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Attribute = str | int | float | None


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def visible(text: str) -> str:
    """Return text in which nothing is hidden: odd characters are written as escapes."""
    return _UNSEEN.sub(
        lambda found: f"\\u{ord(found[0]):04x}" if ord(found[0]) > 0xFF else f"\\x{ord(found[0]):02x}", text
    )


def text_of(value: object) -> Html:
    """Return a value as text of a page."""
    return value if isinstance(value, Html) else Html(escape(visible(str(value)), quote=True))


def el(name: str, /, *children: object, **attributes: Attribute) -> Html:
    """Return an element.

    Args:
        name: Of the element.
        children: What is in it; None is nothing, and everything but `Html` is text.
        attributes: An underscore at the end is dropped, so that `class_` can be given, and others become dashes. None is left out.
    """
    written = "".join(
        f' {_known(key.rstrip("_").replace("_", "-"))}="{text_of(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    inside = "".join(text_of(child) for child in children if child is not None)
    return Html(f"<{_known(name)}{written}>{inside}</{name}>")


def join(*parts: object) -> Html:
    """Return several things one after the other."""
    return Html("".join(text_of(part) for part in parts if part is not None))


def _known(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is no name of an element or attribute")
    return name
