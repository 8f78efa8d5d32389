"""Commands for when something is wrong: the check of everything, and the repair of a log."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indextables.cli.endings import DAMAGE
from indextables.cli.opening import open_table_store
from indextables.cli.options import TableAddress, examples, table_options
from indextables.cli.output import note, progress, say, show_json, show_table, wants_json
from indextables.config import Settings
from indextables.errors import IndexTablesError, ProtocolError, TableNotFoundError
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.log import TransactionLog
from indextables.log.repair import repair as mend
from indextables.log.repair import undo_repair
from indextables.log.repair.examine import examine
from indextables.log.snapshot import Snapshot
from indextables.report.words import counted
from indextables.table.rebuild import rebuild_adds
from indextables.table.verify import verify_statistics

if TYPE_CHECKING:
    from indextables.log.repair.examine import Diagnosis
    from indextables.storage.base import Store


@click.command(epilog=examples("indextables verify events", "indextables verify s3://lake/events --no-data --json"))
@click.option("--data/--no-data", "data", default=True, help="Read every data file, or check the log alone.")
@table_options
@click.pass_context
def verify(ctx: click.Context, path: str, options: dict[str, str], data: bool) -> None:
    """Check everything that can be checked, and change nothing.

    The log: gaps, damaged commits, its pointer. Checkpoints: each part against its checksum. Data files: whether they are there,
    with the size that the log says, whether they can be read, and whether every row lies within the statistics that the log has.

    Exit code 0 means that all is well, 3 that something is wrong.
    """
    store, settings = open_table_store(path, options)
    with progress("Checking the log"):
        found, findings = _check_log(store, settings)
    state = found.survivors.state
    read = data and state is not None and state.metadata is not None
    if read:
        with progress("Reading the data files"):
            findings += _check_data(store, found)
    checked = {
        "commits": len(found.inventory.commits),
        "checkpoints": len(found.inventory.checkpoints),
        "data_files": state.files.num_rows if state is not None else 0,
        "data_read": read,
    }
    if wants_json():
        show_json({"table": store.url, "healthy": not findings, "checked": checked, "findings": findings})
    else:
        _show(path, findings, checked)
    if findings:
        ctx.exit(DAMAGE)


def _check_log(store: Store, settings: Settings) -> tuple[Diagnosis, list[dict[str, Any]]]:
    unreadable: IndexTablesError | None = None
    try:
        TransactionLog(store, settings=settings).snapshot()
    except (ProtocolError, TableNotFoundError):
        raise
    except IndexTablesError as error:
        unreadable = error
    found = examine(store, settings)
    findings = [
        {
            "problem": str(one.problem),
            "path": one.path,
            "version": one.version,
            "lines": list(one.lines),
            "detail": one.detail,
        }
        for one in found.findings
    ]
    if unreadable is not None and not findings:
        findings.append({"problem": "unreadable log", "path": store.url, "detail": str(unreadable)})
    return found, findings


def _check_data(store: Store, found: Diagnosis) -> list[dict[str, Any]]:
    state = found.survivors.state
    if state is None:
        return []
    gone = set(found.data.missing)
    return [
        {
            "problem": "wrong statistics" if row["column"] else "unreadable data file",
            "path": row["path"],
            "column": row["column"],
            "detail": row["problem"].removeprefix("it cannot be read: ")
            if row["stated"] is None and row["found"] is None
            else f"{row['problem']}: {row['stated']} stated, {row['found']} found",
        }
        for row in verify_statistics(store, Snapshot(store.url, state)).to_pylist()
        if row["path"] not in gone
    ]


def _show(path: str, findings: list[dict[str, Any]], checked: dict[str, Any]) -> None:
    if findings:
        show_table(
            ["problem", "path", "detail"],
            [
                (
                    one["problem"],
                    one["path"] + (f" ({one['column']})" if one.get("column") else ""),
                    (f"lines {', '.join(map(str, one['lines']))}: " if one.get("lines") else "") + one["detail"],
                )
                for one in findings
            ],
        )
    unread = "" if checked["data_read"] else ", whose contents were not read"
    say(
        f"Checked {counted(checked['commits'], 'commit')}, {counted(checked['checkpoints'], 'checkpoint')} and "
        f"{counted(checked['data_files'], 'data file')}{unread}: "
        + (f"{counted(len(findings), 'problem')}." if findings else "all is well.")
    )
    if findings:
        note(f"What a repair would do: indextables repair {shlex.quote(path)}")


@click.command(
    epilog=examples(
        "indextables repair events", "indextables repair events --no-dry-run", "indextables repair events --undo"
    )
)
@click.option("--target", type=TableAddress(), metavar="TABLE", help="Write the repaired log for this path instead.")
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="Only tell what would be done, or do it.")
@click.option("--drop-missing-files", is_flag=True, help="Take data files that are gone out of the table.")
@click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    metavar="FILE",
    help="The columns in Spark's JSON form, where no line that survives tells them.",
)
@click.option("--undo", is_flag=True, help="Put the log back that the last repair replaced.")
@table_options
def repair(
    path: str,
    options: dict[str, str],
    target: str | None,
    dry_run: bool,
    drop_missing_files: bool,
    schema_file: Path | None,
    undo: bool,
) -> None:
    """Mend a damaged log: tell what is wrong and what would be done, and with --no-dry-run do it.

    A repair keeps the old log aside, and --undo puts it back. What cannot be saved is named, line by line.
    """
    if undo:
        if target or drop_missing_files or schema_file:
            raise click.UsageError("--undo goes with no other choice")
        undone = undo_repair(path, options=options)
        show_json(undone) if wants_json() else say(str(undone))
        return
    _refuse_nothing(path, options)
    with progress("Examining the log"):
        result = mend(
            path,
            target,
            options=options,
            dry_run=dry_run,
            drop_missing_files=drop_missing_files,
            rebuild=partial(rebuild_adds, settings=Settings.resolve(options)),
            schema=_text_of(schema_file) if schema_file else None,
        )
    if wants_json():
        show_json(result)
        return
    for line in str(result).splitlines():
        say(line)
    if dry_run and not result.healthy:
        note("Nothing was changed; --no-dry-run does it.")


def _refuse_nothing(path: str, options: dict[str, str]) -> None:
    """Refuse a path where there is neither a log nor a data file, which a repair would make a table of."""
    store, _ = open_table_store(path.rstrip("/").removesuffix(f"/{LOG_DIRECTORY}"), options)
    if next(iter(store.list_from("")), None) is None:
        raise TableNotFoundError(store.url, detail="nothing is there")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{file} is not text", param_hint="--schema") from error
