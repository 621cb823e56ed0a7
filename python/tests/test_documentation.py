"""The README's example and the notebook run, and print the output that they show."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

PACKAGE = Path(__file__).parents[1]
# Both use the texts of this Python version's language reference.
WRITTEN_WITH = (3, 11, 7)
CAN_COMPARE = sys.version_info[:3] == WRITTEN_WITH


def test_the_readmes_example_runs(capsys):
    code, output = re.findall(r"```(?:python)?\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S)[:2]
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith(" topic")
    if CAN_COMPARE:
        assert printed == output


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs():
    path = PACKAGE / "notebooks" / "quickstart.ipynb"
    committed, executed = nbformat.read(path, as_version=4), nbformat.read(path, as_version=4)
    NotebookClient(executed, timeout=300).execute()
    assert "UsageError 64" in printed(executed)
    assert pictures(executed) == pictures(committed) == 3
    if CAN_COMPARE:
        assert printed(executed) == printed(committed)


def pictures(notebook: nbformat.NotebookNode) -> int:
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return sum("image/png" in output.get("data", {}) for output in outputs)


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output["text"] for output in outputs if output.get("name") == "stdout")
