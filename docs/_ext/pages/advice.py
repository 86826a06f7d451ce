"""The page of practitioners: which mechanism for counts of which shape, what a wrong choice costs, and how good the advice is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dpbench.config import catalogue
from dpbench.figures.style import epsilon_name
from dpbench.paths import RECORD
from dpbench.privacy.exchange import exchange
from dpbench.ranking.advice import FAR, REACH, ZERO, BoardPoint, map_of
from dpbench.ranking.boards import PRIVATE, Board
from dpbench.ranking.held_out import COUNTS, HEADS, HeldOut, cost_rows, held_out
from dpbench.ranking.rows import BOARDS, recorded_winners
from dpbench.sources.cards import load
from dpbench.storage import record
from pages.markdown import page, plain, table

BANDS = ((0, 1), (1, 10), (10, 100), (100, 1000), (1000, float("inf")))
"""Of the mean count times ε: how many times larger a count is than the noise that covers one column."""

ABOUT = (
    "You want to publish counts of columns, such as how many users bought each item. Which mechanism errs least depends on "
    "the shape of your data and on ε. Both are public, so asking costs no privacy: `python -m dpbench advise --columns "
    "20000 --users 1e6 --row 40 --epsilon 0.5`. This page says what it knows, in words and in numbers. It is made from [the "
    "boards on record](index.md)."
)
RULE = (
    "Every setting of the boards of column counts is a point on a map with three axes: the number of columns, the mean "
    "count times ε, and the mean row (columns per user), all in powers of ten. The advice is the mechanism with the lowest "
    f"error relative to the best, as a geometric mean over the points, where a point {REACH:g} decades away counts 0.6 as "
    f"much as one at your place. If the nearest point is more than {FAR:g} decades away, the answer says that it is a guess. "
    f"If the mean count times ε is below 1, noise on one count is larger than the count, and publishing zeros (`{ZERO}`) is "
    "as accurate: count fewer columns, or spend more."
)
LEFT_OUT = (
    "Each dataset in turn is left out, with all its worlds and all that was fitted to it, and the advice is asked for its "
    "shape. The cost is the error of the advised mechanism divided by that of the best one there; for the K largest "
    "columns, how far below the best it is. Boards of histograms and of the K largest have few datasets and no map; there "
    "the advice is the mechanism with the lowest regret at the same ε on the other datasets. `python -m dpbench advise "
    "--held-out` prints this table."
)


def advice_page(records: Path = RECORD) -> str:
    """Empty if no board of column counts is on record."""
    maps = {board: map_of(board, records) for board in PRIVATE}
    if not any(maps.values()):
        return ""
    seen = [*held_out(records)]
    parts = ["# Which mechanism for your counts", ABOUT, _sources(records)]
    for board, points in maps.items():
        if points:
            parts += [f"## {plain(str(board)[0].upper() + str(board)[1:])}", _first(points), _bands(points)]
            parts += [
                "What the best choice and other choices cost, dataset by dataset, at all ε together:",
                _shapes(points),
            ]
    parts += [
        f"{exchange(1.0)}.",
        "## The rule",
        RULE,
        "## What the advice costs",
        LEFT_OUT,
        table(HEADS, [*cost_rows(seen)]),
    ]
    parts += ["On counts of columns, by dataset:", _by_dataset(seen)]
    parts += [
        "## Ranges, subsets and the K largest",
        "`advise` is about counts of columns. For the others:",
        _others(records),
    ]
    return page(*parts)


def _sources(records: Path) -> str:
    read = [(name, record.read(name, records)) for name in ("cross/leaderboard", "cross/real")]
    return " ".join(
        f"`{name}`: {found.scale} size, {found.trials} trials per setting; {plain('; '.join(found.origins))}."
        for name, found in read
        if found is not None
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 999.5 else f"{ratio:,.0f}"


def _mean(points: Sequence[BoardPoint], who: str) -> float:
    return float(np.exp(np.mean([np.log(point.ratios[who]) for point in points])))


def _ranked(points: Sequence[BoardPoint]) -> list[tuple[str, float]]:
    """The mechanisms that ran in all of these settings, the best first, with their mean ratio."""
    names = set.intersection(*(set(point.ratios) for point in points))
    return sorted(((who, _mean(points, who)) for who in names), key=lambda one: one[1])


def _first(points: Sequence[BoardPoint]) -> str:
    (who, ratio), *rest = _ranked(points)
    others = ", ".join(f"`{name}` {value:.2f}" for name, value in rest[:3])
    return (
        f"If you know nothing about your data, use `{who}`: over all {len(points)} settings its error is {ratio:.2f} times "
        f"that of the best, as a geometric mean. Next: {others}."
    )


def _bands(points: Sequence[BoardPoint]) -> str:
    lines = []
    for low, high in BANDS:
        own = [p for p in points if low <= p.shape.mean_count * p.shape.epsilon < high]
        if own:
            ranked = _ranked(own)
            (best, ratio), (worst, most) = ranked[0], ranked[-1]
            median = ranked[len(ranked) // 2]
            band = f"below {high:g}" if not low else f"{low:g} and more" if np.isinf(high) else f"{low:g} to {high:g}"
            names = ", ".join(dict.fromkeys(p.dataset for p in own))
            lines.append(
                (
                    band,
                    f"`{best}` {ratio:.2f}",
                    f"`{median[0]}` {_times(median[1])}",
                    f"`{worst}` {_times(most)}",
                    names,
                )
            )
    heads = ("mean count × ε", "best choice, error / best", "a choice in the middle", "the worst choice", "datasets")
    return table(heads, lines)


def _shapes(points: Sequence[BoardPoint]) -> str:
    lines = []
    for dataset in dict.fromkeys(point.dataset for point in points):
        own = [point for point in points if point.dataset == dataset]
        shape, ranked = own[0].shape, _ranked(own)
        density = 100 * shape.row / shape.columns
        numbers = (
            f"{shape.columns:,.0f}",
            f"{shape.users:,.0f}",
            f"{shape.row:.3g}",
            f"{density:.2g} %",
            _skew(dataset, shape.row),
        )
        wrong = f"`{ranked[-1][0]}` {_times(ranked[-1][1])}"
        usual = _times(_mean(own, "lpa")) if all("lpa" in p.ratios for p in own) else "-"
        link = (
            f"[{plain(dataset)}](../datasets/{dataset}.md)"
            if dataset in catalogue.options("dataset")
            else plain(dataset)
        )
        lines.append((link, *numbers, f"`{ranked[0][0]}` {ranked[0][1]:.2f}", usual, wrong))
    heads = (
        "dataset",
        "columns",
        "users",
        "mean row",
        "density",
        "largest row / mean",
        "best choice",
        "`lpa`",
        "the worst choice",
    )
    return table(heads, lines)


def _skew(dataset: str, row: float) -> str:
    facts = load(dataset).original or load(dataset).paper
    largest = facts.get("largest_row", facts.get("largest"))
    return f"{float(largest) / row:.3g}" if largest else "-"


def _by_dataset(seen: Iterable[HeldOut]) -> str:
    groups: dict[tuple[Board, str], list[HeldOut]] = {}
    for one in seen:
        if one.published == COUNTS:
            groups.setdefault((one.board, one.dataset), []).append(one)
    rows = []
    for (board, dataset), own in groups.items():
        advised = ", ".join(f"`{who}`" for who in dict.fromkeys(one.advised for one in own))
        mean = float(np.exp(np.mean([np.log(one.cost) for one in own])))
        rows.append(
            (plain(dataset), str(board), str(len(own)), advised, f"{mean:.2f}", _times(max(o.cost for o in own)))
        )
    return table(("left out", "guarantee", "settings", "advised", "regret", "at most"), rows)


def _others(records: Path) -> str:
    found = [one for one in recorded_winners(records) if not one.experiment.endswith(("leaderboard", "real"))]
    rows = (
        (
            BOARDS[one.experiment],
            str(one.board),
            epsilon_name(one.epsilon),
            f"`{one.who}` {one.regret_text}",
            f"{one.best} of {one.settings}",
        )
        for one in found
    )
    return table(("what is published", "guarantee", "ε", "lowest regret (95 %)", "best in settings"), rows)
