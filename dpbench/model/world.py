"""What a world is: one stand-in for a dataset whose original is not here.

Every world of a dataset agrees with all that is printed and published about the original; they differ in what is not known.
Imported by the configuration, which reads worlds from conf/dataset, and by those who judge claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dpbench.model.setting import Params

DEFAULT = "default"
"""The word for a dataset's default world, whatever its name."""
ALL = "all"
"""The word for all worlds of a dataset."""
LABEL = "dataset.world"
"""The column of a frame of trials that names the world; a setting in the default world does not have it."""


@dataclass(frozen=True)
class World:
    """One world of a dataset, as conf/dataset/NAME.yaml describes it."""

    name: str
    says: str
    """What is assumed in it, in a sentence."""
    constrained_by: tuple[str, ...] = ()
    """The numbers that its parameters were chosen to give: ids of claims (`gs/netflix-size`) and published statistics in
    words. A claim that is listed here is true by construction in this world."""
    parameters: Mapping[str, Params] = field(default_factory=dict)
    """What it changes of the generator's parameters, by scale. Empty for the default world."""

    def was_given(self, claim: str) -> bool:
        """Whether this world was made to give the number of a claim, by its id."""
        return claim in self.constrained_by


def default_of(worlds: Iterable[World]) -> str:
    """The name of the world that changes no parameter; empty if there are no worlds."""
    return next((world.name for world in worlds if not world.parameters), "")
