from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.report.markup import Html, el, join, visible


def test_text_is_escaped_and_html_is_not() -> None:
    assert el("p", "<b>&'\"", Html("<i>"), None, 5) == "<p>&lt;b&gt;&amp;&#x27;&quot;<i>5</p>"
    assert join("<", el("b", "x")) == "&lt;<b>x</b>"


def test_attributes_are_escaped_named_and_left_out() -> None:
    assert el("p", class_='a"b', aria_label="<", title=None) == '<p class="a&quot;b" aria-label="&lt;"></p>'
    assert el("meta", name="x") == '<meta name="x">'


@pytest.mark.parametrize("name", ["a b", "a>", "", "on=", "1"])
def test_a_name_that_could_break_out_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name"):
        el(name)
    with pytest.raises(ValueError, match="is no name"):
        el("p", **{name: "x"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\0b", "a\\x00b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("\udcff", "\\udcff"),
        ("日本 ünï\tx\n", "日本 ünï\tx\n"),
    ],
)
def test_nothing_in_a_text_is_hidden(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert el("p", text).encode()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text(alphabet="<>&\"'/=!- abonscript;#x27\n"))
def test_whatever_text_goes_in_comes_out_as_text(title: str, inside: str) -> None:
    reader = _Reader()
    reader.feed(el("p", inside, title=title))
    reader.close()
    assert reader.found == [("p", [("title", visible(title))])]
    assert reader.text == visible(inside)
