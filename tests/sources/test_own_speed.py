"""Ten million pairs of a user's own table are read and grouped within five seconds of processor time."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpbench.data import Incidence
from dpbench.sources.readers.own_table import TableReader

pytestmark = [pytest.mark.slow, pytest.mark.timed, pytest.mark.filterwarnings("ignore:.*repeats and count once")]
PAIRS, USERS, ITEMS = 10_000_000, 1_000_000, 200_000
FLOOR = 5.0  # seconds of processor time, of all threads together


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.integers(0, USERS, PAIRS), rng.zipf(1.3, PAIRS) % ITEMS


def written(path: Path, pairs: tuple[np.ndarray, np.ndarray], form: str) -> Path:
    """The pairs as numbers, as words (which Parquet encodes or not), or as a pandas category."""
    columns = [pa.array(column) for column in pairs]
    if form != "numbers":
        words = (pa.array([f"{word}{i}" for i in range(n)]) for word, n in (("u", USERS), ("place ", ITEMS)))
        columns = [names.take(column) for names, column in zip(words, columns, strict=True)]
    if form == "category":
        columns = [column.dictionary_encode() for column in columns]
    pq.write_table(pa.table(columns, ["user", "item"]), path, use_dictionary=form != "plain words")
    return path


@pytest.mark.parametrize("form", ["numbers", "words", "plain words", "category"])
def test_ten_million_pairs(form: str, pairs: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.parquet", pairs, form)
    small = pd.DataFrame({"user": ["a", "a", "b"], "item": ["y", "x", "x"]})  # compiles the kernels
    small.to_parquet(tmp_path / "small.parquet")
    TableReader(path=str(tmp_path / "small.parquet")).build(np.random.default_rng(0))
    began = time.process_time()
    table = TableReader(path=str(path)).build(np.random.default_rng(0))
    taken = time.process_time() - began
    frame = pd.read_parquet(path)
    began = time.process_time()
    framed = Incidence.from_pandas(frame)
    taken_by_frame = time.process_time() - began
    assert isinstance(table, Incidence)
    assert np.array_equal(table.indptr, framed.indptr)
    assert np.array_equal(table.indices, framed.indices)
    assert table.item_labels == framed.item_labels
    assert table.ones == len(np.unique(pairs[0] * ITEMS + pairs[1]))
    assert (taken < FLOOR, taken_by_frame < FLOOR) == (True, True), (form, taken, taken_by_frame)
