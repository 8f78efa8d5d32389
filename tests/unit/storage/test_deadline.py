"""Calls with a time limit: their answers, their errors, and those that never come back."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from indextables.storage.deadline import call_within


class PanicError(BaseException):
    """What a panic in native code looks like: an error that is no Exception."""


def test_an_answer_in_time_is_returned() -> None:
    assert call_within(5, divmod, 7, 2) == (3, 1)
    assert call_within(5, sorted, [1, 2], reverse=True) == [2, 1]


def test_an_error_is_raised_as_it_is() -> None:
    error = KeyError("k")

    def fail() -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        call_within(5, fail)
    assert caught.value is error


def test_a_panic_becomes_an_ordinary_error() -> None:
    def panic() -> None:
        raise PanicError("index out of bounds")

    with pytest.raises(RuntimeError, match="index out of bounds"):
        call_within(5, panic)


def test_a_call_that_does_not_come_back_is_left_behind() -> None:
    release = threading.Event()
    finished = threading.Event()

    def wait() -> None:
        release.wait(30)
        finished.set()

    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        call_within(0.05, wait)
    assert not finished.is_set()
    release.set()
    assert finished.wait(30)


def test_the_end_of_the_process_waits_for_strays_that_are_about_to_come_back() -> None:
    code = """
import threading
from indextables.storage.deadline import call_within
def work():
    threading.Event().wait(0.3)
    print("came back", flush=True)
try:
    call_within(0.01, work)
except TimeoutError:
    print("left behind", flush=True)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (ended.stdout.splitlines(), ended.returncode) == (["left behind", "came back"], 0)
