"""Salted streams: one seed serves data, queries and shuffles, and no two of them share their random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.code_reader import BUILDING
from dpbench.identity import code_of
from dpbench.model.setting import Dataset
from dpbench.numerics import keyed
from dpbench.numerics.hashing import Shuffle
from dpbench.sources.base import SOURCES
from dpbench.sources.cache import describe, make_source, open_dataset
from dpbench.sources.streams import data_stream
from dpbench.tasks.base import TASKS

SPEC = Dataset("a", "gaussian", {"cells": 1000}, 1)


def first(rng: np.random.Generator) -> list[float]:
    return rng.random(4).tolist()


def test_one_dataset_has_one_stream() -> None:
    """Its display name, and a default written out, change nothing."""
    for same in (
        Dataset("b", "gaussian", {"cells": 1000}, 1),
        Dataset("a", "gaussian", {"cells": 1000.0, "mean": make_source(SPEC).mean}, 1),
        Dataset("a", "dpbench.sources.generators.tables.GaussianTable", {"cells": 1000}, 1),
    ):
        assert first(data_stream(describe(same))) == first(data_stream(describe(SPEC)))


def test_other_seeds_parameters_sources_and_uses_have_other_streams() -> None:
    streams = [
        data_stream(describe(SPEC)),
        data_stream(describe(Dataset("a", "gaussian", {"cells": 1000}, 2))),
        data_stream(describe(Dataset("a", "gaussian", {"cells": 1001}, 1))),
        data_stream(describe(Dataset("a", "cube", {}, 1))),
        keyed.stream(1, "queries", "RangeQueries"),
        keyed.stream(1, "queries", "SubsetQueries"),
        keyed.stream(1, "data"),
        keyed.stream(1, "da", "ta"),
        keyed.stream(1 + 2**32, "data"),
        np.random.default_rng(1),
    ]
    seen = [tuple(first(stream)) for stream in streams]
    assert len(set(seen)) == len(seen)
    long = [stream.random(100_000) for stream in streams]  # four standard errors: a false alarm of 6e-5 each
    assert np.abs(np.corrcoef(long) - np.eye(len(long))).max() < 4.5 / math.sqrt(100_000)


def test_the_streams_stay_as_they_are() -> None:
    """Golden numbers: a change in how streams are keyed changes all generated data and queries."""
    assert first(keyed.stream(1, "data", "x"))[:2] == pytest.approx(GOLDEN, rel=1e-12)


GOLDEN = [0.30546437863585685, 0.853377732356144]


def test_what_was_built_with_other_streams_is_built_again() -> None:
    """The code of the streams is part of the name of what the cache keeps."""
    modules = code_of(SOURCES.get("gaussian"), files=BUILDING).modules
    assert {"dpbench.sources.streams", "dpbench.numerics.keyed"} <= set(modules)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_queries_do_not_know_where_the_data_are(seed: int, data_cache) -> None:
    """With the same seed for both, ranges of one cell once began on filled cells, and their truth was 5.5 times too
    large. Cells are filled or not by chance, so the mean truth is the mean count within four standard errors: a false
    alarm of 6e-5 each."""
    data = open_dataset(Dataset("small", "gaussian", {"cells": 20_000, "density": 0.05}, seed)).data
    for name in ("range_queries", "subset_queries"):
        task = TASKS.make(name, share=1e-5, queries=5000, seed=seed)
        truth = task.truth(data)
        assert abs(truth.mean() - data.total / data.size) < 4 * truth.std() / math.sqrt(truth.size)


def test_shuffles_of_other_sizes_and_seeds_are_others() -> None:
    cells = np.arange(1000)
    one, size, seed = (Shuffle(*given).places(cells) for given in ((1000, 1), (1001, 1), (1000, 2)))
    assert (one != seed).mean() > 0.9
    assert (one != size).mean() > 0.9
