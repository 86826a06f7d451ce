"""What a board says, as types: one row per mechanism, and who wins at each ε.

Made from the tidy numbers of a board (`tables.numbers`), of a run or of the record. Imported by the report and the documentation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import UserError
from dpbench.paths import RECORD
from dpbench.ranking.boards import PRIVATE, Board, present
from dpbench.storage import record

if TYPE_CHECKING:
    import pandas as pd

BOARDS = {
    "cross/leaderboard": "counts of columns",
    "cross/real": "counts of columns, real data",
    "cross/topk": "the K largest columns",
    "cross/real_topk": "the K largest columns, real data",
    "cross/ranges": "ranges of a histogram",
    "cross/real_ranges": "ranges of a histogram, real data",
    "cross/bounded": "ranges of a small histogram",
    "cross/subsets": "subsets of a histogram",
    "cross/real_subsets": "subsets of a histogram, real data",
}
"""The experiments that are boards, each with what is published and asked, in the order of tables."""
NEEDED = ("board", "who", "epsilon", "ratio", "regret_at", "regret_at_low", "regret_at_high", "all_at")
"""The columns of a board's numbers that name winners; a run of an earlier version may lack some."""
TEXTS = ("board", "who", "mark", "neighbours")
NUMBERS = ("epsilon", "trials", "seconds", "memory", "ratio", "regret", "regret_at", "regret_at_low", "regret_at_high")
"""The columns that rows and winners of the record are made from."""
STANDING = ("regret", "regret_low", "regret_high", "rank", "rank_low", "rank_high")
"""The columns that a row has under their own names."""


@dataclass(frozen=True)
class BoardRow:
    """One mechanism on one board."""

    experiment: str
    board: Board
    who: str
    """Its name on the board: the mechanism, with the parameters that distinguish its variants."""
    mechanism: str
    regret: float
    """The error divided by that of the best in each setting, as a geometric mean over the settings; for a share, the mean
    distance below the best. nan if it may not be ranked."""
    regret_low: float
    regret_high: float
    rank: float
    """nan: it may not be ranked (`mark`), did not run in every setting, or is out of reach."""
    rank_low: float
    rank_high: float
    out_of_reach: bool
    """It stopped at the first look in every setting."""
    trials: tuple[int, int]
    """The fewest and the most trials of a setting, all draws of the data together."""
    settings: int
    competitive: int
    """Settings in which it is certainly close to the best."""
    best: int
    """Settings in which it has the lowest error."""
    seconds: float
    """Of a release; nan if not known."""
    memory: float
    """Bytes, the peak of a release; nan if not measured."""
    mark: str = ""
    """What a reader must know before its rank: a violation of its guarantee, failed trials, heavy tails."""
    audit: str = ""
    """What the audit of privacy found; empty if it was not audited."""
    neighbours: str = ""
    share: bool = False
    """The measure is a share: regrets are differences, not ratios."""
    status: str = "on record"
    """Where its numbers come from: the record, or the mark of an entry."""
    because: str = ""
    """Why an entry's mark is not a better one."""
    command: str = ""
    """What computes its numbers again; empty if the board as a whole says so."""
    split: Mapping[str, float] = field(default_factory=dict)
    """The causes of its mean squared error as parts of 1; empty if they are not known."""

    @property
    def standing(self) -> str:
        """Its rank in words: "2 (1 to 4)", "out of reach after 30 trials", "not in every setting", or what is wrong."""
        from dpbench.ranking.tables import rank_text

        if math.isnan(self.rank) and not self.out_of_reach:
            return "no rank" if self.mark else "not in every setting"
        return rank_text(self, self.trials[0])

    @property
    def regret_text(self) -> str:
        return regret_text(self.regret, self.regret_low, self.regret_high, self.share)


@dataclass(frozen=True)
class Winner:
    """Who has the lowest regret on a board at one ε, over all its datasets."""

    experiment: str
    board: Board
    epsilon: float
    who: str
    regret: float
    regret_low: float
    regret_high: float
    settings: int
    """Settings of the board at this ε."""
    best: int
    """In how many of them it has the lowest error."""
    share: bool = False

    @property
    def regret_text(self) -> str:
        return regret_text(self.regret, self.regret_low, self.regret_high, self.share)


def regret_text(regret: float, low: float, high: float, share: bool) -> str:
    """A regret with its interval, as readers see it: "1.23 (1.20 to 1.27)", or "4.1 points (3.2 to 5.0)"."""
    if math.isnan(regret):
        return "-"
    if share:
        return f"{100 * regret:.1f} points ({100 * low:.1f} to {100 * high:.1f})"
    return f"{_ratio(regret)} ({_ratio(low)} to {_ratio(high)})"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.3g}"


def rows(experiment: str, numbers: pd.DataFrame) -> list[BoardRow]:
    """One row per board and mechanism, the best first."""
    from dpbench.ranking import tables

    costs, share, listed = tables.mean_costs(numbers), "precision" in numbers, []
    for board in present(numbers["board"]):
        splits = tables.shares(numbers, board)
        parts = {} if splits.empty else splits.set_index("who").to_dict("index")
        trials = numbers[numbers["board"] == str(board)].groupby("who")["trials"].agg(["min", "max"])
        for row in tables.ranking(numbers, board).to_dict("records"):
            own, cost = trials.loc[row["who"]].fillna(0), costs.loc[str(board), row["who"]]
            standing: dict[str, Any] = {name: _number(row.get(name)) for name in STANDING}
            listed.append(
                BoardRow(
                    experiment=experiment,
                    board=board,
                    who=str(row["who"]),
                    mechanism=str(row["who"]).partition("[")[0],
                    **standing,
                    out_of_reach=row.get("out_of_reach") in (True,),
                    trials=(int(own["min"]), int(own["max"])),
                    settings=int(_number(row.get("settings"), 0)),
                    competitive=int(_number(row.get("times_competitive"), 0)),
                    best=int(_number(row.get("times_best"), 0)),
                    seconds=float(cost["seconds"]),
                    memory=float(cost["memory"]),
                    mark=row["mark"],
                    audit=row["audit"] if isinstance(row.get("audit"), str) else "",
                    neighbours=row["neighbours"] if isinstance(row["neighbours"], str) else "",
                    share=share,
                    split={name: part for name, part in parts.get(row["who"], {}).items() if part > 0.0005},
                )
            )
    return listed


def _number(value: Any, missing: float = math.nan) -> float:
    return missing if value is None or value != value else float(value)


def winners(experiment: str, numbers: pd.DataFrame) -> list[Winner]:
    """Who wins on each board at each ε, among those that were run in all its settings and may be ranked."""
    share, winning = "precision" in numbers, []
    none = 0.0 if share else 1.0
    for board in present(numbers["board"]):
        own = numbers[(numbers["board"] == str(board)) & numbers["regret_at"].notna() & numbers["ratio"].notna()]
        for _, group in own.groupby("epsilon", sort=True):
            whole = group[group["all_at"].eq(True)]
            if whole.empty:
                continue
            first = whole.loc[whole["regret_at"].idxmin()]
            mine = group[group["who"] == first["who"]]
            winning.append(
                Winner(
                    experiment=experiment,
                    board=board,
                    epsilon=float(first["epsilon"]),
                    who=str(first["who"]),
                    regret=float(first["regret_at"]),
                    regret_low=float(first["regret_at_low"]),
                    regret_high=float(first["regret_at_high"]),
                    settings=len(mine),
                    best=int((mine["ratio"] == none).sum()),
                    share=share,
                )
            )
    return winning


@functools.cache
def recorded(experiment: str, folder: Path = RECORD) -> pd.DataFrame | None:
    """The numbers of a board on record; None if it is not. UserError if they are no numbers of a board."""
    kept = record.read(experiment, folder)
    if kept is None:
        return None
    numbers = record.read_numbers(kept)
    lacking = sorted({*NEEDED, *TEXTS, *NUMBERS} - {*numbers.columns})
    wrong = [name for name in NUMBERS if name in numbers and numbers[name].dtype.kind not in "biuf"]
    if lacking or wrong:
        what = f"it has no column {lacking[0]!r}" if lacking else f"its column {wrong[0]!r} is not of numbers"
        raise UserError(f"{kept.folder / experiment}.csv is no board that `reproduce --record` wrote: {what}")
    return numbers


def recorded_winners(folder: Path = RECORD) -> Iterator[Winner]:
    """Who wins on the boards of the record, by what is published, guarantee and ε. Only private boards have winners."""
    for experiment in BOARDS:
        numbers = recorded(experiment, folder)
        if numbers is not None:
            yield from (winner for winner in winners(experiment, numbers) if winner.board in PRIVATE)
