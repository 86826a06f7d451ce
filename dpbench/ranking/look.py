"""The first look at a board: mechanisms that are certainly out of reach after a few trials stop there.

A board with a look (`look: 10`) is judged twice, at fixed points: after so many trials of every setting, and at the end. The
first look has a fifth of the board's error rate, the end has the rest, so that all statements together keep the stated rate.
A mechanism that stopped keeps what the first look said about it. All others are judged by all their trials, whose number was
fixed before.
The decision depends on the stored trials below the look only, never on what was computed after it, or in which order.
Imported by `tables`, which applies it to trials, and `rounds`, which saves the work.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dpbench.model.run import Run
from dpbench.ranking.boards import present
from dpbench.ranking.pairwise import LEVEL, Measure
from dpbench.ranking.standings import Early, contests
from dpbench.storage.frame import METRIC, SETTING, TRIAL

FIRST = LEVEL / 5
"""Probability that any statement of the first look is wrong."""


@dataclass(frozen=True)
class FirstLook:
    """What the first look at the boards of a run decided."""

    trials: int = 0
    """Trials of every setting that it saw. 0: there was no look."""
    stopped: frozenset[str] = frozenset()
    """The settings that stopped, by id."""
    cells: Mapping[str, Mapping[tuple[Hashable, ...], Early]] = field(default_factory=dict)
    """By board and setting of the board: what was said there."""

    @property
    def level(self) -> float:
        """The error rate that is left for the end."""
        return LEVEL - FIRST if self.trials else LEVEL

    def seen(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The trials that count: of settings that stopped only those of the first look, even if more are stored."""
        return frame[~(frame[SETTING].isin(self.stopped) & (frame[TRIAL] >= self.trials))] if self.stopped else frame


def look_of(run: Run | None) -> int:
    """After how many trials a run is looked at; 0 if it is not, or if it has no further trials."""
    return run.look if run is not None and 0 < run.look < run.repetitions else 0


def first_look(frame: pd.DataFrame, measure: Measure, by: Sequence[str], trials: int) -> FirstLook:
    """The decision after so many trials. `frame`: trials with `board` and `who`, without mechanisms that may not be ranked.

    A mechanism is out of reach if it is certainly worse than another one by more than the margin of the measure (a tenth, or
    five points).
    A setting of the run stops if it is out of reach in all settings of the board that it takes part in, such as all sizes of
    queries. A mechanism with a failed or missing trial neither stops nor stops others.
    """
    column = METRIC + measure.metric
    if not trials or column not in frame:
        return FirstLook()
    early = frame[frame[TRIAL] < trials]
    places = ["board", *by, "who"]
    entries = frame[[*places, SETTING]].drop_duplicates()
    good = early[np.isfinite(early[column].astype(float))].groupby([*places, SETTING], dropna=False).size()
    counts = good.reindex(pd.MultiIndex.from_frame(entries[[*places, SETTING]]), fill_value=0)
    entries = entries.assign(whole=(counts >= trials).to_numpy())
    entries["whole"] = entries.groupby(places, dropna=False)["whole"].transform("all")
    early = early.merge(entries.loc[entries["whole"], [*places, SETTING]], on=[*places, SETTING])
    judged = {
        str(board): contests(early[early["board"] == str(board)], measure, by=by, level=FIRST)
        for board in present(early["board"])
    }
    far = {
        (board, *standing.setting, name)
        for board, several in judged.items()
        for standing in several
        for name, low in zip(standing.contest.names, standing.judgement.low, strict=True)
        if low > measure.limit
    }
    out = [tuple(row) in far for row in entries[places].itertuples(index=False, name=None)]
    over = entries.assign(out=out).groupby(SETTING)["out"].all()
    stopped = frozenset(over.index[over])
    gone = entries[entries[SETTING].isin(stopped)]
    names: dict[tuple[Hashable, ...], set[str]] = {}
    for board, *cell, who in gone[places].itertuples(index=False, name=None):
        names.setdefault((board, *cell), set()).add(who)
    cells: dict[str, dict[tuple[Hashable, ...], Early]] = {}
    for board, several in judged.items():
        for standing in several:
            gone_here = frozenset(names.get((board, *standing.setting), ()))
            said = Early(standing.contest.names, standing.judgement, gone_here)
            cells.setdefault(board, {})[standing.setting] = said
    return FirstLook(trials, stopped, cells)
