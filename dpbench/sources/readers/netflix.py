"""Reader of the Netflix Prize's ratings, as one file per movie or as Kaggle's combined files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.pairs import PairReader, Pairs, day_of_week
from dpbench.sources.readers.parsing import NO_NUMBER, BadLines, Block, Lines, read_fields

NETFLIX = Layout(
    (Field("user", low=1), Field("rating", low=1, high=5), Field("date", "date")), ",", heading=":", headed="movie"
)


@dataclass(frozen=True, kw_only=True)
class NetflixPrize(PairReader, name="netflix_prize"):
    """Netflix Prize ratings: a line `movie:`, then its ratings `user,rating,date`; in any number of files.

    The context is the day of the week of the rating's date. If bad lines are skipped, a bad heading takes its ratings
    with it.
    """

    what = "the Netflix Prize's training files"
    names = ("mv_*.txt", "combined_data_*.txt")
    many = True
    repeats = False
    called = ("user", "movie")

    def pairs(self, bad: BadLines) -> Iterator[Pairs]:
        for path in self.files():
            movie = NO_NUMBER  # each file begins with a heading: the previous file's last heading does not apply
            for block in read_fields(Lines(path, f"`movie:`, then {NETFLIX.shown}"), NETFLIX, bad):
                movies, movie = _movies(block, movie)
                nowhere = movies == NO_NUMBER
                block = block.without(nowhere, bad, lambda _: "expected a line `movie:` before the first rating")
                yield Pairs(block, block["user"], movies[~nowhere], day_of_week(block["date"]))


def _movies(block: Block, before: int) -> tuple[np.ndarray, int]:
    """The movie of each rating: the last heading above it, in this block or `before` it. Also the last heading of all."""
    places, numbers = block.headings
    numbers = np.concatenate([[before], numbers])
    return numbers[np.searchsorted(places, block.lines)], int(numbers[-1])
