"""The version of the distribution, in one place."""

from __future__ import annotations

VERSION = "0.1.0"
