"""Fixtures of the tests of code identity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.projects import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    found = Project(tmp_path / "own", monkeypatch)
    # Bytecode is compared by whole seconds and size: a change within a second would not be seen by an import.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    yield found
    found.forget()
