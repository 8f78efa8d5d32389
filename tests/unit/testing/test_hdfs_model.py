"""The two renames of Hadoop: one that raises, and one with quirks that a swap of directories must survive."""

from __future__ import annotations

import pytest

from indextables.errors import AlreadyExistsError, NotFoundError, StorageError, UnsafePathError
from indextables.testing.hdfs import HdfsModel


@pytest.fixture
def hdfs() -> HdfsModel:
    model = HdfsModel()
    model.put("live/p=1/a", b"old")
    model.put("staged/p=1/b", b"new")
    model.put("file", b"f")
    return model


class TestFileSystemRename:
    def test_moves_a_directory_with_all_that_is_in_it(self, hdfs: HdfsModel) -> None:
        assert hdfs.rename("live", "old")
        assert hdfs.tree() == {"old/p=1/a": b"old", "staged/p=1/b": b"new", "file": b"f"}
        assert hdfs.is_directory("old/p=1")
        assert not hdfs.is_directory("live")

    def test_moves_a_file(self, hdfs: HdfsModel) -> None:
        assert hdfs.rename("file", "live/file")
        assert hdfs.get("live/file") == b"f"
        assert not hdfs.exists("file")

    def test_nests_into_an_existing_directory(self, hdfs: HdfsModel) -> None:
        assert hdfs.rename("staged", "live")
        assert hdfs.tree() == {"live/p=1/a": b"old", "live/staged/p=1/b": b"new", "file": b"f"}

    def test_answers_false_when_the_nested_name_is_taken(self, hdfs: HdfsModel) -> None:
        hdfs.put("live/staged", b"")
        before = hdfs.tree()
        assert not hdfs.rename("staged", "live")
        assert hdfs.tree() == before

    @pytest.mark.parametrize(
        ("source", "target"),
        [
            ("missing", "new"),
            ("live", "file"),
            ("file", "live/p=1/a"),
            ("live", "nowhere/live"),
            ("live", "live/p=1"),
            ("live", "live"),
            ("missing", "missing"),
            ("live", "file/below"),
        ],
    )
    def test_answers_false_and_does_nothing(self, hdfs: HdfsModel, source: str, target: str) -> None:
        before = hdfs.tree()
        assert hdfs.rename(source, target) is False
        assert hdfs.tree() == before

    def test_of_a_file_to_itself_is_done(self, hdfs: HdfsModel) -> None:
        assert hdfs.rename("file", "file")
        assert hdfs.get("file") == b"f"

    def test_keeps_modification_times(self, hdfs: HdfsModel) -> None:
        before = hdfs.head("live/p=1/a").modified_ms
        hdfs.rename("live", "old")
        assert hdfs.head("old/p=1/a").modified_ms == before


class TestFileContextRename:
    def test_moves_a_directory(self, hdfs: HdfsModel) -> None:
        hdfs.rename_or_raise("live", "old")
        assert hdfs.tree() == {"old/p=1/a": b"old", "staged/p=1/b": b"new", "file": b"f"}

    @pytest.mark.parametrize(
        ("source", "target", "error"),
        [
            ("missing", "new", NotFoundError),
            ("live", "nowhere/live", NotFoundError),
            ("staged", "live", AlreadyExistsError),
            ("live", "file", AlreadyExistsError),
            ("file", "file", AlreadyExistsError),
            ("live", "live/p=1/x", AlreadyExistsError),
        ],
    )
    def test_raises_and_does_nothing(
        self, hdfs: HdfsModel, source: str, target: str, error: type[StorageError]
    ) -> None:
        before = hdfs.tree()
        with pytest.raises(error):
            hdfs.rename_or_raise(source, target)
        assert hdfs.tree() == before


def test_an_empty_directory_is_a_directory(hdfs: HdfsModel) -> None:
    hdfs.make_directories("x/y")
    assert hdfs.is_directory("x")
    assert hdfs.is_directory("x/y")
    assert hdfs.rename("x", "live")
    assert hdfs.is_directory("live/x/y")


def test_a_directory_is_not_made_below_a_file(hdfs: HdfsModel) -> None:
    for path in ("file", "file/below"):
        with pytest.raises(AlreadyExistsError):
            hdfs.make_directories(path)


def test_unsafe_names_are_refused(hdfs: HdfsModel) -> None:
    with pytest.raises(UnsafePathError):
        hdfs.rename("live", "../out")
    with pytest.raises(UnsafePathError):
        hdfs.rename_or_raise("../in", "live2")
    with pytest.raises(UnsafePathError):
        hdfs.make_directories("../out")


def test_a_clone_has_its_own_directories(hdfs: HdfsModel) -> None:
    twin = hdfs.clone()
    twin.make_directories("only/here")
    assert not hdfs.is_directory("only")
