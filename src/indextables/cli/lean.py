"""Commands without pandas.

pyarrow imports pandas, where it is installed, as soon as it makes an array from Python values, only to ask whether they are
pandas' own. That takes as long as all the rest of a short command together, and no command hands pandas values to pyarrow.
Spark may want it, so `--spark` leaves it there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _NoPandas:
    """A finder, though not by its base class: importing that takes longer than the rest of this program's help."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the import system's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Say that there is no pandas, and nothing about other modules."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by commands", name=fullname)
        return None


def without_pandas() -> None:
    """Have this process do without pandas from now on; only for a process that runs one command and ends."""
    sys.meta_path.insert(0, _NoPandas())
