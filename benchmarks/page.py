"""Turns the results into the page that people read: python -m benchmarks.page.

It reads benchmarks/results/*.json and writes docs/benchmarks.md with a drawing for each benchmark. Nothing on the page is typed by
hand, and a test holds the page against the results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.measured import FOLDER, Result, Run, load
from tools.docs.svg import Drawing

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "benchmarks.md"
ASSETS: Final = DOCS / "assets"

_TITLES: Final = {
    "log": "The log",
    "checkpoint": "Checkpoints",
    "prune": "Choosing files",
    "table": "Tables without Spark",
    "spark": "Spark",
    "lakekeeper": "Lakekeeper",
    "decode": "Lines of the log",
}
_INTRODUCTION: Final = """\
# Benchmarks

<!-- Generated from benchmarks/results: make bench -->

Every figure stands beside one of another: a peer that does the same job, or what the machine can do at best, measured in the same run and in
turns, so that whatever else the machine did met both. **Ratios say more than times**: theirs divided by ours, so 2 means twice as fast, or half
the size, and less than 1 means that we are slower. Where the other is the machine's own limit, 1 is all that can be had.

*Spread* is half the distance between the quartiles of our rounds, as a share of the median. *Asked* is what the project asks of itself; a line
that misses it says so.
"""
_REPEAT: Final = """\
## Repeat it

`make bench` runs everything and writes this page; it takes the better part of an hour. `make bench-check` runs small sizes and fails if a ratio
is below 0.8 of the one that is kept in the repository.
"""
_ROW: Final = 44
_LABELS: Final = 330
_BARS: Final = 300


def page(runs: list[Run]) -> str:
    """Return the page for these runs."""
    parts = [_INTRODUCTION]
    if runs:
        parts.append(_machine(runs))
    else:
        parts.append("Nothing has been measured yet: run `make bench`.\n")
    parts += [_section(run) for run in runs]
    return "\n".join([*parts, _REPEAT])


def _machine(runs: list[Run]) -> str:
    facts = {key: value for run in runs for key, value in run.machine.items()}
    rows = [f"| {key} | {value} |" for key, value in facts.items()]
    return "\n".join(["## The machine", "", "| | |", "| --- | --- |", *rows, ""])


def _section(run: Run) -> str:
    lines = [f"## {_TITLES[run.bench]}", "", run.about, ""]
    if _with_peer(run):
        lines += [f"![Ours beside theirs, {_TITLES[run.bench]}](assets/bench-{run.bench}.svg)", ""]
    lines += [
        "| what | ours | beside | theirs | ratio | spread | asked | |",
        "| --- | --: | --- | --: | --: | --: | --: | --- |",
    ]
    lines += [_row(line) for line in run.results]
    return "\n".join([*lines, "", f"Repeat: `{run.command}`", ""])


def _row(line: Result) -> str:
    asked = (
        "" if line.asked is None else figure(line.asked, line.unit) if line.ratio is None else f"{_times(line.asked)}"
    )
    verdict = {None: "", True: "met", False: "**missed**"}[line.met]
    cells = [
        line.name.replace("|", "\\|"),
        figure(line.ours, line.unit),
        f"{line.beside} (limit)" if line.is_limit else line.beside,
        "" if line.peer is None else figure(line.peer, line.unit),
        "" if line.ratio is None else _times(line.ratio),
        "" if line.spread is None else f"{line.spread:.0%}",
        asked,
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 3 else f"{ratio:.2f}x"


def figure(value: float, unit: str) -> str:
    """Return a value with its unit, in the size that people say."""
    if unit == "s":
        return (
            f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms" if value >= 0.01 else f"{value * 1000:.2f} ms"
        )
    if unit == "bytes":
        return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} KB"
    return f"{value:.0f} {unit}"


def _with_peer(run: Run) -> list[Result]:
    return [line for line in run.results if line.peer is not None]


def plot(run: Run) -> str:
    """Return a drawing with two bars a line: ours, and the other or the machine's limit; the longer one fills the width."""
    lines = _with_peer(run)
    drawing = Drawing(
        _LABELS + _BARS + 130, 34 + _ROW * len(lines), f"{_TITLES[run.bench]}: ours beside theirs, shorter is better"
    )
    for x, kind, name in (
        (_LABELS, "ours", "ours"),
        (_LABELS + 70, "peer", "theirs"),
        (_LABELS + 150, "limit", "the limit"),
    ):
        drawing.bar(x, 6, 12, 12, kind=kind)
        drawing.text(x + 17, 16, name, style="small")
    drawing.text(_LABELS + 240, 16, "shorter is better", style="small")
    for number, line in enumerate(lines):
        top = 30 + number * _ROW
        peer = line.peer or 0.0
        longest = max(line.ours, peer)
        drawing.text(_LABELS - 10, top + 13, _short(line.name), anchor="end")
        drawing.text(_LABELS - 10, top + 29, _short(line.beside), style="small", anchor="end")
        for row, (value, kind) in enumerate(((line.ours, "ours"), (peer, "limit" if line.is_limit else "peer"))):
            width = _BARS * value / longest if longest else 0.0
            drawing.bar(_LABELS, top + 2 + row * 16, width, 13, kind=kind)
            drawing.text(_LABELS + width + 6, top + 13 + row * 16, figure(value, line.unit), style="small")
    return drawing.render()


def _short(text: str) -> str:
    return text if len(text) <= 46 else f"{text[:45]}…"


def runs_in(folder: Path) -> list[Run]:
    """Return the runs that are kept in a folder, in the order of the page."""
    found = {run.bench: run for run in map(load, sorted(folder.glob("*.json")))}
    return [found[bench] for bench in _TITLES if bench in found]


def main() -> None:
    """Write the page and its drawings."""
    runs = runs_in(FOLDER)
    PAGE.write_text(page(runs))
    for run in runs:
        if _with_peer(run):
            (ASSETS / f"bench-{run.bench}.svg").write_text(plot(run))


if __name__ == "__main__":
    main()
