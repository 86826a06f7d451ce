"""A mechanism that reads a file and declares it, by a method `files()`, is computed anew when the file changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.engine.worker import run_chunk
from dpbench.errors import UserError
from dpbench.model.setting import Setting
from dpbench.model.trial import Chunk

READER = """
from dataclasses import dataclass
from pathlib import Path

from dpbench import Counts, Mechanism


@dataclass(frozen=True, kw_only=True)
class Weighted(Mechanism):
    weights: str

    def files(self):
        return [self.weights]

    def publish(self, data, epsilon, noise):
        factor = float(Path(self.weights).read_text())
        return Counts(counts=noise.laplace(data.counts, scale=factor / epsilon))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "weighted_by_file.py").write_text(READER)
    (tmp_path / "weights.txt").write_text("1")
    (tmp_path / "conf" / "mechanism").mkdir(parents=True)
    entry = f"weighted: {{class: weighted_by_file.Weighted, weights: {tmp_path / 'weights.txt'}}}\n"
    (tmp_path / "conf" / "mechanism" / "weighted.yaml").write_text(entry)
    return tmp_path


def planned(folder: Path) -> Setting:
    words = {
        "dataset": ["trajectory"],
        "mechanism": ["weighted"],
        "epsilon": 1,
        "trials": 2,
        "results": folder / "results",
    }
    (setting,) = make_plan(compose(scale="smoke", overrides=words, folders=[folder / "conf"])).run.settings
    return setting


def test_a_declared_file_names_the_result(folder: Path) -> None:
    first = planned(folder)
    assert planned(folder).id == first.id
    (folder / "weights.txt").write_text("10")
    second = planned(folder)
    assert (second.key, second.id == first.id) == (first.key, False), "the same noise, other results"
    refused = run_chunk(Chunk(first, 0, (0,)))
    assert refused.refused, "a worker with another file computes nothing under the old name"
    assert not refused.rows
    done = run_chunk(Chunk(second, 0, (0,)))
    assert len(done.rows) == 1


def test_a_declared_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "weights.txt").unlink()
    with pytest.raises(UserError, match=r"weights\.txt: cannot be read"):
        planned(folder)
