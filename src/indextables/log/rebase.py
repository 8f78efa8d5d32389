"""What becomes of an intended commit when others commit first, and nothing of theirs rules it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from indextables.log.actions import Skip
from indextables.log.conflicts import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log.columns import ActionColumns
    from indextables.log.commit import Intent
    from indextables.log.commit_info import CommitInfo


def repeats(info: CommitInfo, intent: Intent) -> bool:
    """Tell whether a commit is a batch that makes ours a repetition."""
    if intent.app is None or intent.batch is None or info.batch is None:
        return False
    return info.app == intent.app and info.batch >= intent.batch


def rebased(intent: Intent, theirs: ActionColumns) -> Intent:
    """Carry skips over a commit of others: counts go on from theirs, and files that are gone need no skip."""
    if Kind.SKIP not in intent.kinds:
        return intent
    gone = frozenset(theirs.removes["path"].to_pylist())
    counts = dict(zip(theirs.skips["path"].to_pylist(), theirs.skips["skip_count"].to_pylist(), strict=True))
    actions = [
        _recounted(action, counts) if isinstance(action, Skip) else action
        for action in intent.actions
        if not (isinstance(action, Skip) and action.path in gone)
    ]
    return replace(intent, actions=actions)


def _recounted(skip: Skip, counts: Mapping[str, int | None]) -> Skip:
    if skip.path not in counts:
        return skip
    return msgspec.structs.replace(skip, skip_count=max(skip.skip_count or 1, (counts[skip.path] or 1) + 1))
