"""What advice costs on data that it has not seen, board by board: each dataset in turn is left out of what the advice knows.

Counts of columns are advised by the map (`advice`). The other boards have few datasets and no map: there the advice is the
mechanism with the lowest regret at the same ε on the other datasets. Imported by the verb `advise` and by the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpbench.paths import RECORD
from dpbench.ranking import advice
from dpbench.ranking.boards import PRIVATE, Board, present
from dpbench.ranking.rows import BOARDS, recorded

COUNTS = "counts of columns"
HEADS = ("what is published", "guarantee", "datasets", "settings", "regret", "median", "90 % below", "at most")


@dataclass(frozen=True)
class HeldOut:
    """One setting of a dataset that the advice had not seen."""

    published: str
    """What is published, in the words of the boards."""
    board: Board
    dataset: str
    epsilon: float
    advised: str
    cost: float
    """The error divided by that of the best mechanism there; for a share: how far below the best."""
    share: bool = False


def held_out(folder: Path = RECORD) -> Iterator[HeldOut]:
    """Every setting of every private board on record, with the advice from the other datasets."""
    for board in PRIVATE:
        points = advice.map_of(board, folder)
        for point, who, ratio in advice.held_out(board, points):
            yield HeldOut(COUNTS, board, point.dataset, point.shape.epsilon, who, ratio)
    for experiment, published in BOARDS.items():
        numbers = None if experiment in advice.BOARDS else recorded(experiment, folder)
        for board in [] if numbers is None else present(numbers["board"]):
            if board in PRIVATE:
                assert numbers is not None
                yield from elsewhere(published, numbers, board)


def elsewhere(published: str, numbers: pd.DataFrame, board: Board) -> Iterator[HeldOut]:
    """The advice "what has the lowest regret at this ε on the other datasets", on each dataset of a board."""
    share, key = "precision" in numbers, "dataset" if "dataset" in numbers else "place"
    own = numbers[(numbers["board"] == str(board)) & numbers["ratio"].notna()]
    own = own.assign(score=own["ratio"] if share else np.log(own["ratio"]))
    for (epsilon, dataset), here in own.groupby(["epsilon", key], sort=False):
        rest = own[(own["epsilon"] == epsilon) & (own[key] != dataset) & own["who"].isin(here["who"])]
        if rest.empty:
            continue
        counts = rest.groupby("who")["score"].agg(["size", "mean"])
        who = str(counts[counts["size"] == counts["size"].max()]["mean"].idxmin())
        for ratio in here.loc[here["who"] == who, "ratio"]:
            yield HeldOut(published, board, str(dataset), float(epsilon), who, float(ratio), share)


def cost_rows(settings: Sequence[HeldOut]) -> Iterator[tuple[str, ...]]:
    """What the advice costs, one row per board and guarantee; `HEADS` names the columns. The regret is the geometric mean of the
    ratios, or the mean of the differences."""
    for published, board in dict.fromkeys((setting.published, setting.board) for setting in settings):
        own = [setting for setting in settings if (setting.published, setting.board) == (published, board)]
        values, share = np.array([setting.cost for setting in own]), own[0].share
        mean = values.mean() if share else np.exp(np.log(values).mean())
        costs = (mean, np.median(values), np.quantile(values, 0.9), values.max())
        texts = (f"{100 * c:.1f} points" if share else f"{c:.2f}" if c < 99.95 else f"{c:.3g}" for c in costs)
        yield published, str(board), str(len({setting.dataset for setting in own})), str(len(own)), *texts
