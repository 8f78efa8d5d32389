"""The way between this Python and the JVM of its Spark: a few Java classes, compiled once, and one Python object that they ask.

The Java text is compiled in the driver by the compiler that Spark itself uses for generated code, so there is no jar to match
to a Spark version. It reaches no executor: those get paths of files, and read them with Spark's own Parquet reader.
"""

from __future__ import annotations

import itertools
import logging
import threading
import weakref
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from py4j.protocol import Py4JError
from pyspark.java_gateway import ensure_callback_server_started

from indextables.errors import EnvironmentSetupError
from indextables.spark.failures import packed, show_our_errors
from indextables.spark.question import parse_question

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.spark.question import Question


_LOG = logging.getLogger(__name__)


class Source(Protocol):
    """Something that can say which files a scan reads."""

    def answer(self, question: Question) -> bytes:
        """Return the files, as `listing` packs them."""


class Bridge:
    """The Java side of one JVM."""

    def __init__(self, gateway: Any) -> None:
        self._sources: dict[int, Source] = {}
        self._numbers = itertools.count(1)
        show_our_errors()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        try:
            self.java = _compiled(gateway.jvm)
            self.java.connect(_Listener(self._sources))
        except Py4JError as error:
            raise EnvironmentSetupError(
                "The file index cannot be compiled for this version of Spark",
                "Use Spark 4.1 or newer, or read with spark.read.format('indextables')",
            ) from error

    def add(self, source: Source) -> int:
        """Register a source, and forget those whose DataFrames the JVM has dropped."""
        for line in self.java.released().split():
            self._sources.pop(int(line), None)
        number = next(self._numbers)
        self._sources[number] = source
        return number

    def __len__(self) -> int:
        return len(self._sources)


class _Listener:
    """Answers the JVM. Only Python and Arrow run here: a query from within could wait for a thread that waits for us."""

    def __init__(self, sources: dict[int, Source]) -> None:
        self._sources = sources

    def apply(self, request: bytes) -> bytes:
        try:
            number, question = parse_question(request)
            return self._sources[number].answer(question)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it must reach the user and not py4j's log
            _LOG.debug("Listing the files of a table failed", exc_info=True)
            return packed(error, subject="Listing the files of a table")

    class Java:
        implements: ClassVar[list[str]] = ["java.util.function.Function"]


_BRIDGES: Final[weakref.WeakKeyDictionary[Any, Bridge]] = weakref.WeakKeyDictionary()
_LOCK: Final = threading.Lock()


def bridge_of(spark: SparkSession) -> Bridge:
    """Return the bridge to a session's JVM, built on first use; it outlives the session, as the JVM does.

    Raises:
        EnvironmentSetupError: This Spark cannot be bridged.
    """
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - pyspark has no public way to its JVM
    with _LOCK:
        bridge = _BRIDGES.get(gateway)
        if bridge is None:
            bridge = _BRIDGES[gateway] = Bridge(gateway)
    return bridge


def _compiled(jvm: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(resources.files(__package__).joinpath("FileIndex.java").read_text())
    return compiler.getClassLoader().loadClass("indextables.Bridge").newInstance()
