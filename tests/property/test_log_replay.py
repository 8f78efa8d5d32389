"""Random histories of a table, read in three ways that must agree about every version.

The fast reader replays columns, the plain reader replays actions, and the model below replays the JSON in the files by itself,
knowing nothing of either. One log handle lives through the whole history, so its caches and its incremental refresh are on
trial as well.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from indextables.config import Compression, Settings
from indextables.log import commits
from indextables.log.actions import Protocol, Skip, encode_action
from indextables.log.layout import commit_path
from indextables.log.plain import replay_plainly
from indextables.testing.virtual import dice
from tests.support.logs import PARTITIONED, SCHEMA, Codec, Place, add, foreign_add

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Mapping

    from indextables.log.log import TransactionLog
    from indextables.log.state import LogState

PARTS: Final = range(4)
SEQUENCES: Final = (2_000 if os.environ.get("CI") else 200) // len(PARTS)
MOST_OPERATIONS = 8
CODECS: Final[tuple[Codec, ...]] = ("none", "gzip", "zstd")

KNOWN: Final[dict[str, str]] = {
    "add": "path partitionValues size modificationTime dataChange stats tags minValues maxValues numRecords "
    "footerStartOffset footerEndOffset hotcacheStartOffset hotcacheLength hasFooterOffsets timeRangeStart timeRangeEnd "
    "splitTags deleteOpstamp numMergeOps docMappingJson uncompressedSizeBytes",
    "remove": "path deletionTimestamp dataChange extendedFileMetadata partitionValues size tags",
    "mergeskip": "path skipTimestamp reason operation partitionValues size retryAfter skipCount",
    "protocol": "minReaderVersion minWriterVersion readerFeatures writerFeatures",
    "metaData": "id name description format schemaString partitionColumns configuration createdTime",
}
MAPS = frozenset({"partitionValues", "tags", "minValues", "maxValues"})
TIMES = {
    "add": "modificationTime",
    "remove": "deletionTimestamp",
    "mergeskip": "skipTimestamp",
    "metaData": "createdTime",
}
MARK = " [indextables.commit="


class Model:
    """The state after some commits, told from the JSON in their files alone."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.removes: dict[str, dict[str, Any]] = {}
        self.skips: dict[str, dict[str, Any]] = {}
        self.protocol: Any = None
        self.metadata: Any = None
        self.transactions: dict[str, tuple[int, int]] = {}
        self.timestamps: list[int] = []

    @property
    def version(self) -> int:
        return len(self.timestamps) - 1

    def apply(self, data: bytes) -> None:
        version = len(self.timestamps)
        actions = [next(iter(json.loads(line).items())) for line in _content(data).splitlines()]
        for ordinal, (key, value) in enumerate(actions):
            row = {**_normal(key, value), "version": version, "ordinal": ordinal}
            if key == "protocol":
                self.protocol = value
            elif key == "metaData":
                self.metadata = value
            elif key == "mergeskip":
                self._skip(row)
            else:
                for table in (self.files, self.removes, self.skips):
                    table.pop(row["path"], None)
                (self.files if key == "add" else self.removes)[row["path"]] = row
        facts = _facts(actions, version)
        if facts is None:
            times = [value.get(TIMES[key]) for key, value in actions if key in TIMES]
            time = max([0, *(time for time in times if time is not None)])
        else:
            time = facts["timestamp"]
            if "app" in facts:
                batch = (facts["batch"], version)
                self.transactions[facts["app"]] = max(batch, self.transactions.get(facts["app"], batch))
        self.timestamps.append(max(time, self.timestamps[-1] if self.timestamps else 0))

    def _skip(self, row: dict[str, Any]) -> None:
        before = self.skips.get(row["path"], {})
        for name in ("skipCount", "retryAfter"):
            values = [known[name] for known in (before, row) if name in known]
            if values:
                row[name] = max(values)
        self.skips[row["path"]] = row

    def summary(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "files": list(self.files.values()),
            "removes": _by_path(self.removes.values()),
            "skips": _by_path(self.skips.values()),
            "protocol": self.protocol and _normal("protocol", self.protocol),
            "metadata": self.metadata and _normal("metaData", self.metadata),
            "transactions": self.transactions,
            "timestamps": self.timestamps,
        }


def _content(data: bytes) -> bytes:
    if data[:1] != b"\x01":
        return data
    if data[1] == 1:
        return gzip.decompress(data[2:])
    assert data[1] == 2
    content: bytes = pa.CompressedInputStream(pa.BufferReader(data[2:]), "zstd").read()
    return content


def _facts(actions: list[tuple[str, Any]], version: int) -> dict[str, Any] | None:
    """Return what the first action that says anything about this very version says."""
    for key, value in actions:
        if key in {"add", "remove", "metaData"}:
            text = (value.get("configuration" if key == "metaData" else "tags") or {}).get("indextables.commit")
            if text is not None and json.loads(text).get("version") == version:
                facts: dict[str, Any] = json.loads(text)
                return facts
        if key == "mergeskip" and MARK in value["reason"]:
            return {"timestamp": value["skipTimestamp"]}
    return None


def _normal(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action as columns know them: null is absent, texts in maps are texts, the rest is extra."""
    known = KNOWN[key].split()
    row = {name: _texts(field) if name in MAPS else field for name, field in value.items() if name in known}
    extra = {name: field for name, field in value.items() if name not in known}
    return {name: field for name, field in row.items() if field is not None} | ({"extra": extra} if extra else {})


def _texts(given: Mapping[str, Any] | None) -> dict[str, str] | None:
    if given is None:
        return None
    return {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items() if value is not None
    }


def _by_path(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["path"]))


def summary(state: LogState) -> dict[str, Any]:
    """Return a state in the words of the model."""
    return {
        "version": state.version,
        "files": list(_rows(state.files)),
        "removes": _by_path(_rows(state.removes)),
        "skips": _by_path(_rows(state.skips)),
        "protocol": state.protocol and _action(state.protocol),
        "metadata": state.metadata and _action(state.metadata),
        "transactions": {app: (batch.number, batch.version) for app, batch in state.transactions.items()},
        "timestamps": state.timestamps.tolist(),
    }


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for row in table.to_pylist():
        fields = {_camel(name): value for name, value in row.items() if value is not None}
        for name in MAPS & fields.keys():
            fields[name] = {key: value for key, value in fields[name].items() if value is not None}
        if "extra" in fields:
            fields["extra"] = json.loads(fields["extra"])
        yield fields


def _action(action: Any) -> dict[str, Any]:
    """Return an action's fields by way of its line, which is what other readers see of it."""
    ((key, value),) = json.loads(encode_action(action)).items()
    return _normal(key, value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class History:
    """A table that lives through operations of two processes, which compress in different ways, and of other software."""

    def __init__(self, shape: int) -> None:
        partitioned = shape % 2 == 1
        codecs = CODECS[shape % 3 :] + CODECS[: shape % 3]
        self.place = Place()
        self.columns = ("day",) if partitioned else ()
        self.logs = [self.place.log(Settings(compression=Compression(codec=codec))) for codec in codecs[:2]]
        self.model = Model()
        self.names = (f"f{number}.split" for number in itertools.count())
        self.done: Counter[str] = Counter()
        self.logs[0].initialize(PARTITIONED if partitioned else SCHEMA, self.columns)
        self._follow()

    def run(self, operation: str, number: int) -> None:
        chance = dice(number)
        log = chance.choice(self.logs)
        active, version = list(self.model.files), self.model.version
        expected = OPERATIONS[operation](self, log, chance)
        self._follow()
        self.done[operation] += 1
        assert self.model.version == version + (1 if expected is not None else 0)
        assert sorted(self.model.files) == sorted(active if expected is None else expected)
        # Whichever process looks now, and however old what it knows, it sees this version, as the model does.
        assert summary(chance.choice(self.logs).snapshot().state) == self.model.summary()

    def _follow(self) -> None:
        tree = self.place.model.tree()
        while (data := tree.get(commit_path(self.model.version + 1))) is not None:
            self.model.apply(data)

    # Each operation returns the paths that must be active after it, or None where it must not have written a version.

    def append(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        paths = [next(self.names) for _ in range(chance.randint(1, 3))]
        if self.model.files and chance.random() < 0.2:
            paths.append(chance.choice(list(self.model.files)))
        log.add_files([self._file(path, chance) for path in paths], user_metadata=chance.choice([None, "née"]))
        return [*dict.fromkeys([*self.model.files, *paths])]

    def append_nothing(self, log: TransactionLog, _: random.Random) -> list[str] | None:
        assert not log.add_files([]).written
        return None

    def batch(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        app, number, path = chance.choice("ab"), chance.randint(0, 3), next(self.names)
        known = self.model.transactions.get(app)
        written = log.add_files([self._file(path, chance)], app=app, batch=number).written
        assert written == (known is None or number > known[0])
        return [*self.model.files, path] if written else None

    def overwrite(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        paths = [next(self.names) for _ in range(chance.randint(0, 2))]
        log.overwrite_files([self._file(path, chance) for path in paths])
        return paths if paths or self.model.files else None

    def remove(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        gone = self._some(chance)
        log.remove_files(gone, data_change=chance.random() < 0.8)
        return [path for path in self.model.files if path not in gone] if gone else None

    def merge(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        sources, path = self._some(chance), next(self.names)
        skips = [self._skipped(path, chance) for path in self._some(chance)[:1] if path not in sources]
        log.merge_files(sources, [self._file(path, chance)], skips=skips)
        return [*(known for known in self.model.files if known not in sources), path]

    def skip(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        paths = list(dict.fromkeys([*self._some(chance), *chance.sample(["lost.split", "f0.split"], 1)]))
        before = {path: self.model.skips.get(path, {}).get("skipCount", 0) for path in paths}
        hours = chance.choice([None, 0.5, 48])
        log.record_skipped_files([self._skipped(path, chance) for path in paths], cooldown_hours=hours)
        self._follow()
        assert all(self.model.skips[path]["skipCount"] == max(before[path], 0) + 1 for path in paths if before[path])
        return list(self.model.files)

    def metadata(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        field = pa.field(
            f"c{self.model.version}", chance.choice([pa.string(), pa.list_(pa.int32()), pa.decimal128(9, 2)])
        )
        change: dict[str, Any] = chance.choice(
            [{"name": "n"}, {"description": "d"}, {"configuration": {"k": str(chance.random())}}, {"schema": field}]
        )
        if "schema" in change:
            change = {"schema": log.schema.append(field)}
        log.update_metadata(**change)
        return list(self.model.files)

    def protocol(self, log: TransactionLog, chance: random.Random) -> list[str] | None:
        version = max(chance.choice([2, 3]), self.model.protocol["minReaderVersion"])
        features: dict[str, Any] = chance.choice([{}, {"reader_features": []}, {"writer_features": None}])
        log.upgrade_protocol(Protocol(min_reader_version=version, min_writer_version=version, **features))
        return list(self.model.files)

    def wait(self, _: TransactionLog, chance: random.Random) -> list[str] | None:
        self.place.runtime.sleep(chance.choice([0.001, 60.0, 100_000.0]))
        return None

    def foreign(self, _: TransactionLog, chance: random.Random) -> list[str] | None:
        active = dict.fromkeys(self.model.files)
        actions = []
        for _number in range(chance.randint(1, 4)):
            key = chance.choices(["add", "remove", "mergeskip", "metaData", "protocol"], [5, 3, 3, 1, 1])[0]
            path = chance.choice([*active, "lost.split", next(self.names)])
            actions.append({key: getattr(self, f"_foreign_{key}")(path, chance)})
            if key in {"add", "remove"}:
                active.pop(path, None)
            if key == "add":
                active[path] = None
        self.place.write(self.model.version + 1, *actions, codec=chance.choice(CODECS))
        return list(active)

    def copied(self, _: TransactionLog, chance: random.Random) -> list[str] | None:
        """Write lines of an old commit again, tags and all, as a tool that rewrites a log does."""
        version = chance.randint(0, self.model.version)
        lines = _content(self.place.model.get(commit_path(version))).splitlines()
        chance.shuffle(lines)
        chosen = [json.loads(line) for line in lines]
        active = dict.fromkeys(self.model.files)
        for action in chosen:
            for key in action.keys() & {"add", "remove"}:
                active.pop(action[key]["path"], None)
                if key == "add":
                    active[action[key]["path"]] = None
        # An old protocol line would lower what the table needs, which no tool may do.
        kept = [action for action in chosen if "protocol" not in action] or [{"protocol": self.model.protocol}]
        self.place.write(self.model.version + 1, *kept, codec=chance.choice(CODECS))
        return list(active)

    def _some(self, chance: random.Random) -> list[str]:
        return chance.sample(list(self.model.files), min(len(self.model.files), chance.randint(0, 2)))

    def _file(self, path: str, chance: random.Random) -> Any:
        optional: dict[str, Any] = {
            "num_records": chance.randint(0, 9),
            "min_values": {"id": "1"},
            "max_values": {"id": "22", "text": "é😀"},
            "tags": {"who": "me"},
            "stats": '{"nullCount":{"id":0}}',
            "split_tags": [["a", None], []][chance.randint(0, 1)],
            "has_footer_offsets": False,
        }
        chosen = {name: value for name, value in optional.items() if chance.random() < 0.4}
        values = {name: chance.choice([None, "2024-01-01"]) for name in self.columns}
        return add(path, partition_values=values, size=chance.randint(0, 2**40), **chosen)

    def _skipped(self, path: str, chance: random.Random) -> Skip:
        size: dict[str, Any] = chance.choice([{}, {"size": 7}, {"size": None}])
        return Skip(path=path, skip_timestamp=0, reason="it is broken", operation="merge", **size)

    def _foreign_add(self, path: str, chance: random.Random) -> dict[str, Any]:
        optional: dict[str, Any] = {
            "stats": None,
            "tags": chance.choice([None, {}, {"a": None}, {"a": "b"}]),
            "minValues": chance.choice([None, {}, {"id": 5, "text": True}, {"id": "5"}]),
            "maxValues": chance.choice([None, {"id": "9"}, {"other": "x"}]),
            "numRecords": chance.choice([None, 3]),
            "splitTags": chance.choice([None, []]),
            "hasFooterOffsets": chance.choice([None, True, False]),
            "modificationTime": chance.choice([0, -5, 2**53 + 1, 1_800_000_000_000]),
            **self._unknown(chance),
        }
        chosen = {name: value for name, value in optional.items() if chance.random() < 0.5}
        values = {name: chance.choice([None, "2024-01-01", "a%2Fb"]) for name in self.columns}
        fields: dict[str, Any] = foreign_add(path, partitionValues=values, **chosen)["add"]
        return fields

    def _foreign_remove(self, path: str, chance: random.Random) -> dict[str, Any]:
        optional = {
            "deletionTimestamp": chance.choice([None, 0, 1_750_000_000_000]),
            "extendedFileMetadata": chance.choice([None, False]),
            "partitionValues": None,
            "size": chance.choice([None, 12]),
            "tags": None,
            **self._unknown(chance),
        }
        chosen = {name: value for name, value in optional.items() if chance.random() < 0.5}
        return {"path": path, "dataChange": chance.random() < 0.5, **chosen}

    def _foreign_mergeskip(self, path: str, chance: random.Random) -> dict[str, Any]:
        optional = {
            "partitionValues": None,
            "size": chance.choice([None, 12]),
            "retryAfter": chance.choice([None, 5, 1_900_000_000_000]),
            "skipCount": chance.choice([None, 0, 1, 7]),
            **self._unknown(chance),
        }
        chosen = {name: value for name, value in optional.items() if chance.random() < 0.5}
        return {"path": path, "skipTimestamp": chance.choice([0, 10**12]), "reason": "r", "operation": "read", **chosen}

    def _foreign_metaData(self, _: str, chance: random.Random) -> dict[str, Any]:  # noqa: N802 - the action's key
        given = {key: value for key, value in self.model.metadata.items() if key != "configuration"}
        optional = {
            "name": None,
            "description": "é",
            "format": {"provider": "parquet", "options": None, "more": [1]},
            "createdTime": None,
            "configuration": chance.choice([None, {}, {"a": "b"}]),
            **self._unknown(chance),
        }
        return given | {name: value for name, value in optional.items() if chance.random() < 0.5}

    def _foreign_protocol(self, _: str, chance: random.Random) -> dict[str, Any]:
        more: dict[str, Any] = chance.choice([{}, {"readerFeatures": []}, {"writerFeatures": None, "new": 1}])
        return {**self.model.protocol, **more}

    def _unknown(self, chance: random.Random) -> dict[str, Any]:
        return {"zz": chance.choice([None, 1.5, {"a": [1, None, {"b": "\u2028"}]}]), "path2": "p"}


OPERATIONS: Final[dict[str, Callable[[History, TransactionLog, random.Random], list[str] | None]]] = {
    "append": History.append,
    "append nothing": History.append_nothing,
    "batch": History.batch,
    "overwrite": History.overwrite,
    "remove": History.remove,
    "merge": History.merge,
    "skip": History.skip,
    "metadata": History.metadata,
    "protocol": History.protocol,
    "wait": History.wait,
    "foreign": History.foreign,
    "copied": History.copied,
}

EVERYTHING = [(operation, number) for number, operation in enumerate(OPERATIONS)]
"""One of each. What is drawn beside it depends on which modules a worker has loaded, and may lack what is rare."""
STEPS = st.lists(
    st.tuples(st.sampled_from([*OPERATIONS, "append", "foreign", "skip"]), st.integers(0, 2**32)),
    min_size=1,
    max_size=MOST_OPERATIONS,
)


def live_through(shape: int, steps: list[tuple[str, int]]) -> Counter[str]:
    """Run a history, compare all readers on it, and return how much of what there was."""
    history = History(shape)
    for operation, number in steps:
        history.run(operation, number)
    model, cold, replayed = history.model, history.place.log(), Model()
    assert summary(cold.snapshot().state) == model.summary()
    assert (cold.metadata, cold.protocol) == (cold.snapshot().metadata, cold.snapshot().protocol)
    assert cold.versions() == list(range(model.version + 1))
    # Versions may share a time; the last of them is the one that a traveller in time sees.
    moment = model.timestamps[steps[0][1] % (model.version + 1)]
    past = cold.snapshot(timestamp=moment)
    assert past.version == max(version for version, time in enumerate(model.timestamps) if time <= moment)
    for version in range(model.version + 1):
        replayed.apply(history.place.model.get(commit_path(version)))
        expected = replayed.summary()
        assert summary(replay_plainly(history.place.model, version)) == expected
        if version == past.version:
            assert summary(past.state) == expected
    return history.done + Counter(sequences=1, versions=model.version + 1)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_every_version_of_a_random_history_is_the_same_to_all_readers(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if part == PARTS[-1]:  # these histories are short, and the reader of long ones is tried, too
        monkeypatch.setattr(commits, "_FEW", 0)
    seen: Counter[str] = Counter()

    @seed(part)
    @settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(0, 5), STEPS)
    @example(1, EVERYTHING)
    def check(shape: int, steps: list[tuple[str, int]]) -> None:
        seen.update(live_through(shape, steps))

    check()
    print(", ".join(f"{count} {name}" for name, count in seen.most_common()))
    assert seen["sequences"] >= SEQUENCES
    assert all(seen[operation] for operation in OPERATIONS)
