"""A file system whose page cache and directory cache can be lost, as a power cut loses them.

Real file systems differ in what they write in which order; a program may rely on nothing but what it synced. So a power cut
here is as unkind as POSIX allows. Each directory entry that was not synced is, independently of all others, in any of the
states that it went through since the last sync, and a file that was not synced has lost its data, its tail, or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.testing.namespace import DIRECTORY, File, Namespace, Stamp, parent

if TYPE_CHECKING:
    import random
    from typing import Self


class Disk(Namespace):
    """The system calls that publishing a file takes, named after what they do, failing as they fail."""

    def __init__(self) -> None:
        super().__init__()
        self._unsynced_entries: dict[str, dict[str, list[File | None]]] = {}
        self._unsynced_files: set[File] = set()

    def copy(self) -> Self:
        twin = super().copy()
        twin._unsynced_entries = {  # noqa: SLF001 - our own class
            directory: {path: past.copy() for path, past in entries.items()}
            for directory, entries in self._unsynced_entries.items()
        }
        twin._unsynced_files = self._unsynced_files.copy()  # noqa: SLF001 - our own class
        return twin

    def make_directory(self, path: str) -> None:
        """`mkdir`, for a parent that is there."""
        self._enter(path, DIRECTORY)

    def create(self, path: str, stamp: Stamp) -> None:
        """`open` with O_CREAT and O_EXCL: an empty file under a name that must be free."""
        if self.node(path) is not None:
            raise FileExistsError(path)
        file = File(b"", stamp)
        self._unsynced_files.add(file)
        self._enter(path, file)

    def write(self, path: str, data: bytes) -> None:
        """Let a file that has no other name hold `data`; the entry of its directory stays as it is."""
        before = self._existing(path)
        after = File(data, before.stamp)
        self._unsynced_files.discard(before)
        self._unsynced_files.add(after)
        self.place(path, after)

    def sync(self, path: str) -> None:
        """`fsync` of a file: its bytes survive, its name may not."""
        self._unsynced_files.discard(self._existing(path))

    def link(self, source: str, target: str) -> None:
        """`link`: refuses an existing target in one step."""
        if self.node(target) is not None:
            raise FileExistsError(target)
        self._enter(target, self._existing(source))

    def replace(self, source: str, target: str) -> None:
        """`rename`: the target names the source's file from now on, whatever file it named before."""
        if self.node(target) is DIRECTORY:
            raise IsADirectoryError(target)
        self._enter(target, self._existing(source))
        self._enter(source, None)

    def unlink(self, path: str) -> None:
        """`unlink` of a file."""
        self._existing(path)
        self._enter(path, None)

    def sync_directory(self, path: str) -> None:
        """`fsync` of a directory: the names in it survive, as far as its own name does."""
        self._unsynced_entries.pop(path, None)

    def is_unsynced(self, path: str) -> bool:
        """Tell whether a power cut may give `path` back a meaning that it had before."""
        return path in self._unsynced_entries.get(parent(path), ())

    def lose_cache(self, chance: random.Random) -> None:
        """Cut the power: whatever was not synced is kept, torn or lost by chance, and what is left is on the disk."""
        for entries in self._unsynced_entries.values():
            for path, past in entries.items():
                self.place(path, chance.choice([*past, self.node(path)]))
        self._unsynced_entries.clear()
        torn: dict[File, File] = {}
        for path in sorted(self.paths()):
            node = self.node(path)
            if node is None or self.node(parent(path)) is not DIRECTORY:
                self.place(path, None)
            elif node in self._unsynced_files:
                if node not in torn:
                    torn[node] = File(_torn(node.data, chance), node.stamp)
                self.place(path, torn[node])
        self._unsynced_files.clear()

    def _existing(self, path: str) -> File:
        file = self.file(path)
        if file is None:
            raise FileNotFoundError(path)
        return file

    def _enter(self, path: str, node: File | None) -> None:
        """Change an entry of a directory and remember what it was, for as long as a power cut could bring that back."""
        self._unsynced_entries.setdefault(parent(path), {}).setdefault(path, []).append(self.node(path))
        self.place(path, node)


def _torn(data: bytes, chance: random.Random) -> bytes:
    kept = chance.randint(0, len(data))
    return chance.choice([data, b"", data[:kept], data[:kept] + bytes(len(data) - kept)])
