"""Spark has one context a process: whoever needs another kind of session ends the one before, instead of getting it by mistake."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession


class OneSession:
    """The session of this process, kept while the same kind is asked for."""

    def __init__(self) -> None:
        self._kind: str | None = None
        self._session: SparkSession | None = None
        self._stack = ExitStack()

    def get(self, kind: str, start: Callable[[], AbstractContextManager[SparkSession]]) -> SparkSession:
        """Return the running session of a kind, or start it after ending one of another kind."""
        if self._session is None or kind != self._kind:
            self.close()
            self._session, self._kind = self._stack.enter_context(start()), kind
        return self._session

    def close(self) -> None:
        """End the session, if there is one, and its Java, which would hand the settings of its start to the next one."""
        self._session = None
        self._stack.close()
        gateway = SparkContext._gateway
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()  # the end of its input ends Java
            gateway.proc.wait()
            SparkContext._gateway = SparkContext._jvm = None
