"""Pictures of the record are drawn once for the same content, and again if the stored file is damaged."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dpbench import paths
from dpbench.report.pictures import Drawn, Point, cached
from dpbench.storage import record

from support.paths import ROOT

PICTURE = Drawn("", b"png", b"", (Point(0.5, 0.25, "ε = 1: MAE 3"),))


def test_pictures_of_a_record_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path))
    kept = record.read("gs/fig9", ROOT / "results" / "record")
    assert kept is not None
    drawn = 0

    def draw() -> list[Drawn]:
        nonlocal drawn
        drawn += 1
        return [PICTURE]

    assert cached(kept, draw) == cached(kept, draw) == [PICTURE]
    assert drawn == 1
    assert cached(dataclasses.replace(kept, checksum="other numbers"), draw) == [PICTURE]
    assert drawn == 2
    for path in (paths.cache() / "pictures").iterdir():
        path.write_text(path.read_text().replace("MAE 3", "MAE 4"))
    assert cached(kept, draw) == [PICTURE]
    assert drawn == 3
