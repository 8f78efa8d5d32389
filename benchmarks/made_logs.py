"""Logs to measure: the same files with the same statistics in our form and in Delta's, each as its own writer writes it."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log import codec
from indextables.log import open as open_log
from indextables.log.actions import Add
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import ActionKeys, schema_of
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG, CommitInfo
from indextables.log.layout import commit_path
from indextables.log.lines import parse_lines
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("level", pa.string()),
        ("score", pa.float64()),
        ("date", pa.string()),
    ]
)
_DELTA_TYPES = {"id": "long", "ts": "timestamp", "level": "string", "score": "double", "date": "string"}
_STATISTICS = ("id", "ts", "level", "score")
_KEYS = ActionKeys(partition=("date",), statistics=_STATISTICS, tags=(WRITER_TAG, COMMIT_TAG))
_NO_NULLS = json.dumps({"nullCount": dict.fromkeys(_STATISTICS, 0)}, separators=(",", ":"))
_START_MS = 1_704_067_200_000
_HOUR_US = 3_600_000_000
_Numbers: TypeAlias = "npt.NDArray[Any]"


def as_actions(files: pa.Table) -> list[Add]:
    """Return adds as a writer is given them."""
    actions = parse_lines(encode_adds(files), path="")
    return [action for action in actions if isinstance(action, Add)]


def make_files(number: int, *, seed: int = 7) -> pa.Table:
    """Return adds as our writer makes them: one partition column, statistics and null counts of four columns."""
    rng = np.random.default_rng(seed)
    days = pc.strftime(
        pa.array(_START_MS + 86_400_000 * rng.integers(0, 365, number), pa.timestamp("ms")), format="%Y-%m-%d"
    ).cast(pa.string())
    names = pa.array([str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(number)])
    ids, stamps = rng.integers(0, 10**9, number), _START_MS * 1000 + rng.integers(0, 365 * 24 * _HOUR_US, number)
    scores, records = rng.random(number) * 100, rng.integers(1000, 100_000, number)
    levels = pa.array(["DEBUG", "INFO"]).take(pa.array(rng.integers(0, 2, number)))

    def bounds(id_: _Numbers, stamp: _Numbers, level: pa.Array, score: _Numbers) -> pa.Array:
        texts = [pa.array(id_).cast(pa.string()), pa.array(stamp).cast(pa.string()), level, _as_text(score)]
        return pa.StructArray.from_arrays(texts, names=_STATISTICS)

    columns = {
        "path": pc.binary_join_element_wise("date=", days, "/part-", names, ".split", ""),
        "partition_values": pa.StructArray.from_arrays([days], names=["date"]),
        "size": pa.array(rng.integers(10**6, 10**8, number)),
        "modification_time": pa.array(np.full(number, _START_MS)),
        "data_change": pa.repeat(pa.scalar(True), number),
        "stats": pa.repeat(_NO_NULLS, number),
        "tags": pa.StructArray.from_arrays(
            [pa.repeat(VERSION, number), pa.nulls(number, pa.string())], names=[WRITER_TAG, COMMIT_TAG]
        ),
        "min_values": bounds(ids, stamps, levels, scores),
        "max_values": bounds(ids + records, stamps + _HOUR_US, pa.repeat("WARN", number), scores + 5),
        "num_records": pa.array(records),
    }
    schema = schema_of(Add, _KEYS)
    return pa.table({name: columns.get(name, pa.nulls(number, schema.field(name).type)) for name in schema.names})


def _as_text(numbers: _Numbers) -> pa.Array:
    return pa.array([repr(number) for number in numbers.tolist()])


def write_our_log(path: Path, files: pa.Table, *, commits: int, gzip_level: int = 6) -> None:
    """Write a log that adds files in that many commits after the first one, byte for byte as commits write it."""
    open_log(str(path)).initialize(SCHEMA, ["date"])
    lines = encode_adds(files).splitlines(keepends=True)
    step = len(lines) // commits
    for version in range(1, commits + 1):
        part = lines[(version - 1) * step : version * step]
        content = _stamped(part[0], version) + b"".join(part[1:])
        (path / commit_path(version)).write_bytes(codec.encode(content, codec="gzip", level=gzip_level))


def _stamped(line: bytes, version: int) -> bytes:
    """Return the first line of a commit, with the facts about the commit."""
    info = CommitInfo(
        version=version,
        id=str(uuid.UUID(int=version)),
        timestamp=_START_MS + version,
        operation="append",
        metadata=0,
        protocol=0,
        read=version - 1,
    )
    text = msgspec.json.encode(msgspec.json.encode(info).decode())
    writer = b'"%b":"%b"' % (WRITER_TAG.encode(), VERSION.encode())
    return line.replace(writer, b'%b,"%b":%b' % (writer, COMMIT_TAG.encode(), text), 1)


def write_delta_log(path: Path, files: pa.Table, *, commits: int) -> None:
    """Write the same files as a Delta log, in the form in which delta-rs itself writes commits; no checkpoints."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _DELTA_TYPES.items()]
    metadata = {
        "id": str(uuid.UUID(int=0)),
        "name": None,
        "description": None,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["date"],
        "createdTime": _START_MS,
        "configuration": {},
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    _write_delta_commit(log, 0, [{"protocol": protocol}, {"metaData": metadata}])
    adds = _delta_adds(files)
    step = files.num_rows // commits
    for version in range(1, commits + 1):
        _write_delta_commit(log, version, [next(adds) for _ in range(step)])


def append_to_delta_log(path: Path, files: pa.Table, *, version: int) -> None:
    """Write one more commit to a Delta log."""
    _write_delta_commit(path / "_delta_log", version, list(_delta_adds(files)))


def _write_delta_commit(log: Path, version: int, actions: list[dict[str, object]]) -> None:
    info = {
        "timestamp": _START_MS + version,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": '["date"]'},
        "engineInfo": "delta-rs:py",
        "clientVersion": "delta-rs.py",
    }
    encode = msgspec.json.Encoder().encode
    (log / f"{version:020}.json").write_bytes(b"\n".join(map(encode, [{"commitInfo": info}, *actions])))


def _delta_adds(files: pa.Table) -> Iterator[dict[str, object]]:
    columns = ("path", "partition_values", "size", "modification_time", "min_values", "max_values", "num_records")
    encode = msgspec.json.Encoder().encode
    for row in files.select(list(columns)).to_pylist():
        bounds = {
            "numRecords": row["num_records"],
            "minValues": _delta_bounds(row["min_values"]),
            "maxValues": _delta_bounds(row["max_values"]),
            "nullCount": dict.fromkeys(_STATISTICS, 0),
        }
        yield {
            "add": {
                "path": row["path"],
                "partitionValues": row["partition_values"],
                "size": row["size"],
                "modificationTime": row["modification_time"],
                "dataChange": True,
                "stats": encode(bounds).decode(),
                "tags": None,
                "baseRowId": None,
                "defaultRowCommitVersion": None,
                "clusteringProvider": None,
            }
        }


def _delta_bounds(texts: Mapping[str, str]) -> dict[str, object]:
    moment = dt.datetime.fromtimestamp(int(texts["ts"]) / 1e6, dt.UTC)
    return {
        "id": int(texts["id"]),
        "ts": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z",
        "level": texts["level"],
        "score": float(texts["score"]),
    }
