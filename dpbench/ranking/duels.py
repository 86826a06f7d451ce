"""One mechanism against each of the others of its board: where it is certainly better or worse, and by how much on average.

Reads the tidy numbers of `tables`. Imported by the `compare` verb.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpbench.ranking.boards import LABELS


@dataclass(frozen=True)
class Duel:
    """A mechanism against a rival, over the settings that both were run in."""

    rival: str
    better: int
    """Settings in which the mechanism is certainly better."""
    worse: int
    settings: int
    ratio: float
    """Its error divided by the rival's, as a geometric mean; for a share, the mean difference."""


def duels(numbers: pd.DataFrame, who: str, *, share: bool = False) -> list[Duel]:
    """Compare with every rival of the board; the rivals that are beaten most clearly come last."""
    mine = numbers[(numbers["who"] == who) & numbers["ratio"].notna()]
    if mine.empty:
        return []
    board = mine["board"].iloc[0]
    keys = [name for name in LABELS if name in numbers]
    results = []
    for rival, theirs in numbers[(numbers["board"] == board) & (numbers["who"] != who)].groupby("who", sort=False):
        both = mine.merge(theirs.dropna(subset=["ratio"]), on=keys, suffixes=("", "_theirs"))
        if both.empty:
            continue
        names = [set(str(listed).split("|")) for listed in both["worse_than"]]
        theirs_names = [set(str(listed).split("|")) for listed in both["worse_than_theirs"]]
        apart = both["ratio"] - both["ratio_theirs"] if share else np.log(both["ratio"] / both["ratio_theirs"])
        mean = float(apart.mean())
        results.append(
            Duel(
                str(rival),
                better=sum(who in listed for listed in theirs_names),
                worse=sum(rival in listed for listed in names),
                settings=len(both),
                ratio=mean if share else float(np.exp(mean)),
            )
        )
    return sorted(results, key=lambda duel: -duel.ratio)
