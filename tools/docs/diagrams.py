"""The drawings of the documentation: python -m tools.docs.diagrams. They are made here so that all have one palette."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from tools.docs.svg import Drawing

TARGET: Final = Path(__file__).parents[2] / "docs" / "assets"


def table() -> Drawing:
    """Draw what is in a table's directory."""
    drawing = Drawing(760, 270, "A table is a directory: commits in the log name the Parquet files that belong to it")
    drawing.text(20, 28, "/data/events", style="mono")
    drawing.text(40, 56, "_transaction_log/", style="mono")
    actions = ["metaData: schema", "add mon/a, mon/b, tue/c", "add mon/d · remove mon/a, mon/b"]
    for number, action in enumerate(actions):
        y = 70 + number * 62
        drawing.box(40, y, 270, 48, f"{number:020}.json", kind="log", mono=True)
        drawing.text(322, y + 29, action, style="small")
    drawing.text(560, 56, "data files", style="mono")
    files = [
        ("day=mon/a.split", "gone"),
        ("day=mon/b.split", "gone"),
        ("day=mon/d.split", "good"),
        ("day=tue/c.split", "good"),
    ]
    for number, (name, kind) in enumerate(files):
        drawing.box(560, 70 + number * 44, 170, 34, name, kind=kind, mono=True)
    drawing.text(730, 262, "dashed: only older versions need it", style="small", anchor="end")
    return drawing


def snapshot() -> Drawing:
    """Draw how commits add up."""
    drawing = Drawing(760, 230, "Each commit changes the set of files; the sum up to a version is its snapshot")
    steps = [("version 1", "+a +b", "a b"), ("version 2", "+c", "a b c"), ("version 3", "+d, less a and b", "c d")]
    for number, (name, change, sum_) in enumerate(steps):
        x = 40 + number * 240
        drawing.box(x, 40, 160, 52, name, change, kind="log")
        drawing.box(x, 140, 160, 52, "snapshot", sum_, kind="good")
        drawing.arrow((x + 80, 92), (x + 80, 138))
        if number:
            drawing.arrow((x - 80, 166), (x - 2, 166))
    drawing.text(40, 24, "commits", style="small")
    drawing.text(40, 216, "A reader holds one snapshot; later commits do not change it.", style="small")
    return drawing


def checkpoint() -> Drawing:
    """Draw what opening a table reads."""
    drawing = Drawing(760, 210, "Opening a table reads the newest checkpoint and the commits behind it")
    for number in range(13):
        kind = "log" if number > 10 else "gone"
        drawing.box(20 + number * 56, 40, 48, 40, str(number), kind=kind)
    drawing.box(20, 120, 608, 44, "checkpoint of version 10", "the sum of versions 0 to 10, in Parquet", kind="good")
    drawing.arrow((324, 80), (324, 118))
    drawing.text(20, 26, "commits; dashed ones are not read", style="small")
    drawing.arrow((660, 84), (660, 140), (632, 140))
    drawing.text(20, 196, "opened: one checkpoint and two commits, whatever the age of the table", style="small")
    return drawing


def skipping() -> Drawing:
    """Draw how bounds rule files out."""
    drawing = Drawing(
        760, 236, "A filter is compared with the bounds of each file; files that cannot match are never opened"
    )
    drawing.text(20, 28, "WHERE day = 'tue' AND id BETWEEN 500 AND 520", style="mono")
    rows = [
        ("mon/a", "id 1 … 400", "gone", "partition"),
        ("mon/b", "id 401 … 900", "gone", "partition"),
        ("tue/c", "id 1 … 450", "gone", "greatest id is below 500"),
        ("tue/d", "id 430 … 910", "good", "opened; its row groups are skipped alike"),
    ]
    for number, (name, bounds, kind, why) in enumerate(rows):
        y = 46 + number * 46
        drawing.box(20, y, 120, 36, name, kind=kind, mono=True)
        drawing.text(160, y + 23, bounds, style="mono")
        drawing.text(330, y + 23, why if kind == "good" else f"skipped: {why}", style="small")
    return drawing


def commit() -> Drawing:
    """Draw the race of two writers."""
    drawing = Drawing(
        760, 300, "Two writers create version 8; the store lets one succeed, the other reads it and takes version 9"
    )
    drawing.box(20, 30, 150, 44, "writer A", "append", kind="box")
    drawing.box(20, 200, 150, 44, "writer B", "append", kind="box")
    drawing.box(280, 100, 200, 70, "the store", "creates 8 once", "refuses it afterwards", kind="log")
    drawing.arrow((170, 52), (330, 52), (330, 98))
    drawing.text(182, 44, "create version 8", style="small")
    drawing.arrow((170, 222), (330, 222), (330, 172))
    drawing.text(182, 240, "create version 8", style="small")
    drawing.box(570, 30, 170, 44, "version 8 is A's", "committed", kind="good")
    drawing.arrow((480, 120), (530, 120), (530, 52), (568, 52))
    drawing.box(570, 118, 170, 44, "exists already", "B reads version 8", kind="gone")
    drawing.arrow((480, 140), (568, 140))
    drawing.box(570, 210, 170, 44, "does mine still hold?", "yes: version 9", kind="good")
    drawing.arrow((655, 162), (655, 208))
    drawing.text(570, 276, "no: ConcurrentWriteError,", style="small")
    drawing.text(570, 292, "and nothing was committed", style="small")
    return drawing


def swap() -> Drawing:
    """Draw the two renames."""
    drawing = Drawing(
        760, 250, "The original directory is renamed aside, its verified replacement renamed into its place"
    )
    titles = ["before", "written and verified", "after the first rename", "after the second"]
    states: list[list[tuple[str, str]]] = [
        [("day=mon", "box")],
        [("day=mon", "box"), ("…__compact_tmp_7", "good")],
        [("…__old_7", "gone"), ("…__compact_tmp_7", "good")],
        [("day=mon", "good"), ("…__old_7", "gone")],
    ]
    for number, (title, boxes) in enumerate(zip(titles, states, strict=True)):
        x = 16 + number * 188
        drawing.text(x, 28, title, style="small")
        for row, (name, kind) in enumerate(boxes):
            drawing.box(x, 44 + row * 60, 148, 44, name, kind=kind, mono=True)
        if number:
            drawing.arrow((x - 34, 96), (x - 8, 96))
    drawing.text(16, 190, "Killed here:", style="bold")
    for number, text in enumerate(
        ["nothing happened", "drop the new one", "rename the old one back", "done; rollback renames back"]
    ):
        drawing.text(16 + number * 188, 214, text, style="small")
    drawing.text(16, 240, "blue: original files, green: compacted files, dashed: kept until cleanup", style="small")
    return drawing


def favicon() -> Drawing:
    """Draw the sign in a browser's tab."""
    drawing = Drawing(32, 32, "indextables")
    drawing.bar(3, 4, 26, 6, kind="ours")
    drawing.bar(3, 13, 26, 6, kind="ours")
    drawing.bar(3, 22, 16, 6, kind="limit")
    return drawing


Draw: TypeAlias = Callable[[], Drawing]
DRAWINGS: Final[tuple[Draw, ...]] = (table, snapshot, checkpoint, skipping, commit, swap, favicon)

if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for draw in DRAWINGS:
        (TARGET / f"{draw.__name__}.svg").write_text(draw().render())
