"""The random generator with which a dataset is built. Imported by the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpbench import identity
from dpbench.numerics import keyed


def data_stream(described: Mapping[str, Any]) -> np.random.Generator:
    """Keyed by the data seed, the word "data", and what else determines the data: the source and its parameters.

    `described` comes from the cache's `describe`. Two datasets with the same seed share no random numbers, and neither do
    data and queries.
    """
    name = identity.digest([described["source"], described["params"]])
    return keyed.stream(described["seed"], "data", name)
