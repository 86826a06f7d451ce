"""A user's folder, shared by the tests of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.homes import make_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder: strangers.py and a configuration folder `mine`."""
    return make_home(tmp_path)
