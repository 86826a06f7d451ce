"""Pairs to data kinds: the same as by plain Python, and in memory for little more than the pairs themselves."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpbench.data import grouping
from dpbench.sources import SOURCES, SkippedLines
from dpbench.sources.readers import assembly

from support.formats import RNG, records_of, rows_of

DAYS = ("a", "b", "c")


@pytest.fixture(params=[3, 1 << 20], ids=["parts of 3", "one part"])
def part(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(grouping, "PART", request.param)
    return request.param


@pytest.mark.parametrize("order", ["sorted", "by item", "none"])
@pytest.mark.parametrize("repeats", [False, True])
def test_grouped_by_user(part: int, order: str, repeats: bool) -> None:
    rng = np.random.default_rng([part, repeats])
    for users, items, number in ((1, 1, 1), (4, 3, 5), (5, 40, 60), (300, 70, 2000)):
        cells = rng.choice(users * items, number, replace=True)
        cells = cells if repeats else np.unique(cells)
        user, item = (ids.astype(np.int32) for ids in np.divmod(rng.permutation(cells), items))
        if order != "none":
            places = np.lexsort((item, user) if order == "sorted" else (user, item))
            user, item = user[places], item[places]
        context = rng.integers(0, 3, item.size).astype(np.uint8)
        pairs = list(zip(user.tolist(), item.tolist(), context.tolist(), strict=True))
        before = user.copy(), item.copy(), context.copy()
        data = grouping.incidence(user, item, users, items)
        assert rows_of(data) == [tuple(sorted({i for u, i, _ in pairs if u == row})) for row in range(users)]
        assert (data.indptr.dtype, data.indices.dtype) == (np.int64, np.int32)
        assert assembly.has_repeats(data, item.size) == (len({p[:2] for p in pairs}) < len(pairs))
        full = grouping.records(user, item, context, users, items, DAYS, repeats=True)
        expected = [sorted((i, c) for u, i, c in pairs if u == row) for row in range(users)]
        found = [sorted(counter.elements()) for counter in records_of(full)]
        assert found == expected
        assert list(zip(full.items.tolist(), full.contexts.tolist(), strict=True)) == [
            p for row in expected for p in row
        ]
        assert (full.items.dtype, full.contexts.dtype) == (np.int32, np.uint8)
        for ids, were in zip((user, item, context), before, strict=True):
            assert np.array_equal(ids, were)  # they are needed again where a pair occurs twice


@pytest.mark.parametrize("most", [30, 2**31 - 2])
def test_numbers_of_ids(part: int, most: int) -> None:
    """By a table where ids are dense, by searching where they are not."""
    ids = np.random.default_rng(most).integers(0, most, 50).astype(np.int32)
    names, places = np.unique(ids, return_inverse=True)
    assert np.array_equal(assembly.seen(ids), names)
    numbers, number = assembly.numbered(ids.copy())
    assert (numbers.tolist(), number, numbers.dtype) == (places.tolist(), names.size, np.int32)
    assert assembly.numbered(np.empty(0, dtype=np.int32))[1] == 0


def test_a_column_grows() -> None:
    column = assembly.Column(np.int32)
    for chunk in (np.empty(0, dtype=np.int64), np.arange(6)[::2], np.array([7], dtype=np.int32)):
        column.add(chunk)
    assert column.whole().tolist() == [0, 2, 4, 7]
    assert column.whole().dtype == np.int32
    assert assembly.Column(np.uint8).whole().size == 0


def docword(write: Callable[..., Path]) -> Path:
    lines = "".join(f"{d} {w} 1\n" for d in range(1, 2001) for w in range(1 + d % 7, 2001, 10))
    return write("docword.big.txt", f"2000\n2000\n{lines.count(chr(10))}\n{lines}")


def netflix(write: Callable[..., Path]) -> Path:
    ratings = "".join(f"{user},3,2005-12-{10 + user % 20}\n" for user in range(4000, 0, -1))
    return write("combined_data_1.txt", "".join(f"{movie}:\n{ratings}" for movie in range(1, 101)))


def movielens(write: Callable[..., Path]) -> Path:
    write("users.dat", "".join(f"{u}::{'MF'[u % 2]}::25::1::2\n" for u in range(1, 1001)))
    write("movies.dat", "".join(f"{i}::Movie {i}::Drama\n" for i in range(1, 401)))
    ratings = "".join(f"{u}::{m}::3::978300760\n" for u in range(1, 1001) for m in range(400, 0, -1))
    return write("ratings.dat", ratings).parent


@pytest.mark.parametrize(
    ("reader", "make", "kind", "most"),
    [
        ("uci_bag_of_words", docword, "incidence", 12),
        ("netflix_prize", netflix, "incidence", 16),
        ("netflix_prize", netflix, "records", 18),
        ("movielens_records", movielens, "records", 25),
    ],
)
def test_bytes_a_pair(
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    reader: str,
    make: Callable[..., Path],
    kind: str,
    most: int,
) -> None:
    """At the peak of the reading; small blocks, as 400000 pairs are few beside a block of real size."""
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", 1 << 14)
    monkeypatch.setattr(grouping, "PART", 1 << 12)
    source = SOURCES.make(reader, path=str(make(write)), kind=kind)
    source.build(RNG)  # compiled now, if it was not
    tracemalloc.start()
    try:
        data = source.build(RNG)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    pairs = data.indices.size if kind == "incidence" else data.items.size
    assert pairs == 400_000
    assert peak / pairs < most


def test_lines_of_ratings_are_found_again(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """After lines that were skipped, blank ones, and users that nobody knows."""
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", 40)
    write("users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
    write("movies.dat", "10::A::Drama\n20::B::Action\n")
    good = "1::10::5::9\n\n1::20::3::9\n2::10::4::9\n"
    for extra, says in (
        ("2::10::1::9\n", "1 bad line was skipped; the first: .*, line 5: user 2 rates movie 10 again: expected"),
        ("3::10::1::9\n2::10::1::9\n", "2 bad lines .*, line 5: user 3 is not in users.dat: expected every user there"),
        ("2::30::1::9\n2::10::1::9\n", "2 bad lines .*, line 5: movie 30 is not in movies.dat: expected every movie"),
        ("x\n3::30::1::9\n2::10::1::9\n", "3 bad lines .*, line 5: expected 4 fields"),
    ):
        folder = write("ratings.dat", good + extra).parent
        with pytest.warns(SkippedLines, match=says):
            data = SOURCES.make("movielens_records", path=str(folder), on_bad_line="skip").build(RNG)
        assert records_of(data) == [{(0, 3): 1, (1, 3): 1}, {(0, 2): 1}]
