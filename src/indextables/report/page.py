"""What every page has: head, title, sections, tables, and a rule for browsers that nothing is run or fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.report.markup import Html, el, join
from indextables.report.style import CSS
from indextables.report.words import moment
from indextables.version import VERSION

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from indextables.report.figures import Advice

# Escaping keeps foreign text from becoming code; should it ever fail, the browser refuses to run or fetch anything.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, where: str, *, made: dt.datetime, command: str, body: Sequence[Html | None]) -> str:
    """Return a whole page.

    Args:
        title: The heading.
        where: What stands below it.
        made: When the figures were taken.
        command: What made the page.
        body: Its sections.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(CSS)),
    )
    inside = el(
        "body",
        el("header", el("h1", title), el("p", where, class_="where"), class_="top"),
        el("main", *body),
        el("footer", f"Made {moment(made)} by ", el("code", command), f", indextables {VERSION}."),
    )
    return f"<!DOCTYPE html>\n{el('html', head, inside, lang='en')}\n"


def section(title: str, *children: object) -> Html:
    """Return a part of a page under its heading."""
    return el("section", el("h2", title), *children)


def card(*children: object) -> Html:
    """Return a box."""
    return el("div", *children, class_="card")


def tiles(facts: Iterable[tuple[str, str, str | None]]) -> Html:
    """Return figures to see first: a name, a value, and a remark each."""
    return el(
        "div",
        *(
            el("div", el("span", name), el("b", value), el("small", remark) if remark else None, class_="card tile")
            for name, value, remark in facts
        ),
        class_="tiles",
    )


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return names and values."""
    return el("dl", *(join(el("dt", name), el("dd", value)) for name, value in pairs))


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> Html:
    """Return rows under their names, which may scroll on their own where they are wider than the page.

    Args:
        columns: Of each its name and its class: `name`, `num`, `text`, `bar`, or with `wide` for what a phone leaves out.
        rows: The cells.
    """
    head = el("tr", *(el("th", name, class_=kind, scope="col") for name, kind in columns))
    body = (
        el("tr", *(el("td", cell, class_=kind) for cell, (_, kind) in zip(row, columns, strict=True))) for row in rows
    )
    return el("div", el("table", el("thead", head), el("tbody", *body)), class_="scroll")


def advice_list(found: Sequence[Advice], *, otherwise: str) -> Html:
    """Return what to do, each with its command; a sentence where there is nothing."""
    if not found:
        return card(el("p", otherwise))
    return el("ul", *(_advice(one) for one in found), class_="advice")


def _advice(one: Advice) -> Html:
    tag = el("span", "now" if one.urgent else "when convenient", class_="tag")
    return el(
        "li",
        el("h3", one.title, " · ", tag),
        el("p", one.reason),
        el("pre", one.command),
        class_="card urgent" if one.urgent else "card",
    )
