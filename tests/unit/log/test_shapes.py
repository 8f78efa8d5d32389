from __future__ import annotations

import pytest

from indextables.log.shapes import NUMBER, TEXT, Anchor, Hole, items_of, shape_of


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
        ],
    )
    def test_what_is_rare_or_damaged_is_left_to_others(self, odd: bytes) -> None:
        assert items_of(odd) is None


class TestShapes:
    def test_what_differs_is_a_hole_and_the_rest_is_text(self) -> None:
        shape = shape_of([line(f"p-{number}", 100 + number) for number in range(4)])
        assert shape is not None
        assert shape.texts == (b'{"add":{"path":"', b'","size":', b',"dataChange":true,"tags":{"w":"1"}}}\n')
        assert shape.holes == (Hole(("path", None), TEXT), Hole(("size", None), NUMBER))
        assert shape.fixed == {("dataChange", None): True, ("tags", None): {}, ("tags", "w"): "1"}
        assert shape.anchors == (Anchor(0, 1), Anchor(5, 0), Anchor(8, 1))

    def test_of_a_few_lines_every_text_and_number_is_a_hole_for_they_may_be_alike_by_accident(self) -> None:
        shape = shape_of([line("a")] * 3)
        assert shape is not None
        assert [hole.place for hole in shape.holes] == [("path", None), ("size", None), ("tags", "w")]

    def test_a_last_text_without_a_quote_has_no_anchor(self) -> None:
        shape = shape_of([b'{"add":{"path":"a","size":%d}}\n' % size for size in range(4)])
        assert shape is not None
        assert shape.texts[-1] == b"}}\n"
        assert shape.anchors[-1] is None

    def test_the_shape_of_most_lines_is_taken(self) -> None:
        shape = shape_of([line("a"), line("b"), line("c", tags="null")])
        assert shape is not None
        assert ("tags", "w") in [hole.place for hole in shape.holes]

    def test_escaped_quotes_are_no_quotes_of_the_line(self) -> None:
        shape = shape_of([line('\\"a\\"'), line("b")])
        assert shape is not None
        assert shape.quotes == 16

    def test_one_odd_line_is_enough_to_have_no_shape(self) -> None:
        assert shape_of([line("a"), line("a", tags="[]")]) is None
