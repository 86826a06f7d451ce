"""The numbers of `check` over commits: a small file for git, and a figure of the trend. Imported by the verb `check`.

`history.tsv` in the folder of the baselines has one line per commit, experiment, mechanism and metric. A commit that is checked
again replaces its own lines.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from dpbench.errors import UserError
from dpbench.figures import style
from dpbench.gate import lines
from dpbench.gate.baselines import CellNumbers, ExperimentNumbers
from dpbench.gate.speed import Times

FILE = "history.tsv"
HEAD = ("commit", "date", "experiment", "mechanism", "metric", "value")
SPEED = "time of a release"
MOST_NAMED = 6
"""Mechanisms with a colour and a name in one panel: those that moved most. The others are grey."""
MOST_COMMITS = 15
"""Commits that are named below a panel."""
MOST_PANELS = 24


@dataclass(frozen=True)
class HistoryPoint:
    """One number of one commit. The value of a metric is the geometric mean over the cells of a mechanism."""

    commit: str
    date: str
    experiment: str
    mechanism: str
    metric: str
    value: float


def points(numbers: Iterable[ExperimentNumbers], times: Times) -> Iterator[HistoryPoint]:
    """What is kept of a check: the first metric of each experiment, by mechanism, and the times if they were measured."""
    head, date = here()
    for one in numbers:
        cells: dict[str, list[CellNumbers]] = {}
        for cell in one.cells.values():
            cells.setdefault(str(cell.labels["mechanism"]), []).append(cell)
        wanted = one.run.metrics if one.run else ()
        for mechanism, mine in cells.items():
            names = [name for name in (*wanted, *mine[0].values) if name in mine[0].values]
            if (value := _mean([cell.values[names[0]] for cell in mine if names[0] in cell.values])) is not None:
                yield HistoryPoint(head, date, one.experiment, mechanism, names[0], value)
    for (experiment, mechanism), released in times.items():
        yield HistoryPoint(head, date, experiment, mechanism, SPEED, released.ratio)


def _mean(cells: Iterable[list[float]]) -> float | None:
    """The geometric mean of the cells' means; the arithmetic one if some are not positive."""
    means = np.array([np.mean(values) for values in cells if values])
    means = means[np.isfinite(means)]
    if not means.size:
        return None
    return float(np.exp(np.log(means).mean()) if (means > 0).all() else means.mean())


def here() -> tuple[str, str]:
    """The commit of the current folder, with a + if files differ from it, and its date."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        commit, date = git("log", "-1", "--format=%h %cs").split()
        return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else ""), date
    except (OSError, ValueError, subprocess.CalledProcessError):
        raise UserError("--history needs a git repository with a commit: the numbers are kept by commit") from None


def add(path: Path, new: Iterable[HistoryPoint]) -> list[HistoryPoint]:
    """Store the numbers of a commit, and return the whole history. Numbers of its uncommitted state are replaced by its own."""
    fresh = list(new)
    replaced = {(p.commit.rstrip("+"), p.experiment, p.mechanism, p.metric) for p in fresh}
    kept = [p for p in read(path) if (p.commit.rstrip("+"), p.experiment, p.mechanism, p.metric) not in replaced]
    whole = [*kept, *fresh]
    lines.write(path, HEAD, ((*list(vars(p).values())[:-1], f"{p.value:.6g}") for p in whole))
    return [replace(p, value=float(f"{p.value:.6g}")) for p in whole]


def read(path: Path) -> list[HistoryPoint]:
    rows = lines.read(path, HEAD, "restore it from git", numbers=1) if path.is_file() else []
    return [HistoryPoint(c, date, e, mechanism, metric, float(v)) for c, date, e, mechanism, metric, v in rows]


def trend(history: Iterable[HistoryPoint]) -> Figure:
    """One panel per experiment and metric: mechanisms over the commits, their first number as 1. Metrics before times, then those
    that moved most first."""
    panels: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    commits: dict[str, str] = {}
    for p in history:
        commits[p.commit] = p.date
        panels.setdefault((p.experiment, p.metric), {}).setdefault(p.mechanism, {})[p.commit] = p.value
    order = {commit: at for at, commit in enumerate(sorted(commits, key=lambda name: commits[name]))}
    ranked = sorted(panels.items(), key=lambda item: (item[0][1] == SPEED, -max(map(_moved, item[1].values()))))
    shown = ranked[:MOST_PANELS]
    across = min(3, len(shown))
    down = math.ceil(len(shown) / across)
    with style.paper_style():
        figure, axes = style.plt.subplots(down, across, figsize=(3.4 * across, 2.3 * down), squeeze=False)
        for ax in axes.flat[len(shown) :]:
            ax.set_axis_off()
        for ax, ((experiment, metric), curves) in zip(axes.flat, shown, strict=False):
            looks = style.looks(sorted(curves, key=lambda name: -_moved(curves[name]))[:MOST_NAMED])
            for mechanism, values in curves.items():
                first = next(iter(values.values())) or 1.0
                curve = sorted((order[commit], value / first) for commit, value in values.items())
                look = {**looks[mechanism], "ms": 3} if mechanism in looks else {"color": "#CCCCCC", "zorder": 1}
                told = style.label(mechanism) if mechanism in looks else f"_{mechanism}"
                ax.plot(*zip(*curve, strict=True), label=told, lw=1, **look)
            ax.set_title(f"{experiment}: {metric}", fontsize=8)
            step = math.ceil(len(order) / MOST_COMMITS)
            ax.set_xticks([*order.values()][::step], [*order][::step], rotation=60, fontsize=6)
            ax.set_xlim(-0.5, len(order) - 0.5)
            ax.tick_params(axis="y", labelsize=7)
            ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0.2)
        for ax in axes[:, 0]:
            ax.set_ylabel("relative to the first", fontsize=8)
        left = len(panels) - len(shown)
        above = [f"{left} more experiments moved less"] if left else []
        above += ["grey: mechanisms that moved less"] if any(len(curves) > MOST_NAMED for _, curves in shown) else []
        figure.suptitle("; ".join(above), fontsize=9)
        figure.tight_layout()
    return figure


def _moved(values: Mapping[str, float]) -> float:
    """How far apart the numbers of a mechanism are, as a ratio."""
    sizes = [abs(value) for value in values.values() if value]
    return max(sizes) / min(sizes) if sizes else 1.0
