"""The tidy numbers of all boards of a run, as the scripts of cross and the `compare` verb show them.

Trials and a run in, frames out: `compared` evaluates every setting of every board, `ranking` ranks one board.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpbench.model.finding import Finding
from dpbench.model.run import Run
from dpbench.model.setting import individuals_in
from dpbench.ranking.boards import LABELS, Board, boarded, places, present
from dpbench.ranking.entitled import among, entitled, findings_of, in_words, violators
from dpbench.ranking.look import FirstLook, first_look, look_of
from dpbench.ranking.memory import stored
from dpbench.ranking.pairwise import Measure
from dpbench.ranking.standings import SETTING, Standing, contests, in_order, regrets, standings
from dpbench.ranking.tails import least_detected
from dpbench.storage.frame import DATA_SEEDS, SECONDS, summarise
from dpbench.storage.frame import SETTING as ID
from dpbench.storage.numbers import plain

NO_LOOK = FirstLook()
WORLD = "world"
"""The column of trials with the world of the data; empty for the default one."""
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


def ranked(
    trials: pd.DataFrame,
    measure: Measure,
    board: Board,
    *,
    by: Sequence[str] = SETTING,
    look: FirstLook = NO_LOOK,
    condensed: bool = False,
) -> Ranked | None:
    """One board of trials that have `board` and `who`; None if no mechanism on it has the measure."""
    mine = trials[trials["board"] == str(board)]
    judged = contests(mine, measure, by=by, level=look.level, early=look.cells.get(str(board)), condensed=condensed)
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
    findings: Sequence[Finding] | None = None,
) -> pd.DataFrame:
    """One row per board, setting and mechanism: its own numbers, its ratio to the best, and its regret over all settings.

    The first measure determines the ranks; the other measures only add their regret, as `regret_NAME`. Without a run, boards
    are determined from the guarantees that installed mechanisms state. The column `mark` says what a reader must know about a
    mechanism before its rank: a violation of its guarantee, failed trials, heavy tails. `findings`: of an audit; None: of the
    one that is stored with the run.
    """
    findings = _findings(run) if findings is None else findings
    first = next(iter(measures.values()))
    by, entrants = with_worlds(trials, by), places(trials, run, apart=apart)
    frame, violated = boarded(trials, entrants), violators(entrants, findings)
    look = first_look(frame[~among(frame, violated)], first, by, look_of(run))
    frame = look.seen(frame)
    allowed = entitled(frame, entrants, run, first.metric, violated)
    neighbours = dict(zip(entrants["who"], entrants["neighbours"], strict=True))
    table = summarise(frame, ["board", *by, "who", "mechanism"])
    table = table.drop(columns=[c for c in table.columns if c.startswith(SPLIT) and c.endswith(("_se", "_p95"))])
    table = table.merge(costs(frame, run, by), on=["board", *by, "who"], how="left")
    parts = []
    for board in present(frame["board"]):
        own = table[table["board"] == str(board)]
        for at, (name, measure) in enumerate(measures.items()):
            shown = look if at == 0 else NO_LOOK
            judged = ranked(frame[allowed.ranked], measure, board, by=by, look=shown, condensed=at == 0)
            if judged is None:
                continue
            if at == 0:
                own = with_standing(own, judged, by)
            else:
                regret = judged.ranking[["who", "regret"]].rename(columns={"regret": f"regret_{name}"})
                own = own.merge(regret, on="who", how="left")
        parts.append(own)
    whole = allowed.marked(pd.concat(parts, ignore_index=True))
    audited = in_words(findings)
    whole = whole.assign(
        neighbours=whole["who"].map(neighbours), audit=[audited.get(m, "") for m in whole["mechanism"]]
    )
    if "rank" in whole:
        whole = in_order(whole)
    return by_board(whole).reset_index(drop=True)


def by_board(table: pd.DataFrame) -> pd.DataFrame:
    """The rows by board, in our order of boards."""
    order = {str(board): at for at, board in enumerate(Board)}
    return table.sort_values("board", key=lambda names: names.map(order), kind="stable")


def _findings(run: Run | None) -> Sequence[Finding]:
    return [] if run is None else findings_of(run.results)


def with_standing(own: pd.DataFrame, judged: Ranked, by: Sequence[str]) -> pd.DataFrame:
    """The rows of one board with each mechanism's standing in the setting, over all settings, and over those of its ε."""
    overall = judged.ranking.rename(columns={"competitive": "times_competitive", "best": "times_best"})
    own = own.merge(judged.standing, on=[*by, "who"], how="left").merge(overall, on="who", how="left")
    return own.merge(by_budget(judged.judged, judged.measure, by), on=["epsilon", "who"], how="left")


def by_budget(judged: Sequence[Standing], measure: Measure, by: Sequence[str]) -> pd.DataFrame:
    """The regret of each mechanism over the settings of one ε, with its interval: `regret_at`, `regret_at_low`,
    `regret_at_high`; `all_at`: whether it was run in all of them."""
    at, parts = list(by).index("epsilon"), []
    for epsilon in dict.fromkeys(standing.setting[at] for standing in judged):
        mine = [standing for standing in judged if standing.setting[at] == epsilon]
        part = regrets(mine, measure)
        part = part[["who", "regret", "regret_low", "regret_high"]].add_suffix("_at").rename(columns={"who_at": "who"})
        part = part.rename(columns={"regret_low_at": "regret_at_low", "regret_high_at": "regret_at_high"})
        whole = {name: sum(name in standing.contest.names for standing in mine) == len(mine) for name in part["who"]}
        parts.append(part.assign(epsilon=epsilon, all_at=part["who"].map(whole)))
    return pd.concat(parts, ignore_index=True)


def costs(frame: pd.DataFrame, run: Run | None, by: Sequence[str]) -> pd.DataFrame:
    """What a release costs: `seconds`, the median over trials, and `memory`, its peak in bytes, if that was measured (at one ε
    of each dataset). And how many `individuals` the data has, if the run says so."""
    peaks = {} if run is None else stored(run.results)
    sizes = {} if run is None else {s.id: individuals_in(s.dataset.statistics) or np.nan for s in run.settings}
    seconds = frame[SECONDS] if SECONDS in frame else pd.Series(np.nan, index=frame.index)
    keys = ["board", *by, "who"]
    cost = frame[keys].assign(seconds=seconds, memory=frame[ID].map(peaks).astype(float))
    cost["individuals"] = frame[ID].map(sizes).astype(float)
    cost["memory"] = cost.groupby(["board", *by[:1], "who"])["memory"].transform("max")
    how = {"seconds": "median", "memory": "max", "individuals": "max"}
    return cost.groupby(keys, sort=False, dropna=False).agg(how).reset_index()


def with_worlds(trials: pd.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """What makes a setting: also the world, if some trials were run in another one than the default."""
    return (by[0], WORLD, *by[1:]) if WORLD in trials else tuple(by)


def stopped(
    trials: pd.DataFrame,
    run: Run,
    measures: Mapping[str, Measure],
    *,
    by: Sequence[str],
    apart: Sequence[str] = (),
    findings: Sequence[Finding] | None = None,
) -> frozenset[str]:
    """The settings of a run that the first look stops, by id. Reads the trials below the look only."""
    entrants = places(trials, run, apart=apart)
    frame = boarded(trials, entrants)
    honest = frame[~among(frame, violators(entrants, _findings(run) if findings is None else findings))]
    return first_look(honest, next(iter(measures.values())), with_worlds(trials, by), look_of(run)).stopped


def ranking(table: pd.DataFrame, board: Board | str) -> pd.DataFrame:
    """One row per mechanism of a board, the best first, those that may not be ranked last; mechanisms without the measure are
    left out."""
    own = table[table["board"] == str(board)].drop_duplicates("who")
    return own[own["regret"].notna() | (own["mark"] != "")].reset_index(drop=True)


def cells(table: pd.DataFrame, board: Board | str, column: str, *, share: bool = False) -> pd.DataFrame:
    """The mean ratio of each mechanism for each value of a column, and the share of settings in which it is competitive."""
    own = table[(table["board"] == str(board)) & table["ratio"].notna()]
    own = own.assign(column=own[column], score=own["ratio"] if share else np.log(own["ratio"]))
    means = own.groupby(["who", "column"], sort=False)[["score", "competitive"]].mean().reset_index()
    return means.assign(ratio=means["score"] if share else np.exp(means["score"])).drop(columns="score")


def shares(table: pd.DataFrame, board: Board | str) -> pd.DataFrame:
    """The causes of each mechanism's mean squared error, as parts of 1; empty if the trials do not have them."""
    parts = [c for c in table.columns if c.startswith(SPLIT) and not c.endswith(("_se", "_p95"))]
    own = table[table["board"] == str(board)]
    if not parts or own.empty:
        return pd.DataFrame()
    total = own[parts].clip(lower=0).sum(axis=1)
    part = own[parts].clip(lower=0).div(total.where(total > 0), axis=0)
    mean = part.assign(who=own["who"]).groupby("who", sort=False).mean().reset_index()
    return mean.rename(columns={name: name.removeprefix(SPLIT) for name in parts})


def covered(table: pd.DataFrame, *, generated: bool = True) -> str:
    """What the intervals and conclusions of a board are about. A ranking on one draw of the data may not hold on another."""
    draws = table[DATA_SEEDS] if DATA_SEEDS in table else pd.Series([1])
    most = int(draws.max())
    if most < 2:
        other = ": on another draw of generated data, ranks may differ" if generated else ""
        return f"the noise of the trials on this data only{other}"
    some = "" if draws.min() == most else "up to "
    return f"the noise of the trials and the differences between {some}{most} draws of the data"


def expectations(table: pd.DataFrame) -> str:
    """In how many settings the compared errors are expectations; empty if in none."""
    if "by_expectation" not in table:  # a record of an earlier version
        return ""
    keys = [key for key in ("board", *LABELS) if key in table]
    settings = table.dropna(subset=["ratio"]).drop_duplicates(keys)["by_expectation"].eq(True)
    if not settings.any():
        return ""
    return (
        f"in {settings.sum()} of {settings.size} settings, where all mechanisms have one, the error of a trial is its "
        "expectation over the last noise of the release"
    )


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
TITLES = {"seconds": "seconds per release", "memory": "memory (MB)"}


def summary(table: pd.DataFrame, means: Mapping[str, str]) -> pd.DataFrame:
    """One row per board and mechanism, for the report. `means`: metrics whose means are shown, and their column titles."""
    shown = ["board", "rank", "who", "mark", "regret", *SUMMARY]
    first = table.drop_duplicates(["board", "who"])
    own = [c for c in table.columns if c.startswith("regret_") and c not in SUMMARY and not c.startswith("regret_at")]
    rows = first[[*shown, *own]].rename(columns={**SUMMARY, "who": "mechanism"})
    groups = table.groupby(["board", "who"], sort=False)
    fewest, most = groups["trials"].min(), groups["trials"].max()
    at = [*zip(first["board"], first["who"], strict=True)]
    rows["rank"] = [rank_text(row, fewest[key]) for row, key in zip(first.itertuples(), at, strict=True)]
    rows["trials"] = [count_text(fewest[key], most[key]) for key in at]
    cost = mean_costs(table).loc[at]
    rows[TITLES["seconds"]], rows[TITLES["memory"]] = cost["seconds"].to_numpy(), cost["memory"].to_numpy() / 1e6
    for metric, head in means.items():
        if metric in table:
            mean = groups[metric].mean()
            rows[head] = [mean[key] for key in at]
    return rows.assign(neighbours=first["neighbours"]).reset_index(drop=True)


def mean_costs(table: pd.DataFrame) -> pd.DataFrame:
    """What a release of each mechanism costs over all settings, by board and `who`: the geometric mean of `seconds`, and the
    largest `memory`."""
    positive = table["seconds"].where(table["seconds"] > 0)
    groups = table.assign(seconds=np.log(positive)).groupby(["board", "who"], sort=False)
    return groups.agg(seconds=("seconds", "mean"), memory=("memory", "max")).assign(
        seconds=lambda logs: np.exp(logs["seconds"])
    )


def rank_text(row: object, trials: float) -> str:
    """The rank with its interval; of a mechanism that stopped everywhere, after how many trials of a setting."""
    rank, low, high = (getattr(row, name) for name in ("rank", "rank_low", "rank_high"))
    if pd.isna(rank):
        return f"out of reach after {trials:.0f} trials" if getattr(row, "out_of_reach", False) in (True,) else ""
    return f"{rank:.0f}" if low == high else f"{rank:.0f} ({low:.0f} to {high:.0f})"


def count_text(fewest: float, most: float) -> str:
    """Trials of a setting over all draws of the data: "90", or "30 to 90"."""
    if pd.isna(most):
        return "0"
    return f"{most:.0f}" if fewest == most else f"{fewest:.0f} to {most:.0f}"
