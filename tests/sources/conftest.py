"""Fixtures of the readers' tests."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def put(name: str, text: str | bytes) -> Path:
        content = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return put
