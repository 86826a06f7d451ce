"""The tutorials of the documentation, followed in a folder by a real kernel: their cells are the test."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.paths import ROOT

DOCS = ROOT / "docs"
CELL = re.compile(r"^```\{code-cell\} ipython3\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Cell:
    source: str
    output: str
    """What it printed, and its value as text."""


@dataclass(frozen=True)
class Followed:
    cells: tuple[Cell, ...]

    def output(self, words: str) -> str:
        """What the first cell printed that has these words in its source."""
        found = [cell for cell in self.cells if words in cell.source]
        assert found, f"no cell of the tutorial has {words!r}"
        return found[0].output


def sources(name: str) -> list[str]:
    """The cells of a tutorial that a reader sees."""
    text = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    return [code for options, code in CELL.findall(text) if "remove-cell" not in options]


def follow(name: str, folder: Path) -> Followed:
    """Do what a tutorial says, in this folder. A cell that fails, or a command in it, fails the test."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    from nbformat import v4

    begin = "import tutorial\n\ntutorial.begin('.')"
    book = v4.new_notebook(cells=[v4.new_code_cell(source.strip()) for source in (begin, *sources(name))])
    client = nbclient.NotebookClient(book, timeout=600, kernel_name="python3")
    path = os.pathsep.join([str(ROOT), str(DOCS / "_ext")])
    with client.setup_kernel(cwd=str(folder), env=os.environ | {"PYTHONPATH": path}):
        for place, cell in enumerate(book.cells):
            client.execute_cell(cell, place)
    return Followed(tuple(Cell(cell.source, "".join(map(_text, cell.outputs))) for cell in book.cells[1:]))


def _text(output: dict[str, object]) -> str:
    data = output.get("data")
    return str(data.get("text/plain", "")) if isinstance(data, dict) else str(output.get("text", ""))
