"""The page of a table, from its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.report.charts import bar, heat_key, heat_map, line_chart, stacked_bar
from indextables.report.markup import Html, el, join
from indextables.report.page import advice_list, card, facts, page, section, table, tiles
from indextables.report.words import counted, day, minute, moment, number, share, short, size

if TYPE_CHECKING:
    from indextables.report.figures import (
        Cell,
        Growth,
        LogHealth,
        Partitions,
        Query,
        SizeRange,
        Skipped,
        TableFigures,
    )


def table_page(figures: TableFigures) -> str:
    """Return the page."""
    name = figures.name or figures.path.rstrip("/").rpartition("/")[2] or figures.path
    return page(
        name,
        figures.path,
        made=figures.made,
        command="indextables report",
        body=[
            el("p", figures.description, class_="soft") if figures.description else None,
            _glance(figures),
            section(
                "What to do",
                advice_list(figures.advice, otherwise="Nothing: files, log and checkpoints are in good shape."),
            ),
            _growth(figures.growth),
            _sizes(figures.sizes, files=figures.files),
            _partitions(figures.partitions, files=figures.files),
            _queries(figures.queries),
            _log(figures.log, figures),
            _skipped(figures.skipped),
        ],
    )


def _glance(figures: TableFigures) -> Html:
    average = f"{size(figures.bytes // figures.files)} a file" if figures.files else None
    partitions = figures.partitions
    spread = (
        ("Partitions", short(partitions.count), f"by {', '.join(partitions.columns)}")
        if partitions
        else ("Columns", number(figures.columns), "no partitions")
    )
    return tiles(
        [
            ("Rows", short(figures.rows), number(figures.rows) if figures.rows and figures.rows >= 10_000 else None),
            ("Files", short(figures.files), average),
            ("Size", size(figures.bytes), f"{figures.bytes:,} bytes"),
            ("Version", number(figures.version), f"committed {moment(figures.committed)}"),
            spread,
            ("Skipped files", number(figures.skipped.files), "that operations could not use"),
        ]
    )


def _growth(growth: Growth | None) -> Html | None:
    if growth is None:
        return section(
            "Growth", card(el("p", "The oldest version of the log cannot be loaded, so its past is not known."))
        )
    labels = [f"version {version}, {moment(time)}" for version, time in zip(growth.versions, growth.times, strict=True)]
    first, last = (f"version {growth.versions[at]:,} · {day(growth.times[at])}" for at in (0, -1))
    measures = [("Rows", growth.rows, short), ("Files", growth.files, short), ("Size", growth.bytes, size)]
    charts = [
        line_chart(title, labels, values, write=write, ends=(first, last))
        for title, values, write in measures
        if values is not None
    ]
    words = f"{counted(len(growth.versions), 'version')}, from {growth.versions[0]:,} to {growth.versions[-1]:,}."
    return section("Growth over versions", el("p", words, class_="soft"), el("div", *charts, class_="charts"))


def _sizes(sizes: tuple[SizeRange, ...], *, files: int) -> Html:
    most = max(one.files for one in sizes)
    held = [index for index, one in enumerate(sizes) if one.files]
    shown = sizes[max(0, held[0] - 1) : held[-1] + 2] if held else ()
    columns = [("size", "label"), ("", "bar"), ("files", "num"), ("share", "num wide"), ("bytes", "num")]
    rows = [
        (
            _range(one),
            bar(one.files, most),
            number(one.files),
            share(one.files, files),
            size(one.bytes) if one.files else "",
        )
        for one in shown
    ]
    return section("File sizes", card(table(columns, rows) if rows else el("p", "There are no files.")))


def _range(one: SizeRange) -> str:
    if one.below is None:
        return f"{_round(one.least)} and more"
    return f"below {_round(one.below)}" if one.least == 0 else f"{_round(one.least)} to {_round(one.below)}"


def _round(count: int) -> str:
    return size(count).replace(".0 ", " ")


def _partitions(partitions: Partitions | None, *, files: int) -> Html | None:
    if partitions is None:
        return None
    title = f"Partitions by {', '.join(partitions.columns)}"
    if not partitions.cells:
        return section(title, card(el("p", "There are no files, and so no partitions yet.")))
    cells = [(_cell(cell), cell.bytes) for cell in partitions.cells]
    several = max(cell.partitions for cell in partitions.cells)
    each = "a partition" if several == 1 else f"up to {several:,} neighbouring partitions"
    count = counted(partitions.count, "partition")
    words = f"{count} in the order of their values; a cell is {each}; the stronger its colour, the more bytes."
    columns = [
        ("largest partitions", "name"),
        ("", "bar wide"),
        ("files", "num"),
        ("rows", "num wide"),
        ("size", "num"),
    ]
    most = max(one.bytes for one in partitions.largest)
    rows: list[tuple[object, ...]] = [
        (el("code", one.name), bar(one.bytes, most), number(one.files), number(one.rows), size(one.bytes))
        for one in partitions.largest
    ]
    if (rest := partitions.rest) is not None:
        others = f"the other {partitions.count - len(partitions.largest):,} ({share(rest.files, files)} of the files)"
        rows.append((others, "", number(rest.files), number(rest.rows), size(rest.bytes)))
    return section(
        title,
        el(
            "div",
            card(
                el("p", words, class_="soft"),
                heat_map(cells, label=f"Map of {count} by size; the largest are listed below"),
                heat_key("0", size(max(value for _, value in cells))),
            ),
            card(table(columns, rows)),
            class_="stack",
        ),
    )


def _cell(cell: Cell) -> str:
    names = cell.first if cell.partitions == 1 else f"{cell.first} … {cell.last}"
    return f"{names}: {counted(cell.files, 'file')}, {size(cell.bytes)}"


def _queries(queries: tuple[Query, ...]) -> Html:
    if not queries:
        hint = el("p", "Give conditions with ", el("code", "--where"), " to see how many files each of them reads.")
        return section("Files read by queries", card(hint))
    key = el(
        "p",
        *(
            el("span", el("i", class_=kind), words)
            for kind, words in (
                ("read", "read"),
                ("stat", "skipped by statistics"),
                ("part", "skipped by partition"),
            )
        ),
        class_="key",
    )
    return section("Files read by queries", card(*(_query(one) for one in queries), key))


def _query(one: Query) -> Html:
    words = f"{one.files_read:,} of {counted(one.files, 'file')} read ({size(one.bytes_read)}), {share(one.files - one.files_read, one.files)} skipped"
    return el(
        "div",
        el("h3", el("code", one.where)),
        stacked_bar(
            [("read", one.files_read), ("stat", one.pruned_by_statistics), ("part", one.pruned_by_partition)],
            label=words,
        ),
        el(
            "p",
            f"{words}: {one.pruned_by_partition:,} by partition, {one.pruned_by_statistics:,} by statistics.",
            class_="num",
        ),
        el("details", el("summary", "Why"), el("ul", *(el("li", line) for line in one.details), class_="plain")),
        class_="query",
    )


def _log(log: LogHealth, figures: TableFigures) -> Html:
    last = f"version {log.checkpoints[-1]:,}" if log.checkpoints else "none"
    purgeable = figures.purgeable
    freed = f"{size(purgeable.bytes)}: {counted(purgeable.files, 'file')}"
    held = f"{size(purgeable.held_bytes)}: {counted(purgeable.held_files, 'file')}"
    if purgeable.problem is not None:
        freed, held = f"not known: {purgeable.problem}", "not known"
    expired = f"{counted(log.expired_commits, 'commit')}, {counted(log.expired_checkpoints, 'checkpoint')}"
    health = facts(
        [
            ("Versions kept", f"{log.oldest_version:,} to {figures.version:,}"),
            ("Commits", f"{log.commits:,}, {size(log.commit_bytes)}"),
            ("Checkpoints", f"{len(log.checkpoints):,}, {size(log.checkpoint_bytes)}"),
            ("Last checkpoint", last),
            ("Damaged checkpoints", ", ".join(map(str, log.damaged_checkpoints)) or "none"),
            ("Commits to replay", f"{log.commits_since_checkpoint:,}; a checkpoint is due every {log.interval}"),
            ("A cleanup would free", f"{size(log.expired_bytes)}: {expired}"),
            ("A purge would free", freed),
            ("Only older versions need", held),
            ("Columns", number(figures.columns)),
            ("Protocol", f"reader {figures.min_reader_version}, writer {figures.min_writer_version}"),
            *((f"Property {key}", value) for key, value in figures.properties.items()),
        ]
    )
    columns = [
        ("version", "num"),
        ("committed (UTC)", "label"),
        ("operation", "label"),
        ("added", "num"),
        ("removed", "num wide"),
    ]
    rows = [
        (number(one.version), minute(one.time), one.operation or "", number(one.files_added), number(one.files_removed))
        for one in log.latest
    ]
    return section(
        "Log and checkpoints",
        el(
            "div",
            card(health),
            card(el("h3", "Latest commits"), table(columns, rows) if rows else el("p", "They cannot be read.")),
            class_="pair",
        ),
    )


def _skipped(skipped: Skipped) -> Html:
    if not skipped.files:
        return section("Skipped files", card(el("p", "No file is skipped.")))
    columns = [
        ("file", "name"),
        ("operation", "text wide"),
        ("reason", "text"),
        ("times", "num"),
        ("tried again (UTC)", "label"),
    ]
    rows = [
        (
            el("code", one.path),
            one.operation,
            one.reason,
            number(one.times),
            minute(one.retry_after) if one.retry_after else "",
        )
        for one in skipped.first
    ]
    words = f"{counted(skipped.files, 'file')} could not be used by an operation; {skipped.in_cooldown:,} are left alone for now."
    more = f"The first {len(rows)} of {skipped.files:,} are shown." if skipped.files > len(rows) else None
    return section(
        "Skipped files",
        card(join(el("p", words), el("p", more, class_="soft") if more else None), table(columns, rows)),
    )
