"""The notebook that people open first runs from top to bottom, and is kept without what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.docs.blocks import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"

# In a process of its own, because the kernel's client leaves sockets to the garbage collector.
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_the_notebook_is_kept_without_outputs() -> None:
    cells: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text())["cells"]
    assert 10 <= len(cells) <= 12
    for cell in cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    done = tmp_path / "done.ipynb"
    homes = dict.fromkeys(("TMPDIR", "HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"), str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(done)],
        env={**os.environ, **homes},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr
    outputs = [output for cell in json.loads(done.read_text())["cells"] for output in cell.get("outputs", [])]
    printed = "".join(piece for output in outputs for piece in output.get("text", []))  # a line may come in two of them
    results = "".join(piece for output in outputs for piece in output.get("data", {}).get("text/plain", []))
    assert "after the delete: 50" in printed
    assert "after the restore: 5000" in printed
    assert "4 files became 1; 5003 rows" in results
