"""Fixtures of the readers' and of the downloads' tests."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.server import Server


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def put(name: str, text: str | bytes) -> Path:
        content = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return put


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
