"""Spans for the traces of the program that uses this package, if it makes any.

A program that traces with OpenTelemetry has imported it. So that is what is looked for, and it is never imported here: nothing has
to be installed or set, and a program without traces pays for one look into a dictionary. Attributes are names, numbers, and
addresses as stores show them, which hold no secrets. What goes wrong in tracing is passed over, because a commit that has landed
must not look like one that failed.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final, Self

from indextables.version import VERSION

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

_LOG = logging.getLogger(__name__)


class Span:
    """An operation that nobody traces."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def note(self, **facts: str | int | None) -> None:
        """Add what is known by now; None is left out."""


class _Traced(Span):
    """An operation that is a span; OpenTelemetry itself marks it when an error ends it."""

    __slots__ = ("_facts", "_manager", "_name", "_span", "_trace")

    def __init__(self, trace: ModuleType, name: str, facts: dict[str, str | int | None]) -> None:
        self._trace = trace
        self._name = name
        self._facts = facts
        self._span: Any = None

    def __enter__(self) -> Self:
        try:
            tracer = self._trace.get_tracer("indextables", VERSION)
            self._manager = tracer.start_as_current_span(self._name, attributes=self._attributes(self._facts))
            self._span = self._manager.__enter__()
        except Exception:  # noqa: BLE001 - see the top
            _LOG.debug("The span %s could not be opened", self._name, exc_info=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._span is not None:
            try:
                self._manager.__exit__(kind, error, trace)
            except Exception:  # noqa: BLE001 - see the top
                _LOG.debug("The span %s could not be closed", self._name, exc_info=True)

    def note(self, **facts: str | int | None) -> None:
        if self._span is not None:
            try:
                self._span.set_attributes(self._attributes(facts))
            except Exception:  # noqa: BLE001 - see the top
                _LOG.debug("The span %s could not be described", self._name, exc_info=True)

    def _attributes(self, facts: dict[str, str | int | None]) -> dict[str, str | int]:
        prefix = self._name.partition(".")[0]
        known = {f"{prefix}.{key}": value for key, value in facts.items() if value is not None}
        # Some of ours are members of enumerations, which not every exporter takes for the texts that they are.
        return {key: str(value) if isinstance(value, str) else value for key, value in known.items()}


UNTRACED: Final = Span()
"""For those who take a span and are given none."""


def span(name: str, **facts: str | int | None) -> Span:
    """Return an operation to be entered with `with`; it is a span if the program traces.

    Args:
        name: What traces call it, as in `indextables.commit`; the first word also begins the names of its attributes.
        facts: What is known already.
    """
    trace = sys.modules.get("opentelemetry.trace")
    return UNTRACED if trace is None else _Traced(trace, name, facts)
