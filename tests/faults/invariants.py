"""The judge: tells from the bytes in a store, and from what clients were told, whether a table kept its promises.

It reads the log with a reader of its own, a page of code that shares nothing with the product but the opening of compressed
files, so that a mistake in the product's replay cannot hide itself. The numbers are those of the list of invariants.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from indextables.errors import CommitUnknownError, IndexTablesError, LogCorruptionError
from indextables.log.codec import decode
from tests.support.history import Told, View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.support.history import Call, History

_NAME = re.compile(r"_transaction_log/(\d{20})\.json")
_FACTS = "indextables.commit"
_MARK = " [indextables.commit="


@dataclass(frozen=True, slots=True)
class Commit:
    """A version, as far as a judge cares: its actions, who made it, and what it says about itself."""

    actions: tuple[tuple[str, dict[str, Any]], ...]
    token: str
    facts: dict[str, Any]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the actions of one kind."""
        return [fields for name, fields in self.actions if name == kind]

    def paths(self, kind: str) -> list[str]:
        """Return the files that actions of one kind name."""
        return [fields["path"] for fields in self.of(kind)]


@dataclass(slots=True)
class _State:
    """What the commits so far add up to."""

    files: set[str] = field(default_factory=set)
    skips: dict[str, int] = field(default_factory=dict)
    description: str | None = None
    batches: dict[str, tuple[int, int]] = field(default_factory=dict)

    def apply(self, version: int, commit: Commit) -> None:
        for kind, fields in commit.actions:
            path = fields.get("path", "")
            if kind == "mergeskip":
                self.skips[path] = max(self.skips.get(path, 0), fields["skipCount"])
            elif kind == "metaData":
                self.description = fields.get("description")
            elif kind in {"add", "remove"}:
                self.skips.pop(path, None)
                (self.files.add if kind == "add" else self.files.discard)(path)
        if "app" in commit.facts:
            app, batch = commit.facts["app"], (commit.facts["batch"], version)
            self.batches[app] = max(batch, self.batches.get(app, batch))

    def view(self, version: int) -> View:
        return View(
            version,
            tuple(sorted(self.files)),
            tuple(sorted(self.skips.items())),
            self.description,
            tuple(sorted((app, *batch) for app, batch in self.batches.items())),
        )


def slots_of(tree: Mapping[str, bytes]) -> dict[int, bytes]:
    """Return the bytes of every version in a store."""
    return {int(found[1]): data for path, data in tree.items() if (found := _NAME.fullmatch(path))}


@lru_cache(maxsize=1 << 14)
def read_commit(data: bytes) -> Commit:
    """Return what a file of the log says."""
    actions = []
    for line in decode(data, path="the log").splitlines():
        ((kind, fields),) = json.loads(line).items()
        actions.append((kind, fields))
    return Commit(tuple(actions), _token(actions), _facts(actions))


def replay(slots: Mapping[int, bytes]) -> list[View]:
    """Return the table at each version."""
    state, views = _State(), []
    for version in range(len(slots)):
        state.apply(version, read_commit(slots[version]))
        views.append(state.view(version))
    return views


def violations(tree: Mapping[str, bytes], history: History, *, final: bool = True) -> list[str]:
    """Return every promise that is broken; none is what a table is for.

    Args:
        tree: The objects in the store.
        history: What clients were told. What is seen now is remembered in it.
        final: Whether everything that was on its way has arrived or is lost, so that what is there stays there.
    """
    slots = slots_of(tree)
    found = [f"I1: {text}" for text in history.see(slots, acknowledged_only=not final)]
    if sorted(slots) != list(range(len(slots))):
        return [*found, f"I1: the versions {sorted(slots)} have a gap"]
    try:
        commits = [read_commit(slots[version]) for version in range(len(slots))]
    except (LogCorruptionError, ValueError) as error:
        return [*found, f"I1: a version cannot be read: {error!r}"]
    at = defaultdict(list)
    for version, commit in enumerate(commits):
        at[commit.token].append(version)
    found += _once(commits, at, history)
    found += _answers(commits, at, history)
    found += _order(history)
    found += _rows(commits, slots, history)
    found += _serial(commits)
    found += _looks(slots, history)
    if final:
        found += _fates(at, history)
    return found


def _once(commits: Sequence[Commit], at: Mapping[str, list[int]], history: History) -> Iterator[str]:
    """I1, I13: a commit, and a batch of an application, is one version; and nobody commits who was not asked to."""
    asked = {call.token for call in history.calls}
    for token, versions in at.items():
        if len(versions) > 1:
            yield f"I1: {token} was committed {len(versions)} times, as {versions}"
        if token not in asked:
            yield f"I1: nobody asked for {token} at version {versions[0]}"
    batches = Counter((commit.facts["app"], commit.facts["batch"]) for commit in commits if "app" in commit.facts)
    for batch, times in batches.items():
        if times > 1:
            yield f"I13: the batch {batch} was committed {times} times"
    times_of_commits = [commit.facts["timestamp"] for commit in commits if "timestamp" in commit.facts]
    if any(later <= earlier for earlier, later in pairwise(times_of_commits)):
        yield f"I1: the times of the commits do not grow: {times_of_commits}"


def _answers(commits: Sequence[Commit], at: Mapping[str, list[int]], history: History) -> Iterator[str]:
    """I4, I5, I13: what was told is true."""
    for call in history.calls:
        there = at.get(call.token, [])
        if call.told is Told.NONSENSE:
            yield f"P6: {call} raised {call.error!r}"
        elif call.told is Told.FAILED and there and not _is_about_what_is_there(call):
            yield f"I4: {call} is there at {there}"
        elif call.told is Told.UNKNOWN and there and isinstance(call.error, CommitUnknownError):
            if [call.error.version] != there:
                yield f"I5: {call} is there at {there}, and was to be at {call.error.version}"
        elif call.told is Told.DONE:
            yield from _acknowledged(call, there, commits)


def _is_about_what_is_there(call: Call) -> bool:
    """A creator who cannot read the table that it finds does not say who made it, and need not: it may just try again."""
    return call.wish.verb == "create" and isinstance(call.error, LogCorruptionError)


def _acknowledged(call: Call, there: list[int], commits: Sequence[Commit]) -> Iterator[str]:
    if call.version is None or not 0 <= call.version < len(commits):
        yield f"I4: {call} is not there"
        return
    commit = commits[call.version]
    if call.written and (there != [call.version] or commit.facts.get("id") != call.commit_id):
        yield f"I4: {call} as {call.commit_id} is there at {there}, with {commit.facts}"
    if call.wish.verb == "create":
        (metadata,) = commits[0].of("metaData")
        if metadata["schemaString"] != call.wish.schema:
            yield f"I4: {call} got the table of somebody else"
    elif not call.written and there:
        yield f"I4: {call} wrote nothing and is there at {there}"
    if call.wish.batch is not None:
        app, batch = call.wish.batch
        if commit.facts.get("app") != app or commit.facts["batch"] < batch:
            yield f"I13: {call} is not the batch at version {call.version}"


def _order(history: History) -> Iterator[str]:
    """I2: who starts after another was acknowledged comes after it."""
    for call in history.calls:
        before = history.acknowledged_before(call.started)
        if call.told is Told.DONE and call.written and call.version is not None and call.version <= before:
            yield f"I2: {call} came after version {before} was acknowledged"


def _rows(commits: Sequence[Commit], slots: Mapping[int, bytes], history: History) -> Iterator[str]:
    """I3: the rows at each version are those that its calls, one after the other, would leave."""
    wishes = {call.token: call.wish for call in history.calls}
    expected: Counter[str] = Counter()
    for version, view in enumerate(replay(slots)):
        wish = wishes.get(commits[version].token)
        if wish is None:
            return
        if wish.verb == "overwrite":
            expected = Counter()
        expected.subtract(wish.takes)
        expected.update(wish.adds)
        actual = Counter(row for path in view.files for row in history.rows[path])
        if actual != +expected or min(expected.values(), default=0) < 0:
            yield f"I3: at version {version} the rows are {sorted(actual.elements())}, not {sorted(expected.elements())}"


def _serial(commits: Sequence[Commit]) -> Iterator[str]:
    """I6: each writer's commit fits the version right before it, as if it had been alone."""
    state = _State()
    for version, commit in enumerate(commits):
        added, removed = commit.paths("add"), set(commit.paths("remove"))
        if gone := removed - state.files:
            yield f"I6: version {version} removes {sorted(gone)}, which are not there"
        if again := set(added) & (state.files - removed):
            yield f"I6: version {version} adds {sorted(again)}, which are there"
        if commit.facts.get("operation") == "overwrite" and (left := state.files - removed):
            yield f"I6: version {version} overwrites the table and leaves {sorted(left)}"
        for skip in commit.of("mergeskip"):
            if skip["skipCount"] != state.skips.get(skip["path"], 0) + 1:
                yield f"I6: version {version} counts skip {skip['skipCount']} of {skip['path']}"
        state.apply(version, commit)


def _looks(slots: Mapping[int, bytes], history: History) -> Iterator[str]:
    """I6: a reader sees one version, whole, none older than what was acknowledged before, and never goes back."""
    views = replay(slots)
    newest: dict[str, int] = {}
    for look in history.looks:
        if look.view is None:
            if look.error is not None and not isinstance(look.error, IndexTablesError):
                yield f"P6: a read raised {look.error!r}"
            continue
        version = look.view.version
        if version >= len(views) or look.view != views[version]:
            yield f"I6: a read saw {look.view}, which is no version of the table"
        if look.hidden:
            continue
        if version < history.acknowledged_before(look.started):
            yield f"I6: a read missed what was acknowledged before it began, and saw version {version}"
        if version < newest.get(look.client, -1):
            yield f"I6: {look.client} read version {version} after version {newest[look.client]}"
        newest[look.client] = version


def _fates(at: Mapping[str, list[int]], history: History) -> Iterator[str]:
    """I5: what nobody knew happened or did not, and stays so."""
    for call in history.calls:
        if call.told in {Told.UNKNOWN, Told.PENDING}:
            fate = at[call.token][0] if call.token in at else None
            if history.fates.setdefault(call.token, fate) != fate:
                yield f"I5: {call} was at {history.fates[call.token]} and is at {fate}"


def _token(actions: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Return who made a commit: the folder of its files, else its user's text, a reason's first word, the description."""
    for kind, fields in actions:
        if kind == "add":
            return str(fields["path"]).partition("/")[0]
    for kind, fields in actions:
        if kind == "remove":
            return str(_facts(actions).get("user"))
        if kind == "mergeskip":
            return str(fields["reason"]).partition(" ")[0]
        if kind == "metaData":
            return str(fields["description"])
    return "nobody"


def _facts(actions: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    for kinds in ({"add", "remove"}, {"metaData"}):
        for kind, fields in actions:
            if kind in kinds:
                holder = fields.get("configuration" if kind == "metaData" else "tags") or {}
                if _FACTS in holder:
                    facts: dict[str, Any] = json.loads(holder[_FACTS])
                    return facts
    for kind, fields in actions:
        if kind == "mergeskip" and _MARK in fields["reason"]:
            return {"id": fields["reason"].rpartition(_MARK)[2].removesuffix("]"), "timestamp": fields["skipTimestamp"]}
    return {}
