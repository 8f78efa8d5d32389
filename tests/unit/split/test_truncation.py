"""Long statistics: the examples of the truncation design with their own numbers, and what keeps bounds correct."""

from __future__ import annotations

import base64
import logging
from typing import Any

import pyarrow as pa
import pytest

from indextables.config import TRUNCATION_SUFFIX, Settings, Truncation
from indextables.split.statistics import SplitStatistics
from indextables.split.truncation import TruncationReport, column_rules, lower_bound, truncate_statistics, upper_bound
from indextables.values import leaves

LOGGER = "indextables.split.truncation"


def cut(
    least: dict[str, str],
    greatest: dict[str, str],
    options: dict[str, Any] | None = None,
    *,
    binary: tuple[str, ...] = (),
) -> tuple[SplitStatistics, TruncationReport]:
    """Truncate statistics as a write with these options would."""
    truncation = Settings.resolve(options).truncation
    statistics = SplitStatistics(num_records=100, min_values=least, max_values=greatest)
    return truncate_statistics(statistics, dict.fromkeys({**least, **greatest}, truncation), binary=frozenset(binary))


class TestDesignExamples:
    def test_statistics_truncation_drops_long_string_values_by_default(self) -> None:
        truncated, _ = cut({"id": "doc1", "long_text": "x" * 2000}, {"id": "doc999", "long_text": "y" * 2000})
        assert truncated.min_values == {"id": "doc1"}
        assert truncated.max_values == {"id": "doc999"}

    def test_statistics_truncation_respects_a_custom_length_threshold(self) -> None:
        options = {"spark.indextables.stats.truncation.maxLength": "512"}
        truncated, _ = cut({"text": "x" * 600}, {"text": "y" * 600}, options)
        assert truncated.min_values == truncated.max_values == {}

    def test_truncate_strategy_preserves_values_with_indicator(self) -> None:
        options = {
            "spark.indextables.stats.truncation.strategy": "truncate",
            "spark.indextables.stats.truncation.maxLength": "100",
        }
        truncated, _ = cut({"text": "x" * 2000}, {"text": "y" * 2000}, options)
        assert truncated.min_values["text"].endswith("[TRUNCATED]")
        assert len(truncated.min_values["text"]) == 100
        assert truncated.max_values["text"] == "y" * 88 + TRUNCATION_SUFFIX

    def test_debugging_settings_keep_two_hundred_characters(self) -> None:
        options = {
            "spark.indextables.stats.truncation.strategy": "truncate",
            "spark.indextables.stats.truncation.maxLength": "200",
        }
        truncated, _ = cut({"text": "Very long article " * 100}, {"text": "Z"}, options)
        assert len(truncated.min_values["text"]) == 200
        assert truncated.max_values["text"] == "Z"
        assert truncated.inexact == ("text",)

    def test_the_log_line_has_lengths_and_strategy(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger=LOGGER):
            cut({"article_content": "a" * 4523}, {"article_content": "b" * 8912})
        line = "Truncating statistics for column 'article_content' (min length: 4523, max length: 8912, strategy: drop)"
        assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", line)]

    def test_an_unknown_strategy_warns_and_drops(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            truncated, _ = cut({"t": "x" * 2000}, {}, {"spark.indextables.stats.truncation.strategy": "invalid"})
        assert truncated.min_values == {}
        assert "Unknown truncation strategy 'invalid', using 'drop'" in caplog.text

    def test_turned_off_it_leaves_everything(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger=LOGGER):
            truncated, report = cut({"t": "x" * 2000}, {}, {"spark.indextables.stats.truncation.enabled": "false"})
        assert truncated.min_values == {"t": "x" * 2000}
        assert report == TruncationReport()
        assert not caplog.records


class TestLengths:
    def test_the_limit_itself_is_allowed(self) -> None:
        assert cut({"t": "x" * 1024}, {"t": "y" * 1024})[0].max_values == {"t": "y" * 1024}
        assert cut({"t": "x" * 1025}, {"t": "y"})[0].max_values == {}

    def test_characters_are_counted_not_bytes_or_halves(self) -> None:
        assert cut({"t": "😀" * 1024}, {})[0].min_values == {"t": "😀" * 1024}
        assert cut({"t": "é" * 1025}, {})[0].min_values == {}

    def test_the_report_counts_bytes_and_columns(self) -> None:
        _, report = cut({"a": "é" * 2000, "b": "x"}, {"a": "y" * 2000, "b": "y"})
        assert report == TruncationReport(columns=frozenset({"a"}), bytes_saved=6000)
        assert report + TruncationReport(columns=frozenset({"b"}), bytes_saved=1) == TruncationReport(
            columns=frozenset({"a", "b"}), bytes_saved=6001
        )

    def test_counts_of_nulls_stay_when_bounds_go(self) -> None:
        statistics = SplitStatistics(num_records=9, min_values={"t": "x" * 2000}, null_counts={"t": 4})
        truncated, _ = truncate_statistics(statistics, {"t": Truncation()})
        assert truncated.null_counts == {"t": 4}
        assert truncated.inexact == ()


BOUNDS_OF_FOUR = {
    "spark.indextables.stats.truncation.strategy": "bounds",
    "spark.indextables.stats.truncation.maxLength": "4",
}


class TestBounds:
    def test_keep_a_prefix_below_and_the_next_text_above_and_are_marked(self) -> None:
        truncated, _ = cut({"t": "abcdef"}, {"t": "wxyzzz"}, BOUNDS_OF_FOUR)
        assert (truncated.min_values, truncated.max_values) == ({"t": "abcd"}, {"t": "wxy{"})
        assert truncated.inexact == ("t",)

    @pytest.mark.parametrize(
        ("text", "bound"),
        [
            ("abcdX", "abce"),
            ("abc\U0010ffffX", "abd"),
            ("ab\U0010ffff\U0010ffffX", "ac"),
            ("\U0010ffff" * 5, None),
            ("abc\ud7ffX", "abc\ue000"),
            ("abc\u007fX", "abc\u0080"),
            ("abc\uffffX", "abc\U00010000"),
            ("abc😀X", "abc😁"),
            ("abcd", "abcd"),
            ("", ""),
        ],
    )
    def test_of_a_maximum_are_the_shortest_text_above_all_that_begin_so(self, text: str, bound: str | None) -> None:
        assert upper_bound(text, 4) == bound
        if bound is not None:
            assert bound.encode() >= text.encode()

    def test_without_a_text_above_only_the_minimum_stays(self) -> None:
        truncated, _ = cut({"t": "a"}, {"t": "\U0010ffff" * 5}, BOUNDS_OF_FOUR)
        assert (truncated.min_values, truncated.max_values, truncated.inexact) == ({"t": "a"}, {}, ("t",))

    def test_lower_bounds_are_prefixes(self) -> None:
        assert lower_bound("abc😀def", 4) == "abc😀"

    @pytest.mark.parametrize(
        ("data", "above"), [(b"abcdef", b"abd"), (b"ab\xffdef", b"ac"), (b"\xff" * 9, None), (b"\xff", b"\xff")]
    )
    def test_of_bytes_are_bytes(self, data: bytes, above: bytes | None) -> None:
        text = base64.b64encode(data).decode()
        truncated, _ = cut({"b": text}, {"b": text}, BOUNDS_OF_FOUR, binary=("b",))
        assert truncated.max_values == ({} if above is None else {"b": base64.b64encode(above).decode()})
        assert data.startswith(base64.b64decode(truncated.min_values["b"]))


class TestColumnsOfTheirOwn:
    def rules(self, metadata: str) -> Truncation:
        field = pa.field("t", pa.string(), metadata={b"spark.metadata": metadata.encode()})
        return column_rules(leaves(pa.schema([field])).values(), Truncation(max_length=50))["t"]

    def test_say_in_their_metadata_what_holds_for_them(self) -> None:
        rule = self.rules('{"spark.indextables.stats.truncation.strategy": "bounds", "comment": "x"}')
        assert rule == Truncation(strategy="bounds", max_length=50)
        assert self.rules('{"spark.indextables.stats.truncation.maxLength": 20}').max_length == 20
        assert not self.rules('{"spark.indextables.stats.truncation.enabled": "false"}').enabled

    @pytest.mark.parametrize("metadata", ["not json", "[]", '{"spark.indextables.stats.truncation.maxLength": "many"}'])
    def test_that_say_nonsense_never_fail_a_write(self, metadata: str, caplog: pytest.LogCaptureFixture) -> None:
        assert self.rules(metadata) == Truncation(max_length=50)
        assert "What column t says about its statistics is ignored" in caplog.text

    def test_only_texts_and_bytes_have_rules(self) -> None:
        schema = pa.schema([("t", pa.string()), ("b", pa.binary()), ("i", pa.int64()), ("d", pa.decimal128(38, 2))])
        assert set(column_rules(leaves(schema).values(), Truncation())) == {"t", "b"}
