from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import ShellComplete

from indextables.cli import inspect
from indextables.cli.main import commands
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.cli.conftest import Answer

NAMES = commands.list_commands(click.Context(commands))


def _process(*args: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "indextables", *map(str, args)],
        capture_output=True,
        text=True,
        env=os.environ | variables,
    )


def test_help_lists_every_command_with_examples_and_exit_codes(run: Callable[..., Answer]) -> None:
    answer = run("-h")
    assert answer.code == 0
    for name in NAMES:
        assert re.search(rf"^  {name} ", answer.out, re.MULTILINE)
    assert "Examples:" in answer.out
    assert "3 damage found" in answer.out


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help_with_an_example_and_takes_json_and_debug(run: Callable[..., Answer], name: str) -> None:
    answer = run(name, "-h")
    assert answer.code == 0
    assert f"\n    indextables {name}" in answer.out
    assert "--json" in answer.out
    assert "--debug" in answer.out


def test_no_arguments_at_all_show_the_help(run: Callable[..., Answer]) -> None:
    answer = run()
    assert answer.code == 2
    assert "describe" in answer.err


def test_the_version_is_that_of_the_package(run: Callable[..., Answer]) -> None:
    assert run("--version").out == f"indextables {VERSION}\n"


def test_debug_shows_the_traceback_and_the_sentence(run: Callable[..., Answer], tmp_path: Path) -> None:
    answer = run("describe", tmp_path, "--debug")
    assert answer.code == 1
    assert "Traceback (most recent call last)" in answer.err
    assert answer.err.splitlines()[-1].startswith("indextables: There is no table at")


def test_a_fault_of_the_program_is_said_to_be_one(
    run: Callable[..., Answer], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(inspect, "open_log", fail)
    answer = run("describe", table)
    assert answer.code == 4
    assert answer.err == (
        "indextables: this should not have happened: RuntimeError: first second. "
        "Run it again with --debug, and report what that prints.\n"
    )
    assert "Traceback" in run("describe", table, "--debug").err


@pytest.fixture
def heard_ctrl_c() -> Iterator[None]:
    """SIGINT as in a terminal: what a shell starts in the background ignores it, and so does whatever that starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@pytest.mark.usefixtures("heard_ctrl_c")
def test_ctrl_c_ends_with_130_and_no_traceback(
    run: Callable[..., Answer], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(inspect, "open_log", interrupted)
    answer = run("describe", table)
    assert answer.code == 130
    assert answer.err.strip() == "indextables: interrupted."


@pytest.mark.usefixtures("heard_ctrl_c")
def test_ctrl_c_ends_a_command_that_waits_for_a_store() -> None:
    credentials = ["--option", "fs.s3a.access.key=someone", "--option", "fs.s3a.secret.key=something"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"fs.s3a.endpoint=http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "indextables", "describe", "s3://lake/events", *credentials, "--option", endpoint],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "indextables: interrupted."


def test_a_warning_of_the_library_is_one_line(run: Callable[..., Answer], copy: Path) -> None:
    (copy / "_transaction_log" / "_last_checkpoint").write_bytes(b"\x00")
    answer = run("describe", copy)
    assert answer.code == 0
    assert answer.err.startswith("indextables: warning: The hint")
    assert len(answer.err.splitlines()) == 1


def test_debug_shows_what_the_library_logs_and_the_next_command_is_quiet_again(
    run: Callable[..., Answer], table: Path
) -> None:
    assert "indextables: debug: Reading compressed file" in run("describe", table, "--debug").err
    assert run("describe", table).err == ""


def test_completion_offers_commands_options_keys_and_directories() -> None:
    def offered(args: list[str], incomplete: str) -> list[tuple[str, str]]:
        complete = ShellComplete(commands, {}, "indextables", "_INDEXTABLES_COMPLETE")
        return [(item.type, item.value) for item in complete.get_completions(args, incomplete)]

    assert offered([], "des") == [("plain", "describe")]
    assert ("plain", "--where") in offered(["head"], "--wh")
    assert ("plain", "spark.indextables.checkpoint.interval=") in offered(
        ["describe", "--option"], "spark.indextables.checkpoint.int"
    )
    assert offered(["describe"], "ev") == [("dir", "ev")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion_script(shell: str) -> None:
    answer = _process(_INDEXTABLES_COMPLETE=f"{shell}_source")
    assert answer.returncode == 0
    assert "_INDEXTABLES_COMPLETE" in answer.stdout


def test_a_process_ends_with_the_exit_code_and_writes_no_colours_into_a_pipe(table: Path, tmp_path: Path) -> None:
    good = _process("describe", table, FORCE_COLOR="", NO_COLOR="")
    assert good.returncode == 0
    assert "\x1b" not in good.stdout
    bad = _process("describe", tmp_path)
    assert bad.returncode == 1
    assert bad.stdout == ""
    assert bad.stderr.count("\n") == 1


def test_a_terminal_that_knows_only_ascii_gets_ascii(table: Path) -> None:
    answer = _process("history", table, PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.isascii()


def test_a_closed_pipe_is_no_error_worth_a_word(table: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "indextables", "files", str(table), "--json"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert process.stderr == b""
    assert process.returncode == 141


def test_looking_at_a_table_imports_neither_spark_nor_pandas_nor_sql(table: Path) -> None:
    code = (
        "import sys; sys.argv = ['indextables', *sys.argv[1:]]\n"
        "from indextables.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark', 'py4j', 'pandas', 'sqlglot'} & set(sys.modules)))"
    )
    for command in (["describe"], ["cleanup", "--dry-run"]):
        answer = subprocess.run(
            [sys.executable, "-c", code, *command, str(table)], capture_output=True, text=True, check=True
        )
        assert answer.stdout.splitlines()[-1] == "[]", command
    code = code.replace("'sqlglot'", "'pyspark.sql'")
    for command in (["count"], ["verify"]):
        answer = subprocess.run(
            [sys.executable, "-c", code, *command, str(table)], capture_output=True, text=True, check=True
        )
        assert answer.stdout.splitlines()[-1] == "[]", command


@pytest.mark.parametrize(
    ("module", "program"), [("indextables.cli.main", "indextables"), ("indextables.cli.lakekeeper", "lakekeeper")]
)
@pytest.mark.parametrize("line", [["--help"], ["--version"], ["desribe"]])
def test_help_waits_for_nothing_that_works_on_tables(module: str, program: str, line: list[str]) -> None:
    heavy = {"pyarrow", "numpy", "pandas", "pyspark", "py4j", "rich", "yaml", "sqlglot", "obstore", "hdfs_native"}
    code = (
        f"import sys; sys.argv = [{program!r}, *sys.argv[1:]]\n"
        f"from {module} import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"
