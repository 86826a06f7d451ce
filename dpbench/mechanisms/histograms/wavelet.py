"""Privelet: noise on the wavelet coefficients of the whole domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Contingency
from dpbench.data.summary import Dense
from dpbench.mechanisms.histograms.hierarchy import Written
from dpbench.mechanisms.tables import table_of
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Privelet(Written, name="privelet"):
    """Laplace noise on all Haar coefficients of the line of cells, weighted by the width of their range.

    Xiao, Wang, Gehrke: Differential Privacy via Wavelet Transforms, ICDE 2010, TKDE 23(8), 2011. The paper's coefficient is
    half the difference of the means of two halves of a range of L cells, and gets Lap(Δ/(ε L)) with Δ = 1 + ⌈log₂ m⌉. Times L
    that is the difference of their sums, a whole number, with Lap(Δ/ε) for every range: so it is computed here. A domain of
    several attributes is treated as one flattened line.
    """

    paper = "Xiao, Wang, Gehrke: Differential Privacy via Wavelet Transforms, ICDE 2010"
    place = "Section IV, the one-dimensional Haar transform with its weights"
    fits = 2**25
    label, look = "Privelet", 16

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Dense:
        table = data.memo(("table", "haar"), lambda: table_of(data, "haar"))
        coefficients = np.zeros(table.size, dtype=np.int64)
        coefficients[table.places] = table.values
        noisy = noise.laplace(coefficients, scale=table.sensitivity / epsilon, step="coefficients")
        chosen = {"entries": table.size}
        return Dense(size=data.size, shape=data.shape, transform="haar", weights=noisy, chosen=chosen, stages=())
