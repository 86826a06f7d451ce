"""Random records: repeated visits of users to places, and the day of the week of each. Used by generators."""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel

# Cumulative shares of the days within Monday to Thursday and within Friday to Sunday.
_WORKDAYS = (0.24, 0.49, 0.74)
_WEEKEND = (0.33, 0.69)


@kernel()
def visits(indptr, popularity, bands, explore, fade, rng):  # type: ignore[no-untyped-def]
    """The place of every visit by exploration and preferential return (Song et al., Nature Physics 2010).

    A user who knows S places visits a new one, drawn by popularity, with probability explore * S^-fade. Otherwise the user
    repeats one of the earlier visits, all equally likely. `popularity` has one row of cumulative popularities, with last entry
    1, for each class of users; `bands` is the class of each user.
    """
    places = np.empty(indptr[-1], dtype=np.int32)
    for k in range(indptr.size - 1):
        known = 0
        taste = popularity[bands[k]]
        for at in range(indptr[k], indptr[k + 1]):
            before = at - indptr[k]
            if before == 0 or rng.random() < explore * known**-fade:
                places[at] = np.searchsorted(taste, rng.random(), side="right")
                known += 1
            else:
                places[at] = places[indptr[k] + int(rng.random() * before)]
    return places


@kernel()
def week_days(indptr, items, popular, base, occasional, pull, turning, rng):  # type: ignore[no-untyped-def]
    """The day of every record, 0 = Monday. It falls on Friday to Sunday with probability

    base + occasional * turning / (turning + the user's records) + pull * popular[item].
    """
    days = np.empty(items.size, dtype=np.uint8)
    for k in range(indptr.size - 1):
        own = base + occasional * turning / (turning + indptr[k + 1] - indptr[k])
        for at in range(indptr[k], indptr[k + 1]):
            late = own + pull * popular[items[at]]
            u = rng.random()
            if u < late:
                share = u / late
                days[at] = 4 + (share >= _WEEKEND[0]) + (share >= _WEEKEND[1])
            else:
                share = (u - late) / (1.0 - late)
                days[at] = (share >= _WORKDAYS[0]) + (share >= _WORKDAYS[1]) + (share >= _WORKDAYS[2])
    return days
