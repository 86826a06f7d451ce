"""One page per board on record: its figures, who wins where and by how much, and every mechanism with its costs."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from dpbench.config import catalogue
from dpbench.figures.style import epsilon_name
from dpbench.mechanisms.base import MECHANISMS
from dpbench.paths import RECORD
from dpbench.privacy.exchange import exchange
from dpbench.ranking import tables
from dpbench.ranking.boards import Board, present
from dpbench.ranking.rows import BOARDS, BoardRow, recorded, rows
from dpbench.storage import record
from dpbench.storage.numbers import plain as digits
from pages.advice import advice_page
from pages.markdown import page, plain, table, toctree
from pages.papers import record_figures

ABOUT = (
    "A board ranks mechanisms with the same guarantee. The regret of a mechanism is its error divided by that of the best "
    "mechanism of each setting, as a geometric mean over the settings (for a share of items found: the mean distance below the "
    "best, in points), with a 95 % interval. [Errors and regret](../concepts/errors.md) says more. A mechanism that is certainly "
    "worse than another by more than a tenth (or 5 points) after ten trials stops there; if it stopped in every setting, it is "
    "out of reach and has no rank. Times were measured on the machine that made the record; compare them with each other only."
)


def pages(folder: Path, records: Path = RECORD) -> dict[str, str]:
    names = [name for name in BOARDS if record.read(name, records) is not None]
    advice = {"which_mechanism": text} if (text := advice_page(records)) else {}
    index = index_page([*(f"boards/{name}" for name in advice), *names], records)
    return {"index": index, **advice, **{name.partition("/")[2]: board_page(name, folder, records) for name in names}}


def index_page(names: list[str], records: Path = RECORD) -> str:
    from winners import winners_table  # it imports this package

    return page(
        "# The boards",
        "Which mechanism publishes which counts best? Who has the lowest regret, with its 95 % interval, by what is published, "
        "guarantee and ε, over all datasets of a board:",
        winners_table(records, "./"),
        ABOUT,
        "[Which mechanism for your counts](which_mechanism.md) says what to use on data of which shape."
        if "boards/which_mechanism" in names
        else "",
        "Compare your own mechanism with them: [Compare your mechanism](../tutorials/compare.md); enter it: "
        "[Enter a board](../howto/board.md).",
        toctree(name.partition("/")[2] for name in names),
    )


def board_page(name: str, folder: Path, records: Path = RECORD) -> str:
    """`folder`: where the figures go."""
    found, numbers = record.read(name, records), recorded(name, records)
    assert found is not None
    assert numbers is not None
    own = rows(name, numbers)
    parts = [
        f"# {plain(found.title or catalogue.title(name))}",
        f"{found.trials} trials per setting and draw of the data at {found.scale} size; {plain('; '.join(found.origins))}. "
        f"Recorded at commit `{found.commit[:10]}`. `python -m dpbench reproduce {name}` computes it again.",
    ]
    pictures = record_figures(name, folder, records)
    shown = present(numbers["board"])
    pictures = {added or shown[0].slug: text for added, text in pictures.items()}  # the first has no name of its own
    for board in shown:
        parts += [f"## {plain(str(board)[0].upper() + str(board)[1:])}", plain(f"{board.told}.")]
        parts += [text for added, text in pictures.items() if added.partition("-")[0] == board.slug]
        parts += ["### Who wins where", _where(numbers, board)]
        parts += ["### Every mechanism", _mechanisms([row for row in own if row.board is board])]
    parts.append(f"{exchange(max(numbers['epsilon']))}.")
    if known := tables.expectations(numbers):
        parts.append(plain(f"{known[0].upper()}{known[1:]}."))
    return page(*parts, ABOUT)


def _where(numbers: pd.DataFrame, board: Board) -> str:
    """The best mechanism of every setting, who may be as good, and how far behind the next certainly is."""
    share = "precision" in numbers
    keys = [key for key in ("dataset", "place", "world", "epsilon", "share", "K") if key in numbers]
    lines = []
    own = numbers[(numbers["board"] == str(board)) & numbers["ratio"].notna()]
    for at, group in own.groupby(keys, sort=False):
        first = group.loc[group["ratio"].idxmin()]
        others = group[group["who"] != first["who"]]
        rivals = ", ".join(f"`{who}`" for who in others.loc[others["may_be_best"].eq(True), "who"]) or "nobody"
        behind = others[~others["may_be_best"].eq(True)].nsmallest(1, "ratio")
        gap = "-"
        if len(behind):
            next_best = behind.iloc[0]
            apart = f"{100 * next_best['ratio']:.1f} points" if share else f"{digits(next_best['ratio'], 3)} times"
            gap = f"`{next_best['who']}` {apart}"
        place = [epsilon_name(part) if key == "epsilon" else str(part) for key, part in zip(keys, at, strict=True)]
        lines.append((*map(plain, place), f"`{first['who']}`", rivals, gap))
    heads = [
        "size" if key == "share" else "ε" if key == "epsilon" else "dataset" if key == "place" else key for key in keys
    ]
    return table((*heads, "best", "may be as good", "next, error relative to the best"), lines)


def _mechanisms(own: list[BoardRow]) -> str:
    heads = ("mechanism", "standing", "regret", "close to the best", "error by", "audit", "trials", "seconds", "MB")
    return table(heads, map(_mechanism, own))


def _mechanism(row: BoardRow) -> tuple[str, ...]:
    split = ", ".join(f"{name} {100 * part:.0f} %" for name, part in row.split.items()) or "-"
    fewest, most = row.trials
    return (
        f"[`{row.who}`](../mechanisms/{row.mechanism}.md)" if row.mechanism in MECHANISMS.names() else f"`{row.who}`",
        plain("; ".join(filter(None, (row.mark, row.standing)))),
        row.regret_text,
        f"{row.competitive} of {row.settings}",
        split,
        plain(row.audit or "not audited"),
        f"{most}" if fewest == most else f"{fewest} to {most}",
        "-" if math.isnan(row.seconds) else digits(row.seconds, 2),
        "-" if math.isnan(row.memory) else digits(row.memory / 1e6, 2),
    )
