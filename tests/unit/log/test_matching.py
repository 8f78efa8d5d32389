from __future__ import annotations

import numpy as np
import pytest

from indextables.log.matching import QUOTE, Text, match
from indextables.log.shapes import NUMBER, TEXT, Hole, Shape

FORM = Shape(
    (b'{"add":{"path":"', b'","size":', b"}}\n"),
    (Hole(("path", None), TEXT, (3,)), Hole(("size", None), NUMBER, (2,))),
    {},
)


def line(path: str = "abc", size: str = "10") -> str:
    return f'{{"add":{{"path":"{path}","size":{size}}}}}\n'


def text(*lines: str) -> Text:
    starts = np.cumsum([0, *(len(each.encode()) for each in lines)])[:-1]
    return Text("".join(lines).encode(), starts)


def walked(*lines: str) -> tuple[list[tuple[str, str]], list[int]]:
    """Return what the holes of fitting lines hold, and the numbers of the others."""
    content = text(*lines)
    found, others = match(content, FORM, np.arange(len(lines)))
    if found is None:
        return [], others.tolist()
    values = [
        [content.octets[start:end].tobytes().decode() for start, end in zip(*span, strict=True)] for span in found.spans
    ]
    return list(zip(*values, strict=True)), others.tolist()


class TestMatch:
    def test_lines_of_the_shape_are_told_from_the_others(self) -> None:
        odd = '{"add":{"path":"abc","bytes":10}}\n'
        assert walked(line("abc", "10"), odd, line("xyz", "20")) == ([("abc", "10"), ("xyz", "20")], [1])

    @pytest.mark.parametrize("path", ["", "a", "abcdefg", "abcdefgh", "x" * 400, "é", '\\"', 'a\\"b\\"', '\\"' * 40])
    def test_a_hole_may_be_of_another_width_than_those_that_were_seen(self, path: str) -> None:
        assert walked(line("abc"), line(path), line("xyz")) == ([("abc", "10"), (path, "10"), ("xyz", "10")], [])

    @pytest.mark.parametrize("size", ["7", "123", "1234567890123456"])
    def test_a_number_may_be_as_well_at_the_very_end(self, size: str) -> None:
        assert walked(line("abc"), line("abc", size)) == ([("abc", "10"), ("abc", size)], [])

    @pytest.mark.parametrize("size", ["", "07", "-7", "x1", " 1", '"7"'])
    def test_a_number_starts_with_a_digit_and_with_0_only_if_that_is_all(self, size: str) -> None:
        assert walked(line("abc"), line("abc", size)) == ([("abc", "10")], [1])

    def test_a_quote_that_stands_by_accident_where_the_hole_usually_ends_does_not_mislead(self) -> None:
        assert walked(line('ab\\"de'), line("abc")) == ([('ab\\"de', "10"), ("abc", "10")], [])

    def test_no_walk_goes_on_in_the_next_line(self) -> None:
        open_ended = '{"add":{"path":"abc}}\n'
        assert walked(open_ended, line("abc")) == ([("abc", "10")], [0])

    def test_what_is_far_away_is_not_looked_for(self) -> None:
        assert walked(line("x" * 10_000), line("abc")) == ([("abc", "10")], [0])

    def test_a_shape_may_be_longer_than_all_lines(self) -> None:
        long = Shape((b'{"add":{"stats":"' + b"x" * 1000, b"}}\n"), (Hole(("path", None), TEXT, (1,)),), {})
        found, others = match(text(line()), long, np.arange(1))
        assert found is None
        assert others.tolist() == [0]

    def test_only_the_lines_that_are_asked_for_are_looked_at(self) -> None:
        content = text(line("abc"), line("def"), line("ghi"))
        found, others = match(content, FORM, np.array([0, 2]))
        assert found is not None
        assert found.rows.tolist() == [0, 2]
        assert len(others) == 0


class TestFind:
    @pytest.mark.parametrize("distance", range(30))
    def test_the_next_one_counts_however_near_the_end_is(self, distance: int) -> None:
        content = text("-" * 10 + "." * distance + '"\n')
        assert content.find(QUOTE, np.array([10])).tolist() == [10 + distance]

    def test_none_is_no_place_in_the_text(self) -> None:
        content = text("." * 30 + "\n")
        assert content.holds(b'"', content.find(QUOTE, np.array([0, 20, 30]))) is not None
