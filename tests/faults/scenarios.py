"""What is disturbed: small jobs of one or two clients on a small table, each the same every time it runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.log.layout import commit_path
from indextables.testing.models import S3Model
from tests.faults.clients import PLAIN, SETTINGS, UNCACHED, WIDER_SCHEMA, Client
from tests.faults.invariants import replay, slots_of, violations
from tests.support.history import History, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.testing.models import Model
    from tests.support.history import Call

FIRST, SECOND, THIRD = "s2/s2-0", "s2/s2-1", "s3/s3-0"
"""The files of the table that most scenarios start from."""


class Site:
    """A store with a table, the clients that work on it, and their history."""

    def __init__(
        self, store: Store, history: History, *, wrap: Callable[[Store, Runtime], Store] | None = None
    ) -> None:
        self.store = store
        self.history = history
        self.clients: list[Client] = []
        self._wrap = wrap

    def client(
        self, name: str, *, settings: Settings = SETTINGS, before_commit: Callable[[], object] | None = None
    ) -> Client:
        client = Client(name, self.store, self.history, settings=settings, before_commit=before_commit, wrap=self._wrap)
        self.clients.append(client)
        return client


@dataclass(frozen=True, slots=True)
class Scenario:
    """A job to disturb; `empty` if it starts from nothing instead of from a small table."""

    name: str
    run: Callable[[Site], object]
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """A store in a state to start from, and how it got there."""

    model: Model
    history: History


@lru_cache(maxsize=64)
def start(make: Callable[[], Model], *, empty: bool = False) -> Start:
    """Return an empty store of that kind, or one with a small table: three versions, three files of a row each."""
    model, history = make(), History()
    if not empty:
        client = Client("s", model, history)
        calls = [client.create(), client.append(files=2), client.append()]
        problems = violations(model.tree(), history)
        if problems or any(call.told is not Told.DONE for call in calls):
            raise AssertionError(f"the table to start from is not sound: {problems}, {list(map(str, calls))}")
    return Start(model, history)


def _racing_appends(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=other.append).append()


def _merge_against_append(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=other.append).merge(FIRST, SECOND)


def _append_against_merge(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=lambda: other.merge(FIRST, SECOND)).append()


def _racing_merges(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=lambda: other.merge(SECOND, THIRD)).merge(FIRST, SECOND)


def _overwrite_against_append(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=other.append).overwrite()


def _racing_skips(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=lambda: other.skip(FIRST)).skip(FIRST)


def _racing_batches(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=lambda: other.append(batch=("stream", 1))).append(batch=("stream", 1))


def _repeated_batch(site: Site) -> None:
    site.client("a").append(batch=("stream", 1))
    site.client("b").append(batch=("stream", 1))


def _skip_twice(site: Site) -> None:
    client = site.client("a")
    client.skip(FIRST)
    client.skip(FIRST)


def _append_twice(site: Site) -> None:
    client = site.client("a")
    client.append()
    client.append()


def _racing_creators(site: Site) -> None:
    other = site.client("b")
    site.client("a", before_commit=other.create).create()


def _read_a_growing_table(site: Site) -> None:
    reader = site.client("r")
    reader.read()
    site.client("a").append()
    reader.read()
    reader.read()


SCENARIOS = (
    Scenario("append", _append_twice),
    Scenario("append without caches", lambda site: site.client("a", settings=UNCACHED).append()),
    Scenario("append with metadata", lambda site: site.client("a").append_with_metadata()),
    Scenario("overwrite", lambda site: site.client("a").overwrite()),
    Scenario("remove", lambda site: site.client("a").remove(FIRST)),
    Scenario("skip", _skip_twice),
    Scenario("describe", lambda site: site.client("a").describe()),
    Scenario("widen", lambda site: site.client("a").describe(WIDER_SCHEMA)),
    Scenario("create", lambda site: site.client("a").create(), empty=True),
    Scenario("create again", lambda site: site.client("a").create()),
    Scenario("racing creators", _racing_creators, empty=True),
    Scenario("racing appends", _racing_appends),
    Scenario("merge against append", _merge_against_append),
    Scenario("append against merge", _append_against_merge),
    Scenario("racing merges", _racing_merges),
    Scenario("overwrite against append", _overwrite_against_append),
    Scenario("racing skips", _racing_skips),
    Scenario("racing batches", _racing_batches),
    Scenario("repeated batch", _repeated_batch),
    Scenario("read a growing table", _read_a_growing_table),
    Scenario("read plainly", lambda site: site.client("r", settings=PLAIN).read()),
)


def opens_as_written(tree: Mapping[str, bytes]) -> bool:
    """Tell whether a new client sees the table that the judge sees in the bytes of a store."""
    return _opens(frozenset(slots_of(tree).items()))


@lru_cache(maxsize=1 << 14)
def _opens(slots: frozenset[tuple[int, bytes]]) -> bool:
    """The answer depends on nothing else, and most cases leave the same few logs."""
    model = S3Model()
    for version, data in slots:
        model.put(commit_path(version), data)
    return Client("z", model, History()).read().view == replay(dict(slots))[-1]


def aftermath(model: Model, history: History, *, seed: int) -> list[str]:
    """Let everything crash, open the table again on a store without faults, use it, and return what is wrong with it.

    I7: it opens without help, holds what it held, and takes one more commit.
    """
    found = violations(model.tree(), history, final=False)
    model.crash(seed)
    found += violations(model.tree(), history)
    history = history.copy()
    history.hides = False
    client, reader = Client("z", model, history), Client("y", model, history, settings=PLAIN)
    calls = [client.append()] if history.slots else [client.create(), client.append()]
    look = reader.read()
    found += [f"I7: {call}" for call in calls if call.told is not Told.DONE]
    found += [f"I7: {look.error!r}"] if look.view is None else []
    found += violations(model.tree(), history)
    if not found and not opens_as_written(model.tree()):
        found.append("I7: the table is not what its bytes say")
    for call in history.calls:
        if isinstance(call.error, CommitUnknownError) and call.token in history.fates:
            found += _resolved(client, call, call.error, history.fates[call.token])
    return found


def _resolved(client: Client, call: Call, error: CommitUnknownError, fate: int | None) -> list[str]:
    """I5: once its version is taken, the log says of a commit of unknown outcome what the bytes say."""
    try:
        answer = client.log.resolve_commit(error)
    except IndexTablesError as problem:
        return [f"I5: {call} cannot be resolved: {problem!r}"]
    return [] if answer == fate else [f"I5: {call} is at {fate}, and resolved as {answer}"]
