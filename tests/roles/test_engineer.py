"""The path of an engineer with a CI: an own mechanism guarded by own baselines and by an audit, until a change makes it worse."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.slow


def test_a_build_that_guards_a_mechanism(dpbench: Call, tmp_path: Path) -> None:
    assert dpbench("new", "mechanism", "rounded").returncode == 0
    assert dpbench("new", "dataset", "walks").returncode == 0
    assert dpbench("new", "experiment", "mine/sweep").returncode == 0
    experiment = tmp_path / "conf/experiment/mine/sweep.yaml"
    experiment.write_text(
        experiment.read_text().replace("[trajectory]", "[walks]").replace("[lpa, gs]", "[rounded]")
        + "mechanism: {rounded: {bound: 10, step: 1}}\n"
    )
    first = dpbench("check", "mine/sweep", "--update")
    assert first.returncode == 0, first.stdout + first.stderr
    good = dpbench("check", "mine/sweep", "--strict", "--junit", "check.xml")
    assert good.returncode == 0, good.stdout + good.stderr
    assert (tmp_path / "check.xml").is_file()
    assert dpbench("audit", "rounded(bound=3)", "--pairs", "10", "--json", "audit.json").returncode == 0

    source = tmp_path / "rounded.py"
    text = source.read_text()
    source.write_text(text.replace("self.bound / epsilon", "3 * self.bound / epsilon"))
    worse = dpbench("check", "mine/sweep")
    assert worse.returncode == 1, "three times the noise is worse\n" + worse.stdout
    source.write_text(text.replace("self.bound / epsilon", "self.bound / epsilon / 2"))
    leaking = dpbench("audit", "rounded(bound=3)", "--pairs", "10")
    assert leaking.returncode == 1, "half the noise is not private\n" + leaking.stdout
    assert "VIOLATED" in leaking.stdout
