"""The three models of stores, side by side: what holds on all of them holds on every store that a table may live on."""

from __future__ import annotations

from indextables.testing.hdfs import HdfsModel
from indextables.testing.memory import Model, S3Model
from indextables.testing.posix import PosixModel

__all__ = ["MODELS", "HdfsModel", "Model", "PosixModel", "S3Model"]

MODELS: tuple[type[S3Model | PosixModel | HdfsModel], ...] = (S3Model, PosixModel, HdfsModel)
"""One of each, to run a test on all of them."""
