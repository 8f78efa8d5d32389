"""From a diagnosis to what is going to be done, and to the words for it; nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import LogCorruptionError
from indextables.log.actions import Add, Remove, Skip
from indextables.log.columns import keys_of, table_of
from indextables.log.create import new_metadata
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.protocol import DEFAULT, check_writable
from indextables.log.repair.findings import RepairResult, Way
from indextables.log.repair.in_place import next_version
from indextables.log.state import LogState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.log.repair.examine import Diagnosis
    from indextables.runtime import Runtime
    from indextables.storage.base import Store


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What is going to be done: how, with which state, and which missing files leave the table."""

    way: Way
    state: LogState | None
    dropped: tuple[str, ...]
    needs: tuple[str, ...]

    def checked(self, store: Store) -> LogState:
        """Return the state, if everything is there that a repair needs.

        Raises:
            LogCorruptionError: It is not.
            ProtocolError: Newer software has to do it.
        """
        if self.needs or self.state is None:
            raise LogCorruptionError(
                f"{store.url}/{LOG_DIRECTORY}", "too little of it survives", way_out=f"Give {' and '.join(self.needs)}"
            )
        if self.state.protocol is not None:
            check_writable(self.state.protocol, table=store.url)
        return self.state


def make_plan(
    store: Store,
    found: Diagnosis,
    *,
    rebuild: Callable[[Store], list[Add]] | None,
    schema: pa.Schema | str | None,
    drop: bool,
    runtime: Runtime,
    copy: bool,
) -> Plan:
    """Return what is going to be done about a diagnosis.

    Args:
        store: Where the table is.
        found: The diagnosis.
        rebuild: Finds the files of a table whose log is lost.
        schema: The table's columns, where no surviving line tells them.
        drop: Whether missing files leave the table.
        runtime: Supplies the id of a table that lost its own.
        copy: Whether the repaired log is written elsewhere.
    """
    state, needs = found.survivors.state, []
    if state is None:
        if rebuild is None:
            needs.append("rebuild, which finds the table's files")
        else:
            state = _rebuilt(rebuild(store))
    if state is None or state.metadata is None:
        if schema is None:
            needs.append("schema, the columns of the table")
        elif state is not None:
            columns = _partition_columns(state.files)
            metadata = new_metadata(schema, columns, name=None, description=None, configuration=None, runtime=runtime)
            state = replace(state, metadata=metadata)
    dropped = found.data.missing if drop else ()
    way = Way.COPY if copy else found.way
    if way is Way.NOTHING and dropped:
        way = Way.DROP
    if state is not None and dropped and way in {Way.REWRITE, Way.COPY}:
        gone = pc.is_in(state.files["path"], value_set=pa.array(dropped, pa.string()))
        state = replace(state, files=state.files.filter(pc.invert(gone)))
    return Plan(way=way, state=state, dropped=dropped, needs=tuple(needs))


def foretell(store: Store, target: Store | None, found: Diagnosis, plan: Plan) -> RepairResult:
    """Return what a repair finds and would do, as the result of a dry run."""
    state, inventory = plan.state, found.inventory
    rewritten = plan.way in {Way.REWRITE, Way.COPY}
    version = 0 if plan.way is Way.COPY else next_version(found) if plan.way is Way.REWRITE else inventory.newest
    oldest = version if rewritten else (found.exact_from or 0) if plan.way is Way.TRIM else inventory.first
    if plan.way is Way.FINISH and found.restart is not None:
        oldest = found.restart.version
    files = state.files if state is not None else None
    kept = 0 if files is None else files.num_rows - (0 if rewritten else len(plan.dropped))
    damaged = found.survivors.damaged
    return RepairResult(
        source=store.url,
        target=None if target is None else target.url,
        dry_run=True,
        way=plan.way,
        exact=found.exact,
        findings=found.findings,
        steps=tuple(_steps(found, plan, version=version, oldest=oldest, files=kept, target=target)),
        version=version,
        oldest_version=oldest,
        files=kept,
        records=None if files is None or files["num_records"].null_count else pc.sum(files["num_records"]).as_py() or 0,
        lost_versions=found.bad,
        lost_lines=sum(len(damaged[version].lost_lines) for version in found.bad if version in damaged),
        missing_files=found.data.missing,
        dropped_files=plan.dropped,
        doubtful_files=found.survivors.doubtful,
        unreferenced_files=found.data.unreferenced,
    )


def _steps(found: Diagnosis, plan: Plan, *, version: int, oldest: int, files: int, target: Store | None) -> list[str]:
    steps = [f"Cannot go on without {need}" for need in plan.needs]
    match plan.way:
        case Way.COPY:
            steps.append(f"Write {files} files as version 0 of {target.url if target else 'the target'}, in gzip")
        case Way.REWRITE:
            steps += [
                "Keep a copy of the old log",
                f"Write {files} files as version {version}, in gzip, and its checkpoint",
                f"Let the log begin at version {oldest}, and take older files away",
            ]
        case Way.FINISH:
            steps.append(
                f"Finish the repair that wrote version {oldest}: its checkpoint, and what it left to take away"
            )
        case Way.TRIM:
            steps += [
                "Keep a copy of what goes",
                f"Let the log begin at version {oldest}, with a checkpoint there; versions {oldest} to {version} stay",
            ]
        case Way.CHECKPOINTS:
            bad = [found.place.path for found in found.inventory.checkpoints if not found.usable]
            steps += [f"Keep a copy of {path}, and take it away" for path in bad]
            steps.append(f"Write a checkpoint of version {version}, and the pointer to it")
        case _:
            pass
    if plan.dropped:
        steps.append(f"Take {len(plan.dropped)} files out of the table that are not in the store")
    return steps


def _rebuilt(adds: Sequence[Add]) -> LogState:
    """Return the state of a table of which nothing is known but its files."""
    keys = keys_of(adds)
    return LogState(
        version=-1,
        protocol=DEFAULT,
        files=table_of(Add, [(0, number, add) for number, add in enumerate(adds)], keys),
        removes=table_of(Remove, [], keys),
        skips=table_of(Skip, [], keys),
        timestamps=np.zeros(1, np.int64),
    )


def _partition_columns(files: pa.Table) -> list[str]:
    """Return the partition columns that files tell of, in the order of their directories."""
    known = [field.name for field in files["partition_values"].type]
    if not known or not files.num_rows:
        return known
    names = [segment.partition("=")[0] for segment in files["path"][0].as_py().split("/")[:-1]]
    return sorted(known, key=lambda name: names.index(name) if name in names else len(names))
