"""What all drawings share: a palette that follows the reader's light or dark system, and the few shapes that they are made of."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

_STYLE: Final = """\
<style>
text { font: 14px system-ui, sans-serif; fill: #1f2933; }
.small { font-size: 12px; fill: #52606d; }
.bold { font-weight: 600; }
.mono { font-family: ui-monospace, monospace; font-size: 12.5px; }
.box { fill: #eef2fb; stroke: #5c6bc0; }
.log { fill: #fff4dd; stroke: #c99a2e; }
.good { fill: #e5f5ea; stroke: #3f9c5f; }
.gone { fill: #f3f4f6; stroke: #9aa5b1; stroke-dasharray: 4 3; }
.line { stroke: #7b8794; fill: none; stroke-width: 1.5; }
.head { fill: #7b8794; }
.ours { fill: #5c6bc0; }
.peer { fill: #b9c2d0; }
.limit { fill: #6fb98a; }
.grid { stroke: #d8dee6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; }
  .small { fill: #a7b3c2; }
  .box { fill: #2b3152; stroke: #8c9eff; }
  .log { fill: #40361c; stroke: #d9b25a; }
  .good { fill: #1f3b2a; stroke: #6fcf97; }
  .gone { fill: #262b33; stroke: #7b8794; }
  .line { stroke: #9aa5b1; }
  .head { fill: #9aa5b1; }
  .ours { fill: #8c9eff; }
  .peer { fill: #5d6a7c; }
  .limit { fill: #5aa677; }
  .grid { stroke: #3a4250; }
}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
"""


class Drawing:
    """An SVG that grows shape by shape; `title` is what a reader hears who does not see it."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._width = width
        self._height = height
        self._title = title
        self._parts: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, *lines: str, kind: str = "box", mono: bool = False
    ) -> None:
        """Draw a rounded box with lines of text in its middle; the first is bold unless all are file names."""
        self._parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 - (len(lines) - 1) * 9 + 5
        for number, line in enumerate(lines):
            style = "mono" if mono else "bold" if number == 0 else "small"
            self.text(x + width / 2, top + number * 18, line, style=style, anchor="middle")

    def text(self, x: float, y: float, text: str, *, style: str = "", anchor: str = "start") -> None:
        """Write one line."""
        self._parts.append(f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: tuple[float, float]) -> None:
        """Draw a line with a head at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polyline class="line" points="{path}" marker-end="url(#arrow)"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, *, kind: str = "line") -> None:
        """Draw a line."""
        self._parts.append(f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>')

    def bar(self, x: float, y: float, width: float, height: float, *, kind: str) -> None:
        """Draw a filled bar."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{max(width, 1):.1f}" height="{height:g}" rx="2"/>'
        )

    def render(self) -> str:
        """Return the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {self._height}" '
            f'width="{self._width}" height="{self._height}" role="img">\n<title>{escape(self._title)}</title>\n'
        )
        return head + _STYLE + "\n".join(self._parts) + "\n</svg>\n"
