"""What the (ε, δ) baselines share: δ, and Gaussian noise calibrated to it. Imported by mechanisms of this folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from dpbench.data import ColumnData, Counts
from dpbench.errors import UserError, positive
from dpbench.mechanisms.base import Bounded
from dpbench.numerics.gaussian import analytic_sigma, discrete_sigma
from dpbench.privacy import Noise
from dpbench.privacy.exchange import gaussian_rho


def check_delta(delta: float) -> None:
    """Raise unless δ is a probability between 0 and 1."""
    positive("delta", delta)
    if delta >= 1:
        raise UserError(f"delta={delta!r} is not valid: expected a number between 0 and 1, both excluded")


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Bounded):
    """A mechanism with Gaussian noise, calibrated exactly (Balle and Wang, 2018). Not a mechanism itself.

    Item and edge counts of records get half of δ each, as they get half of ε each.
    """

    privacy = "(ε, δ)"
    only_gaussian = True

    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta)

    def unit_sigma(self, columns: ColumnData, epsilon: float, form: str = "float") -> float:
        """σ₁, the standard deviation that (ε, δ) requires at L2 sensitivity 1, for a form of noise (float or exact)."""
        calibrate = discrete_sigma if form == "exact" else analytic_sigma
        key = (calibrate.__name__, epsilon, self.delta)
        return columns.memo(key, lambda: calibrate(epsilon, self.delta))

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return super(GaussianNoise, self._of_each(data)).publish(data, epsilon, noise)

    def expected_error(self, data: Any, epsilon: float) -> float:
        return super(GaussianNoise, self._of_each(data)).expected_error(data, epsilon)

    def zcdp(self, data: Any, epsilon: float) -> float:
        """That of the noise, which is calibrated to (ε, δ): much less than that of a pure ε."""
        if not self.only_gaussian:
            return super().zcdp(data, epsilon)
        each = self._of_each(data)
        parts = 1 if each is self else 2
        return parts * gaussian_rho(epsilon / parts, each.delta)

    def _of_each(self, data: Any) -> Self:
        """The mechanism for one of the sets of counts of the data, with its part of δ."""
        return self if data.edge_columns() is None else replace(self, delta=self.delta / 2)
