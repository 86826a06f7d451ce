"""Catalogues: a generator shaped like MovieLens' genres, and the reader of MovieLens 1M's own files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbench.data import Catalogue
from dpbench.data.catalogue import offsets
from dpbench.errors import UserError, positive
from dpbench.sources import assembly
from dpbench.sources.base import Source
from dpbench.sources.layout import Field, Layout
from dpbench.sources.movielens import RATINGS
from dpbench.sources.parsing import BadLines, Block, Lines, read_fields
from dpbench.sources.reader import Reader, folder_file


@dataclass(frozen=True, kw_only=True)
class CatalogueGenerator(Source, name="catalogue"):
    """Items in a few categories each, and users with heavy-tailed histories.

    The defaults are calibrated to MovieLens 1M: an item has 1 + Poisson(0.65) categories, at most `widest` (and one item
    exactly so many); some categories like company more than others (documentaries stand alone), which decides the
    calibrated noise, mean z = 4.5 at ε = 1; history sizes are log-normal between the two ends.
    """

    kinds = ("catalogue",)

    items: int = 3883
    categories: int = 18
    widest: int = 6
    """Most categories of one item."""
    extra: float = 0.65
    """Mean number of categories of an item beyond its first."""
    category_zipf: float = 1.1
    """Exponent of the categories' popularity."""
    company: float = 2.1
    """How unlike categories are in liking company: the ends of the log-weight a category has as a further one."""
    users: int = 6040
    smallest: int = 20
    largest: int = 2314
    median: float = 96.0
    """Median history size."""
    spread: float = 1.05
    """Standard deviation of the logarithm of the history size."""
    item_zipf: float = 0.8
    """Exponent of the items' popularity."""

    def __post_init__(self) -> None:
        for name in ("items", "categories", "widest"):
            positive(name, getattr(self, name), whole=True)
        if self.widest > self.categories:
            raise UserError(f"widest={self.widest} is not valid: there are only {self.categories} categories")
        if not 0 <= self.smallest <= self.largest <= self.items:
            sizes = f"smallest={self.smallest}, largest={self.largest}"
            raise UserError(f"{sizes} is not valid: expected 0 <= smallest <= largest <= {self.items} items")

    def build(self, rng: np.random.Generator) -> Catalogue:
        widths, members = self.draw_items(rng)
        sizes, histories = self.draw_histories(rng)
        return Catalogue(offsets(widths), members, self.categories, offsets(sizes), histories)

    def draw_items(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Number of categories of each item, and the categories, ascending within an item."""
        popularity = -self.category_zipf * np.log(np.arange(1, self.categories + 1))
        # Golden-ratio steps spread liking evenly over popular and rare categories, alike for every seed.
        company = self.company * (2 * (np.arange(self.categories) * 0.6180339887 % 1.0) - 1)
        shape = (self.items, self.categories)
        # The w largest of log-weight + Gumbel are a weighted draw of w without replacement.
        first = np.argmax(popularity + rng.gumbel(size=shape), axis=1)
        keys = popularity + company + rng.gumbel(size=shape)
        keys[np.arange(self.items), first] = np.inf
        widths = np.minimum(1 + rng.poisson(self.extra, self.items), self.widest)
        widths[rng.integers(self.items)] = self.widest
        # The widest items go, by a weighted lottery, to first categories that like company.
        lottery = np.argsort(-np.exp(0.5 * company[first]) * rng.exponential(size=self.items))
        widths[lottery] = np.sort(widths)[::-1]
        chosen = np.where(np.arange(self.categories) < widths[:, None], np.argsort(-keys, axis=1), self.categories)
        chosen.sort(axis=1)
        return widths, chosen[chosen < self.categories].astype(np.int32)

    def draw_histories(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Number of items of each user, and the items, ascending within a user."""
        sizes = np.exp(rng.normal(np.log(self.median), self.spread, self.users))
        sizes = np.clip(np.rint(sizes), self.smallest, self.largest).astype(np.int64)
        popularity = -self.item_zipf * np.log(1 + rng.permutation(self.items))
        parts = [np.empty(0, dtype=np.int64)]
        for size in sizes:
            keys = popularity + rng.gumbel(size=self.items)
            parts.append(np.sort(np.argpartition(-keys, min(size, self.items - 1))[:size]))
        return sizes, np.concatenate(parts).astype(np.int32)


@dataclass(frozen=True, kw_only=True)
class RunningExample(Source, name="running_example"):
    """The five items of epicrec's Figure 4. Three of them decide the noise; the other two, inside them, are our guess."""

    kinds = ("catalogue",)

    def build(self, rng: np.random.Generator) -> Catalogue:
        matrix = [[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
        return Catalogue.from_matrix(matrix, [[0, 2]])


MOVIES = Layout((Field("movie"), Field("title", "text"), Field("genres", "text")), "::")


@dataclass(frozen=True, kw_only=True)
class MovieLensGenres(Reader, name="movielens_genres"):
    """MovieLens 1M: movies.dat (movie::title::genre|genre, Latin-1) and ratings.dat (user::movie::rating::time).

    Genres are numbered alphabetically, users and movies in the order of their ids; movies that nobody rated are items
    too. A user's history is the set of movies rated.
    """

    kinds = ("catalogue",)
    what = "the folder of MovieLens 1M"

    def files(self) -> list[Path]:
        return [folder_file(self.path, name, self.what) for name in ("movies.dat", "ratings.dat")]

    def build(self, rng: np.random.Generator) -> Catalogue:
        movies, ratings = self.files()
        bad = self.bad_lines()
        ids, widths, members, names = _genres(movies, bad)
        users, items, lines = (assembly.Column(np.int64) for _ in range(3))
        for block in read_fields(Lines(ratings, RATINGS.shown), RATINGS, bad):
            known, item = _rated(block, ids, movies, bad)
            users.add(known["user"])
            items.add(item)
            lines.add(known.lines)
        people, item, line = users.whole(), items.whole(), lines.whole()
        if not item.size:
            raise bad.nothing(ratings, "good rating", RATINGS.shown)
        again = assembly.repeated(people, item, ids.size)
        if again.any():
            row = int(np.argmax(again))
            message = f"user {people[row]} rates movie {ids[item[row]]} again: expected each pair once"
            bad.found(ratings, int(line[row]), message, int(again.sum()))
        bad.report()
        _, user = np.unique(people, return_inverse=True)
        pairs = np.unique(user.astype(np.int64) * ids.size + item)
        sizes = np.bincount(pairs // ids.size)
        return Catalogue(offsets(widths), members, len(names), offsets(sizes), (pairs % ids.size).astype(np.int32))


def _rated(block: Block, ids: np.ndarray, movies: Path, bad: BadLines) -> tuple[Block, np.ndarray]:
    """The ratings of movies that there are, and the places of these movies among the ids."""
    place = np.minimum(np.searchsorted(ids, block["movie"]), ids.size - 1)
    unknown = ids[place] != block["movie"]
    expected = "expected every movie there"
    known = block.without(unknown, bad, lambda row: f"movie {block['movie'][row]} is not in {movies.name}: {expected}")
    return known, place[~unknown]


def _genres(path: Path, bad: BadLines) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[bytes]]:
    """Movie ids, ascending; each one's number of genres, and the genres; the genres' names."""
    sets: dict[int, set[bytes]] = {}
    for block in read_fields(Lines(path, MOVIES.shown), MOVIES, bad):
        texts, places = block.texts("genres")
        for movie, place, line in zip(block["movie"], places, block.lines, strict=True):
            if int(movie) in sets:
                bad.found(path, int(line), f"movie {movie} is there a second time: expected each movie once")
                continue
            sets[int(movie)] = set(texts[place].split(b"|")) - {b""}
    if not sets:
        raise bad.nothing(path, "good line", MOVIES.shown)
    names = sorted(set().union(*sets.values()))
    number = {name: at for at, name in enumerate(names)}
    rows = [sorted(number[name] for name in sets[movie]) for movie in sorted(sets)]
    members = np.array([category for row in rows for category in row], dtype=np.int32)
    return np.array(sorted(sets)), np.array([len(row) for row in rows]), members, names
