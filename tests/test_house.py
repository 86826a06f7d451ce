"""How the tests are kept: modules that one can read, each of which stands alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.paths import ROOT

MODULES = sorted((ROOT / "tests").rglob("test_*.py"))
MOST_LINES = 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT / "tests").as_posix())
def test_a_module_is_short_and_imports_no_other(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
        else:
            continue
        assert not any(part in {other.stem for other in MODULES} for name in names for part in name.split("."))


def test_one_module_reads_yaml() -> None:
    """What a file may hold, and how a mistake in it is told, is decided once."""
    readers = [path for path in sorted((ROOT / "dpbench").rglob("*.py")) if "import yaml" in path.read_text("utf-8")]
    assert [path.relative_to(ROOT).as_posix() for path in readers] == ["dpbench/documents.py"]
