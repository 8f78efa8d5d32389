"""`python -m indextables` is the command `indextables`."""

from __future__ import annotations

from indextables.cli.main import main

if __name__ == "__main__":
    main()
