"""What a mechanism gives out: what is published, and apart from it what only a study may see. Tasks and audits read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import read_only
from dpbench.data.stages import Stage


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Base of all releases. A subclass names its published arrays in `numbers`."""

    chosen: Mapping[str, float] = field(default_factory=dict)
    """Published parameters, covered by the guarantee as the counts are: w, theta, the scale of the noise ..."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """What a study needs and nobody may publish: sizes of samples, predicted errors, the best parameter. No noise
    protects these."""

    noise: str = "float"
    """How its noise was drawn: "float", for research, or "exact"."""
    randomness: str = "seeded generator"
    """Where the random numbers came from: who knows the seed can draw them again; not so of the "operating system"."""

    numbers: ClassVar[tuple[str, ...]] = ()
    """The fields that are published as they are, None where this release has none."""

    def parts(self) -> dict[str, NDArray[np.float64]]:
        """All that is published, by name, as flat numbers; `chosen` parameters under `chosen.NAME`."""
        fields = ((name, getattr(self, name)) for name in self.numbers)
        found = {name: _flat(value) for name, value in fields if value is not None}
        return found | {f"chosen.{name}": _flat(value) for name, value in self.chosen.items()}

    def published(self) -> NDArray[np.float64]:
        """All that is published, as one flat array: what an audit takes for the output."""
        return np.concatenate([np.empty(0), *self.parts().values()])


def _flat(value: Any) -> NDArray[np.float64]:
    """Numbers as they are; a word by its letters, so that no part of a release is passed over."""
    if isinstance(value, str):
        value = [ord(letter) for letter in value]
    return np.asarray(value, dtype=np.float64).ravel()


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """The sample of records that counts were taken from. A diagnostic: its sizes are exact, nobody may publish them."""

    records: int
    """How many records are in it."""
    contexts: NDArray[Any] | None = None
    """How many of them have each context, where there are contexts."""
    epsilon_1: float | None = None
    """Budget of the item counts, where the edge counts have another one."""
    epsilon_2: float | None = None
    """Budget of the edge counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts(Release):
    """One number for each column (or item) and, for records, for each item and context (`edges`, items x contexts)."""

    counts: NDArray[np.float64]
    edges: NDArray[np.float64] | None = None
    sample: Sample | None = None
    """Not published: the sample they were taken from, where the whole release is made from one."""
    stages: tuple[Stage[NDArray[np.float64]], ...] | None = field(default=None, repr=False)
    """Not published: how the counts came about before noise, step by step; () where noise is all there is. None: not told,
    and the error has no split. Of records, those of the item counts."""

    numbers = ("counts", "edges")

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(self.counts, dtype=np.float64))
        if self.edges is not None:
            object.__setattr__(self, "edges", read_only(self.edges, dtype=np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class TopK(Release):
    """An answer to "which columns are the largest" alone: `top`, best first. It says nothing about how large they are."""

    top: NDArray[np.int64]
    columns: int
    """How many columns there were to choose from, which is public."""

    numbers = ("top",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "top", read_only(self.top, dtype=np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class History(Release):
    """What one user of a catalogue gives out: category aggregates and, if the mechanism makes one, an item set."""

    user: int
    """Who: the receiver knows the sender."""
    aggregates: NDArray[np.float64]
    """One number for each category; those of `history` where there is one."""
    history: NDArray[np.integer[Any]] | None = None
    """d_p, the perturbed item set, ascending."""
    z: NDArray[np.float64] | None = None
    """The magnitude of the noise of each category. It follows from the public catalogue and epsilon."""

    numbers = ("aggregates", "history", "z")

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", read_only(self.aggregates, dtype=np.float64))
        for name in ("history", "z"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
