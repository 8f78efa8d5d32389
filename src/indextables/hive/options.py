"""How to compact: one set of choices, checked when it is made, for the command line, the configuration file and Python alike."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.errors import ConfigError
from indextables.hive.plan import DEFAULT_SIZE

CODECS = ("snappy", "gzip", "zstd", "brotli", "zlib", "lz4", "uncompressed")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compact.

    Attributes:
        threshold: Average size below which files are worth compacting.
        target_size: How large the new files should become.
        codec: Compression of the new files; None keeps that of the old ones.
        sort_by: Columns by which the rows of each new file are sorted.
        staging: `sibling` puts directories beside those they replace, `hidden` under `<root>/_lakekeeper`.
        swap: `rename` never changes a location in the Metastore. `location` points the table or its partitions at fresh directories
            instead: no moment without a directory, and the only way on object stores, but locations change with every run.
        spark_from: Runs that read more bytes than this are a Spark job, where a session is given.
    """

    threshold: int = DEFAULT_SIZE
    target_size: int = DEFAULT_SIZE
    codec: str | None = None
    sort_by: tuple[str, ...] = ()
    staging: str = "sibling"
    swap: str = "rename"
    spark_from: int = 4 << 30

    def __post_init__(self) -> None:
        if self.target_size < 1:
            raise ConfigError("target_size", self.target_size, "1 byte or more")
        if self.codec is not None and str(self.codec).lower() not in CODECS:
            raise ConfigError("codec", self.codec, ", ".join(CODECS))
        if self.staging not in ("sibling", "hidden"):
            raise ConfigError("staging", self.staging, "sibling or hidden")
        if self.swap not in {"rename", "location"}:
            raise ConfigError("swap", self.swap, "rename or location")
