"""MovieLens as records: the reader of MovieLens 1M's own files, and a generator of the same shape.

A record is a rating; its context is the rater's gender and age band, six in all (analytics, Section 6.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dpbench.data import Incidence, Records
from dpbench.errors import UserError, one_of, positive
from dpbench.sources import assembly
from dpbench.sources.base import Source
from dpbench.sources.layout import Field, Layout
from dpbench.sources.parsing import BadLines, Block, Lines, read_fields
from dpbench.sources.reader import Reader, folder_file
from dpbench.sources.records import fill_unseen, user_sizes
from dpbench.sources.shapes import whole_numbers

GROUPS = tuple(f"{gender}, {age}" for gender in ("M", "F") for age in ("under 25", "25-34", "above 34"))

GROUP_SHARES = (0.157, 0.255, 0.305, 0.062, 0.093, 0.128)
"""Of the users of MovieLens 1M."""

ITEM_QUARTILES = (0.122, 0.458, 1.297)
"""Quartiles of the number of ratings of a movie there, as multiples of the mean."""

_BAND = {1: 0, 18: 0, 25: 1, 35: 2, 45: 2, 50: 2, 56: 2}
"""users.dat gives the youngest age of a bracket."""


def _any(name: str) -> Field:
    return Field(name, "anything")


RATINGS = Layout(
    (Field("user"), Field("movie"), Field("rating", low=1, high=5), Field("time", low=-1, keep=False)), "::"
)
USERS = Layout((Field("user"), Field("gender", "text"), Field("age"), _any("occupation"), _any("zip")), "::")
MOVIES = Layout((Field("movie"), Field("title", "text"), _any("genres")), "::")


@dataclass(frozen=True, kw_only=True)
class MovieLensRecords(Reader, name="movielens_records"):
    """MovieLens 1M: the folder of ratings.dat, users.dat and movies.dat (Latin-1), each gzipped or not.

    Users and items are those that occur in ratings.dat, in the order of their ids.
    """

    what = "the folder of MovieLens 1M"
    names = ("ratings.dat", "users.dat", "movies.dat")
    layouts: ClassVar[tuple[Layout, Layout, Layout]] = (RATINGS, USERS, MOVIES)
    ages: ClassVar[dict[int, int]] = _BAND
    """The age band of every age that may stand in the users' file."""
    aged: ClassVar[str] = ", ".join(map(str, _BAND))
    """These ages, as messages list them."""
    many = True
    kind: str = "records"
    """`incidence`: who rated what, without contexts."""
    kinds = ("records", "incidence")

    def build(self, rng: np.random.Generator) -> Records | Incidence:
        bad = self.bad_lines()
        rated = self._rated(bad)
        groups, titles = self._groups(bad), self._titles(bad)
        known = np.ones(rated["user"].size, dtype=bool)
        for column, table, name in (("user", groups, self.names[1]), ("movie", titles, self.names[2])):
            strangers = np.setdiff1d(assembly.seen(rated[column]), np.array(sorted(table), dtype=np.int64))
            if strangers.size:
                strange = known & np.isin(rated[column], strangers)  # a line is bad once
                self._strangers(rated[column], strange, column, name, bad)
                known &= ~strange
        if not known.any():
            raise bad.nothing(self.path, "good rating", self.what)
        if not known.all():
            rated = {column: ids[known] for column, ids in rated.items()}
        people, movies = assembly.seen(rated["user"]), assembly.seen(rated["movie"])
        users, items = assembly.numbered(rated["user"])[0], assembly.numbered(rated["movie"])[0]
        contexts = np.array([groups[int(k)] for k in people], dtype=np.uint8)
        labels = tuple(titles[int(k)] for k in movies)

        def assembled(users: np.ndarray, items: np.ndarray) -> Records:
            of = assembly.taken(contexts, users)
            return assembly.records(
                users, items, of, people.size, movies.size, GROUPS, repeats=False, item_labels=labels
            )

        data = assembled(users, items)
        if assembly.has_repeats(data, users.size):
            again = assembly.repeated(users, items, movies.size)
            row = int(np.argmax(again))
            message = f"user {people[users[row]]} rates movie {movies[items[row]]} again: expected each pair once"
            bad.found(self._file(self.names[0]), self._line(np.flatnonzero(known)[row]), message, int(again.sum()))
            data = assembled(users[~again], items[~again])
        bad.report()
        return data.incidence() if self.kind == "incidence" else data

    def _file(self, name: str) -> Path:
        return folder_file(self.path, name, self.what)

    def _blocks(self, which: int, bad: BadLines) -> Iterator[Block]:
        """One of the three files, parsed."""
        layout = self.layouts[which]
        return read_fields(Lines(self._file(self.names[which]), layout.shown), layout, bad)

    def _rated(self, bad: BadLines) -> dict[str, np.ndarray]:
        """User and movie of every rating."""
        columns = {"user": assembly.Column(), "movie": assembly.Column()}
        for block in self._blocks(0, bad):
            for name, column in columns.items():
                column.add(block[name])
        return {name: column.whole() for name, column in columns.items()}

    def _line(self, row: int) -> int:
        """The line of a rating, by reading again: the line numbers of all would double memory."""
        for block in self._blocks(0, BadLines("skip")):
            if row < block.lines.size:
                return int(block.lines[row])
            row -= block.lines.size
        raise UserError(f"{self.path}: the files changed while they were read")

    def _strangers(self, ids: np.ndarray, strange: np.ndarray, column: str, name: str, bad: BadLines) -> None:
        if strange.any():
            row = int(np.argmax(strange))
            message = f"{column} {ids[row]} is not in {name}: expected every {column} there"
            bad.found(self._file(self.names[0]), self._line(row), message, int(strange.sum()))

    def _groups(self, bad: BadLines) -> dict[int, int]:
        """The context of every user, by id."""
        found: dict[int, int] = {}
        for block in self._blocks(1, bad):
            texts, places = block.texts("gender")
            for user, gender, age, line in zip(block["user"], places, block["age"], block.lines, strict=True):
                if int(user) in found:
                    bad.found(block.path, int(line), f"user {user} is there a second time: expected each user once")
                    continue
                if texts[gender] not in (b"M", b"F") or int(age) not in self.ages:
                    wanted = f"gender M or F and an age of {self.aged}"
                    shown = f"{texts[gender].decode('latin-1')}, {age}"
                    bad.found(block.path, int(line), f"expected {wanted}, found {shown}")
                    continue
                found[int(user)] = 3 * (texts[gender] == b"F") + self.ages[int(age)]
        return found

    def _titles(self, bad: BadLines) -> dict[int, str]:
        found: dict[int, str] = {}
        for block in self._blocks(2, bad):
            texts, places = block.texts("title")
            for movie, at, line in zip(block["movie"], places, block.lines, strict=True):
                if int(movie) in found:
                    bad.found(block.path, int(line), f"movie {movie} is there a second time: expected each movie once")
                    continue
                found[int(movie)] = texts[at].decode("latin-1")
        return found


@dataclass(frozen=True, kw_only=True)
class Ratings(Source, name="ratings"):
    """Ratings without repeats, by users of six demographic groups who like different movies.

    Users, items, records, largest and smallest user are exact, and every item occurs. Titles are made up.
    """

    users: int
    items: int
    records: int
    largest: int
    smallest: int
    median: float
    """Median number of ratings of a user."""
    favourite: float = 0.57
    """The most popular movie's share of the users, about."""
    taste: float = 0.35
    """How much the groups' popularity differs: standard deviation of its logarithm."""
    kind: str = "records"
    """`incidence`: who rated what, without contexts."""

    kinds = ("records", "incidence")

    def __post_init__(self) -> None:
        one_of("kind", self.kind, self.kinds)
        for name in ("users", "items", "records", "largest", "smallest"):
            positive(name, getattr(self, name), whole=True)
        if self.largest > self.items:
            raise UserError(f"largest={self.largest} is not valid: there are only {self.items} items to rate")

    def build(self, rng: np.random.Generator) -> Records | Incidence:
        from dpbench.numerics.margins import matrix

        ends = {"smallest": self.smallest, "largest": self.largest}
        sizes = user_sizes("ratings", self.users, self.records, median=self.median, rng=rng, **ends)
        group = np.sort(rng.choice(len(GROUPS), self.users, p=GROUP_SHARES))
        mean, most = self.records / self.items, round(self.favourite * self.users)
        quartiles = tuple(q * mean for q in ITEM_QUARTILES)
        counts = whole_numbers("ratings", self.items, self.records, least=1, most=most, quartiles=quartiles)  # type: ignore[arg-type]
        counts = rng.permutation(counts)
        parts = []
        for j in range(len(GROUPS)):
            own = sizes[group == j]
            liked = counts * np.exp(self.taste * rng.standard_normal(self.items))
            if own.size:
                parts.append(matrix(own, column_sums(own, liked, rng), rng)[1])
        items = np.concatenate(parts)
        fill_unseen(items, self.items, rng)
        items = items[np.lexsort((items, np.repeat(np.arange(self.users), sizes)))]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        data = Records(
            indptr,
            items,
            np.repeat(group, sizes).astype(np.uint8),
            self.items,
            len(GROUPS),
            repeats=False,
            item_labels=tuple(f"Made-up movie {i + 1}" for i in range(self.items)),
            context_labels=GROUPS,
        )
        return data.incidence() if self.kind == "incidence" else data


def capped_shares(weight: np.ndarray, total: int, most: int) -> np.ndarray:
    """`total` shared out by weight, but nobody gets more than `most`: what is cut off goes to the others."""
    from scipy.optimize import brentq

    even = weight * (total / weight.sum())
    factor = brentq(lambda f: np.minimum(f * even, most).sum() - total, 0.5, 1e12)
    return np.minimum(factor * even, most)


def column_sums(row_sums: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole column sums about proportional to `weight` that a binary matrix with these row sums can have."""
    from dpbench.numerics.margins import realisable

    total = int(row_sums.sum())
    while True:
        wanted = capped_shares(weight, total, row_sums.size)
        order = rng.permutation(weight.size)
        running = np.floor(np.cumsum(wanted[order]) + 0.5).astype(np.int64)
        running[-1] = total
        sums = np.empty(weight.size, dtype=np.int64)
        sums[order] = np.diff(running, prepend=0)
        if realisable(row_sums, sums):
            return sums
        weight = weight**0.9
