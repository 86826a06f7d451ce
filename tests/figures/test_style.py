"""Line styles: distinguishable without colour, and the same for a mechanism in every figure."""

from __future__ import annotations

import itertools

from dpbench.figures import style
from dpbench.mechanisms.base import MECHANISMS


def told_apart(looks: dict[object, dict[str, str]]) -> bool:
    shown = [tuple(look[part] for part in ("color", "marker", "linestyle")) for look in looks.values()]
    return len(set(shown)) == len(shown)


def test_every_mechanism_that_shares_a_figure_with_others_has_a_look_of_its_own() -> None:
    columns = [name for name, cls in MECHANISMS.items() if set(cls.kinds) & {"incidence", "records"}]
    tables = [name for name, cls in MECHANISMS.items() if "contingency" in cls.kinds]
    for names in (columns, tables):
        assert told_apart(style.looks(names))
        for pair in itertools.permutations(names, 2):
            assert style.looks(pair)[pair[1]] == style.looks(pair[::-1])[pair[1]]


def test_the_look_of_a_stranger_is_nobody_elses() -> None:
    for name in ("lpa", "gs", "geometric", "knorm_counts"):
        assert told_apart(style.looks(["mine", name, "yours", f"{name}, other"]))
