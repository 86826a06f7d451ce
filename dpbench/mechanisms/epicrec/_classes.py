"""Classes of interchangeable items, and the rounding of a relaxed solution to whole items. Used by S-DPDP."""

from __future__ import annotations

import numpy as np

from dpbench.data import Catalogue
from dpbench.data.catalogue import offsets
from dpbench.mechanisms.epicrec._calibration import distinct_rows


class ItemClasses:
    """Items with the same categories are interchangeable: a few hundred classes represent all items."""

    def __init__(self, catalogue: Catalogue) -> None:
        first, classes = distinct_rows(catalogue.item_ptr, catalogue.item_categories)
        self.rows = catalogue.matrix()[first]
        self.sizes = np.bincount(classes, minlength=first.size).astype(np.float64)
        self.members = np.argsort(classes, kind="stable")
        self.starts = offsets(self.sizes)

    @classmethod
    def of(cls, catalogue: Catalogue) -> ItemClasses:
        """The classes of a catalogue, computed once."""
        return catalogue.memo("item_classes", lambda: cls(catalogue))

    def round(self, relaxed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """d_p: of a class with total y_k, floor(y_k) items are taken, and one more with probability equal to the fraction.

        Which items of a class are taken is random: nothing distinguishes them.
        """
        take = np.floor(relaxed + 1e-9)
        take += rng.random(relaxed.size) < relaxed - take
        parts = [
            rng.choice(self.members[self.starts[k] : self.starts[k + 1]], int(take[k]), replace=False)
            for k in np.flatnonzero(take)
        ]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)

    def round_evenly(self, relaxed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """d_p: the items of a class share its total evenly, and each is taken with probability equal to its share, at most 1."""
        share = np.repeat(relaxed / self.sizes, self.sizes.astype(np.int64))
        return np.sort(self.members[rng.random(share.size) < share])
