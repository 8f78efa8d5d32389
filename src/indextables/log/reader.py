"""Reading many commit files at once, in order, within a time limit. The bytes stay as they are stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from indextables.errors import StorageUnavailableError
from indextables.log.layout import commit_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.storage.base import Store

_FEW = 2


def read_commits(
    store: Store, versions: Sequence[int], *, parallelism: int, timeout_s: float
) -> list[tuple[int, bytes]]:
    """Return the bytes of several commits, in the order of their versions.

    Raises:
        StorageUnavailableError: The time limit passed; it names the versions that were not read.
    """
    if len(versions) <= _FEW or parallelism <= 1:
        return [(version, store.get(commit_path(version))) for version in versions]
    pool = ThreadPoolExecutor(min(parallelism, len(versions)), thread_name_prefix="indextables-read")
    try:
        chunks = [versions[start::parallelism] for start in range(min(parallelism, len(versions)))]
        futures = [
            pool.submit(lambda part: [(version, store.get(commit_path(version))) for version in part], chunk)
            for chunk in chunks
        ]
        _, late = wait(futures, timeout=timeout_s)
        if late:
            unread = sorted(
                version for future, chunk in zip(futures, chunks, strict=True) if future in late for version in chunk
            )
            shown = ", ".join(map(str, unread[:20])) + (f" and {len(unread) - 20} more" if len(unread) > 20 else "")
            raise StorageUnavailableError(
                commit_path(unread[0]),
                store=store.url,
                detail=f"after {timeout_s:g} s these versions were not read: {shown}",
                way_out="Check the store, or raise spark.indextables.checkpoint.read.timeoutSeconds",
            )
        return sorted((entry for future in futures for entry in future.result()), key=lambda entry: entry[0])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
