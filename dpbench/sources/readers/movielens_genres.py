"""MovieLens 1M's movies by genre, and what each user rated, from its own files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbench.data import Catalogue
from dpbench.data.catalogue import offsets
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader, folder_file
from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.movielens import RATINGS
from dpbench.sources.readers.parsing import BadLines, Block, Lines, read_fields

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
    """The ratings of known movies, and the positions of these movies among the ids."""
    position = np.minimum(np.searchsorted(ids, block["movie"]), ids.size - 1)
    unknown = ids[position] != block["movie"]
    expected = "expected every movie there"
    known = block.without(unknown, bad, lambda row: f"movie {block['movie'][row]} is not in {movies.name}: {expected}")
    return known, position[~unknown]


def _genres(path: Path, bad: BadLines) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[bytes]]:
    """Movie ids, ascending; each one's number of genres, and the genres; the genres' names."""
    sets: dict[int, set[bytes]] = {}
    for block in read_fields(Lines(path, MOVIES.shown), MOVIES, bad):
        texts, places = block.texts("genres")
        for movie, text, line in zip(block["movie"], places, block.lines, strict=True):
            if int(movie) in sets:
                bad.found(path, int(line), f"movie {movie} occurs a second time: expected each movie once")
                continue
            sets[int(movie)] = set(texts[text].split(b"|")) - {b""}
    if not sets:
        raise bad.nothing(path, "good line", MOVIES.shown)
    names = sorted(set().union(*sets.values()))
    number = {name: at for at, name in enumerate(names)}
    rows = [sorted(number[name] for name in sets[movie]) for movie in sorted(sets)]
    members = np.array([category for row in rows for category in row], dtype=np.int32)
    return np.array(sorted(sets)), np.array([len(row) for row in rows]), members, names
