"""Names for bytes that are not published yet. They match no name of the log, and readers of data pass them over (`.`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.runtime import Runtime

_PATTERN = re.compile(r"\.it-tmp-[0-9a-f]{32}\Z")


def temporary_name(runtime: Runtime) -> str:
    """Return an unguessable name to stage a file under, beside its target."""
    return f".it-tmp-{runtime.new_id().replace('-', '')}"


def is_temporary(name: str) -> bool:
    """Tell whether a file name is one of ours for staging, hence invisible to listings."""
    return _PATTERN.match(name) is not None
