"""The tidy numbers of all boards of a run, as the scripts of cross and the `compare` verb show them.

Trials and a run in, frames out: `compared` evaluates every setting of every board, `ranking` ranks one board.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpbench.model.run import Run
from dpbench.ranking.boards import Board, boarded, places, present
from dpbench.ranking.entitled import entitled
from dpbench.ranking.pairwise import Measure
from dpbench.ranking.standings import SETTING, Standing, contests, regrets, standings
from dpbench.ranking.tails import least_detected
from dpbench.storage.frame import DATA_SEEDS, sampled, summarise
from dpbench.storage.numbers import plain

SPLIT = "share_"
"""Metrics that split the mean squared error by cause."""


@dataclass(frozen=True)
class Ranked:
    """One board, judged by one measure."""

    board: Board
    measure: Measure
    judged: tuple[Standing, ...]
    standing: pd.DataFrame
    """One row per setting and mechanism; see `standings`."""
    ranking: pd.DataFrame
    """One row per mechanism; see `regrets`."""


def ranked(trials: pd.DataFrame, measure: Measure, board: Board, *, by: Sequence[str] = SETTING) -> Ranked | None:
    """One board of trials that have `board` and `who`; None if no mechanism on it has the measure."""
    judged = contests(trials[trials["board"] == str(board)], measure, by=by)
    if not judged:
        return None
    return Ranked(board, measure, tuple(judged), standings(judged, measure, by=by), regrets(judged, measure))


def numbers(
    trials: pd.DataFrame,
    run: Run | None,
    measures: Mapping[str, Measure],
    *,
    by: Sequence[str] = SETTING,
    apart: Sequence[str] = (),
) -> pd.DataFrame:
    """One row per board, setting and mechanism: its own numbers, its ratio to the best, and its regret over all settings.

    The first measure determines the ranks; the other measures only add their regret, as `regret_NAME`. Without a run, boards
    are determined from the guarantees that installed mechanisms state. The column `mark` says what a reader must know about a
    mechanism before its rank: a violation of its guarantee, failed trials, heavy tails.
    """
    entrants = places(trials, run, apart=apart)
    frame = boarded(trials, entrants)
    allowed = entitled(frame, entrants, run, next(iter(measures.values())).metric)
    neighbours = dict(zip(entrants["who"], entrants["neighbours"], strict=True))
    # Boards compare sampled errors, trial by trial, so their means are those of sampled errors, too.
    table = summarise(sampled(frame), ["board", *by, "who", "mechanism"])
    parts = []
    for board in present(frame["board"]):
        own = table[table["board"] == str(board)]
        for at, (name, measure) in enumerate(measures.items()):
            found = ranked(frame[allowed.ranked], measure, board, by=by)
            if found is None:
                continue
            if at == 0:
                overall = found.ranking.rename(columns={"competitive": "times_competitive", "best": "times_best"})
                own = own.merge(found.standing, on=[*by, "who"], how="left").merge(overall, on="who", how="left")
            else:
                own = own.merge(
                    found.ranking[["who", "regret"]].rename(columns={"regret": f"regret_{name}"}), on="who", how="left"
                )
        parts.append(own)
    found_all = allowed.marked(pd.concat(parts, ignore_index=True))
    found_all = found_all.assign(neighbours=lambda f: f["who"].map(neighbours))
    order = [str(board) for board in Board]
    found_all["board"] = pd.Categorical(found_all["board"], order)
    keys = ["board", *(["rank", "regret"] if "rank" in found_all else [])]
    found_all = found_all.sort_values(keys, kind="stable", na_position="last").reset_index(drop=True)
    return found_all.assign(board=found_all["board"].astype(str))


RANKING = ("who", "regret", "regret_low", "regret_high", "rank", "rank_low", "rank_high")


def ranking(table: pd.DataFrame, board: Board | str) -> pd.DataFrame:
    """One row per mechanism of a board, the best first, those that may not be ranked last; mechanisms without the measure are
    left out."""
    own = table[table["board"] == str(board)].drop_duplicates("who")
    return own[own["regret"].notna() | (own["mark"] != "")].reset_index(drop=True)


def cells(table: pd.DataFrame, board: Board | str, column: str, *, share: bool = False) -> pd.DataFrame:
    """The mean ratio of each mechanism for each value of a column, and the share of settings in which it is competitive."""
    own = table[(table["board"] == str(board)) & table["ratio"].notna()]
    groups = own.assign(column=own[column], score=own["ratio"] if share else np.log(own["ratio"])).groupby(
        ["who", "column"], sort=False
    )
    found = groups.agg(score=("score", "mean"), competitive=("competitive", "mean")).reset_index()
    return found.assign(ratio=found["score"] if share else np.exp(found["score"])).drop(columns="score")


def shares(table: pd.DataFrame, board: Board | str) -> pd.DataFrame:
    """The causes of each mechanism's mean squared error, as parts of 1; empty if the trials do not have them."""
    parts = [c for c in table.columns if c.startswith(SPLIT) and not c.endswith(("_se", "_p95"))]
    own = table[table["board"] == str(board)]
    if not parts or own.empty:
        return pd.DataFrame()
    total = own[parts].clip(lower=0).sum(axis=1)
    part = own[parts].clip(lower=0).div(total.where(total > 0), axis=0)
    found = part.assign(who=own["who"]).groupby("who", sort=False).mean().reset_index()
    return found.rename(columns={name: name.removeprefix(SPLIT) for name in parts})


def covered(table: pd.DataFrame, *, generated: bool = True) -> str:
    """What the intervals and conclusions of a board are about. A ranking on one draw of the data may not hold on another."""
    draws = table[DATA_SEEDS] if DATA_SEEDS in table else pd.Series([1])
    most = int(draws.max())
    if most < 2:
        other = ": on another draw of generated data, ranks may differ" if generated else ""
        return f"the noise of the trials on this data only{other}"
    some = "" if draws.min() == most else "up to "
    return f"the noise of the trials and the differences between {some}{most} draws of the data"


def unseen(table: pd.DataFrame) -> str:
    """What no interval covers: disasters so rare that the trials of a mechanism, over all settings, may not show one."""
    same = ["board", "who", "epsilon", "dataset" if "dataset" in table else "place"]  # sizes of queries share releases
    trials = table.dropna(subset=["regret"]).drop_duplicates(same).groupby(["board", "who"])["trials"].sum()
    rate = least_detected(int(trials.min())) if len(trials) else 1.0
    return f"what occurs in fewer than {plain(100 * rate, 2)} % of releases may not have been seen"


SUMMARY = {
    "regret_low": "from",
    "regret_high": "to",
    "worst": "worst",
    "times_competitive": "competitive",
    "times_best": "best",
    "settings": "settings",
}


def summary(table: pd.DataFrame, means: Mapping[str, str]) -> pd.DataFrame:
    """One row per board and mechanism, for the report. `means`: metrics whose means are shown, and their column titles."""
    shown = ["board", "rank", "who", "mark", "regret", *SUMMARY]
    one = table.drop_duplicates(["board", "who"])
    own = [c for c in table.columns if c.startswith("regret_") and c not in SUMMARY]
    found = one[[*shown, *own]].rename(columns={**SUMMARY, "who": "mechanism"})
    found["rank"] = [_interval(row) for row in one.itertuples()]
    for metric, head in means.items():
        if metric in table:
            mean = table.groupby(["board", "who"], sort=False)[metric].mean()
            found[head] = [mean[at] for at in zip(one["board"], one["who"], strict=True)]
    return found.assign(neighbours=one["neighbours"]).reset_index(drop=True)


def _interval(row: object) -> str:
    rank, low, high = (getattr(row, name) for name in ("rank", "rank_low", "rank_high"))
    if pd.isna(rank):
        return ""
    return f"{rank:.0f}" if low == high else f"{rank:.0f} ({low:.0f} to {high:.0f})"
