"""The contract of a source: a frozen dataclass that builds one dataset, the same from the same parameters and seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Data
from dpbench.registry import Registry

SOURCES: Registry[type[Source]] = Registry("source", "dpbench.sources", method="build")


class SkippedLines(UserWarning):
    """Bad lines were skipped because of `on_bad_line=skip`. The message says how many and names the first.

    Issued by `build`. The cache stores the warning with the data and repeats it on every use.
    """


@dataclass(frozen=True, kw_only=True)
class Source:
    """Base of generators and readers. Fields are parameters; `build` makes the data in memory, the cache stores it.

    The content of files that `build` opens, or that parameters name, is recorded: when it changes, the
    dataset is built again. A class may list its files explicitly with a method `files()` that returns their paths.
    """

    name: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    """Data kinds it can build."""
    untold: ClassVar[tuple[str, ...]] = ("path", "kind")
    """Parameters that say where the data is, not what it is. Tables of results do not show them."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name
            SOURCES.add(name, cls)

    def build(self, rng: np.random.Generator) -> Data:
        """The dataset. Generators take all randomness from `rng` (the data seed); readers ignore it."""
        raise NotImplementedError
