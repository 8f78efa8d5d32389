"""Object stores through obstore: S3 and what speaks its language, Google Cloud Storage, Azure, and memory.

Three things are done here that obstore leaves open. Its retries are off: a repeated conditional write meets its own first attempt
and reports a conflict that never was. Every write is one request (S3 takes 5 GiB so), so that its outcome is one answer and no
hidden parts stay behind. And its error texts, which can repeat the whole request with its credentials, are cut down to a code.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import obstore
from obstore import exceptions as foreign
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsafePathError,
    UnsupportedStoreError,
)
from indextables.storage.base import ObjectMeta, Store, whole
from indextables.storage.credentials import Access, azure_access, gcs_access, s3_access, safe_texts
from indextables.storage.paths import canonical, is_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from obstore import ObjectMeta as ForeignMeta
    from obstore.store import S3Credential

    from indextables.config.secret import Secret

OBJECT_STORE_SCHEMES = frozenset({"s3", "s3a", "gs", "abfss", "az", "memory"})
"""The schemes that `open_object_store` serves."""

_Client: TypeAlias = S3Store | GCSStore | AzureStore | MemoryStore

_PAGE = 1000
_ATTEMPT_TIMEOUT = timedelta(minutes=2)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_AZURE_HOST = re.compile(r"[a-z0-9]{3,24}\.(?:dfs|blob)\.core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)")
_MEMORY: dict[str, MemoryStore] = {}
_started_in: list[int] = []  # the process whose threads do obstore's input and output, once it has made a call

_Call = Enum("_Call", ["OPEN", "READ", "LIST", "CREATE", "CHANGE"])

# None means that nobody knows what happened.
_MEANINGS: dict[type[Exception], type[StorageError | UnsafePathError] | None] = {
    FileNotFoundError: NotFoundError,
    foreign.NotFoundError: NotFoundError,
    foreign.AlreadyExistsError: AlreadyExistsError,
    foreign.PreconditionError: AlreadyExistsError,
    foreign.PermissionDeniedError: PermissionDeniedError,
    foreign.UnauthenticatedError: PermissionDeniedError,
    foreign.NotSupportedError: UnsupportedStoreError,
    NotImplementedError: UnsupportedStoreError,
    foreign.InvalidPathError: UnsafePathError,
    ValueError: UnsafePathError,
    foreign.GenericError: None,
    foreign.JoinError: None,
    foreign.NotModifiedError: None,
    foreign.UnknownConfigurationKeyError: None,
    foreign.BaseError: None,
    OSError: None,
}
_FOREIGN = tuple(_MEANINGS)


def _translate(
    error: Exception, call: _Call, *, path: str, store: str, secrets: Iterable[Secret]
) -> StorageError | UnsafePathError:
    """Return our error for one of obstore's, judged by its type, and make the original safe to print as its cause."""
    meaning = next(_MEANINGS[kind] for kind in type(error).__mro__ if kind in _MEANINGS)
    verdict, text = safe_texts(str(error), secrets=secrets)
    error.args, error.__context__ = (text,), None
    if call is _Call.OPEN:
        way_out = "Check the credentials and the endpoint in the settings and in the environment"
        return StorageError(path, store=store, detail=text, way_out=way_out)
    if meaning is None or (meaning is AlreadyExistsError and call is not _Call.CREATE):
        doubt = OutcomeUnknownError if call in {_Call.CREATE, _Call.CHANGE} else StorageUnavailableError
        return doubt(path, store=store, detail=text)
    if issubclass(meaning, UnsafePathError):
        return UnsafePathError(path, f"the store holds or was given a name that no table can have: {text}")
    if meaning is NotFoundError and call is not _Call.READ:
        way_out = "Create the bucket, or check its name, the region and the endpoint"
        return NotFoundError(path, store=store, detail="the bucket does not exist", way_out=way_out)
    return meaning(path, store=store, detail=verdict)


class _Location(NamedTuple):
    scheme: str
    bucket: str
    host: str | None
    prefix: str
    url: str


def open_object_store(url: str, *, options: Mapping[str, str]) -> ObjectStore:
    """Return the store behind an address; nothing is sent to it yet.

    Args:
        url: `s3://bucket/prefix`, `s3a://`, `gs://`, `abfss://container@account.dfs.core.windows.net/prefix`, `az://` or
            `memory://name`, which all of a process share by its name.
        options: Credentials and endpoints under our names or Hadoop's, in any case; the environment fills what is missing.

    Raises:
        UnsupportedStoreError: No such scheme is served here.
        UnsafePathError: The address carries a password or a query, or names no bucket.
        ConfigError: An option has a value that it cannot have.
    """
    location = _parse(url)
    access = _access(location, options)
    secrets = tuple(access.secrets.values())
    try:
        client = _client(location, access)
    except _FOREIGN as error:
        raise _translate(error, _Call.OPEN, path="", store=location.url, secrets=secrets) from error
    return ObjectStore(client, url=location.url, prefix=location.prefix, secrets=secrets)


def _parse(url: str) -> _Location:
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in OBJECT_STORE_SCHEMES:
        store = f"{scheme}://" if separator and scheme.isalnum() else "An address without a known scheme"
        raise UnsupportedStoreError("", store=store, detail="no object store is served under this scheme")
    # From here on an error never repeats the address, which may hold a password or a signature.
    shown = f"{scheme}://..."
    authority, _, prefix = rest.partition("/")
    if "?" in rest:
        raise UnsafePathError(shown, "it carries a query, which may hold a signature")
    bucket, at, host = authority.partition("@")
    if at and (scheme not in {"abfss", "az"} or not _AZURE_HOST.fullmatch(host)):
        raise UnsafePathError(shown, "it carries a user or a password, or names an unknown host")
    if not _BUCKET.fullmatch(bucket):
        raise UnsafePathError(shown, "it does not begin with the plain name of a bucket")
    prefix = canonical(prefix.rstrip("/")) if prefix.rstrip("/") else ""
    return _Location(scheme, bucket, host or None, prefix, f"{scheme}://{authority}/{prefix}".rstrip("/"))


def _access(location: _Location, options: Mapping[str, str]) -> Access:
    if location.scheme in {"s3", "s3a"}:
        return s3_access(location.bucket, options=options, environ=os.environ)
    if location.scheme in {"abfss", "az"}:
        return azure_access(location.host, options=options)
    return gcs_access(options=options) if location.scheme == "gs" else Access(config={})


def _client(location: _Location, access: Access) -> _Client:
    if location.scheme == "memory":
        return _MEMORY.setdefault(location.bucket, MemoryStore())
    common: dict[str, Any] = {
        "config": dict(access.config),
        "client_options": {"allow_http": access.allow_http, "timeout": _ATTEMPT_TIMEOUT},
        "retry_config": {"max_retries": 0},
    }
    revealed = {name: secret.reveal() for name, secret in access.secrets.items()}
    if location.scheme in {"s3", "s3a"}:
        # As plain configuration, keys would be joined by a session token that happens to be in the environment.
        keys = cast("S3Credential", {"token": None, "expires_at": None, **revealed})
        return S3Store(location.bucket, **common, credential_provider=(lambda: keys) if revealed else None)
    common["config"] |= revealed
    return (GCSStore if location.scheme == "gs" else AzureStore)(location.bucket, **common)


class ObjectStore(Store):
    """Objects below a prefix of one bucket. Open it with `open_object_store`."""

    def __init__(self, client: _Client, *, url: str, prefix: str = "", secrets: Iterable[Secret] = ()) -> None:
        self.lists_whole_directories = False
        self._client = client
        self._url = url
        self._prefix = f"{prefix}/" if prefix else ""
        self._secrets = tuple(secrets)

    @property
    def url(self) -> str:
        return self._url

    def put_if_absent(self, path: str, data: bytes) -> None:
        key = self._key(path)
        with self._translated(path, _Call.CREATE):
            obstore.put(self._client, key, data, mode="create", use_multipart=False)

    def put(self, path: str, data: bytes) -> None:
        key = self._key(path)
        with self._translated(path, _Call.CHANGE):
            obstore.put(self._client, key, data, use_multipart=False)

    def get(self, path: str) -> bytes:
        key = self._key(path)
        with self._translated(path, _Call.READ):
            found = obstore.get(self._client, key)
            return found.bytes().to_bytes() if whole(found.meta["size"], path, store=self.url) else b""

    def get_range(self, path: str, start: int, length: int) -> bytes:
        key = self._key(path)
        if length <= 0:
            self.head(path)
            return b""
        with self._translated(path, _Call.READ):
            try:
                return obstore.get_range(self._client, key, start=start, length=length).to_bytes()
            except foreign.GenericError:
                # A range beyond the end looks like any other failure, so the size decides which it is.
                if obstore.head(self._client, key)["size"] > start:
                    raise
                return b""

    def head(self, path: str) -> ObjectMeta:
        key = self._key(path)
        with self._translated(path, _Call.READ):
            return _meta(path, obstore.head(self._client, key))

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        directory = self._prefix + canonical(prefix) if prefix else self._prefix.rstrip("/")
        return self._listed(prefix, directory, start_after or "")

    def delete(self, path: str) -> None:
        key = self._key(path)
        with self._translated(path, _Call.CHANGE), suppress(FileNotFoundError):
            obstore.delete(self._client, key)

    def _key(self, path: str) -> str:
        return self._prefix + canonical(path)

    def _listed(self, prefix: str, directory: str, after: str) -> Iterator[ObjectMeta]:
        """Yield what the store lists, once it is certain to be what the port promises."""
        entries: Iterable[ForeignMeta] = chain.from_iterable(self._pages(prefix, directory, after))
        if isinstance(self._client, AzureStore):
            # Azure promises no order that sees a path as one text.
            entries = sorted(entries, key=lambda entry: entry["path"].encode())
        last = start = after.encode()
        for entry in entries:
            key = entry["path"]
            path = key[len(self._prefix) :]
            name = path.encode()
            if not is_below(key, directory) or (start and name <= start):
                continue
            # Some tools put a marker `a/b/` for a directory; obstore shows it as an object `a/b`, which is not there.
            if entry["size"] == 0 and not self._is_object(prefix, key):
                continue
            if name <= last:
                raise UnsupportedStoreError(prefix, store=self.url, detail="it lists objects out of order")
            last = name
            yield _meta(path, entry)

    def _pages(self, prefix: str, directory: str, after: str) -> Iterator[Sequence[ForeignMeta]]:
        # Without the last slash the store starts earlier at worst, and what is too early is passed over.
        offset = self._prefix + after.rstrip("/") if after else None
        with self._translated(prefix, _Call.LIST):
            stream = obstore.list(self._client, directory or None, offset=offset, chunk_size=_PAGE)
        while True:
            try:
                with self._translated(prefix, _Call.LIST):
                    page = next(stream, None)
            except StorageUnavailableError:
                # A failed listing does not tell whether the bucket is missing or closed to us; asking for the bucket does.
                if isinstance(self._client, S3Store):
                    with suppress(StorageUnavailableError), self._translated(prefix, _Call.LIST):
                        obstore.head(self._client, "")
                raise
            if page is None:
                return
            yield page

    def _is_object(self, prefix: str, key: str) -> bool:
        with self._translated(prefix, _Call.LIST), suppress(FileNotFoundError):
            return bool(obstore.head(self._client, key))
        return False

    @contextmanager
    def _translated(self, path: str, call: _Call) -> Iterator[None]:
        if not _started_in:
            _started_in.append(os.getpid())
        elif os.getpid() not in _started_in and not isinstance(self._client, MemoryStore):
            # The threads that would answer are not in this process, so any call would wait for ever.
            detail = "it was used before this process was forked off"
            raise StorageError(
                path, store=self.url, detail=detail, way_out="Start processes by spawning, not by forking"
            )
        try:
            yield
        except _FOREIGN as error:
            raise _translate(error, call, path=path, store=self.url, secrets=self._secrets) from error


def _meta(path: str, entry: ForeignMeta) -> ObjectMeta:
    return ObjectMeta(path, entry["size"], round(entry["last_modified"].timestamp() * 1000), entry["e_tag"] or "")
