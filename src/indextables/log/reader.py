"""Reading many commit files at once, in order, within a time limit. The bytes stay as they are stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Final

from indextables.errors import StorageUnavailableError
from indextables.log.layout import commit_path
from indextables.runtime import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_FEW: Final = 2
_BLOCK: Final = 32  # what a thread reads in one go: handing over costs little, and the first block comes early
_MOST_NAMED: Final = 20
_QUICK_S: Final = 0.0005  # ten times what a file in the cache of a local disk takes, and half of what a network takes
_PORTION_BYTES: Final = 16 << 20


def read_commits(
    store: Store, versions: Sequence[int], *, parallelism: int, timeout_s: float, runtime: Runtime = SYSTEM
) -> list[tuple[int, bytes]]:
    """Return the bytes of several commits, in the order of their versions; see `stream_commits`."""
    return list(stream_commits(store, versions, parallelism=parallelism, timeout_s=timeout_s, runtime=runtime))


def stream_commits(
    store: Store, versions: Sequence[int], *, parallelism: int, timeout_s: float, runtime: Runtime = SYSTEM
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of several commits, in the order of their versions, while later ones are still being read.

    Raises:
        StorageUnavailableError: The time limit passed; it names the versions that were not read.
    """
    if len(versions) <= _FEW or parallelism <= 1:
        for version in versions:
            yield version, store.get(commit_path(version))
        return
    size = max(1, min(_BLOCK, len(versions) // (4 * parallelism)))
    blocks = [versions[start : start + size] for start in range(0, len(versions), size)]
    unread = set(versions)

    def read(block: Sequence[int]) -> list[tuple[int, bytes]]:
        entries = []
        for version in block:
            entries.append((version, store.get(commit_path(version))))
            unread.discard(version)
        return entries

    if store.is_near:
        yield from _read_here(blocks, read, runtime)
    if not blocks:
        return
    pool = ThreadPoolExecutor(min(parallelism, len(blocks)), thread_name_prefix="indextables-read")
    try:
        futures = [pool.submit(read, block) for block in blocks]
        finished = as_completed(futures, timeout=timeout_s)
        for future in futures:
            while not future.done():
                try:
                    next(finished)
                except TimeoutError as error:
                    if unread:  # else the last answer has just arrived
                        raise _late(store, sorted(unread), timeout_s) from error
                    break
            yield from future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _read_here(
    blocks: list[Sequence[int]], read: Callable[[Sequence[int]], list[tuple[int, bytes]]], runtime: Runtime
) -> Iterator[tuple[int, bytes]]:
    """Read blocks in this thread, and take them from the list, for as long as a file takes no longer than a thread's wake-up.

    They are given out in large portions: who decodes the first ones in threads would hold up the reading of the others.
    """
    held: list[tuple[int, bytes]] = []
    size = 0
    is_quick = True
    while blocks and is_quick:
        started = runtime.monotonic()
        entries = read(blocks.pop(0))
        is_quick = runtime.monotonic() - started < _QUICK_S * len(entries)
        held += entries
        size += sum(len(data) for _, data in entries)
        if size >= _PORTION_BYTES:
            yield from held
            held, size = [], 0
    yield from held


def _late(store: Store, unread: list[int], timeout_s: float) -> StorageUnavailableError:
    shown = ", ".join(map(str, unread[:_MOST_NAMED]))
    if len(unread) > _MOST_NAMED:
        shown += f" and {len(unread) - _MOST_NAMED} more"
    return StorageUnavailableError(
        commit_path(unread[0]),
        store=store.url,
        detail=f"after {timeout_s:g} s these versions were not read: {shown}",
        way_out="Check the store, or raise spark.indextables.checkpoint.read.timeoutSeconds",
    )
