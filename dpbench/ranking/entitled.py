"""Which mechanisms may be ranked: not those that violate their guarantee, nor those with failed trials, which may be their
worst ones.

Both stay in the tables, marked. The findings are those of the sealed file that `python -m dpbench audit` writes, or given.
Imported by `tables` and by the report.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpbench.auditing.cache import stored
from dpbench.auditing.summary import by_mechanism
from dpbench.model.finding import Finding
from dpbench.model.run import Run
from dpbench.ranking.boards import Board
from dpbench.storage import failures
from dpbench.storage.frame import METRIC, SETTING, TRIAL

Place = tuple[str, str]
"""A board, and the name of a mechanism on it."""


@dataclass(frozen=True)
class Entitled:
    """What keeps mechanisms from being ranked."""

    ranked: pd.Series
    """Of each trial: whether it counts in a ranking."""
    violated: Mapping[Place, str]
    failed: Mapping[Place, str]

    def marked(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with the column `mark`: the violation first. A mechanism that violates its guarantee or has failed
        trials has no rank; one that failed everywhere has an empty row."""
        absent = [at for at in self.failed if at not in {*zip(table["board"], table["who"], strict=True)}]
        if absent:
            table = pd.concat([table, pd.DataFrame(absent, columns=["board", "who"])], ignore_index=True)
        at = [*zip(table["board"], table["who"], strict=True)]
        heavy = table["heavy"].eq(True) if "heavy" in table else [False] * len(table)
        parts = [
            (self.violated.get(place), self.failed.get(place), "heavy tails" if tail else None)
            for place, tail in zip(at, heavy, strict=True)
        ]
        off = [place in self.failed or place in self.violated for place in at]
        ranks = {name: table[name].mask(off) for name in ("rank", "rank_low", "rank_high") if name in table}
        return table.drop(columns="heavy", errors="ignore").assign(
            mark=["; ".join(filter(None, some)) for some in parts], **ranks
        )


def violators(entrants: pd.DataFrame, findings: Sequence[Finding]) -> dict[Place, str]:
    """The mechanisms that violate their guarantee by an audit. On the board of those that read the data there are none: they
    state no guarantee.
    `entrants`: see `places`."""
    violating = violations(findings)
    return {
        (row.board, row.who): violating[row.mechanism]
        for row in entrants.itertuples()
        if row.mechanism in violating and row.board != str(Board.READS)
    }


def among(frame: pd.DataFrame, places: Collection[Place]) -> pd.Series:
    """Of each trial: whether its mechanism is one of these."""
    return pd.Series([at in places for at in zip(frame["board"], frame["who"], strict=True)], index=frame.index)


def entitled(
    frame: pd.DataFrame, entrants: pd.DataFrame, run: Run | None, metric: str, violated: Mapping[Place, str]
) -> Entitled:
    """From trials with the columns of `entrants` (see `places`). A number that is not finite is a failed trial, unless the
    mechanism never has this metric."""
    column = METRIC + metric
    values = frame[column].astype(float) if column in frame else pd.Series(np.nan, index=frame.index)
    measured = values.notna().groupby([frame["board"], frame["who"]]).transform("any")
    broken = frame[measured & ~np.isfinite(values)].drop_duplicates([SETTING, TRIAL]).groupby(SETTING).size()
    finished = frame.groupby(SETTING)[TRIAL].agg(set).to_dict()
    lost = {} if run is None else failures.failed(run, finished)
    bad = {setting: int(broken.get(setting, 0)) + lost.get(setting, 0) for setting in {*broken.index, *lost}}
    counts: dict[Place, tuple[int, int]] = {}
    for row in entrants.itertuples():
        failed, planned = counts.get(at := (row.board, row.who), (0, 0))
        stored = len(finished.get(row.setting, ()))
        counts[at] = failed + bad.get(row.setting, 0), planned + stored + lost.get(row.setting, 0)
    return Entitled(
        ranked=~(among(frame, violated) | frame[SETTING].isin([*bad])),
        violated=violated,
        failed={at: f"{failed} of {planned} failed" for at, (failed, planned) in counts.items() if failed},
    )


# What the audit found: an error says little if the guarantee does not hold.


def findings_of(results: Path) -> list[Finding]:
    """The findings of the stored audit; empty if there was none."""
    return [each.finding for each in stored(results)]


def verdicts(results: Path) -> Mapping[str, str]:
    """The findings of the stored audit in words, by mechanism."""
    return in_words(findings_of(results))


def in_words(findings: Sequence[Finding]) -> Mapping[str, str]:
    """Findings in words, by mechanism."""
    return {summary.mechanism: summary.words for summary in by_mechanism(findings)}


def violations(findings: Sequence[Finding]) -> Mapping[str, str]:
    """The mechanisms that violate their guarantee, each with what was found."""
    return {summary.mechanism: summary.words for summary in by_mechanism(findings) if summary.verdict == "violated"}
