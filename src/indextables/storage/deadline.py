"""A time limit for calls that know none and cannot be cancelled, such as those into a library of native code.

The call runs on a thread of its own; when its time is up, the thread is left behind and the caller goes on. Such a stray does
no harm while it waits, but one that comes back while the interpreter shuts down would abort the process, because Python ends
the thread under the native code's feet. So the end of the process waits for strays a little, which is all that they need
where whatever held them up is gone.
"""

from __future__ import annotations

import atexit
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from indextables.runtime import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_T = TypeVar("_T")

_STRAY_SECONDS = 3.0
_strays: set[threading.Thread] = set()


def call_within(seconds: float, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return what the function returns, or raise what it raises, within that time.

    Raises:
        TimeoutError: It has not come back. It may still do its work.
    """
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            answer.set_exception(error)
        except BaseException as panic:  # noqa: BLE001 - how Rust's panics arrive, which no `except Exception` would meet
            answer.set_exception(RuntimeError(str(panic)))
        finally:
            _strays.discard(threading.current_thread())

    thread = threading.Thread(target=run, name="call-within", daemon=True)
    thread.start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        if not answer.done():
            _strays.add(thread)
        raise TimeoutError(f"no answer within {seconds:g} s") from error


@atexit.register
def _await_strays() -> None:
    deadline = SYSTEM.monotonic() + _STRAY_SECONDS
    for thread in list(_strays):
        thread.join(max(0.0, deadline - SYSTEM.monotonic()))
