"""From a table's address to its store: the scheme decides which adapter serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import UnsafePathError, UnsupportedStoreError
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.local import LocalStore
from indextables.storage.retry import RetryingStore, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indextables.config import Settings
    from indextables.storage.base import Store


def open_store(
    url: str,
    *,
    settings: Settings,
    properties: Mapping[str, str] | None = None,
    hadoop: Callable[[str], Store] | None = None,
    runtime: Runtime = SYSTEM,
) -> Store:
    """Return the store behind a table's address, with retries.

    Args:
        url: A local path, or `file://`, `s3://`, `s3a://`, `gs://`, `abfss://`, `hdfs://` or `memory://`; with `hadoop` given,
            any scheme that Hadoop knows.
        settings: The resolved settings; they choose the client for HDFS and how patiently calls are repeated.
        properties: Credentials and endpoints under our names or Hadoop's; environment variables fill what is missing.
        hadoop: Opens a store on the running Spark's Hadoop file systems.
        runtime: Clock, ids and chance.

    Raises:
        UnsupportedStoreError: Nothing here serves that scheme.
        UnsafePathError: The address carries a password or a query.
    """
    policy = RetryPolicy(
        attempts=settings.retry.max_attempts,
        base_delay_s=settings.retry.base_delay_ms / 1000,
        max_delay_s=settings.retry.max_delay_ms / 1000,
    )
    inner = _adapter(url, settings=settings, properties=properties or {}, hadoop=hadoop, runtime=runtime)
    return RetryingStore(inner, policy=policy, runtime=runtime)


def _adapter(
    url: str,
    *,
    settings: Settings,
    properties: Mapping[str, str],
    hadoop: Callable[[str], Store] | None,
    runtime: Runtime,
) -> Store:
    scheme, separator, rest = url.partition(":")
    scheme = scheme.lower()
    if not separator or "/" in scheme or (len(scheme) == 1 and scheme.isalpha()):
        return LocalStore(url, runtime=runtime)
    if scheme == "file":
        return LocalStore(_local_path(rest), runtime=runtime)
    _refuse_secrets(scheme, rest)
    # These clients take longer to import than a local table takes to open.
    if scheme == "hdfs" and (hadoop is None or settings.storage.hdfs_client == "native"):
        from indextables.storage.hdfs import HdfsStore  # noqa: PLC0415

        return HdfsStore(url, options=properties, runtime=runtime)
    from indextables.storage.object_store import OBJECT_STORE_SCHEMES, open_object_store  # noqa: PLC0415

    if scheme in OBJECT_STORE_SCHEMES:
        return open_object_store(url, options=properties)
    if hadoop is not None:
        return hadoop(url)
    raise UnsupportedStoreError(
        "",
        store=f"{scheme}://",
        detail="no adapter serves this scheme",
        way_out="Use it from Spark, whose Hadoop may know it",
    )


def _refuse_secrets(scheme: str, rest: str) -> None:
    """Refuse an address that may hold a password or a signature, without repeating it; object stores say more about theirs."""
    user, at, _ = rest.removeprefix("//").partition("/")[0].rpartition("@")
    if "?" in rest or (at and ":" in user):
        raise UnsafePathError(f"{scheme}://...", "it carries a password or a query, which may hold a signature")


def _local_path(rest: str) -> str:
    """Return the path in `file:/p`, `file:///p` or `file://localhost/p`; like Hadoop's, it is taken as it stands."""
    if not rest.startswith("//"):
        return rest
    host, slash, path = rest[2:].partition("/")
    if host not in {"", "localhost"}:
        raise UnsafePathError("file://...", "a file address names no other host")
    return slash + path
