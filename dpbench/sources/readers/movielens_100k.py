"""Reader of MovieLens 100K: the same data as MovieLens 1M's, in older files."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.movielens import RATINGS, MovieLensRecords

_REST = ("release date", "video release date", "address", *(f"genre {i}" for i in range(19)))


@dataclass(frozen=True, kw_only=True)
class MovieLens100k(MovieLensRecords, name="movielens_100k"):
    """MovieLens 100K: the folder of u.data (separated by tabs), u.user and u.item (by |, Latin-1), each gzipped or not.

    u.user gives ages in years; the contexts are the same six groups as for MovieLens 1M.
    """

    what = "the folder of MovieLens 100K"
    names = ("u.data", "u.user", "u.item")
    layouts = (
        Layout(RATINGS.fields, "\t"),
        Layout(
            (
                Field("user"),
                Field("age"),
                Field("gender", "text"),
                Field("occupation", "anything"),
                Field("zip", "anything"),
            ),
            "|",
        ),
        Layout((Field("movie"), Field("title", "text"), *(Field(name, "anything") for name in _REST)), "|"),
    )
    ages = {age: 0 if age < 25 else 1 if age < 35 else 2 for age in range(1, 121)}
    aged = "1 to 120"
