"""A program that traces, for as long as a test wants, and that has never heard of it after that."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@contextmanager
def own_opentelemetry() -> Iterator[None]:
    """Let what is imported of OpenTelemetry here be here alone: its provider can be set once, and other tests are not traced."""
    held = _taken()
    try:
        yield
    finally:
        _taken()
        sys.modules.update(held)


def _taken() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def tracing() -> Iterator[InMemorySpanExporter]:
    """Trace, and yield what holds the spans that have ended."""
    with own_opentelemetry():
        export = import_module("opentelemetry.sdk.trace.export")
        spans: InMemorySpanExporter = import_module(f"{export.__name__}.in_memory_span_exporter").InMemorySpanExporter()
        provider = import_module("opentelemetry.sdk.trace").TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(export.SimpleSpanProcessor(spans))
        import_module("opentelemetry.trace").set_tracer_provider(provider)
        yield spans
