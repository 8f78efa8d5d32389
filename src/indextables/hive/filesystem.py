"""What Lakekeeper asks of a file system: rename a directory without ever nesting or replacing, list, and give ownership back.

The table stores of `indextables.storage` keep objects under keys and know no directories, owners or permissions, which is all
that matters here. Places are Hive locations as the Metastore writes them (`hdfs://host:port/path`, `file:/path`, `/path`), so a
place that was read from a table can be written back into one, letter by letter.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from indextables.errors import NotFoundError
from indextables.hive.names import PROBE, is_hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A file or directory below the one that was listed.

    Attributes:
        path: Relative to the listed directory, with `/` between names.
        length: Bytes; 0 for a directory.
        modified: When the file was last changed, in the file system's own unit; 0 for a directory.
        is_dir: Whether it is a directory.
        is_link: Whether it is a symbolic link, which is never followed.
    """

    path: str
    length: int
    modified: int
    is_dir: bool = False
    is_link: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def is_hidden(self) -> bool:
        """Whether engines pass over it, itself or because of a directory above it."""
        return any(map(is_hidden, self.path.split("/")))


@dataclass(frozen=True, slots=True)
class Security:
    """Who may do what with a file or directory, and how many copies of it are kept (0: not for it to say).

    `acl` and `attributes` are the file system's own forms.
    """

    owner: str
    group: str
    mode: int
    acl: tuple[Any, ...] = ()
    attributes: Mapping[str, bytes] = field(default_factory=dict)
    replication: int = 0


class FileSystem(ABC):
    """A file system; errors are `StorageError`s.

    Attributes:
        renames: Whether directories are renamed in one step.
    """

    renames: bool = True

    @abstractmethod
    def entries(self, location: str, *, recursive: bool = True) -> list[Entry]:
        """Return everything below a directory, sorted by path.

        Raises:
            NotFoundError: There is no such directory.
        """

    @abstractmethod
    def is_directory(self, location: str) -> bool:
        """Tell whether a directory (no symbolic link) is there."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Rename a directory or file in one step.

        Raises:
            AlreadyExistsError: The target exists; on some systems an empty directory in its place is replaced.
            NotFoundError: There is no source.
        """

    @abstractmethod
    def make_directory(self, location: str, *, parents: bool = False) -> None:
        """Create a directory.

        Raises:
            AlreadyExistsError: It exists, unless `parents` is set.
        """

    @abstractmethod
    def remove_tree(self, location: str) -> None:
        """Delete a directory with all it holds, following no link; it may be gone already."""

    @abstractmethod
    def remove_empty(self, location: str) -> bool:
        """Delete a directory if it is empty; tell whether it is gone."""

    @abstractmethod
    def open_input(self, location: str, length: int) -> Any:
        """Return what pyarrow reads a file of this length from."""

    @abstractmethod
    def create(self, location: str) -> BinaryIO:
        """Return a new file to write; closing it makes it durable.

        Raises:
            AlreadyExistsError: It exists.
        """

    @abstractmethod
    def security(self, location: str) -> Security:
        """Return who may do what with a file or directory."""

    @abstractmethod
    def secure(self, location: str, wanted: Security) -> None:
        """Give a file or directory the same rights as another had.

        Raises:
            PermissionDeniedError: We may not give it away.
        """

    @abstractmethod
    def obstacles(self, location: str, *, added: int) -> list[str]:
        """Return why this directory could not be renamed, or a sibling with `added` bytes not be written, as far as that shows."""

    def probe(self, staging: str, live: str) -> str:  # noqa: ARG002 - what `obstacles` sees is all there is to know here
        """Return why what is written to one directory could not be renamed into the other, found out by doing it."""
        return ""

    def clear_probe(self, live: str) -> None:
        """Delete what a probe that was cut off left in a directory."""
        self.remove_empty(f"{live}/{PROBE}")

    def read(self, location: str, length: int) -> bytes:
        """Return a whole file."""
        with self.open_input(location, length) as source:
            return bytes(source.read())

    def write(self, location: str, data: bytes) -> None:
        """Write a whole new file."""
        with self.create(location) as sink:
            sink.write(data)

    def files(self, location: str) -> list[Entry] | None:
        """Return everything below a directory, or None where there is none."""
        try:
            return self.entries(location)
        except NotFoundError:
            return None


def fingerprint(entries: Iterable[Entry]) -> str:
    """Return a text that changes when a file is added, removed, replaced or rewritten."""
    digest = hashlib.sha256()
    for entry in sorted(entries):
        kind = "d" if entry.is_dir else "l" if entry.is_link else "f"
        digest.update(f"{kind}{entry.length},{entry.modified},{entry.path}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def data_files(entries: Iterable[Entry]) -> list[Entry]:
    """Return the files that engines read rows from: visible ones with at least one byte."""
    return [entry for entry in entries if not entry.is_dir and not entry.is_hidden and entry.length]


class FileSystems:
    """The file systems behind locations, each opened once.

    Args:
        openers: How to open each scheme, with the authority as the argument.
    """

    def __init__(self, openers: Mapping[str, Callable[[str], FileSystem]]) -> None:
        self._openers = openers
        self._opened: dict[tuple[str, str], FileSystem] = {}

    def supports(self, location: str) -> bool:
        """Tell whether files at this location can be listed, read and written."""
        return split_location(location)[0] in self._openers

    def at(self, location: str) -> FileSystem:
        """Return the file system of a location."""
        scheme, authority, _ = split_location(location)
        key = scheme, authority
        if key not in self._opened:
            self._opened[key] = self._openers[scheme](authority)
        return self._opened[key]


def split_location(location: str) -> tuple[str, str, str]:
    """Return scheme, authority and path of a location; Hadoop escapes nothing in them."""
    head, separator, rest = location.partition(":")
    if not separator or "/" in head:
        return "", "", location
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return head.lower(), authority, slash + path
    return head.lower(), "", rest
