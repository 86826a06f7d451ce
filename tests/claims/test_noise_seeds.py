"""Verdicts depend neither on the seed of the noise nor on that of generated data: over three seeds at laptop scale none is both
reproduced and contradicted. `-k sparse` runs one paper, `-s` prints which verdicts move at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.door import dpbench

SEEDS = (0, 1, 2)
OPPOSITE = {"reproduced", "contradicted"}
HOURS = 3 * 3600
TIMED = {"epicrec/runtime", "sparse/dyadic_time", "sparse/throughput"}
"""Whatever else the machine does decides their claims, not the noise."""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--seed", "--data-seed"])
@pytest.mark.parametrize("paper", ["gs", "sparse", "analytics", "sensitivity", "epicrec"])
def test_no_verdict_flips(paper: str, option: str, tmp_path: Path) -> None:
    """Minutes per paper and seed."""
    verdicts: dict[str, set[str]] = {}
    for seed in map(str, SEEDS):
        done = dpbench(
            "reproduce", paper, "--scale", "laptop", option, seed, "--results", seed, cwd=tmp_path, timeout=HOURS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        done = dpbench("claims", paper, "--scale", "laptop", "--results", seed, "--json", f"{seed}.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        for claim in json.loads((tmp_path / f"{seed}.json").read_text()):
            if claim["decided_by"] not in TIMED:
                verdicts.setdefault(claim["claim"], set()).add(claim["verdict"])
    for name, found in verdicts.items():
        if len(found) > 1:
            print(f"{option}: {name}: {', '.join(sorted(found))}")
    decided = {claim for claim, found in verdicts.items() if found & OPPOSITE}
    assert len(decided) > 5
    assert not [claim for claim, found in verdicts.items() if found >= OPPOSITE]
