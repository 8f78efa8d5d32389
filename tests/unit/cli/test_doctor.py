from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.cli import doctor, java

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def _checks(answer: Answer) -> dict[str, tuple[str, str]]:
    return {check["name"]: (check["status"], check["detail"]) for check in answer.json["checks"]}


@pytest.fixture
def java_17(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path / "java17", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java17"))


def _fake_java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)


@pytest.mark.usefixtures("java_17")
def test_doctor_finds_what_is_here(run: Callable[..., Answer]) -> None:
    answer = run("doctor", "--json")
    assert answer.code == 0
    checks = _checks(answer)
    assert checks["java"][0] == "ok"
    assert checks["java"][1].startswith("17 at ")
    assert checks["pyspark"][0] == checks["pyarrow"][0] == "ok"
    assert run("doctor").out.endswith("Nothing is missing.\n")


@pytest.mark.usefixtures("java_17")
def test_doctor_tells_of_credentials_and_does_not_show_them(
    run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, table: Path
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hush")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    answer = run("doctor", "--json")
    assert _checks(answer)["s3 credentials"] == ("ok", "the environment has AWS_ACCESS_KEY_ID")
    assert _checks(answer)["gs credentials"][0] == "not set"
    assert "hush" not in answer.out
    given = run("doctor", table, "--json", "--option", "fs.s3a.secret.key=hush")
    assert _checks(given)["given credentials"] == ("ok", "--option has fs.s3a.secret.key")
    assert "hush" not in given.out


def test_doctor_says_when_there_is_no_java(run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_java", lambda: None)
    answer = run("doctor", "--json")
    assert answer.code == 3
    assert _checks(answer)["java"][0] == "problem"
    assert run("doctor").out.endswith("1 problem.\n")


def test_doctor_says_when_java_is_too_old(
    run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "find_java", lambda: java.Java(tmp_path, 11))
    assert "Spark needs 17 or newer" in _checks(run("doctor", "--json"))["java"][1]


def test_a_newer_java_is_preferred_to_the_one_of_java_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path / "old", "1.8.0_392")
    _fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path / "new" / "bin"))
    assert java.find_java() == java.Java(tmp_path / "new", 21)


def test_a_java_that_does_not_run_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken" / "bin" / "java").mkdir(parents=True)
    monkeypatch.setattr(java, "_candidates", lambda: [tmp_path / "broken" / "bin" / "java"])
    assert java.find_java() is None


@pytest.mark.usefixtures("java_17")
def test_doctor_tries_a_tables_store_and_leaves_nothing_there(run: Callable[..., Answer], copy: Path) -> None:
    before = sorted(copy.rglob("*"))
    answer = run("doctor", copy, "--json")
    assert answer.code == 0
    checks = _checks(answer)
    assert checks["store"][0] == checks["writes"][0] == "ok"
    assert checks["table"] == ("ok", "version 12")
    assert sorted(copy.rglob("*")) == before


@pytest.mark.usefixtures("java_17")
def test_doctor_does_not_make_a_directory_a_table(run: Callable[..., Answer], tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert _checks(run("doctor", tmp_path, "--json"))["table"] == ("not set", "there is none yet")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("java_17")
def test_doctor_finds_a_damaged_log(run: Callable[..., Answer], copy: Path) -> None:
    (copy / "_transaction_log" / f"{12:020}.json").write_bytes(b"{not json\n")
    answer = run("doctor", copy, "--json")
    assert answer.code == 3
    assert _checks(answer)["table"][0] == "problem"
