"""Every setting, once, with the name, the default and the unit that users already know.

Each group is what one part of the code is given. Field names end in their unit where they have one.
"""

# ruff: noqa: RUF009 - `setting` makes a dataclass field, which is what a default may be

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from indextables.config.declare import Group, declared_in, setting
from indextables.config.quantities import DAY_MS, GB, HOUR_MS, KB, MB, SECOND_MS, Duration, Milliseconds, Size
from indextables.config.values import Address, Boolean, Choice, Integer, LenientChoice, Maybe, Names, SecretText, Text

if TYPE_CHECKING:
    from indextables.config.secret import Secret

LogCodec: TypeAlias = Literal["gzip", "zstd", "lz4", "snappy", "none", "auto"]
ParquetCodec: TypeAlias = Literal["snappy", "zstd", "gzip", "lz4", "none"]
CheckpointFormat: TypeAlias = Literal["parquet", "json"]
FailurePolicy: TypeAlias = Literal["continue", "fail"]
TruncationStrategy: TypeAlias = Literal["drop", "truncate", "bounds"]
HdfsClient: TypeAlias = Literal["native", "hadoop"]

TRUNCATION_SUFFIX = " [TRUNCATED]"
"""How a statistic ends that the strategy `truncate` has cut; it counts towards the length."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compression(Group):
    """How the files of the log are compressed when they are written; reading takes any form."""

    enabled: bool = setting(
        "transaction.compression.enabled", Boolean(), True, "Compress the files of the transaction log."
    )
    codec: LogCodec = setting(
        "transaction.compression.codec",
        Choice[LogCodec](get_args(LogCodec)),
        "gzip",
        "How they are compressed; `auto` chooses by size: none below 1 KB, gzip up to 1 MB, zstd above.",
    )
    gzip_level: int = setting(
        "transaction.compression.gzip.level",
        Integer(0, 9),
        6,
        "How hard gzip tries: 0 stores, 9 is smallest and slowest.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction(Group):
    """Which reader of the log is used."""

    use_optimized: bool = setting(
        "transaction.useOptimized",
        Boolean(),
        True,
        "Read the log in parallel and through caches; `false` reads it file by file, for comparison.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry(Group):
    """How patiently a commit that lost a race, or a failed call to a store, is tried again."""

    max_attempts: int = setting(
        "transaction.retry.maxAttempts",
        Integer(1, 1000),
        10,
        "How often a call to a store is tried in all, and a commit, which runs a lost race three times before each pause.",
    )
    base_delay_ms: int = setting(
        "transaction.retry.baseDelayMs",
        Milliseconds(),
        100,
        "The pause before the second attempt; it doubles with each one.",
    )
    max_delay_ms: int = setting(
        "transaction.retry.maxDelayMs", Milliseconds(), 5 * SECOND_MS, "The longest pause between two attempts."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint(Group):
    """When checkpoints are written, how, and how they are read."""

    enabled: bool = setting("checkpoint.enabled", Boolean(), True, "Write checkpoints.")
    interval: int = setting(
        "checkpoint.interval", Integer(1, 1_000_000), 10, "Write one when this many commits follow the last one."
    )
    retention: int = setting(
        "checkpoint.retention",
        Integer(0, 1_000_000_000),
        30,
        "Cleanup keeps at least this many of the newest versions.",
    )
    format: CheckpointFormat = setting(
        "checkpoint.format",
        Choice[CheckpointFormat](get_args(CheckpointFormat)),
        "parquet",
        "The form in which checkpoints are written; both are read.",
    )
    compression: ParquetCodec = setting(
        "checkpoint.compression",
        Choice[ParquetCodec](get_args(ParquetCodec)),
        "snappy",
        "How the columns of Parquet checkpoints are compressed.",
    )
    compression_enabled: bool = setting(
        "checkpoint.compression.enabled", Boolean(), True, "Compress JSON checkpoints, with the codec of the log."
    )
    max_file_size: int = setting(
        "checkpoint.maxFileSize", Size(minimum=KB), 128 * MB, "A checkpoint larger than this is written in parts."
    )
    parallelism: int = setting(
        "checkpoint.parallelism", Integer(1, 256), 4, "How many files of the log are read or written at once."
    )
    read_timeout_s: float = setting(
        "checkpoint.read.timeoutSeconds",
        Duration(unit_ms=SECOND_MS, minimum_ms=1),
        30,
        "How long reading the log in parallel may take before it fails.",
    )
    background: bool = setting(
        "checkpoint.background", Boolean(), False, "Write automatic checkpoints in a thread of their own."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention(Group):
    """How long old files of the log stay."""

    log_ms: int = setting(
        "logRetention.duration", Milliseconds(), 30 * DAY_MS, "Cleanup keeps every version that is younger than this."
    )
    checkpoint_ms: int = setting(
        "checkpointRetention.duration",
        Milliseconds(),
        2 * HOUR_MS,
        "Cleanup keeps every checkpoint that is younger than this, and those that kept versions need.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleanup(Group):
    """Whether old files of the log are deleted, and what a failure to do so means."""

    enabled: bool = setting("cleanup.enabled", Boolean(), True, "Delete expired files of the log after a checkpoint.")
    failure_policy: FailurePolicy = setting(
        "cleanup.failurePolicy",
        Choice[FailurePolicy](get_args(FailurePolicy)),
        "continue",
        "What a failed deletion does: `continue` logs it and goes on, `fail` raises it.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats(Group):
    """Which columns have statistics."""

    columns: tuple[str, ...] = setting(
        "stats.columns", Names(), (), "The columns that get statistics; none named means the first 32."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Indexing(Group):
    """Which columns are prepared for fast filters."""

    fast_fields: tuple[str, ...] = setting(
        "indexing.fastfields", Names(), (), "Columns that are often filtered: they get statistics wherever they stand."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Truncation(Group):
    """What happens to statistics of long texts."""

    enabled: bool = setting("stats.truncation.enabled", Boolean(), True, "Limit the length of statistics.")
    max_length: int = setting(
        "stats.truncation.maxLength",
        Integer(1, 1_000_000_000),
        1024,
        "The most characters that a minimum or maximum may have; `truncate` needs room for its suffix of 12.",
    )
    strategy: TruncationStrategy = setting(
        "stats.truncation.strategy",
        LenientChoice[TruncationStrategy](get_args(TruncationStrategy), fallback="drop", subject="truncation strategy"),
        "drop",
        "What becomes of a longer one: `drop` omits it, `truncate` cuts it and never filters by it, "
        "`bounds` shortens it to a bound that is still correct.",
    )

    def __post_init__(self) -> None:
        Group.__post_init__(self)
        if self.strategy == "truncate" and self.max_length < len(TRUNCATION_SUFFIX):
            raise declared_in(Truncation)["max_length"].refusal(
                self.max_length, allowed=f"{len(TRUNCATION_SUFFIX)} or more, or choose another strategy than truncate"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache(Group):
    """How much of the log is kept in memory, and for how long."""

    enabled: bool = setting("transaction.cache.enabled", Boolean(), True, "Keep what was read of the log in memory.")
    expiration_s: float = setting(
        "transaction.cache.expirationSeconds",
        Duration(unit_ms=SECOND_MS),
        300,
        "How long it is kept. This bounds memory only: a read sees every earlier commit all the same.",
    )
    max_bytes: int = setting(
        "transaction.cache.maxSize", Size(), GB, "How much memory it may take; what was used longest ago goes first."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Staleness(Group):
    """How old an answer may be."""

    max_staleness_s: float = setting(
        "transaction.maxStalenessSeconds",
        Duration(unit_ms=SECOND_MS),
        0,
        "A read may be answered from memory without a look at the store if it was looked at within this time.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Skips(Group):
    """How long a file that could not be merged is left alone."""

    cooldown_hours: float = setting(
        "skippedFiles.cooldownDuration",
        Duration(unit_ms=HOUR_MS),
        24,
        "How long merges leave a file alone after it failed.",
    )
    doubling: bool = setting(
        "skippedFiles.cooldownDoubling", Boolean(), False, "Double that time whenever the same file fails again."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Storage(Group):
    """Which client serves a kind of store."""

    hdfs_client: HdfsClient = setting(
        "storage.hdfs.client",
        Choice[HdfsClient](get_args(HdfsClient)),
        "native",
        "What serves hdfs://: `native` needs no JVM, `hadoop` is the running Spark's own client.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Delta(Group):
    """Whether Delta readers can open the table."""

    enabled: bool = setting(
        "delta.enabled",
        Boolean(),
        False,
        "Maintain a `_delta_log` beside the log, so that Delta readers open the table.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Aws(Group):
    """Where S3 is and who asks. What is not set here comes from the environment or from Hadoop's configuration."""

    access_key: Secret | None = setting("aws.accessKey", Maybe(SecretText()), None, "The access key for S3.")
    secret_key: Secret | None = setting(
        "aws.secretKey", Maybe(SecretText()), None, "The secret key that belongs to it."
    )
    session_token: Secret | None = setting(
        "aws.sessionToken", Maybe(SecretText()), None, "The token that temporary credentials need besides."
    )
    region: str | None = setting("aws.region", Maybe(Text()), None, "The region of the bucket.")
    endpoint: str | None = setting("aws.endpoint", Maybe(Address()), None, "The address of an S3-compatible server.")
    path_style_access: bool | None = setting(
        "aws.pathStyleAccess",
        Maybe(Boolean()),
        None,
        "Put the bucket's name into the path of requests, not into the host.",
    )

    def __post_init__(self) -> None:
        Group.__post_init__(self)
        needed = {"access_key", "secret_key"} if self.access_key or self.secret_key or self.session_token else set()
        for name in sorted(needed):
            if getattr(self, name) is None:
                raise declared_in(Aws)[name].refusal(
                    None, allowed="the key that belongs to the other credentials given"
                )
