"""Budgets in other currencies, against closed forms and exact enumeration."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import dpbench as package
from dpbench.cli import main
from dpbench.errors import UserError
from dpbench.numerics.gaussian import analytic_sigma, delta_of
from dpbench.privacy.exchange import composed, epsilon_of_rho, gaussian_epsilon, gaussian_rho, parse_rho, pure_rho

DATA = package.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)


def randomised_response(epsilon: float, releases: int, at: float) -> float:
    """The exact δ at ε' = `at` of k releases of the worst ε-private mechanism, by enumeration of its outcomes."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    total = 0.0
    for heads in range(releases + 1):
        one, other = (p**a * (1 - p) ** b for a, b in ((heads, releases - heads), (releases - heads, heads)))
        total += math.comb(releases, heads) * max(0.0, one - math.exp(at) * other)
    return total


@pytest.mark.parametrize(("epsilon", "releases"), [(0.1, 30), (0.5, 10), (1.0, 2)])
def test_releases_of_a_pure_budget_cost_what_enumeration_says(epsilon: float, releases: int) -> None:
    pytest.importorskip("dp_accounting")
    together, delta = composed(epsilon, 0.0, releases)
    assert delta == 1e-6
    assert together <= releases * epsilon
    assert randomised_response(epsilon, releases, together) <= delta * (1 + 1e-6)  # it is a valid budget
    if together < 0.99 * releases * epsilon:  # and nearly the smallest one: cells are 1e-4 wide, and k of them add up
        assert randomised_response(epsilon, releases, together - releases * 2e-4) > delta


def test_gaussian_releases_are_one_with_less_noise() -> None:
    assert gaussian_epsilon(analytic_sigma(0.7, 1e-6), 1e-6) == pytest.approx(0.7, rel=1e-9)
    together, delta = composed(0.5, 1e-6, 16, gaussian=True)
    assert delta == 32e-6
    assert delta_of(together, analytic_sigma(0.5, 1e-6) / 4) == pytest.approx(delta, rel=1e-6)
    assert composed(0.5, 1e-6, 1) == (0.5, 1e-6)


def test_rho() -> None:
    assert [parse_rho(text) for text in ("rho=0.1", "rho 0.1", {"rho": 0.1}, "ln2", 0.1)] == [0.1, 0.1, 0.1, None, None]
    assert epsilon_of_rho(0.125, pure_rho) == pytest.approx(0.5)
    assert gaussian_rho(0.7, 1e-6) == pytest.approx(1 / (2 * analytic_sigma(0.7, 1e-6) ** 2))
    with pytest.raises(UserError, match=r"rho=-1\.0 is not valid"):
        parse_rho("rho=-1")


@pytest.mark.parametrize("name", ["gaussian", "discrete_gaussian"])
def test_a_rho_that_delta_alone_exceeds_is_refused(name: str) -> None:
    """At δ = 0.01 the loss of no ε is below ρ = 1e-4; at 1e-6 there is one, and it is spent."""
    with pytest.raises(UserError, match=r"rho=0\.0001 is too small: .* its δ costs at least ρ=0\.000"):
        package.mechanism(name, bound=3, delta=0.01).release(DATA, epsilon="rho=1e-4", rng=7)
    sigma = package.mechanism(name, bound=3).release(DATA, epsilon="rho=1e-4", rng=7).chosen["sigma"]
    assert 3 / (2 * sigma**2) == pytest.approx(1e-4, rel=1e-6)


def test_a_release_takes_all_three_currencies() -> None:
    lpa, gaussian = package.mechanism("lpa", bound=3), package.mechanism("gaussian", bound=3)
    assert lpa.release(DATA, epsilon="rho=0.125", rng=7).chosen["scale"] == pytest.approx(3 / 0.5)
    assert lpa.release(DATA, epsilon=(0.5, 1e-9), rng=7).chosen["scale"] == pytest.approx(3 / 0.5)
    # ρ = Δ²/2σ² of Gaussian noise with Δ = √3
    assert gaussian.release(DATA, epsilon="rho=0.125", rng=7).chosen["sigma"] == pytest.approx(math.sqrt(3) / 0.5)
    pair = gaussian.release(DATA, epsilon=(0.5, 0.01), rng=7)
    assert pair.chosen["sigma"] == pytest.approx(math.sqrt(3) * analytic_sigma(0.5, 0.01))
    with pytest.raises(UserError, match=r"no ρ of zCDP is known for it: give \(ε, δ\)"):
        package.mechanism("clipped_gaussian", bound=3).release(DATA, epsilon="rho=0.1", rng=7)
    with pytest.raises(UserError, match="expected a number, "):
        lpa.release(DATA, epsilon=(0.5, 1e-6, 3), rng=7)


def test_gaussian_rho_of_records_counts_both_releases() -> None:
    """Items and edges get half of (ε, δ) each, and their ρ adds up."""
    data = package.Records.from_rows([[(0, 0), (1, 1)], [(1, 0)]], items=2, contexts=2)
    gaussian = package.mechanism("gaussian", bound=3)
    assert gaussian.zcdp(data, 1.0) == pytest.approx(2 * gaussian_rho(0.5, 5e-7))


def test_the_table_shows_what_several_releases_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has loaded dp_accounting: that takes seconds."""
    pytest.importorskip("dp_accounting")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    words = ["dataset=trajectory", "mechanism=[lpa,gaussian]", "mechanism.gaussian.bound=60", "epsilon=1", "trials=2"]
    assert main(["run", *words, "releases=12", "scale=smoke", "tracking=none", "figure=false"]) == 0
    told = capsys.readouterr().out
    assert "ε of 12 releases" in told
    row = next(line for line in told.splitlines() if "│ gaussian " in line)
    assert f"{composed(1.0, 1e-6, 12, gaussian=True)[0]:.4g} (δ = 2.4e-05)" in row
    assert "(δ" not in next(line for line in told.splitlines() if "lpa†" in line)  # it is not private


def test_without_dp_accounting_nothing_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    composed.cache_clear()
    words = [
        "dataset=trajectory",
        "mechanism=[lpa]",
        "mechanism.lpa.bound=60",
        "epsilon=1.25",
        "trials=2",
        "releases=7",
    ]
    assert main(["run", *words, "scale=smoke", "tracking=none", "figure=false"]) == 2
    assert "pip install 'dpbench-repro[accounting]'" in capsys.readouterr().err
    assert not (tmp_path / "results" / "trials").exists()
