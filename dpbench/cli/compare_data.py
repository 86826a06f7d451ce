"""What `compare` prints without a mechanism: on a dataset, the ranking of all mechanisms, by board. Imported by `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import notes, plain_table, print_left_out
from dpbench.storage.numbers import plain, with_error

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.ranking.entry import Comparison

SETTING = {"dataset": "dataset", "place": "dataset", "world": "world", "epsilon": "ε", "share": "size", "K": "K"}
"""Columns that make up a setting of a board, and their titles. The size of queries is a part of the domain."""
ZERO = "zero"
"""The mechanism that publishes zeros: one whose error is not smaller publishes nothing of value."""
LEGEND = "best: certainly within a tenth of the best; perhaps: not certainly worse; *: the lowest of its column in its setting"
SHARE_LEGEND = "best: certainly within 5 points of the best; perhaps: not certainly worse"


def ratio_text(value: float, share: bool) -> str:
    """A distance to the best: a ratio, or points of precision."""
    return f"{100 * value:.1f} points" if share else plain(value, 3)


def print_data(out: Console, comparison: Comparison, numbers: pd.DataFrame) -> None:
    """Print the ranking of every board: over all settings if there are several, and in each of them."""
    from dpbench.ranking.boards import Board, present
    from dpbench.ranking.rounds import view_named

    view = view_named(comparison.run.experiment)
    metric = comparison.metric or view.metric
    others = [name for name in view.measures if name != metric and name in numbers]
    share = view.measures[metric].share
    for board in present(numbers["board"]):
        own = numbers[(numbers["board"] == str(board)) & numbers["ratio"].notna()]
        if own.empty:
            continue
        out.print(f"[bold]{escape(board.told)}[/]")
        if board is Board.READS:
            out.print("For comparison only, because a release would not be private.")
        keys = [name for name in SETTING if name in own]
        if len(own[keys].drop_duplicates()) > 1:
            out.print(_overall(own, share))
        out.print(_in_settings(own, _zeros(numbers, keys, metric), keys, metric, others, share))
        marked = numbers[(numbers["board"] == str(board)) & (numbers["mark"] != "")].drop_duplicates("who")
        for row in marked.itertuples():
            out.print(f"[red]{escape(str(row.who))}: {escape(str(row.mark))}[/]")
    out.print(SHARE_LEGEND if share else LEGEND)
    print_left_out(comparison.run.left_out)
    if any("bound is declared" in reason for _, reason in comparison.run.left_out):
        notes().print("--bound NUMBER declares it for your file. Choose it without looking at the data.")


def _overall(own: pd.DataFrame, share: bool) -> Table:
    """One row per mechanism, over all settings of a board."""
    distance = "points below the best" if share else "times the best"
    table = plain_table("rank", "mechanism", distance, "95 % interval", "worst", "competitive in")
    for row in own.drop_duplicates("who").itertuples():
        rank = "-" if row.rank != row.rank else f"{row.rank:.0f}"
        interval = f"{ratio_text(row.regret_low, share)} to {ratio_text(row.regret_high, share)}"
        shown = ratio_text(row.regret, share), interval, ratio_text(row.worst, share)
        table.add_row(*map(escape, (rank, row.who, *shown, f"{row.times_competitive:.0f} of {row.settings:.0f}")))
    return table


def _in_settings(
    own: pd.DataFrame,
    zeros: dict[tuple[object, ...], float],
    keys: list[str],
    metric: str,
    others: list[str],
    share: bool,
) -> Table:
    """The mechanisms of every setting, the best first: the metric that ranks, the distance to the best and to `zero`, and the
    other metrics."""
    from dpbench.figures.style import epsilon_name

    distance = "below the best by" if share else "times the best"
    floor = ["of zero's"] if zeros else []
    setting = (SETTING[name] for name in keys)
    table = plain_table(*setting, "mechanism", metric, distance, "interval", *floor, *others, "", "trials")
    for key, group in own.groupby(keys, sort=False):
        labels = [epsilon_name(part) if isinstance(part, float) else str(part) for part in key]
        lowest = {name: group[name].min() for name in others}
        for _, row in group.sort_values(["ratio", "who"]).iterrows():
            interval = f"{ratio_text(row['ratio_low'], share)} to {ratio_text(row['ratio_high'], share)}"
            of_zero = [plain(row[metric] / zeros[key], 3) if zeros.get(key) else ""] if zeros else []
            more = [f"{plain(row[name], 3)}{'*' if row[name] == lowest[name] else ''}" for name in others]
            standing = "best" if row["competitive"] else "perhaps" if row["may_be_best"] else ""
            measured = with_error(row[metric], row[f"{metric}_se"]), ratio_text(row["ratio"], share), interval
            cells = (*labels, row["who"], *measured, *of_zero, *more, standing, f"{row['trials']:.0f}")
            table.add_row(*map(escape, cells))
        table.add_section()
    return table


def _zeros(numbers: pd.DataFrame, keys: list[str], metric: str) -> dict[tuple[object, ...], float]:
    """The error of `zero` in every setting; empty where it did not run, or publishes nothing that is measured."""
    zero = numbers[(numbers["mechanism"] == ZERO) & numbers[metric].notna()]
    return {tuple(row[key] for key in keys): float(row[metric]) for _, row in zero.iterrows()}
