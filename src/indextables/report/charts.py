"""Pictures of figures in SVG. Lines and bars stretch to the width that there is; text stands beside them in HTML, and does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.report.markup import Html, el, join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WIDTH: Final = 300
_HEIGHT: Final = 100
_MOST_POINTS: Final = 120


def line_chart(
    title: str, labels: Sequence[str], values: Sequence[int], *, write: Callable[[int], str], ends: tuple[str, str]
) -> Html:
    """Return how a figure went, with its last value large; the scale begins at zero.

    Args:
        title: What the figure is.
        labels: What each value belongs to, for who points at it.
        values: At least one.
        write: Writes a value.
        ends: What stands below the first and the last value.
    """
    chosen = _thinned(len(values))
    top = max(1, *values)
    count = len(chosen)
    points = [
        (round(_WIDTH * at / max(1, count - 1), 2), round(_HEIGHT * (1 - values[index] / top), 2))
        for at, index in enumerate(chosen)
    ]
    if count == 1:
        points.append((float(_WIDTH), points[0][1]))
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    step = _WIDTH / count
    hits = [
        el(
            "rect",
            el("title", f"{labels[index]}: {write(values[index])}"),
            class_="hit",
            x=f"{at * step:.2f}",
            y=0,
            width=f"{step:.2f}",
            height=_HEIGHT,
        )
        for at, index in enumerate(chosen)
    ]
    rules = [el("line", class_="rule", x1=0, x2=_WIDTH, y1=y, y2=y) for y in (0, _HEIGHT // 2, _HEIGHT)]
    drawing = el(
        "svg",
        *rules,
        el("polygon", class_="area", points=f"0,{_HEIGHT} {path} {_WIDTH},{_HEIGHT}"),
        el("polyline", class_="line", points=path),
        *hits,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title}: from {write(values[0])} to {write(values[-1])}, at most {write(max(values))}",
    )
    return el(
        "figure",
        el("figcaption", el("span", title), el("b", write(values[-1]))),
        el("div", drawing, el("span", write(top), class_="top", aria_hidden="true"), class_="plot"),
        el("div", el("span", ends[0]), el("span", ends[1]), class_="scale"),
        class_="card chart",
    )


def _thinned(count: int) -> list[int]:
    """Return so few positions that a page stays small, the first and the last among them."""
    if count <= _MOST_POINTS:
        return list(range(count))
    return [round(at * (count - 1) / (_MOST_POINTS - 1)) for at in range(_MOST_POINTS)]


def bar(value: int, most: int) -> Html:
    """Return a bar as long as its part of the longest; nothing has none, and what is not nothing can be seen."""
    if value <= 0:
        return Html("")
    width = max(1.0, 100 * value / max(1, most))
    return el(
        "svg",
        el("rect", class_="track", x=0, y=0, width=100, height=12),
        el("rect", class_="full", x=0, y=0, width=f"{width:.2f}", height=12),
        viewBox="0 0 100 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def stacked_bar(parts: Sequence[tuple[str, int]], *, label: str) -> Html:
    """Return a bar whose parts, each with its class, make the whole."""
    whole = max(1, sum(value for _, value in parts))
    drawn, begin = [], 0.0
    for kind, value in parts:
        width = 100 * value / whole
        drawn.append(el("rect", class_=kind, x=f"{begin:.3f}", y=0, width=f"{width:.3f}", height=16))
        begin += width
    return el(
        "svg",
        el("rect", class_="track", x=0, y=0, width=100, height=16),
        *drawn,
        viewBox="0 0 100 16",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def heat_map(cells: Sequence[tuple[str, int]], *, label: str) -> Html:
    """Return a field of cells, each of a stronger colour the greater its value; what a cell is, who points at it reads."""
    top = max((value for _, value in cells), default=0)
    return el(
        "div",
        *(el("i", class_=f"h{_level(value, top)}", title=words) for words, value in cells),
        class_="map",
        role="img",
        aria_label=label,
    )


def heat_key(least: str, most: str) -> Html:
    """Return what the colours of a heat map mean."""
    shades = join(*(el("i", class_=f"h{level}") for level in range(7)))
    return el("p", el("span", least), el("span", shades, aria_hidden="true"), el("span", most), class_="key")


def _level(value: int, top: int) -> int:
    # Sizes of partitions differ by powers of ten; the root shows the small ones, too.
    return 0 if value <= 0 or top <= 0 else 1 + min(5, int(6 * (value / top) ** 0.5))
