"""Personal perturbation: one user's item set, published by its category aggregates (epicrec: S-DPDP and S-PBQ).

Only a page and a half of the paper is available to us. The items' categories are public; the user's set of items is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Catalogue, History
from dpbench.data.last_step import after, laplace_law
from dpbench.errors import UserError, one_of, positive
from dpbench.mechanisms.base import Choices, Mechanism, parse_epsilon
from dpbench.mechanisms.epicrec._calibration import box_least_squares, least_noise, solved_once
from dpbench.mechanisms.epicrec._classes import ItemClasses
from dpbench.privacy import Noise

ITEM = "add or remove one item of the user"


@dataclass(frozen=True, kw_only=True)
class Personal(Mechanism):
    """What these mechanisms share: whose item set is published, and the plain noise. Not a mechanism itself."""

    paper = "epicrec"
    kinds = ("catalogue",)
    neighbours = ITEM

    user: int | None = None
    """Whose items. None: a uniformly random user at every release, so that trials average over users."""

    def __post_init__(self) -> None:
        if self.user is not None and (not isinstance(self.user, int) or self.user < 0):
            raise UserError(f"user={self.user!r} is not valid: expected a whole number from 0")

    def unfit(self, data: Any) -> str:
        if reason := super().unfit(data):
            return reason
        if (self.user or 0) >= data.users:
            return f"user={self.user} of a catalogue with {data.users} users" if data.users else "has no user's items"
        return ""

    def pick(self, data: Catalogue, noise: Noise) -> int:
        return int(noise.stream("user").integers(data.users)) if self.user is None else self.user

    @staticmethod
    def plain(data: Catalogue, epsilon: float) -> np.ndarray:
        """The same noise for every category: the most categories of one item, over ε (Theorem 1)."""
        return np.full(data.categories, max(1, data.widest_item) / epsilon)


@dataclass(frozen=True, kw_only=True)
class LaplaceCategories(Personal, name="laplace_categories"):
    """The plain baseline: each category aggregate plus Lap(Δ/ε), Δ the most categories of one item (Theorem 1)."""

    place = "Theorem 1"
    label, look = "Laplace", 1
    audited = ({}, {"user": 0})

    def publish(self, data: Catalogue, epsilon: float, noise: Noise) -> History:
        user, z = self.pick(data, noise), self.plain(data, epsilon)
        noisy = noise.laplace(data.aggregates[user], scale=z)
        last = after(laplace_law(float(z[0])))  # all categories have the same scale
        return History(user=user, aggregates=noisy, z=z, chosen={"noise": float(z.mean())}, last_step=last)

    def expected_error(self, data: Catalogue, epsilon: float) -> float:
        """Expected mean absolute error: exactly Δ/ε."""
        return float(self.plain(data, epsilon).mean())


@dataclass(frozen=True, kw_only=True)
class SDPDP(Personal, name="s_dpdp"):
    """S-DPDP: noise calibrated category by category, then an item set whose aggregates come nearest to the noisy ones.

    Of the relaxed problem's many solutions we take one with at most c fractional entries: random rounding then adds
    least. The paper's bound on the error, 2|z|₁/c, counts no rounding; it fails where ε is so large that z is smaller.
    """

    place = "Section 4.3, Algorithm 1"
    reconstructed = "which of the equally good relaxed solutions is rounded"
    label, look = "S-DPDP", 0
    audited: ClassVar[Choices] = (
        {},
        {"user": 0, "calibrated": False},
        {"relaxation": "nonnegative"},
        {"rounding": "even"},
    )

    calibrated: bool = True
    """Phase 1 as the paper has it; False: plain noise (the same for every category) and phase 2 only."""
    relaxation: str = "box"
    """What phase 2 solves: "box": entries between 0 and 1, as program (4.5) relaxed; "nonnegative": entries of 0 or more,
    which the text calls equivalent, cut to 1 when they are rounded."""
    rounding: str = "few"
    """Which of the equally good relaxed solutions is rounded: "few": one with at most c fractional entries; "even": items with
    the same categories share their total evenly, and each is rounded by itself."""
    solve_once: bool = True
    """Solve the convex program once per catalogue and scale it by 1/ε; False: solve it at every release, to measure the time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("relaxation", self.relaxation, ("box", "nonnegative"))
        one_of("rounding", self.rounding, ("few", "even"))

    def calibrate(self, catalogue: Catalogue, epsilon: float) -> np.ndarray:
        """z, the noise magnitude of each category: program (4.4), which scales as 1/ε."""
        epsilon = parse_epsilon(epsilon)
        if not self.calibrated:
            return self.plain(catalogue, epsilon)
        if not self.solve_once:
            return least_noise(ItemClasses(catalogue).rows) / epsilon
        return catalogue.memo("least_noise", lambda: solved_once(least_noise, ItemClasses.of(catalogue).rows)) / epsilon

    def publish(self, data: Catalogue, epsilon: float, noise: Noise) -> History:
        user = self.pick(data, noise)
        # Phase 1: noise calibration
        z = self.calibrate(data, epsilon)
        noisy = noise.laplace(data.aggregates[user], scale=z)  # NA(j) = Σ_i c_ij d_r(i) + Lap(z(j))
        # Phase 2: data sanitisation
        classes = ItemClasses.of(data)
        box = self.relaxation == "box"
        relaxed = box_least_squares(classes.rows, noisy, classes.sizes if box else np.full(classes.sizes.size, np.inf))
        if self.rounding == "even":
            history = classes.round_evenly(relaxed, noise.stream("rounding"))
        else:  # a vertex without upper bounds puts a class's total on one item, of which at most 1 is left
            history = classes.round(relaxed if box else np.minimum(relaxed, 1.0), noise.stream("rounding"))
        chosen = {"noise": float(z.mean()), "items": history.size}
        return History(
            user=user, history=history, aggregates=data.aggregate(history).astype(np.float64), z=z, chosen=chosen
        )

    def error_bound(self, catalogue: Catalogue, epsilon: float) -> float:
        """Theorem 3's bound of the expected mean absolute error: 2|z|₁/c."""
        return 2.0 * float(self.calibrate(catalogue, epsilon).mean())


@dataclass(frozen=True, kw_only=True)
class SPBQ(SDPDP, name="s_pbq"):
    """S-PBQ: the smallest budget beyond which the utility loss no longer decreases noticeably, then S-DPDP with it.

    The expected loss at a budget e is the mean noise |z|₁/(c e), with z solved once at 1. The choice looks at the
    public catalogue only. The ε given to `release` is the most that may be spent; `chosen` has the ε that was spent.
    """

    place = "Section 4.4"
    reconstructed = "the grid of budgets, the tolerance, and the expected noise as utility loss"
    label, look = "S-PBQ", 2
    audited = ({}, {"step": 0.5, "tolerance": 5.0})

    step: float = 0.1
    """Step of the grid of budgets, and its first value."""
    tolerance: float = 0.1
    """A step that lowers the expected mean absolute error by less is not worth its privacy."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("step", self.step)
        positive("tolerance", self.tolerance)

    def choose(self, catalogue: Catalogue) -> float:
        """The smallest e of step, 2 step, ... with loss(e) - loss(e + step) < tolerance."""
        loss = float(self.calibrate(catalogue, 1.0).mean())
        # loss(k s) - loss((k+1) s) = loss / (s k (k+1)): start below its root and go up to the first that fits.
        k = max(1, math.floor((math.sqrt(1 + 4 * loss / (self.step * self.tolerance)) - 1) / 2) - 1)
        while loss / (self.step * k * (k + 1)) >= self.tolerance:
            k += 1
        return k * self.step

    def publish(self, data: Catalogue, epsilon: float, noise: Noise) -> History:
        spent = min(epsilon, self.choose(data))
        release = super().publish(data, spent, noise)
        return replace(release, chosen={**release.chosen, "epsilon": spent})
