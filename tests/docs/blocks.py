"""Code blocks in Markdown: what a page asks its reader to run, and what it says comes out.

A fence with `title="Output"` holds what the block before it prints, where `…` stands for anything. A fence with a file name as its
title becomes that file. Two comments are for the tests alone: `<!-- before: code -->` is Python that makes what a page takes for
granted, and `<!-- not run: reason -->` directly before a fence exempts that block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
RUN: Final = frozenset({"python", "bash", "sql"})
SHOWN: Final = frozenset({"", "text", "json", "yaml", "xml"})
OUTPUT: Final = "Output"

_FENCE: Final = re.compile(r"^( *)```(\S*)(?: +title=\"([^\"]+)\")? *\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
_BEFORE: Final = re.compile(r"<!-- before: ?(.*?) ?-->", re.DOTALL)
_NOT_RUN: Final = re.compile(r"<!-- not run: (.*?) -->\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fence.

    Attributes:
        line: Where its content begins, counted from 1.
        language: The word behind the backticks.
        title: Its title, or an empty text.
        code: Its content.
        before: Python that has to run first.
        not_run: Why it is not run, or an empty text.
    """

    line: int
    language: str
    title: str
    code: str
    before: str
    not_run: str


def blocks_of(text: str) -> list[Block]:
    """Return the fences of a page, in order."""
    found = []
    end = 0
    for fence in _FENCE.finditer(text):
        indent, language, title, code = fence.groups()
        prose = text[end : fence.start()]
        not_run = _NOT_RUN.search(prose)
        found.append(
            Block(
                line=text.count("\n", 0, fence.start()) + 2,
                language=language,
                title=title or "",
                code=re.sub(f"^{indent}", "", code, flags=re.MULTILINE) if indent else code,
                before="\n".join(_BEFORE.findall(prose)),
                not_run=not_run[1] if not_run else "",
            )
        )
        end = fence.end()
    return found


def pages() -> list[Path]:
    """Return every page that people read: the README and the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    """Return a page's path inside the repository."""
    return page.relative_to(ROOT).as_posix()


def differs(said: str, printed: str) -> bool:
    """Tell whether a page claims something else than what was printed, but for blanks at ends of lines and `…`."""
    pattern = ".*?".join(re.escape(part) for part in _tidy(said).split("…"))
    return re.fullmatch(pattern, _tidy(printed), re.DOTALL) is None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
