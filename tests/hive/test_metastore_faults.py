"""A Metastore whose answers get lost, once or from some moment on: no row is lost, and recovery brings the run to an end."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import MetastoreError
from indextables.hive import Lake, compact, list_runs, recover
from indextables.hive.channel import SocketChannel
from indextables.hive.metastore import Metastore
from tests.hive.crashes import Patient
from tests.support.effort import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from indextables.hive.thrift import MessageType, Struct
    from tests.support.metastore import MetastoreService

SHARE = 1 / 5
"""How many of the messages of a run a change takes; with more effort all have their turn."""


class LosingChannel(SocketChannel):
    """Does what it is told, and loses the answer to one message or to all from one on."""

    def __init__(self, uri: str, *, at: int, forever: bool) -> None:
        super().__init__(uri)
        self._at = at
        self._forever = forever
        self.sent = 0

    def _exchange(self, message: bytes) -> tuple[MessageType, Struct]:
        self.sent += 1
        answer = super()._exchange(message)
        if self.sent == self._at or (self._forever and self.sent > self._at):
            raise ConnectionResetError("the answer is lost")
        return answer


@contextmanager
def losing(lake: Lake, uri: str, *, at: int, forever: bool) -> Iterator[tuple[Lake, LosingChannel]]:
    channel = LosingChannel(uri, at=at, forever=forever)
    other = replace(lake, metastore=Metastore(lambda: channel), threads=1)
    try:
        yield other, channel
    finally:
        other.close()


@pytest.fixture
def patient(lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path) -> Patient:
    return Patient.make(lake, metastore, f"{database}.patient", f"file:{tmp_path}/place")


def messages_of_a_run(patient: Patient, uri: str, *, name: str) -> list[int]:
    """Return which messages of a run have a turn, the first one always among them."""
    with losing(patient.lake, uri, at=10_000, forever=False) as (lake, channel):
        compact(lake, patient.name)
    patient.restore()
    return [1, *sample(range(2, channel.sent + 1), SHARE, name=name)]


def test_one_lost_answer_does_not_even_disturb_a_run(
    patient: Patient, metastore: MetastoreService, record_property: Callable[[str, object], None]
) -> None:
    messages = messages_of_a_run(patient, metastore.uri, name="lost")
    for at in messages:
        with losing(patient.lake, metastore.uri, at=at, forever=False) as (lake, _):
            result = compact(lake, patient.name)
        assert result.files_after == 3
        assert [run.state for run in list_runs(patient.lake, table=patient.name)] == ["complete"]
        patient.check()
        patient.restore()
    record_property("lakekeeper: lost answers of the Metastore", len(messages))


def test_a_metastore_that_goes_silent_leaves_a_run_to_recover(
    patient: Patient, metastore: MetastoreService, record_property: Callable[[str, object], None]
) -> None:
    messages = messages_of_a_run(patient, metastore.uri, name="silent")
    for at in messages:
        with (
            losing(patient.lake, metastore.uri, at=at, forever=True) as (lake, _),
            pytest.raises(MetastoreError, match="the answer is lost"),
        ):
            compact(lake, patient.name)
        recover(patient.lake, table=patient.name)
        patient.heal()
        patient.restore()
    record_property("lakekeeper: Metastores gone silent", len(messages))
