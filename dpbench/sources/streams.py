"""The generator that a dataset is built with. Imported by the cache and, so that it counts as their code, by the sources."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dpbench import fingerprints
from dpbench.numerics import keyed


class Described(Protocol):
    """A dataset before it is built (`DatasetSpec`)."""

    @property
    def seed(self) -> int: ...

    def describe(self) -> dict[str, Any]:
        """What decides the data: `source`, `params` and the seed."""
        ...


def data_stream(spec: Described) -> np.random.Generator:
    """Keyed by the data seed, the word "data", and what decides the data besides: the source and its parameters.

    So two datasets of one seed share no random numbers, and neither do data and queries.
    """
    described = spec.describe()
    return keyed.stream(spec.seed, "data", fingerprints.digest([described["source"], described["params"]]))
