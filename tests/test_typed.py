"""What a user's type checker sees of the public API, when it is strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from dataclasses import dataclass

import numpy as np

import dpbench

data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)
reveal_type(data.counts)
reveal_type(dpbench.run("gs/fig9", scale="smoke"))
reveal_type(dpbench.load("results", "gs/fig9"))


@dataclass(frozen=True, kw_only=True)
class Mine(dpbench.Mechanism):
    step: float = 1.0

    def publish(self, data: dpbench.Incidence, epsilon: float, noise: dpbench.Noise) -> dpbench.Counts:
        noisy = noise.laplace(data.counts, scale=data.largest_row / epsilon)
        reveal_type(noisy)
        return dpbench.Counts(counts=self.step * (noisy / self.step).round())


reveal_type(Mine().release(data, epsilon=1.0, rng=np.random.default_rng(1)).published())
Mine(stpe=1.0)
"""
REVEALED = ["signedinteger", "dpbench.model.run.Run", "dpbench.model.run.Run", "float64", "float64"]


@pytest.mark.slow  # mypy reads numpy and everything that dpbench imports
def test_a_users_program_is_checked(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    told = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    revealed = [line for line in told if "Revealed type" in line]
    assert [kind in line for kind, line in zip(REVEALED, revealed, strict=True)] == [True] * len(REVEALED), told
    (wrong,) = [line for line in told if ": error: " in line]
    assert 'Unexpected keyword argument "stpe"' in wrong
