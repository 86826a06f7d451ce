"""Readers of check-ins: SNAP's Gowalla layout and the TSMC2014 layout of Foursquare check-ins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.pairs import PairReader, Pairs, day_of_week
from dpbench.sources.readers.parsing import BadLines, Interner, Lines, read_fields

SNAP = Layout(
    (
        Field("user"),
        Field("time", "time"),
        Field("latitude", "decimal"),
        Field("longitude", "decimal"),
        Field("location"),
    ),
    "\t",
)

TSMC = Layout(
    (
        Field("user"),
        Field("venue", "text"),
        Field("category id", "anything"),
        Field("category", "anything"),
        Field("latitude", "decimal"),
        Field("longitude", "decimal"),
        Field("offset in minutes", low=-900, high=900),
        Field("UTC time", "long_time"),
    ),
    "\t",
)


@dataclass(frozen=True, kw_only=True)
class SnapCheckins(PairReader, name="snap_checkins"):
    """Check-ins in SNAP's layout of Gowalla: user, UTC time, latitude, longitude, location, separated by tabs.

    The context is the day of the week in UTC: the files give no time zone.
    """

    what = "SNAP's Gowalla check-ins"
    names = ("*checkins*.txt",)

    def pairs(self, bad: BadLines) -> Iterator[Pairs]:
        for path in self.files():
            for block in read_fields(Lines(path, SNAP.shown), SNAP, bad):
                yield Pairs(block, block["user"], block["location"], day_of_week(block["time"] // 86400))


@dataclass(frozen=True, kw_only=True)
class Tsmc2014(PairReader, name="tsmc2014"):
    """Foursquare check-ins in the TSMC2014 layout: eight fields separated by tabs, with the offset from UTC in minutes.

    The context is the local day of the week. Venues are numbered in the order of their first check-in.
    """

    what = "Foursquare check-ins as TSMC2014 published them"
    names = ("*tsmc2014*.txt",)

    def pairs(self, bad: BadLines) -> Iterator[Pairs]:
        venues = Interner()
        for path in self.files():
            for block in read_fields(Lines(path, TSMC.shown), TSMC, bad):
                local = block["UTC time"] + 60 * block["offset in minutes"]
                yield Pairs(block, block["user"], venues.codes(block, "venue"), day_of_week(local // 86400))
