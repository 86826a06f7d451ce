"""The output of a mechanism: what is published and, kept apart, diagnostics for studies only. Read by tasks and audits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpbench.data.base import read_only
from dpbench.data.last_step import LastStep
from dpbench.data.stages import Stage

PRIVATE = MappingProxyType({"private": True})
"""Metadata of a field that is exact and must not be published. It has a default, `repr=False`, and is never pickled."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Base of all releases. A subclass names its published arrays in `numbers` and marks exact fields as `PRIVATE`.

    Private fields exist for studies, in the process that made the release. Copies and pickles do not have them.
    """

    chosen: Mapping[str, float] = field(default_factory=dict)
    """Published parameters, covered by the guarantee like the counts: w, theta, the scale of the noise ..."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict, repr=False, metadata=PRIVATE)
    """Needed by studies, must not be published: sample sizes, predicted errors, the best parameter. No noise
    protects them."""
    last_step: LastStep | None = field(default=None, repr=False, metadata=PRIVATE)
    """Not published: the release before its last noise, and the law of that noise; None if the expected error has no closed
    form."""

    noise: str = "float"
    """How its noise was drawn: "float", for research, or "exact"."""
    randomness: str = "seeded generator"
    """Where the random numbers came from. With a seed they can be drawn again, with "operating system" they cannot."""

    numbers: ClassVar[tuple[str, ...]] = ()
    """The fields that are published as they are. A field may be None if a release does not have it."""

    def parts(self) -> dict[str, NDArray[np.float64]]:
        """Everything published, by name, as flat arrays. Chosen parameters are named `chosen.NAME`."""
        fields = ((name, getattr(self, name)) for name in self.numbers)
        found = {name: _flat(value) for name, value in fields if value is not None}
        return found | {f"chosen.{name}": _flat(value) for name, value in self.chosen.items()}

    def published(self) -> NDArray[np.float64]:
        """Everything published, as one flat array. An audit treats it as the output."""
        return np.concatenate([np.empty(0), *self.parts().values()])

    @classmethod
    def private_fields(cls) -> dict[str, Any]:
        """The names of the fields that must not be published, with their defaults."""
        private = [each for each in fields(cls) if each.metadata.get("private")]
        return {
            each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in private
        }

    def publishable(self) -> Self:
        """The same release with nothing but what may be published."""
        return replace(self, **self.private_fields())

    def _repr_html_(self) -> str:
        """What a notebook shows: only what may be published."""
        from dpbench.data.html import facts_table

        note = f"Noise: {self.noise}, from {self.randomness}."
        return facts_table(type(self).__name__, self.parts().items(), note)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: the fields that may be published, and nothing computed from them."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | self.private_fields()


def _flat(value: Any) -> NDArray[np.float64]:
    """Numbers as they are; text as its character codes, so that no part of a release is ignored."""
    if isinstance(value, str):
        value = [ord(letter) for letter in value]
    return np.asarray(value, dtype=np.float64).ravel()


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """The sample of records that counts were taken from. A diagnostic: its sizes are exact and must not be published."""

    records: int
    """Number of records in the sample."""
    contexts: NDArray[Any] | None = None
    """Number of sampled records per context, if there are contexts."""
    epsilon_1: float | None = None
    """Budget of the item counts, if the edge counts have a separate one."""
    epsilon_2: float | None = None
    """Budget of the edge counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts(Release):
    """One number per column (or item) and, for records, one per item and context (`edges`, items x contexts)."""

    counts: NDArray[np.float64]
    edges: NDArray[np.float64] | None = None
    sample: Sample | None = field(default=None, repr=False, metadata=PRIVATE)
    """Not published: the sample behind the counts, if the whole release is made from one sample."""
    stages: tuple[Stage[NDArray[np.float64]], ...] | None = field(default=None, repr=False, metadata=PRIVATE)
    """Not published: the counts before noise, step by step. () if the only step is noise; None if unknown, and then the
    error cannot be split. For records, the steps of the item counts."""

    numbers = ("counts", "edges")

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(self.counts, dtype=np.float64))
        if self.edges is not None:
            object.__setattr__(self, "edges", read_only(self.edges, dtype=np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class TopK(Release):
    """The answer to "which columns are the largest": `top`, best first. It does not say how large they are."""

    top: NDArray[np.int64]
    columns: int
    """Number of columns to choose from, which is public."""

    numbers = ("top",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "top", read_only(self.top, dtype=np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class History(Release):
    """What one user of a catalogue publishes: category aggregates and, if the mechanism makes one, an item set."""

    user: int
    """Which user: the receiver knows the sender."""
    aggregates: NDArray[np.float64]
    """One number per category; computed from `history` if there is one."""
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
