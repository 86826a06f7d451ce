"""`dpbench.testing` and its pytest plugin, as a user's own tests meet them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dpbench
from dpbench.errors import UserError
from dpbench.testing import assert_private, assert_utility

from support.door import environment
from support.paths import ROOT

MINE = """
from dataclasses import dataclass
from dpbench import Bounded, Counts

@dataclass(frozen=True, kw_only=True)
class Mine(Bounded):
    factor: float = {factor}

    def publish_columns(self, columns, epsilon, noise):
        return Counts(counts=noise.laplace(columns.counts, scale=self.factor * self.sensitivity(columns) / epsilon))
"""
TESTS = """
import pytest
from dpbench import Incidence
from dpbench.testing import assert_private, assert_utility
from mine import Mine

DATA = Incidence.from_rows([[0, 2], [1, 2, 3], [2]] * 40, columns=4)

@pytest.mark.dpbench
def test_privacy():
    assert_private(Mine(bound=3), epsilon=1, pairs=15)

@pytest.mark.dpbench
def test_utility():
    assert_utility(Mine(bound=3), data=DATA)
"""


def pytest_in(folder: Path, *words: str, factor: float = 1.0) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(MINE.format(factor=factor))
    (folder / "test_mine.py").write_text(TESTS)
    plugin = ["-p", "dpbench.testing.plugin"]  # by its name, for installations from before the entry point
    loaded = any("dpbench.testing" in str(point) for point in _points())
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", *words]
    env = environment(PYTHONDONTWRITEBYTECODE="1", DPBENCH_CACHE=os.environ["DPBENCH_CACHE"])
    return subprocess.run(
        [*command, *([] if loaded else plugin)], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )


def _points() -> list[object]:
    from importlib.metadata import entry_points

    return [point.value for point in entry_points(group="pytest11")]


def test_the_plugin(tmp_path: Path) -> None:
    """Without a baseline the test says how to write one; then it passes, until the mechanism becomes worse or not private."""
    first = pytest_in(tmp_path)
    assert "1 failed, 1 passed" in first.stdout, first.stdout + first.stderr
    assert "write it with pytest --dpbench-update" in first.stdout
    assert "2 passed" in pytest_in(tmp_path, "--dpbench-update").stdout
    stored = json.loads((tmp_path / "dpbench_baselines" / "test_mine.json").read_text())
    assert [*stored] == ["test_utility Mine mae ε=1"]
    assert "2 passed" in pytest_in(tmp_path).stdout
    assert "2 deselected" in pytest_in(tmp_path, "-m", "not dpbench").stdout
    worse = pytest_in(tmp_path, factor=1.5)
    assert "1 failed, 1 passed" in worse.stdout
    assert "Mine is worse than its baseline" in worse.stdout
    assert "mae before" in worse.stdout
    assert "(+50 %" in worse.stdout
    leaking = pytest_in(tmp_path, factor=0.5)  # better, and not private
    assert "1 failed, 1 passed" in leaking.stdout
    assert "Mine(bound=3) is violated: loss 2 at a stated ε = 1; pair: " in leaking.stdout
    assert "; step: laplace" in leaking.stdout


def test_a_better_or_equal_mechanism_passes_and_a_worse_one_fails() -> None:
    data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]] * 40, columns=4)
    assert_utility("lpa(bound=3)", baseline="lpa(bound=3)", data=data)
    assert_utility("lpa(bound=3)", baseline="lpa(bound=6)", data=data)
    with pytest.raises(AssertionError, match=r"mae before .*, after .* \(\+100 %"):
        assert_utility("lpa(bound=6)", baseline="lpa(bound=3)", data=data)
    with pytest.raises(UserError, match="unknown metric 'mea': did you mean 'mae'"):
        assert_utility("lpa(bound=6)", baseline="lpa(bound=3)", data=data, metric="mea")


def test_parameters_that_do_not_fit_the_data_are_told_without_our_frames() -> None:
    """The generated dataset, which the caller did not choose, is named."""
    told = r"bound=3 is below the largest row 55: .*; the data is Incidence\(62,956 rows .* give other data"
    with pytest.raises(UserError, match=told) as found:
        assert_utility("lpa(bound=3)", baseline="lpa(bound=60)")
    assert found.traceback.filter(found)[-1].path == Path(__file__)


def test_chance_does_not_fail_a_test() -> None:
    """Two mechanisms of one distribution, 200 pairs of seeds: at 1e-4 each, a failure has a probability of 0.02."""
    data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)

    class Other:
        def release(self, given, epsilon, rng):  # type: ignore[no-untyped-def]
            return dpbench.mechanism("lpa", bound=3).release(given, epsilon, rng.spawn(1)[0])

    for seed in range(200):
        assert_utility(Other(), baseline="lpa(bound=3)", data=data, trials=8, seed=seed)


def test_own_pairs() -> None:
    rows = [[0, 1], [1, 2]]
    pair = (dpbench.Incidence.from_rows(rows, columns=3), dpbench.Incidence.from_rows([*rows, [0, 1, 2]], columns=3))
    assert assert_private("lpa(bound=3)", epsilon=0.5, pairs=[pair]).findings[0].loss == pytest.approx(0.5)
    with pytest.raises(AssertionError, match="declared not private"):
        assert_private("lpa()", epsilon=0.5, pairs=[pair])
    with pytest.raises(UserError, match="expected a number, or pairs of data"):
        assert_private("lpa(bound=3)", pairs=[([[1]], [[2]])])  # type: ignore[list-item]


def test_what_other_repositories_use_names_verbs_and_options_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    from dpbench.cli.dispatch import VERBS

    assert all(hook["entry"].split()[:1] == ["dpbench"] and hook["entry"].split()[1] in VERBS for hook in hooks)
    runs = " ".join(step.get("run", "") for step in action["runs"]["steps"])
    assert {word for word in ("check", "audit") if f"dpbench {word} " in runs} == {"check", "audit"}
