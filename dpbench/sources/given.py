"""`Given`: a data object that a program passed to `dpbench.run`. It is stored in the cache under its content.

Found through the registry of sources. It imports the data kinds, so their code is part of the identity of the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data import Catalogue, Contingency, Data, Incidence, Records
from dpbench.errors import UserError
from dpbench.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class Given(Source, name="given"):
    """A program's data object. It cannot be rebuilt: a worker needs the cache of the machine that stored it."""

    content: str
    """The fingerprint of the data."""

    kinds: ClassVar[tuple[str, ...]] = tuple(kind.kind for kind in (Incidence, Records, Contingency, Catalogue))
    untold: ClassVar[tuple[str, ...]] = ("content",)

    def build(self, rng: np.random.Generator) -> Data:
        raise UserError(
            f"the data object {self.content[:12]} is not in the cache of this machine: workers elsewhere need a shared "
            "DPBENCH_CACHE, or a file that all of them can read"
        )
