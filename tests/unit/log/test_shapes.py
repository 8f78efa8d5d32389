from __future__ import annotations

import pytest

from indextables.log.shapes import NUMBER, TEXT, Hole, items_of, shape_of


def line(path: str, size: int = 10, *, tags: str = '{"w":"1"}') -> bytes:
    return b'{"add":{"path":"%b","size":%d,"dataChange":true,"tags":%b}}\n' % (path.encode(), size, tags.encode())


class TestItems:
    def test_every_value_has_its_place(self) -> None:
        items = items_of(line("a"))
        assert items is not None
        assert [item.place for item in items] == [
            ("path", None),
            ("size", None),
            ("dataChange", None),
            ("tags", None),
            ("tags", "w"),
        ]
        assert [line("a")[item.start : item.end] for item in items] == [b"a", b"10", b"true", b"{", b"1"]

    @pytest.mark.parametrize(
        "odd",
        [
            b'{"add":{"path":"a\\n"}}\n',  # an escape that is not a quote's
            b'{"add":{"path":"a","path":"b"}}\n',  # a key twice
            b'{"add":{"tags":{"a":"1","a":"2"}}}\n',
            b'{"add":{"size":-1}}\n',
            b'{"add":{"size":01}}\n',
            b'{"add":{"size":1.0}}\n',
            b'{"add":{"size":1234567890123456789}}\n',
            b'{"add":{"splitTags":["a"]}}\n',
            b'{"add":{"tags":{"a":{}}}}\n',
            b'{"add":{"a":1 }}\n',
            b'{"add":{ "a":1}}\n',
            b'{"add":{"a":1},"b":{}}\n',
            b'{"add":{"a":1}}}\n',
            b'{"add":{"a":{"b":"c"}}\n',
            b'{"add":{"a":1}}',
            b'{"add":{}}\n',
            b'{"remove":{"a":1}}\n',
            b'{"add":{"a":1,}}\n',
            b'{"add":{"path":"a\x1f"}}\n',
            b'{"add":{"path":"a\xff"}}\n',
            b'{"add":{"\xff":1}}\n',
        ],
    )
    def test_what_is_rare_or_damaged_is_left_to_others(self, odd: bytes) -> None:
        assert items_of(odd) is None


class TestShapes:
    def test_what_differs_is_a_hole_and_the_rest_is_text(self) -> None:
        shape = shape_of([line(f"p-{number}", 100 + number) for number in range(4)])
        assert shape is not None
        assert shape.texts == (b'{"add":{"path":"', b'","size":', b',"dataChange":true,"tags":{"w":"1"}}}\n')
        assert shape.holes == (Hole(("path", None), TEXT, (3,)), Hole(("size", None), NUMBER, (3,)))
        assert shape.fixed == {("dataChange", None): True, ("tags", None): {}, ("tags", "w"): "1"}

    def test_of_a_few_lines_every_text_and_number_is_a_hole_for_they_may_be_alike_by_accident(self) -> None:
        shape = shape_of([line("a")] * 3)
        assert shape is not None
        assert [hole.place for hole in shape.holes] == [("path", None), ("size", None), ("tags", "w")]

    def test_a_hole_knows_how_wide_its_values_were(self) -> None:
        shape = shape_of([line(path, size) for path, size in [("abc", 1), ("a", 20), ("xyz", 300), ("ab", 4)]])
        assert shape is not None
        assert [hole.widths for hole in shape.holes] == [(1, 2, 3), (1, 2, 3)]

    def test_the_shape_of_most_lines_is_taken(self) -> None:
        shape = shape_of([line("a"), line("b"), line("c", tags="null")])
        assert shape is not None
        assert ("tags", "w") in [hole.place for hole in shape.holes]

    def test_escaped_quotes_belong_to_a_value(self) -> None:
        shape = shape_of([line('\\"a\\"')] * 4)
        assert shape is not None
        assert shape.fixed["path", None] == '"a"'

    def test_one_odd_line_is_enough_to_have_no_shape(self) -> None:
        assert shape_of([line("a"), line("a", tags="[]")]) is None
