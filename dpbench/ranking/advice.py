"""Which mechanism to use, from public facts about the data alone: a map learned from the boards on record.

Every setting of the boards of column counts is one point of the map: the number of columns, the mean count times ε, and the
mean row. The advice is the mechanism whose error, relative to the best, is lowest on average over the points nearby. Nothing
of the data is read, so asking costs no privacy. Imported by the verb `advise`, the Python API and the documentation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.config import catalogue
from dpbench.errors import UserError
from dpbench.model.setting import individuals_in
from dpbench.paths import RECORD
from dpbench.ranking.boards import Board
from dpbench.ranking.rows import recorded
from dpbench.sources.cards import load
from dpbench.storage.record import read

if TYPE_CHECKING:
    import pandas as pd

GUARANTEES = {"pure": Board.PURE, "delta": Board.APPROXIMATE}
"""Words for the boards that an advice may be about."""
BOARDS = ("cross/leaderboard", "cross/real")
"""The boards of column counts: on generated data, and on original files."""
REACH = 0.5
"""Decades after which a point of the map counts 0.6 as much; its neighbourhood. Chosen before any regret was looked at."""
FAR = 2.0
"""Decades to the nearest point from which on the advice is a guess."""
WORST = 100.0
"""Ratio to the best above which a mechanism is simply bad: one hopeless setting must not decide an average."""
ZERO = "zero"


@dataclass(frozen=True)
class Shape:
    """What is publicly known about the data, and the budget."""

    columns: float
    users: float
    row: float
    """Mean number of columns that a user has."""
    epsilon: float

    @property
    def mean_count(self) -> float:
        return self.users * self.row / self.columns

    @property
    def place(self) -> np.ndarray:
        """Its place on the map, in decades."""
        return np.log10([self.columns, self.mean_count * self.epsilon, self.row])


@dataclass(frozen=True)
class BoardPoint:
    """One setting of a board."""

    dataset: str
    world: str
    shape: Shape
    ratios: Mapping[str, float]
    """The error of each mechanism divided by the lowest one."""


@dataclass(frozen=True)
class Recommendation:
    """One mechanism at the place that was asked about."""

    who: str
    expected: float
    """Its error divided by that of the best, as a geometric mean over the neighbourhood."""
    low: float
    high: float
    """The smallest and the largest such ratio among the nearest points."""


@dataclass(frozen=True)
class Advice:
    """The mechanisms of one guarantee, the best first, for data of one shape."""

    shape: Shape
    board: Board
    recommendations: tuple[Recommendation, ...]
    nearest: tuple[BoardPoint, ...]
    """The settings of the boards that decided most, the nearest first."""
    distance: float
    """Decades to the nearest one."""
    too_small: bool = False
    """Whether publishing zeros is at least as good: the mean count is below 1/ε, which noise on single counts costs."""

    @property
    def best(self) -> Recommendation:
        return self.recommendations[0]

    @property
    def is_guess(self) -> bool:
        """Whether no setting on record is like this one."""
        return self.distance > FAR


def advise(shape: Shape, board: Board = Board.PURE, *, points: Sequence[BoardPoint] | None = None) -> Advice:
    """The mechanisms of a board for data of this shape, the best first."""
    for name in ("columns", "users", "row", "epsilon"):
        value = getattr(shape, name)
        if not (math.isfinite(value) and value > 0):
            raise UserError(f"{name}={value!r} is not valid: expected a positive number")
    if shape.row > shape.columns:
        raise UserError(f"row={shape.row:g} is not valid: a user has at most all {shape.columns:g} columns")
    points = map_of(board) if points is None else points
    if not points:
        raise UserError(
            f"no board of column counts with the guarantee {board} is on record: there is nothing to learn from"
        )
    distances = np.array([float(np.linalg.norm(point.shape.place - shape.place)) for point in points])
    # Relative to the nearest one, so that far from all points the nearest still decide.
    weights = np.exp(-(distances**2 - distances.min() ** 2) / (2 * REACH**2))
    nearest = [points[i] for i in np.argsort(distances, kind="stable")[:3]]
    names = sorted(set.intersection(*(set(point.ratios) for point in points)))
    logs = np.log([[min(point.ratios[name], WORST) for name in names] for point in points])
    expected = np.exp(weights @ logs / weights.sum())
    # This needs no map: `zero` errs by the mean count, and noise that covers one count errs by 1/ε.
    too_small = shape.mean_count * shape.epsilon < 1 and ZERO in names
    ranked = []
    for name, ratio in sorted(
        zip(names, expected, strict=True), key=lambda pair: (too_small and pair[0] != ZERO, pair[1])
    ):
        near = [point.ratios[name] for point in nearest]
        ranked.append(Recommendation(name, float(ratio), min(near), max(near)))
    return Advice(shape, board, tuple(ranked), tuple(nearest), float(distances.min()), too_small)


def held_out(board: Board, points: Sequence[BoardPoint] | None = None) -> list[tuple[BoardPoint, str, float]]:
    """What the advice costs on data that it has not seen: for each setting, the advice from all other datasets, and its
    error divided by that of the best."""
    points = map_of(board) if points is None else points
    told = []
    for point in points:
        others = [other for other in points if _source(other.dataset) != _source(point.dataset)]
        if others:
            who = advise(point.shape, board, points=others).best.who
            told.append((point, who, point.ratios[who]))
    return told


def _source(dataset: str) -> str:
    """Generated data that is fitted to a file is not new to an advice that has seen the file."""
    return {"transactions": "retail", "document": "kos"}.get(dataset, dataset)


@functools.cache
def map_of(board: Board, folder: Path = RECORD) -> tuple[BoardPoint, ...]:
    """The settings of the boards on record with this guarantee."""
    points: list[BoardPoint] = []
    for experiment in BOARDS:
        numbers, record = recorded(experiment, folder), read(experiment, folder)
        if numbers is not None and record is not None:
            points += points_of(numbers, board, record.scale, files=experiment == BOARDS[1])
    return tuple(points)


def points_of(numbers: pd.DataFrame, board: Board, scale: str, *, files: bool) -> list[BoardPoint]:
    """The points of a board's numbers. The number of columns and the mean count are in the errors of `zero`."""
    points = []
    keys = ["dataset", "world", "epsilon"]
    worlds = numbers["world"].fillna("") if "world" in numbers else ""
    numbers = numbers.assign(world=worlds)
    zeros = numbers[numbers["mechanism"] == ZERO].groupby(keys).first()
    for (dataset, world, epsilon), group in numbers[numbers["board"] == str(board)].groupby(keys):
        ratios = group.dropna(subset="ratio").set_index("who")["ratio"].astype(float).to_dict()
        if (dataset, world, epsilon) not in zeros.index or not ratios:
            continue
        total, mean = (float(zeros.loc[(dataset, world, epsilon), name]) for name in ("l1", "mae"))
        users = zeros["individuals"].get((dataset, world, epsilon), math.nan) if "individuals" in zeros else math.nan
        row = total / users if users > 0 else mean_row(dataset, world, scale, total, files=files)
        if row is None:
            continue
        points.append(BoardPoint(dataset, world, Shape(total / mean, total / row, row, float(epsilon)), ratios))
    return points


def mean_row(dataset: str, world: str, scale: str, total: float, *, files: bool) -> float | None:
    """The mean number of columns of a user, for records that do not state the number of users: of the file by its card, of
    generated data by its sizes. None if it is not known, or if the counts (their sum is `total`) are of a sample of the file."""
    if files:
        facts = load(dataset).original
        row, users = _mean_row(facts), individuals_in(facts)
        return row if row is not None and abs(total / row - users) < 0.01 * users else None
    entry = catalogue.dataset(dataset)
    sizes = {**entry.sizes.get(scale, {})}
    if world in entry.worlds:
        sizes |= entry.worlds[world].parameters.get(scale, {})
    return _mean_row(sizes)


def _mean_row(facts: Mapping[str, Any]) -> float | None:
    if "ones" in facts:
        return float(facts["ones"]) / float(facts["rows"])
    if "records" in facts:
        return float(facts["records"]) / float(facts["users"])
    if "average" in facts and "columns" in facts:
        return float(facts["average"]) * float(facts["columns"]) / float(facts["rows"])
    return None
