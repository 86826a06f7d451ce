"""AIM and MST, the mechanisms of Private-PGM, on tables of two attributes: noisy marginals, and the table that fits them best.

The package mbi is Private-PGM's inference without its mechanisms, and needs jax. So both are written here from their papers,
and the table is computed (_fitting.py), not descended to. Imports data, numerics, privacy and the base of mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Contingency, Data
from dpbench.data.stages import Stage
from dpbench.data.summary import Dense
from dpbench.errors import UserError, positive
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.peers import _fitting as fitting
from dpbench.mechanisms.tables import INDIVIDUAL
from dpbench.numerics.arrays import Floats
from dpbench.numerics.gaussian import zcdp_rho
from dpbench.privacy import Noise
from dpbench.privacy.exchange import gaussian_rho

Whole = NDArray[np.int64]

MEAN_NOISE = math.sqrt(2 / math.pi)
"""E|N(0, 1)|."""
SUPPORTED = 3
"""MST keeps the values of an attribute whose noisy count is at least so many standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Marginals(Mechanism):
    """A mechanism that measures marginals of a table of two attributes with Gaussian noise. Not a mechanism itself."""

    delta: float = 1e-6
    """δ: the probability that the noise reveals more than ε."""

    kinds, privacy, neighbours = ("contingency",), "(ε, δ)", INDIVIDUAL
    fits = 2**20
    """Most cells of the table: all are written out, several times."""

    def __post_init__(self) -> None:
        positive("delta", self.delta)
        if self.delta >= 1:
            raise UserError(f"delta={self.delta!r} is not valid: expected a number between 0 and 1, both excluded")

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        assert isinstance(data, Contingency)
        if len(data.shape) != 2:
            return f"takes tables of two attributes, not of {len(data.shape)}"
        if data.size > self.fits:
            return f"publishes all {data.size:,} cells of the domain, and at most {self.fits:,} fit"
        return ""

    def zcdp(self, data: Any, epsilon: float) -> float:
        """ρ, the budget that the steps share: the papers' conversion of (ε, δ), in its tightest form."""
        return data.memo(("zcdp_rho", epsilon, self.delta), lambda: zcdp_rho(epsilon, self.delta))


@dataclass(frozen=True, kw_only=True)
class AIM(Marginals, name="aim"):
    """The adaptive and iterative mechanism: measures the marginal that the table fits worst, fits again, and repeats.

    McKenna, Mullins, Sheldon, Miklau: AIM: An Adaptive and Iterative Mechanism for Differentially Private Synthetic Data,
    PVLDB 15(11), 2022. The workload is the table itself, so its cells weigh twice as much as the sums of its rows or columns.
    Each round spends a part of ρ on choosing a marginal by the exponential mechanism, and the rest on measuring it. When a
    measurement has hardly moved the table, the next rounds get more of the budget. The fitted table is published, and no
    synthetic records are drawn from it.
    """

    rounds: int = 32
    """T: the most rounds that the budget is made for, 16 per attribute in the paper."""
    share: float = 0.9
    """α: the part of the budget of a round that is spent on measuring."""

    paper = "McKenna, Mullins, Sheldon, Miklau: AIM: An Adaptive and Iterative Mechanism, PVLDB 2022"
    place = "Algorithm 4, for two attributes and at most 2^20 cells"
    reconstructed = (
        "measurements weigh 1/σ², as their likelihood says; the fitted table is published, not records drawn from it"
    )
    label, look = "AIM", 18
    audited = ({}, {"rounds": 4, "share": 0.5}, {"delta": 0.01})

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("rounds", self.rounds, whole=True)
        positive("share", self.share)
        if self.rounds < 2:
            raise UserError(f"rounds={self.rounds} is not valid: expected at least 2, one for each attribute")
        if self.share >= 1:
            raise UserError(f"share={self.share!r} is not valid: expected a number between 0 and 1, both excluded")

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        exact, fitted = _marginals(_table(data)), _Fitted()
        rho = left = self.zcdp(data, epsilon)
        sigma, chance = self.split(rho / self.rounds)
        for name in ("rows", "columns"):
            fitted.measure(name, noise.gaussian(exact[name], sigma=sigma, step=name), sigma)
            left -= 1 / (2 * sigma**2)
        rounds = 0
        while left > 0:
            cost = 1 / (2 * sigma**2) + chance**2 / 8
            if left <= 2 * cost:  # the last round takes what is left
                (sigma, chance), cost = self.split(left), left
            left -= cost
            # The marginal that is farthest from the table, beyond what noise would add: an individual moves a score by 2.
            by_noise = {name: MEAN_NOISE * sigma * exact[name].size for name in WEIGHTS}
            scores = [w * (np.abs(exact[name] - fitted[name]).sum() - by_noise[name]) for name, w in WEIGHTS.items()]
            chosen = noise.choose(scores, epsilon=chance, sensitivity=2.0, monotone=False, step="choice")
            name = [*WEIGHTS][chosen]
            before = fitted[name]
            fitted.measure(name, noise.gaussian(exact[name], sigma=sigma, step=name), sigma)
            if np.abs(fitted[name] - before).sum() <= by_noise[name]:
                sigma, chance = sigma / 2, 2 * chance
            rounds += 1
        chosen_too = {"rounds": rounds, "cells": float("cells" in fitted.known), "entries": data.size}
        return _release(data, fitted["cells"], chosen_too, partial(_without_noise, exact, "cells" in fitted.known))

    def split(self, rho: float) -> tuple[float, float]:
        """σ of the measurement and ε of the choice, for one round that costs ρ."""
        return 1 / math.sqrt(2 * self.share * rho), math.sqrt(8 * (1 - self.share) * rho)


WEIGHTS = {"rows": 1, "columns": 1, "cells": 2}
"""The marginals of a table, and how many attributes of the workload, the table, each has."""


class _Fitted:
    """All measurements so far, and the table that fits them."""

    def __init__(self) -> None:
        self.known: dict[str, fitting.NoisyMarginal] = {}
        self._marginals: dict[str, Floats] | None = None

    def measure(self, name: str, noisy: Floats, sigma: float) -> None:
        old = self.known.get(name)
        self.known[name] = old.and_also(noisy, sigma) if old else fitting.measured(noisy, sigma)
        self._marginals = None

    def __getitem__(self, name: str) -> Floats:
        if self._marginals is None:
            self._marginals = _marginals(fitting.fit(**self.known))
        return self._marginals[name]


@dataclass(frozen=True, kw_only=True)
class MST(Marginals, name="mst"):
    """The maximum spanning tree: measures each attribute, puts rare values together, then measures the pairs of a tree.

    McKenna, Miklau, Sheldon: Winning the NIST Contest: A Scalable and General Approach to Differentially Private Synthetic
    Data, Journal of Privacy and Confidentiality 11(3), 2021. Two attributes have one tree, of one edge: nothing is chosen, and
    the third of the budget for the choice goes to the measurements. The fitted table is published, and no synthetic records
    are drawn from it; the values that were put together share their counts evenly.
    """

    paper = "McKenna, Miklau, Sheldon: Winning the NIST Contest, Journal of Privacy and Confidentiality 2021"
    place = "MST, for two attributes and at most 2^20 cells"
    reconstructed = (
        "half of the budget for the attributes, half for their pair, as there is one tree only; the fitted table is "
        "published, not records drawn from it"
    )
    only_gaussian = True
    label, look = "MST", 19
    audited = ({}, {"delta": 0.01})

    def zcdp(self, data: Any, epsilon: float) -> float:
        """ρ of Gaussian noise that is calibrated exactly, as without a choice there is no other step."""
        return data.memo(("gaussian_rho", epsilon, self.delta), lambda: gaussian_rho(epsilon, self.delta))

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        # The δ of discrete noise is known from its zCDP only.
        rho = self.zcdp(data, epsilon) if noise.form == "float" else super().zcdp(data, epsilon)
        table = _table(data)
        exact = _marginals(table)
        sigma = math.sqrt(2 / rho)  # ρ/2 for two measurements
        sums, groups = {}, {}
        for name in ("rows", "columns"):
            noisy = noise.gaussian(exact[name], sigma=sigma, step=name)
            groups[name] = _groups(noisy >= SUPPORTED * sigma)
            sums[name] = fitting.measured(noisy, sigma).merged(groups[name])
        rows, columns = groups.values()
        sigma = math.sqrt(1 / rho)  # ρ/2 for one
        cells = fitting.measured(noise.gaussian(_merged(table, rows, columns), sigma=sigma, step="cells"), sigma)
        fitted = _spread(fitting.fit(**sums, cells=cells), rows, columns)
        chosen = {"rows": int(rows.max()) + 1, "columns": int(columns.max()) + 1, "entries": data.size}
        return _release(data, fitted, chosen, lambda: _spread(_merged(table, rows, columns), rows, columns))


def _groups(kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """A number for each value that is kept, and one more for all others."""
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def _merged(table: Whole, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Whole:
    """The sums over groups of rows and of columns."""
    merged = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
    np.add.at(merged, (rows[:, None], columns), table)
    return merged


def _spread(table: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Every cell with its even part of the group that it is in."""
    even = table / np.outer(np.bincount(rows), np.bincount(columns))
    return np.asarray(even[rows[:, None], columns])


def _table(data: Contingency) -> Whole:
    full = np.zeros(data.size, dtype=np.int64)
    full[data.cells] = data.counts
    return full.reshape(data.shape)


def _marginals(table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {"rows": table.sum(axis=1), "columns": table.sum(axis=0), "cells": table}


def _without_noise(exact: dict[str, Whole], cells: bool) -> Floats:
    """The table itself, if its cells were measured; otherwise the product of the sums of its rows and columns."""
    if cells:
        return exact["cells"].astype(np.float64)
    return np.outer(exact["rows"], exact["columns"] / max(1, exact["rows"].sum()))


def _release(data: Contingency, table: Floats, chosen: Mapping[str, float], true: Callable[[], Floats]) -> Dense:
    release = Dense(size=data.size, shape=data.shape, weights=table.ravel(), chosen=chosen)
    return replace(release, stages=(Stage("grouping", lambda: replace(release, weights=true().ravel())),))
