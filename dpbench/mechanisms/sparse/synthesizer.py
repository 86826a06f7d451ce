"""The synthetic data that sparse compares with: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber, "Privacy: Theory meets
Practice on the Map", ICDE 2008."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench.data import Contingency, Data
from dpbench.data.summary import Entries
from dpbench.errors import UserError
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.sparse import _synthesis as synthesis
from dpbench.privacy import Noise

MOVED = "move one individual to another cell of the same first attribute, whose totals are public"


@dataclass(frozen=True, kw_only=True)
class Synthesizer(Mechanism, name="synthesizer"):
    """Synthetic individuals drawn from a Dirichlet posterior of each workplace's homes.

    A group consists of the cells that share the first attribute (all cells if there is one attribute). Its cells get a prior
    count α each; p ~ Dirichlet(n + α); as many individuals as the group has are drawn from p. α is the smallest value for which
    an individual's own cell reveals it with probability at most δ.
    """

    delta: float = 1e-5
    """δ, the probability of an output that reveals more than ε."""

    paper, place, kinds = "sparse", "comparison with Machanavajjhala et al.", ("contingency",)
    privacy = "(ε, δ)"
    neighbours = MOVED
    reconstructed = "all: the text only names the method; prior from the beta-binomial tail, groups by first attribute"
    label, look = "Synthesizer", 6
    audited = ({}, {"delta": 0.01})

    def __post_init__(self) -> None:
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise UserError(f"delta={self.delta!r} is not valid: expected a number between 0 and 1")

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        return "" if data.nonzeros else "the table is empty, so there is nothing to imitate"  # type: ignore[attr-defined]

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Entries:
        width = data.size if len(data.shape) == 1 else data.size // data.shape[0]
        largest = int(synthesis.groups(data.cells, data.counts, width)[-1].max())  # the groups' totals are public
        key = ("prior", epsilon, self.delta)
        prior = data.memo(key, lambda: synthesis.prior_for(epsilon, self.delta, largest, width))
        places, counts = noise.draw(synthesis.Posterior(data.cells, data.counts, width, prior))
        chosen = {"prior": prior, "entries": places.size}
        return Entries(size=data.size, shape=data.shape, cells=places, weights=counts, chosen=chosen)
