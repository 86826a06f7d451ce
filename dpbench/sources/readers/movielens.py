"""MovieLens as records: the reader of MovieLens 1M's own files.

A record is a rating; its context is the rater's gender and age band, six in all (analytics, Section 6.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dpbench.data import Incidence, Records, grouping
from dpbench.errors import UserError
from dpbench.sources.contexts import GROUPS
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader, folder_file
from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.parsing import BadLines, Block, Lines, read_fields

_BAND = {1: 0, 18: 0, 25: 1, 35: 2, 45: 2, 50: 2, 56: 2}
"""Ages in users.dat: each is the youngest of its age bracket."""


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
    """The age band of every age allowed in the users' file."""
    aged: ClassVar[str] = ", ".join(map(str, _BAND))
    """These ages, as messages list them."""
    many = True
    kind: str = "records"
    """`incidence`: which user rated which item, without contexts."""
    kinds = ("records", "incidence")

    def build(self, rng: np.random.Generator) -> Records | Incidence:
        bad = self.bad_lines()
        rated = self._rated(bad)
        groups, titles = self._groups(bad), self._titles(bad)
        known = np.ones(rated["user"].size, dtype=bool)
        for column, table, name in (("user", groups, self.names[1]), ("movie", titles, self.names[2])):
            strangers = np.setdiff1d(assembly.seen(rated[column]), np.array(sorted(table), dtype=np.int64))
            if strangers.size:
                strange = known & np.isin(rated[column], strangers)  # a line counts as bad only once
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
            return grouping.records(
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
        """The line number of a rating, found by reading the file again: storing all line numbers would double the memory."""
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
        context_of: dict[int, int] = {}
        for block in self._blocks(1, bad):
            texts, places = block.texts("gender")
            for user, gender, age, line in zip(block["user"], places, block["age"], block.lines, strict=True):
                if int(user) in context_of:
                    bad.found(block.path, int(line), f"user {user} occurs a second time: expected each user once")
                    continue
                if texts[gender] not in (b"M", b"F") or int(age) not in self.ages:
                    wanted = f"gender M or F and an age of {self.aged}"
                    shown = f"{texts[gender].decode('latin-1')}, {age}"
                    bad.found(block.path, int(line), f"expected {wanted}, found {shown}")
                    continue
                context_of[int(user)] = 3 * (texts[gender] == b"F") + self.ages[int(age)]
        return context_of

    def _titles(self, bad: BadLines) -> dict[int, str]:
        titles: dict[int, str] = {}
        for block in self._blocks(2, bad):
            texts, places = block.texts("title")
            for movie, at, line in zip(block["movie"], places, block.lines, strict=True):
                if int(movie) in titles:
                    bad.found(block.path, int(line), f"movie {movie} occurs a second time: expected each movie once")
                    continue
                titles[int(movie)] = texts[at].decode("latin-1")
        return titles
