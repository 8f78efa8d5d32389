"""Any file system that the running Spark's Hadoop knows (`viewfs://` above all), through the JVM that Spark talks to.

Every call into the JVM costs a round trip, so classes are looked up once, and bytes as well as directories cross in one
piece, however many files they hold. Neither pyspark nor py4j is imported: the JVM comes as an argument.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from indextables.errors import NotFoundError, StorageError, UnsupportedStoreError
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.base import whole
from indextables.storage.renaming import Entry, RenamingStore, failure, meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_REMOTE = "org.apache.hadoop.ipc.RemoteException"


class HadoopStore(RenamingStore):
    """A directory of a Hadoop file system.

    Args:
        url: Where, with any scheme that Hadoop knows.
        jvm: py4j's view of the JVM.
        configuration: Hadoop's `Configuration` in that JVM; it decides about time limits and retries, too.
        runtime: Clock and names.

    Raises:
        UnsupportedStoreError: Hadoop does not know the scheme, or knows no rename for it that refuses an existing target.
    """

    def __init__(self, url: str, *, jvm: Any, configuration: Any, runtime: Runtime = SYSTEM) -> None:
        super().__init__(url, runtime=runtime)
        with self._translated("", UnsupportedStoreError):
            hadoop = jvm.org.apache.hadoop.fs
            self._new_path = hadoop.Path
            root = self._new_path(url)
            uri = root.toUri()
            self._scheme, self._authority, path = uri.getScheme(), uri.getAuthority(), uri.getPath()
            self._root = path.rstrip("/")
            self._files = root.getFileSystem(configuration)
            # FileSystem.rename answers "false" for most failures, and some file systems overwrite; this one refuses.
            self._context = hadoop.FileContext.getFileContext(uri, configuration)
            rename = hadoop.Options.Rename
            self._refusing = _array_of(jvm, rename.NONE)
            self._replacing = _array_of(jvm, rename.OVERWRITE)
            self._columns = _Columns(jvm, configuration)

    def _create(self, path: str, data: bytes) -> None:
        stream = self._files.create(self._path(path), False)
        try:
            stream.write(data)
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()

    def _rename(self, source: str, target: str, *, overwrite: bool) -> None:
        options = self._replacing if overwrite else self._refusing
        self._context.rename(self._path(source), self._path(target), options)

    def _remove(self, path: str) -> bool:
        target = self._path(path)
        if self._files.getFileStatus(target).isDirectory():
            raise NotFoundError(path, store=self.url)
        return bool(self._files.delete(target, False))

    def _read(self, path: str, start: int, length: int | None) -> bytes:
        target = self._path(path)
        # A directory opens on some file systems, and seeking beyond the end is an error on all of them.
        status = self._files.getFileStatus(target)
        if status.isDirectory():
            raise NotFoundError(path, store=self.url)
        size = status.getLen() if length is not None else whole(status.getLen(), path, store=self.url)
        if start >= size:
            return b""
        stream = self._files.open(target)
        try:
            stream.seek(start)
            return bytes(stream.readAllBytes() if length is None else stream.readNBytes(length))
        finally:
            stream.close()

    def _status(self, path: str) -> Entry:
        status = self._files.getFileStatus(self._path(path))
        name = path.rpartition("/")[2]
        return Entry(name, status.isDirectory(), status.getLen(), status.getModificationTime())

    def _entries(self, directory: str) -> list[Entry]:
        target = self._path(directory)
        entries = self._columns.of(self._files.listStatusIterator(target))
        if len(entries) == 1 and entries[0].name == directory.rpartition("/")[2]:
            # Hadoop lists a file as itself, which looks like a directory that holds one file of its own name.
            return entries if self._status(directory).is_directory else []
        return entries

    def _path(self, path: str) -> Any:
        # By its parts: the constructor that takes one string would read a scheme into a name with a colon.
        return self._new_path(self._scheme, self._authority, f"{self._root}/{path}" if path else self._root or "/")

    @contextmanager
    def _translated(self, path: str, otherwise: type[StorageError]) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except Exception as error:  # py4j's classes cannot be imported here, so its errors are known by what they carry
            if (throwable := _throwable(error)) is not None:
                classes = _classes(throwable)
                first_line = str(throwable.getMessage()).partition("\n")[0]
                detail = f"{classes[0].rpartition('.')[2]}: {first_line}"
            elif isinstance(error, OSError) or type(error).__module__.startswith("py4j."):
                classes, detail = [], f"the JVM does not answer: {error}"
            else:
                raise
            raise failure(meaning_of(classes) or otherwise, path, store=self.url, detail=detail) from error


class _Columns:
    """Fetches what a listing says in bulk: the JVM itself calls the getters and joins their answers to one text."""

    def __init__(self, jvm: Any, configuration: Any) -> None:
        handles, kinds, proxies = (
            jvm.java.lang.invoke.MethodHandles,
            jvm.java.lang.invoke.MethodType,
            jvm.java.lang.invoke.MethodHandleProxies,
        )
        lookup, load = handles.publicLookup(), configuration.getClassByName
        status, path = load("org.apache.hadoop.fs.FileStatus"), load("org.apache.hadoop.fs.Path")
        text, function = load("java.lang.String"), load("java.util.function.Function")
        number, truth = jvm.java.lang.Long.TYPE, jvm.java.lang.Boolean.TYPE

        def getter(owner: Any, name: str, returns: Any) -> Any:
            return lookup.findVirtual(owner, name, kinds.methodType(returns))

        def as_text(name: str, returns: Any) -> Any:
            convert = lookup.findStatic(text, "valueOf", kinds.methodType(text, returns))
            return handles.filterReturnValue(getter(status, name, returns), convert)

        steps = (
            handles.filterReturnValue(getter(status, "getPath", path), getter(path, "getName", text)),
            as_text("isDirectory", truth),
            as_text("getLen", number),
            as_text("getModificationTime", number),
        )
        self._functions = [proxies.asInterfaceInstance(function, step) for step in steps]
        self._fetch = jvm.org.apache.hadoop.util.functional.RemoteIterators.toList
        self._new_list, self._join = jvm.java.util.ArrayList, jvm.java.lang.String.join
        self._as_list = jvm.java.util.stream.Collectors.toList()

    def of(self, statuses: Any) -> list[Entry]:
        """Return the entries behind an iterator of file statuses."""
        fetched = self._fetch(statuses)
        count = fetched.size()
        if not count:
            return []
        answers = self._new_list()
        for function in self._functions:
            answers.addAll(fetched.stream().map(function).collect(self._as_list))
        # In one piece, because py4j's large answers wait 40 ms each for the network; no name can hold a slash.
        texts = self._join("/", answers).split("/")
        columns = (texts[start : start + count] for start in range(0, len(texts), count))
        return [
            Entry(name, is_directory == "true", int(size), int(modified_ms))
            for name, is_directory, size, modified_ms in zip(*columns, strict=True)
        ]


def _array_of(jvm: Any, value: Any) -> Any:
    arrays = jvm.java.lang.reflect.Array
    array = arrays.newInstance(value.getClass(), 1)
    arrays.set(array, 0, value)
    return array


def _throwable(error: Exception) -> Any:
    """Return the Java exception behind an error of py4j, or of pyspark where it has replaced that one."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def _classes(throwable: Any) -> list[str]:
    """Return the names of an exception's classes from its own upwards, starting with the one that a server named."""
    names = []
    java_class = throwable.getClass()
    while java_class is not None:
        names.append(java_class.getName())
        java_class = java_class.getSuperclass()
    return [throwable.getClassName(), *names] if names[0] == _REMOTE else names
