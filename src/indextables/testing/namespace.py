"""Names in memory: what lies at which path, with the paths of files kept in order so that a listing is a slice."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, NamedTuple

from indextables.storage.base import ObjectMeta

if TYPE_CHECKING:
    from typing import Self


class Stamp(NamedTuple):
    """What tells two writes of one path apart, even if they hold the same bytes at the same moment."""

    modified_ms: int
    etag: str


class File:
    """Bytes that never change once they are here, so copies of a namespace share them; compared by identity, as inodes are."""

    __slots__ = ("data", "stamp")

    def __init__(self, data: bytes, stamp: Stamp) -> None:
        self.data = data
        self.stamp = stamp

    def meta(self, path: str) -> ObjectMeta:
        """Return what a listing says about the file at `path`."""
        return ObjectMeta(path, len(self.data), self.stamp.modified_ms, self.stamp.etag)


DIRECTORY = File(b"", Stamp(0, ""))
"""What lies at the path of a directory."""


def parent(path: str) -> str:
    """Return the directory of a path; the root's is the root."""
    return path.rpartition("/")[0]


def ancestors(path: str) -> list[str]:
    """Return the directories that a path lies in, the outermost first and without the root."""
    names = path.split("/")[:-1]
    return ["/".join(names[: depth + 1]) for depth in range(len(names))]


class Namespace:
    """Files and directories by path. Object stores have no directories and just never make one."""

    def __init__(self) -> None:
        self._nodes: dict[str, File] = {"": DIRECTORY}
        self._paths: list[str] = []

    def copy(self) -> Self:
        """Return a namespace that holds the same and changes independently."""
        twin = type(self)()
        twin._nodes.update(self._nodes)  # noqa: SLF001 - our own class
        twin._paths.extend(self._paths)  # noqa: SLF001 - our own class
        return twin

    def node(self, path: str) -> File | None:
        """Return what lies there: a file, `DIRECTORY`, or nothing."""
        return self._nodes.get(path)

    def file(self, path: str) -> File | None:
        """Return the file there; a directory counts as nothing."""
        node = self._nodes.get(path)
        return None if node is DIRECTORY else node

    def place(self, path: str, node: File | None) -> None:
        """Let `path` name `node` from now on, or nothing."""
        before = self.file(path)
        if node is None:
            self._nodes.pop(path, None)
        else:
            self._nodes[path] = node
        is_file = node is not None and node is not DIRECTORY
        if is_file and before is None:
            insort(self._paths, path)
        elif before is not None and not is_file:
            del self._paths[bisect_left(self._paths, path)]

    def below(self, directory: str, start_after: str | None = None) -> list[tuple[str, File]]:
        """Return the files below a directory, however deep, in order.

        Text compares by code points, which is the order of its UTF-8 bytes.
        """
        low, high = 0, len(self._paths)
        if directory:
            low = bisect_left(self._paths, directory + "/")
            high = bisect_left(self._paths, directory + "0", low)  # the character after the slash
        if start_after:
            low = max(low, bisect_right(self._paths, start_after))
        return [(path, self._nodes[path]) for path in self._paths[low:high]]

    def paths(self) -> list[str]:
        """Return every path that names a file or a directory, the root included."""
        return list(self._nodes)

    def missing_directories(self, path: str) -> list[str]:
        """Return the directories that must be made before a file can lie at `path`, the outermost first.

        Raises:
            NotADirectoryError: A file lies where a directory would have to.
        """
        if self._nodes.get(parent(path)) is DIRECTORY:
            return []
        for directory in ancestors(path):
            if self.file(directory) is not None:
                raise NotADirectoryError(directory)
        return [directory for directory in ancestors(path) if directory not in self._nodes]
