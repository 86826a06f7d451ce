"""A user's own file, for tests of the command line: a dataset and mechanisms that work, raise, die or are slow."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpbench import Bounded, Counts, Incidence, Mechanism, Noise, Source


@dataclass(frozen=True, kw_only=True)
class Small(Source):
    rows: int = 60
    columns: int = 25

    def build(self, rng: np.random.Generator) -> Incidence:
        rows = [rng.choice(self.columns, rng.integers(1, 12), replace=False) for _ in range(self.rows)]
        return Incidence.from_rows(rows, columns=self.columns)


@dataclass(frozen=True, kw_only=True)
class Noisy(Mechanism):
    """Twice the noise of LPA."""

    factor: float = 2.0

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        scale = self.factor * data.largest_row / epsilon
        return Counts(counts=noise.laplace(data.counts, scale=scale), chosen={"scale": scale})


@dataclass(frozen=True, kw_only=True)
class Flaky(Noisy):
    """Raises in about a fifth of its trials, until there is a file `mended` in the current folder.

    A parameter with that folder would enter the key, and the seed would differ from test run to test run.
    """

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        unlucky = noise.stream("luck").random() < 0.2
        if unlucky and not Path("mended").exists():
            raise RuntimeError("no luck today")
        return super().publish(data, epsilon, noise)


@dataclass(frozen=True, kw_only=True)
class Deadly(Noisy):
    """Ends its process in some trials."""

    chance: float = 0.02

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        if noise.stream("luck").random() < self.chance:
            os._exit(9)
        return super().publish(data, epsilon, noise)


@dataclass(frozen=True, kw_only=True)
class Held(Noisy):
    """After ten releases in a process it waits for the file `go`, so that a test can act in the middle of a run."""

    releases: ClassVar[Iterator[int]] = itertools.count()

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        if next(self.releases) >= 10:
            while not Path("go").exists():
                time.sleep(0.01)
        return super().publish(data, epsilon, noise)


@dataclass(frozen=True, kw_only=True)
class Slow(Noisy):
    """Takes a hundredth of a second per trial, so that a run can be killed in the middle."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        time.sleep(0.01)
        return super().publish(data, epsilon, noise)


@dataclass(frozen=True, kw_only=True)
class Where(Bounded):
    """Publishes zeros, and which process made them."""

    def publish_columns(self, columns: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=np.zeros(columns.columns), chosen={"process": float(os.getpid())})
