"""How a page looks: one sheet for all of them, light or dark as the reader's system is, from a phone's width up.

Nothing is loaded from anywhere. Colours of text have a contrast of at least 4.5 to 1 on their ground in both schemes, and no
meaning is carried by colour alone.
"""

from __future__ import annotations

from typing import Final

CSS: Final = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --ink: #1b2733; --soft: #566372; --accent: #1f63c0;
  --area: #1f63c022; --warm: #9a4a00; --warm-ground: #fff4e5; --cool-ground: #eaf2fd; --code: #f0f2f5;
  --part: #8fa3b8; --stat: #c3cdd8; --read: #1f63c0;
  --h0: #e9edf2; --h1: #d3e2f6; --h2: #aecbee; --h3: #83aee2; --h4: #548dd3; --h5: #2c6bb9; --h6: #134a8e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #10151b; --card: #19212a; --line: #2d3945; --ink: #e4eaf0; --soft: #a0aebc; --accent: #7db3f5;
    --area: #7db3f526; --warm: #ffbe7d; --warm-ground: #33271a; --cool-ground: #1a2a3d; --code: #10161d;
    --part: #5b6d80; --stat: #384655; --read: #7db3f5;
    --h0: #222c37; --h1: #1d3a5c; --h2: #24507f; --h3: #2f6aa5; --h4: #4587c9; --h5: #6ba8e6; --h6: #a3cdf9;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header.top, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header.top { padding-top: 32px; }
footer { padding-top: 8px; padding-bottom: 32px; color: var(--soft); font-size: 13px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 19px; line-height: 1.3; margin: 36px 0 12px; }
h3 { font-size: 15px; line-height: 1.4; margin: 0 0 4px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
.where { color: var(--soft); margin: 0; }
.num, .tile b, .chart b { font-variant-numeric: tabular-nums; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; min-width: 0; }
.card > :last-child { margin-bottom: 0; }
.tiles, .charts, .pair, .stack { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
.tiles { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); margin-top: 20px; }
.charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr)); }
.pair { grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); align-items: start; }
.tile { padding: 12px 16px; }
.tile span, .tile small { display: block; color: var(--soft); font-size: 13px; }
.tile b { display: block; font-size: 24px; line-height: 1.3; font-weight: 600; }
.advice { display: grid; gap: 12px; margin: 0; padding: 0; list-style: none; }
.advice li { border-left: 4px solid var(--accent); background: var(--cool-ground); }
.advice li.urgent { border-left-color: var(--warm); background: var(--warm-ground); }
.tag { color: var(--soft); font-weight: 400; font-size: 13px; }
.urgent .tag { color: var(--warm); font-weight: 600; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { unicode-bidi: isolate; }
pre {
  margin: 8px 0 0; padding: 8px 12px; background: var(--code); border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; user-select: all; -webkit-user-select: all;
}
.chart { margin: 0; }
.chart figcaption { display: flex; justify-content: space-between; align-items: baseline; gap: 8px; }
.chart b { font-size: 19px; font-weight: 600; }
.chart svg { display: block; width: 100%; height: 110px; margin: 8px 0 4px; overflow: visible; }
.chart .scale { display: flex; justify-content: space-between; gap: 8px; color: var(--soft); font-size: 12px; }
.chart .scale span:last-child { text-align: right; }
.plot { position: relative; }
.plot .top { position: absolute; top: -9px; left: 0; padding-right: 6px; background: var(--card); color: var(--soft); font-size: 12px; }
.line { fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.area { fill: var(--area); }
.rule { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.hit { fill: transparent; }
.hit:hover { fill: var(--area); }
.scroll { overflow-x: auto; position: relative; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: 6px 16px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tr:last-child > td, tr:last-child > th { border-bottom: 0; }
th { color: var(--soft); font-weight: 500; font-size: 13px; overflow-wrap: normal; }
th:last-child, td:last-child { padding-right: 0; }
td.num, th.num { text-align: right; white-space: nowrap; }
td.name, td.text { min-width: 10em; }
td.bar { width: 42%; min-width: 70px; vertical-align: middle; }
td.label { white-space: nowrap; }
td.bar svg { display: block; width: 100%; height: 12px; }
.full { fill: var(--accent); }
.track { fill: var(--h0); }
dl { display: grid; grid-template-columns: minmax(8em, 13em) minmax(0, 1fr); gap: 6px 16px; margin: 0; font-size: 14px; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.map { display: grid; grid-template-columns: repeat(auto-fill, minmax(16px, 1fr)); gap: 2px; margin: 8px 0; }
.map i { height: 20px; border-radius: 3px; }
.h0 { background: var(--h0); } .h1 { background: var(--h1); } .h2 { background: var(--h2); } .h3 { background: var(--h3); }
.h4 { background: var(--h4); } .h5 { background: var(--h5); } .h6 { background: var(--h6); }
.key { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; color: var(--soft); font-size: 13px; margin: 0; }
.key span { display: inline-flex; align-items: center; gap: 6px; }
.key i { width: 12px; height: 12px; border-radius: 3px; display: inline-block; }
.part { fill: var(--part); background: var(--part); } .stat { fill: var(--stat); background: var(--stat); }
.read { fill: var(--read); background: var(--read); }
.query + .key { margin-top: 12px; }
.query + .query { margin-top: 16px; padding-top: 16px; border-top: 1px solid var(--line); }
.query svg { display: block; width: 100%; height: 16px; margin: 8px 0; border-radius: 4px; }
details { font-size: 14px; }
summary { cursor: pointer; color: var(--accent); }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
ul.plain { margin: 8px 0 0; padding-left: 18px; }
@media (max-width: 560px) {
  main, header.top, footer { padding-left: 12px; padding-right: 12px; }
  header.top { padding-top: 20px; }
  h1 { font-size: 23px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
  .tile b { font-size: 20px; }
  .tile, .card { padding: 12px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
  .wide { display: none; }
}
@media print { body { background: none; } .card { break-inside: avoid; } }
"""
