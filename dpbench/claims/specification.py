"""What a paper prints against what we get, under every reading of its text and in every world of its data.

`curve` gives one row per printed number and choice, `joint` how far each reading is from all numbers together, and `conflicts`
which sentences no choice satisfies together. `summary` and `draw` are those of the scripts of the experiments `<paper>/readings`,
which import this.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpbench.claims.cases import worlds_of
from dpbench.claims.cells import CellTrials, cells_of
from dpbench.claims.decide import decide
from dpbench.claims.ledger import ledger
from dpbench.claims.scope import Scope, choices
from dpbench.config.readings import of_experiment
from dpbench.model.claim import CONTRADICTED, UNTESTABLE, Claim
from dpbench.model.reading import PaperReadings, PrintedNumber, Reading
from dpbench.model.world import DEFAULT, LABEL, default_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNLIKELY = 0.05
"""A single printed run fits a reading unless a run at least as extreme is less likely than this."""
DRAWS = 2000
NORMAL = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
FAR = math.log(1e6)
"""The largest distance: one number that is zero does not decide alone."""
CHOICE = "choice "
"""Prefix of the columns that name the chosen value of an unknown or the world of a dataset."""


def curve(paper: str, trials: pd.DataFrame) -> pd.DataFrame:
    """One row per printed number or sentence and distinct choice: ours with its 95 % interval, the ratio, and whether it fits.

    Columns: number, claim, printed, low, high, ours, ours_low, ours_high, ratio, chance (of a run at least as extreme, for single
    runs), off (see `distance`), fits, kind, reading, and one column per unknown and dataset with what was chosen.
    """
    known = of_experiment(f"{paper}/readings")
    claims = {claim.id: claim for claim in ledger([paper])}
    cells = cells_of(trials)
    rows: list[dict[str, Any]] = []
    for number in known.printed:
        claim = claims[number.claim]
        if number.where:
            claim = dataclasses.replace(
                claim, where=number.where, each=(), some=(), measure=number.measure or claim.measure
            )
        rows += _rows(number.name, "number", claim, number, known, cells)
    for name in known.sentences:
        rows += _rows(name.partition("/")[2], "sentence", claims[name], None, known, cells)
    return pd.DataFrame(rows)


def _rows(
    name: str, kind: str, claim: Claim, number: PrintedNumber | None, known: PaperReadings, cells: list[CellTrials]
) -> Iterator[dict[str, Any]]:
    seen = set()
    for reading in known.all():
        mine = [cell for cell in cells if reading.fits(cell.labels)]
        for worlds in _worlds(claim, mine):
            scope = Scope([cell for cell in mine if _in(cell, worlds)], claim.numbers)
            verdict = decide(dataclasses.replace(claim, measure=reading.measure(claim.measure)), scope, unseen=False)
            if verdict.decider is None or verdict.verdict == UNTESTABLE or not math.isfinite(verdict.decider.value):
                continue
            used = list(scope.used.values())
            chosen = dict(_matter(known, reading, used, claim))
            chosen |= {dataset: world for dataset, world in worlds.items() if _uses(used, dataset)}
            if (key := repr(chosen)) in seen:
                continue
            seen.add(key)
            group = verdict.decider
            row: dict[str, Any] = {"number": name, "claim": claim.id, "kind": kind, "reading": reading.name}
            row |= {"ours": group.value, "ours_low": group.low, "ours_high": group.high}
            if number is None:
                row |= {"fits": verdict.verdict != CONTRADICTED}
            else:
                chance = _chance(claim.measure, used, number) if number.run else math.nan
                off = 0.0 if number.run and chance >= UNLIKELY else distance(group.value, number)
                row |= {"printed": number.value, "low": number.low, "high": number.high, "chance": chance, "off": off}
                row |= {"ratio": group.value / number.value, "fits": off == 0 or _reached(group, number)}
            yield {**row, **{CHOICE + what: value for what, value in chosen.items()}}


def distance(ours: float, number: PrintedNumber) -> float:
    """How far a number is from what is printed, as a factor in logarithms: 0 where it would be printed like this."""
    if number.low <= ours <= number.high:
        return 0.0
    border = number.low if ours < number.low else number.high
    return min(FAR, abs(math.log(ours / border))) if ours > 0 else FAR


def _reached(group: Any, number: PrintedNumber) -> bool:
    """Whether the interval of ours reaches what is printed."""
    return bool(not number.run and group.low <= number.high and group.high >= number.low)


def _chance(measure: str, used: Sequence[CellTrials], number: PrintedNumber) -> float:
    """The probability of a run at least as extreme as the printed one, on both sides: twice the smaller tail."""
    metric = re.match(r"\w+", measure)
    values = np.concatenate([cell.values[metric[0]] for cell in used if metric and metric[0] in cell.values])
    tails = float(np.mean(values >= number.value)), float(np.mean(values <= number.value))
    return min(1.0, 2 * min(tails))


def _matter(
    known: PaperReadings, reading: Reading, used: Sequence[CellTrials], claim: Claim
) -> Iterator[tuple[str, str]]:
    """The unknowns that can change the cells or the metrics that were used, and their values there."""
    for unknown in known.unknowns:
        changing = [
            value.name
            for value in unknown.others()
            if any(known.named(f"{unknown.name}.{value.name}").touches(cell.labels) for cell in used)
            or any(f"{old}(" in claim.measure for old in value.metrics)
        ]
        if changing:
            chosen = reading.choices[unknown.name]
            yield unknown.name, chosen if chosen in changing else unknown.default


def _uses(used: Sequence[CellTrials], dataset: str) -> bool:
    return any(cell.labels.get("dataset") == dataset for cell in used)


def _world(cell: CellTrials) -> str:
    """The world of a cell's dataset; of the default world, its name if it has one."""
    return str(cell.labels[LABEL]) if LABEL in cell.labels else _default_world(str(cell.labels.get("dataset")))


def _default_world(dataset: str) -> str:
    return default_of(worlds_of(dataset).values()) or DEFAULT


def _worlds(claim: Claim, cells: Sequence[CellTrials]) -> list[dict[str, str]]:
    """The default worlds of the datasets that a claim may use, and every other world of one dataset beside the defaults."""
    named = {str(n) for choice in claim.alternatives for n in choices(choice.get("dataset")) if n is not None}
    named |= set(re.findall(r"dataset=(\w+)", claim.measure))
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        if not named or cell.labels.get("dataset") in named:
            found.setdefault(str(cell.labels.get("dataset")), {})[_world(cell)] = None
    defaults = {
        name: _default_world(name) if _default_world(name) in of else next(iter(of)) for name, of in found.items()
    }
    others = ((name, world) for name, of in found.items() for world in of if world != defaults[name])
    return [defaults, *(defaults | {name: world} for name, world in others)]


def _in(cell: CellTrials, worlds: Mapping[str, str]) -> bool:
    name = str(cell.labels.get("dataset"))
    return name not in worlds or _world(cell) == worlds[name]


# All numbers together.


def joint(rows: pd.DataFrame) -> pd.DataFrame:
    """How far every choice for all unknowns and worlds is from all printed numbers together, the nearest first.

    `distance`: the root mean square of `off` over the numbers, so 0.1 is about 10 %. Its 95 % interval, and `best`, the share
    of draws in which this choice is nearest, come from numbers redrawn with the standard errors of ours.
    """
    numbers = rows[rows["kind"] == "number"] if not rows.empty else rows
    if numbers.empty:
        return pd.DataFrame(columns=["distance", "distance_low", "distance_high", "best", "numbers"])
    columns = [c for c in numbers.columns if c.startswith(CHOICE) and numbers[c].notna().any()]
    grid = list(itertools.product(*(list(numbers[c].dropna().unique()) for c in columns)))
    rng = np.random.default_rng(20_151)  # fixed seed: the result depends only on the numbers
    redrawn = {index: _redrawn(row, rng) for index, row in numbers.iterrows()}
    chosen, total = np.array(grid, dtype=object).reshape(len(grid), len(columns)), np.zeros((len(grid), DRAWS + 1))
    for _, group in numbers.groupby("number", sort=False):
        # The first row of a number that each choice fits; a row without a value does not depend on that choice.
        values = group[columns].to_numpy(dtype=object)[:, None, :]
        fits = (group[columns].isna().to_numpy()[:, None, :] | (values == chosen[None, :, :])).all(axis=2)
        offs = np.array([redrawn[index] for index in group.index])[fits.argmax(axis=0)]
        total += np.where(fits.any(axis=0)[:, None], np.square(offs), np.nan)
    squares = np.sqrt(total / numbers["number"].nunique())
    table = pd.DataFrame(grid, columns=columns)
    draws = squares[:, 1:]
    table["distance"] = squares[:, 0]
    table["numbers"] = numbers["number"].nunique()
    kept = np.isfinite(squares[:, 0])
    table.loc[kept, "distance_low"], table.loc[kept, "distance_high"] = np.quantile(draws[kept], [0.025, 0.975], axis=1)
    least = draws[kept].min(axis=0)
    table.loc[kept, "best"] = np.mean(draws[kept] <= least + 1e-12, axis=1)
    return table[kept].sort_values("distance", kind="stable").reset_index(drop=True)


def _redrawn(row: pd.Series, rng: np.random.Generator) -> np.ndarray:
    """`off` of a number, and of the same number redrawn with its standard error, in logarithms."""
    if not math.isnan(row["chance"]):
        return np.full(DRAWS + 1, row["off"])
    spread = 0.0
    if row["ours_low"] > 0 and math.isfinite(row["ours_high"]):
        spread = math.log(row["ours_high"] / row["ours_low"]) / (2 * NORMAL)
    number = PrintedNumber("", "", row["printed"], row["low"], row["high"])
    drawn = row["ours"] * np.exp(spread * rng.standard_normal(DRAWS))
    return np.array([row["off"], *(distance(value, number) for value in drawn)])


def conflicts(rows: pd.DataFrame, most: int = 3) -> list[tuple[str, ...]]:
    """The smallest sets of numbers and sentences that no choice satisfies together; a set of one fails in every choice."""
    if rows.empty:
        return []
    columns = [c for c in rows.columns if c.startswith(CHOICE)]
    names = list(rows["number"].unique())
    axes = {c: list(rows[c].dropna().unique()) for c in columns}
    axes = {c: values for c, values in axes.items() if values}
    holds: dict[str, np.ndarray] = {}
    grid = pd.DataFrame(list(itertools.product(*axes.values())), columns=list(axes))
    for name in names:
        held = np.zeros(len(grid), dtype=bool)
        for _, row in rows[(rows["number"] == name) & rows["fits"].astype(bool)].iterrows():
            same = np.ones(len(grid), dtype=bool)
            for column in axes:
                if isinstance(row[column], str):
                    same &= (grid[column] == row[column]).to_numpy()
            held |= same
        holds[name] = held
    found: list[tuple[str, ...]] = []
    for size in range(1, most + 1):
        for names_tried in itertools.combinations(names, size):
            if any(set(smaller) <= set(names_tried) for smaller in found):
                continue
            if not np.logical_and.reduce([holds[name] for name in names_tried]).any():
                found.append(names_tried)
    return found


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    """The five readings that are nearest to all printed numbers together."""
    return joint(numbers).head(5)


def draw(numbers: pd.DataFrame) -> Figure:
    from dpbench.figures.specification import draw as draw_curve

    return draw_curve(numbers, joint(numbers), conflicts(numbers))
