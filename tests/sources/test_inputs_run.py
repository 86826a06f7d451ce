"""`run` on a user's own source: new numbers when its file has other content, the same ones when it has not."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MODULE = """
from dataclasses import dataclass
from dpbench.data import Incidence
from dpbench.sources import Source

@dataclass(frozen=True, kw_only=True)
class Mine(Source):
    def build(self, rng):
        {body}
        return Incidence.from_rows([[int(value)] for value in values], columns=50)
"""
DATASET = "mine: {kind: incidence, source: generator, generator: mine.Mine}\n"
RUN = ("run", "--config-dir", "conf", "dataset=[mine]", "mechanism=[lpa]", "epsilon=[1]", "trials=2", "tracking=none")

BODIES = {
    "open": "values = open('visits.csv').read().split()",
    "pandas": "import pandas; values = pandas.read_csv('visits.csv', header=None)[0]",
    "loadtxt": "import numpy; values = numpy.loadtxt('visits.csv')",
}


@pytest.mark.parametrize("way", BODIES)
def test_new_content_new_numbers(
    dpbench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    (tmp_path / "conf" / "dataset" / "mine.yaml").write_text(DATASET)
    (tmp_path / "mine.py").write_text(MODULE.replace("{body}", BODIES[way]))
    visits = tmp_path / "visits.csv"

    def run() -> tuple[int, int, str]:
        """Trials computed and found, and what was said."""
        ran = dpbench(*RUN, "scale=smoke", "runner.jobs=1", "figure=false")
        told = ran.stdout + ran.stderr
        assert ran.returncode == 0, told
        numbers = re.search(r"(\d+) (?:trials )?computed, (\d+) found finished", told)
        assert numbers, told
        return int(numbers[1]), int(numbers[2]), told

    visits.write_text("1\n2\n3\n")
    first = run()
    assert first[:2] == (2, 0)
    assert "mine: own data, read from visits.csv" in first[2], "not: generated"
    assert run()[:2] == (0, 2)
    visits.write_text("1\n2\n2\n")
    computed, found, told = run()
    assert (computed, found) == (2, 0)
    assert "building mine again: visits.csv changed" in told
    os.utime(visits, (1, 1))
    computed, found, told = run()
    assert (computed, found) == (0, 2)
    assert "building" not in told
    visits.write_text("1\n2\n3\n")
    assert run()[:2] == (0, 2)  # the trials of these very data are there
