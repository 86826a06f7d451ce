"""The stages of mechanisms on contingency tables: what their summaries would answer without noise.

Imported by the families sparse and histograms. Nothing is as large as the domain: a stage lists what is published.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dpbench.data.stages import Part, Stage
from dpbench.data.summary import Entries, Sketched, Summary
from dpbench.mechanisms.sparse.base import Table
from dpbench.numerics import hashing


def told(release: Entries, table: Table, part: Part, *before: Stage[Summary]) -> Entries:
    """The release with its last stage: the published places with their true values, weighted like their noisy ones."""
    return replace(release, stages=(*before, Stage(part, partial(_listed, release, table))))


def passed(release: Entries, table: Table, places: np.ndarray) -> Stage[Summary]:
    """The stage of a filter that these places passed, before some of them were sampled."""
    return Stage("dropping", partial(_kept, release, table, places))


def collisions(release: Sketched, table: Table) -> Sketched:
    """The release of a sketch with its stage: the same buckets without noise. Places in the same bucket get one answer."""
    return replace(release, stages=(Stage("grouping", partial(_sketched, release, table)),))


def _true_values(table: Table, places: np.ndarray) -> np.ndarray:
    whole = Entries(size=table.size, cells=table.places, weights=table.values)
    return whole.at(places)


def _listed(release: Entries, table: Table) -> Summary:
    true = _true_values(table, release.cells)
    if release.values is None:
        return replace(release, weights=true)
    # A sampled value v has the weight v/p. If v = 0, nothing was weighted.
    factor = np.divide(release.weights, release.values, out=np.ones(true.size), where=release.values != 0)
    return replace(release, weights=true * factor, values=true)


def _kept(release: Entries, table: Table, places: np.ndarray) -> Summary:
    # Zeros that passed the filter have the true value zero, whether they are listed or not.
    return replace(release, cells=places, weights=_true_values(table, places), values=None)


def _sketched(release: Sketched, table: Table) -> Summary:
    sums, width = np.empty(release.buckets.shape), int(release.buckets.shape[1])
    for row, seed in enumerate(release.seeds):
        bucket, sign = hashing.block_bucket_and_sign(table.places, release.blocks, width, seed)
        sums[row] = np.bincount(bucket, weights=sign * table.values, minlength=width)
    return replace(release, buckets=sums)
