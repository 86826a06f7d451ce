"""The synthetic data that sparse compares with: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber, "Privacy: Theory meets
Practice on the Map", ICDE 2008."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.sparse import _synthesis as synthesis
from dpbench.numerics.places import absent, merge


@dataclass(frozen=True, kw_only=True)
class Synthesizer(Mechanism, name="synthesizer"):
    """Synthetic individuals drawn from a Dirichlet posterior of each workplace's homes.

    A group are the cells that share the first attribute (all cells, when there is one attribute). Its cells get a prior
    count α each; p ~ Dirichlet(n + α); as many individuals as the group has are drawn from p. α is the least for which
    an individual's own cell betrays it with probability δ at most.
    """

    delta: float = 1e-5
    """δ, the chance of an output that tells more than ε."""

    paper, place, kinds = "sparse", "comparison with Machanavajjhala et al.", ("contingency",)
    privacy = "(ε, δ)"
    neighbours = "move one individual to another cell of the same first attribute, whose totals are public"
    reconstructed = "all: the text only names the method; prior from the beta-binomial tail, groups by first attribute"

    def __post_init__(self) -> None:
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise UserError(f"delta={self.delta!r} is not valid: expected a number between 0 and 1")

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        return "" if data.nonzeros else "there is nobody in the table to imitate"  # type: ignore[attr-defined]

    def publish(self, data: Contingency, epsilon: float, rng: np.random.Generator) -> Entries:
        width = data.size if len(data.shape) == 1 else data.size // data.shape[0]
        group = data.cells // width
        first = np.flatnonzero(np.diff(group, prepend=-1))
        last = np.append(first[1:], data.nonzeros)
        people = data.running[last] - data.running[first]
        empty = width - (last - first)  # zero cells of each group
        largest = int(people.max())
        prior = data.memo(
            ("prior", epsilon, self.delta), lambda: synthesis.prior_for(epsilon, self.delta, largest, width)
        )

        # p ~ Dirichlet(n + α), a Gamma a cell; the zero cells of a group are one place, after its other cells.
        slot = np.arange(first.size)
        mass = np.insert(rng.gamma(data.counts + prior), last, _gamma(prior * empty, rng))
        drawn = synthesis.split(people, first + slot, last + slot + 1, mass, rng)
        zero_slots = last + slot
        kept = np.delete(drawn, zero_slots)

        # Those in zero cells fall on all of their group alike, before anything is known of p there.
        ranks, numbers = synthesis.scatter(drawn[zero_slots], group[first] * width - first, empty, prior, rng)
        places, counts = merge(data.cells[kept > 0], kept[kept > 0], absent(data.cells, ranks), numbers)
        return Entries(size=data.size, cells=places, weights=counts, info={"prior": prior, "entries": places.size})


def _gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gamma draws that allow a shape of zero (a group without zero cells)."""
    return np.where(shape > 0, rng.gamma(np.maximum(shape, 1e-300)), 0.0)
