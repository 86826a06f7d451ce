"""Budgets of a run in other currencies: which ε each mechanism gets, against closed forms, and what the front door shows."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbench as package
from dpbench.config.schema import EpsilonDelta, Rho
from dpbench.engine.budgets import spend
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Run, Variant
from dpbench.numerics.gaussian import analytic_sigma, zcdp_rho
from dpbench.storage.commands import own_command

Call = Callable[..., subprocess.CompletedProcess[str]]
DATA = package.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)


def chosen(name: str, **params: Any) -> tuple[Variant, Any]:
    return Variant(name, name, params), MECHANISMS.make(name, **params)


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.1, 0.5, 3.0])
def test_a_pure_guarantee_gets_the_root_of_twice_rho(rho: float) -> None:
    [(_, epsilons)], refused = spend([Rho(rho)], chosen("lpa", bound=3), None)  # it needs no data
    assert not refused
    assert [*epsilons] == [pytest.approx(math.sqrt(2 * rho), rel=1e-11)]
    assert next(iter(epsilons)) ** 2 / 2 <= rho * (1 + 1e-15)


def test_a_half_is_exactly_one_so_that_trials_are_shared() -> None:
    [(_, epsilons)], _ = spend([Rho(0.5), 1.0, Rho(0.02)], chosen("lpa", bound=3), None)
    assert epsilons == {1.0: Rho(0.5), 0.2: Rho(0.02)}


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [0.01, 0.5])
def test_gaussian_noise_gets_the_epsilon_with_this_rho_at_its_delta(rho: float, delta: float) -> None:
    [(_, epsilons)], _ = spend([Rho(rho)], chosen("gaussian", bound=3, delta=delta), DATA)
    (epsilon,) = epsilons
    assert 1 / (2 * analytic_sigma(epsilon, delta) ** 2) == pytest.approx(rho, rel=1e-6)


def test_without_a_known_rho_it_is_left_out_with_what_rho_promises() -> None:
    mechanism = chosen("gumbel_topk_delta", k=2)
    [(_, epsilons)], refused = spend([Rho(0.5), 1.0], mechanism, DATA)
    assert epsilons == {1.0: 1.0}
    (reason,) = refused.values()
    assert reason.startswith("no ρ of zCDP is known for it; what has ρ=0.5 is also (5.2")
    assert zcdp_rho(float(reason.partition("also (")[2].partition(",")[0]), 1e-6) == pytest.approx(0.5, rel=1e-3)


def test_a_rho_that_no_epsilon_costs_is_refused() -> None:
    """At a fixed δ noise stays finite as ε falls to zero, and so does its ρ."""
    groups, refused = spend([Rho(1e-14)], chosen("gaussian", bound=3), DATA)
    assert "no ε costs so little" in refused[Rho(1e-14)]
    assert groups[0][1] == {}


def test_before_the_data_is_built_only_a_pure_guarantee_is_converted() -> None:
    assert "when the dataset is built" in spend([Rho(0.5)], chosen("gaussian", bound=3), None)[1][Rho(0.5)]


def test_a_pair_sets_delta_where_there_is_one() -> None:
    groups, refused = spend([EpsilonDelta(0.5, 1e-9), 0.5, EpsilonDelta(1.0, 1e-9)], chosen("gaussian", bound=3), DATA)
    assert not refused
    assert [(variant.params.get("delta"), made.delta, [*epsilons]) for (variant, made), epsilons in groups] == [
        (1e-9, 1e-9, [0.5, 1.0]),
        (None, 1e-6, [0.5]),
    ]
    [((variant, _), epsilons)], _ = spend([EpsilonDelta(0.5, 1e-9)], chosen("lpa", bound=3), DATA)
    assert "delta" not in variant.params
    assert [*epsilons] == [0.5]  # a pure ε holds for every δ


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A class of somebody else's, which knows nothing of budgets."""

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(4)


def test_a_foreign_class_is_left_out_with_a_reason() -> None:
    own = Variant("Plain", "Plain", {}, instance=Plain()), Plain()
    _, refused = spend([Rho(0.5), EpsilonDelta(0.5, 1e-6), 0.5], own, DATA)
    assert refused == {
        Rho(0.5): "no ρ of zCDP is known for it",
        EpsilonDelta(0.5, 1e-6): "it has no parameter `delta`",
    }


def test_from_the_front_door(dpbench: Call, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("who,what\n" + "".join(f"u{i},c{i % 5}\n" for i in range(200)))
    words = "dataset=table", "dataset.table.path=d.csv", "dataset.table.user=who", "dataset.table.item=what"
    words += "mechanism=[lpa,gaussian,clipped_gaussian]", "mechanism.lpa.bound=1", "mechanism.gaussian.bound=1"
    words += "scale=smoke", "trials=2", "tracking=none", "figure=false"
    done = dpbench("run", *words, "epsilon=[rho:0.5]", "name=r")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│ " in line]
    at = {row[1].rstrip("†"): row for row in rows}
    assert "ρ" in done.stdout.splitlines()[2]
    assert "0.5" in at["lpa"]
    assert "1" in at["lpa"]
    assert "4.887" in at["gaussian"]  # analytic_sigma(4.887, 1e-6) is 1
    assert "left out: clipped_gaussian" in done.stderr
    assert "ρ=0.5: no ρ of zCDP is known for it" in done.stderr
    run = Run.load(tmp_path / "results", "r")
    assert "'epsilon=[rho:0.5]'" in own_command(run)
    assert "4 trials computed, 2 found finished" in dpbench("run", *words, "epsilon=[1]", "name=one").stdout
    dry = dpbench("run", *words, "epsilon=[[1,1e-9],rho:0.5]", "dry=true", "name=dry")
    assert dry.returncode == 0, dry.stderr
    assert "delta=1e-09" in dry.stdout
    assert "4.887" in dry.stdout
    wrong = dpbench("run", *words, "epsilon=[rho:0]")
    assert wrong.returncode == 2
    assert "rho=0.0 is not valid: expected a positive number" in wrong.stderr
