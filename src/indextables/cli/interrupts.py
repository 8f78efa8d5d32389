"""Ctrl-C that works while native code waits.

Python acts on a signal between two steps of its main thread. A client of a store that waits for an answer takes no step for half a
minute or more, and a person who presses Ctrl-C does not wait that long. So a thread watches: if the command has not ended by
itself a moment after the signal, or at the next Ctrl-C, the process ends as if it were killed, which every writer of a table is
made to survive.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import Final

from indextables.cli.endings import INTERRUPTED, say_interrupted

GRACE_S: Final = 3.0
"""How long a command has to end by itself."""


def end_at_ctrl_c() -> None:
    """Watch for Ctrl-C from now on; only for a process that runs one command and ends."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="indextables-ctrl-c", daemon=True).start()


def _watch(reader: int) -> None:
    while os.read(reader, 1) != bytes([signal.SIGINT]):
        pass
    select.select([reader], [], [], GRACE_S)
    say_interrupted()
    os._exit(INTERRUPTED)
