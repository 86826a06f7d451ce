"""The report that the tests of this folder look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.reports import small_report
from support.sessions import made_once


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three small runs and their report; tests copy what they change."""
    return made_once(tmp_path_factory, "report", small_report)
