"""Additions to a figure: the caption below it, the mark of a small run above it, and crosses at the paper's numbers.

Imported by `draw` and by the plotting scripts. A cross stores the paper's number and the claim's id in its `gid`; the caption
uses them to list what was drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.table import Table
from matplotlib.text import Text

from dpbench.figures.layout import settle
from dpbench.figures.style import LAST, MARK

SMALL = 6.5
"""Font size of the caption, in points."""
GID = "stated"
PAPER = LAST
"""What the legend calls the crosses."""
PAPER_SIZE = "paper"
SIDES: dict[str, tuple[int, int, Literal["left", "right", "center"], Literal["center", "top", "bottom"]]] = {
    "right": (5, 0, "left", "center"),
    "left": (-5, 0, "right", "center"),
    "below": (0, -5, "center", "top"),
    "above": (0, 5, "center", "bottom"),
    "above-left": (4, 5, "right", "bottom"),
    "above-right": (3, 6, "left", "bottom"),
    "below-right": (3, -6, "left", "top"),
}
"""Where the number of a cross stands: its offset from the cross in points, and its horizontal and vertical alignment."""
EXPECTED = "where it is known, an error is the expected error given all but the last noise step"
STANDARD_ERRORS = "error bars: one standard error of the mean on either side, over the trials"


@dataclass(frozen=True)
class Stated:
    """A number that a paper's text states, for the point of a figure that shows it."""

    claim: str
    """Id of the claim in the ledger."""
    value: float
    """In the unit of the script's numbers, before any percent."""
    text: str
    """As the paper writes it."""
    at: Mapping[str, Any] = field(default_factory=dict)
    """The labels of the point, by columns of the script's numbers."""
    of: str = ""
    """Whose number it is, where a figure shows the numbers of several series."""
    side: str = ""
    """On which side of the cross the number is written, if the usual place is taken."""

    def fits(self, **labels: Any) -> bool:
        """Whether this number is about a point with these labels."""
        return all(_same(self.at[name], value) for name, value in labels.items() if name in self.at)


def _same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, float) or isinstance(value, float):
        return abs(float(wanted) - float(value)) <= 1e-9 * abs(float(wanted))
    return bool(wanted == value)


def cross(ax: Axes, x: Any, y: Any, stated: Stated, *, side: str = "right", **where: Any) -> None:
    """Draw a cross at the paper's number, with the number on one `side` of it. where: further options of the marker."""
    across, down, ha, va = SIDES[stated.side or side]
    look: dict[str, Any] = {"color": "black", "markersize": 6, "markeredgewidth": 1.5, "zorder": 6}
    ax.plot([x], [y], "x", linestyle="", label=PAPER, gid=f"{GID}:{stated.claim}:{stated.text}", **look, **where)
    ax.annotate(
        f"{stated.of}: {stated.text}" if stated.of else stated.text,
        (x, y),
        xycoords=where.get("transform", "data"),
        xytext=(across, down),
        textcoords="offset points",
        ha=ha,
        va=va,
        fontsize=SMALL,
        zorder=6,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4},
    )


def span(ax: Axes, low: float, high: float, stated: Stated, *, x: float = 0.94) -> None:
    """Draw a range that the paper's text states: a line with a cross at either end, at `x`, given as a part of the width.

    The x axis gets room for it to the right of the data.
    """
    low_x, high_x = ax.get_xlim()
    if ax.get_xscale() == "linear":
        ax.set_xlim(low_x, high_x + 0.1 * (high_x - low_x))
    where = ax.get_yaxis_transform()
    ax.plot([x, x], [low, high], color="black", linewidth=0.8, transform=where, zorder=6)
    look: dict[str, Any] = {"color": "black", "markersize": 5, "markeredgewidth": 1.4, "zorder": 6}
    gid = f"{GID}:{stated.claim}:{stated.text}"
    ax.plot([x, x], [low, high], "x", linestyle="", label=PAPER, gid=gid, transform=where, **look)
    ax.annotate(
        stated.text,
        (x, low),
        xycoords=where,
        xytext=(4, 4),
        textcoords="offset points",
        ha="left",
        va="bottom",
        rotation=90,
        fontsize=SMALL,
        zorder=6,
    )


def crosses(figure: Figure) -> list[tuple[str, str]]:
    """The claims and numbers whose crosses are in a figure."""
    gids = (str(line.get_gid() or "") for ax in figure.axes for line in ax.lines)
    parts = (gid.split(":", 2) for gid in gids if gid.startswith(f"{GID}:"))
    return list(dict.fromkeys((claim, text) for _, claim, text in parts))


def stated_line(figure: Figure) -> list[str]:
    """The line of the caption that explains the crosses; empty if the figure has none."""
    if not (stated := crosses(figure)):
        return []
    return [f"× {PAPER} in its text, on its own data: {'; '.join(f'{claim}: {text}' for claim, text in stated)}"]


def expected_line(expected: Iterable[str], columns: Iterable[Any]) -> list[str]:
    """The line of the caption that says that numbers are expectations of these metrics; empty if the figure has none of them."""
    names = {name.partition("/")[0] for name in expected}
    return [EXPECTED] if names & {str(column) for column in columns} else []


def has_error_bars(figure: Figure) -> bool:
    for ax in figure.axes:
        for container in ax.containers:
            bars = container.errorbar if isinstance(container, BarContainer) else container
            if isinstance(bars, ErrorbarContainer) and (bars.has_yerr or bars.has_xerr):
                return True
    return False


_told: WeakKeyDictionary[Figure, list[str]] = WeakKeyDictionary()


def tell(figure: Figure, line: str) -> None:
    """Add a line to the caption. For functions that draw a part of a figure and have something to explain about it."""
    lines = _told.setdefault(figure, [])
    if line not in lines:
        lines.append(line)


def told(figure: Figure) -> list[str]:
    return list(_told.get(figure, []))


def shows(figure: Figure, sign: str) -> bool:
    """Whether any text of a figure contains a sign, also in the cells of a table."""
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    texts += [cell.get_text() for table in figure.findobj(Table) for cell in cast(Table, table).get_celld().values()]
    return any(sign in text.get_text() for text in texts)


def note(figure: Figure, lines: Iterable[str]) -> None:
    """Add small text below a figure, broken to its width. Call it last; only `mark` may follow.

    A line that explains the mark of what is not private begins with it only if the figure shows it.
    """
    settle(figure)
    lines = lines if shows(figure, MARK) else [line.removeprefix(f"{MARK} ") for line in lines]
    across = max(40, int(figure.get_size_inches()[0] * 22))
    text = "\n".join(part for line in lines for part in textwrap.wrap(line, across))
    figure.text(0.5, -0.01, text, ha="center", va="top", fontsize=SMALL, color="#444444", parse_math=False)


def mark(figure: Figure, text: str) -> None:
    """Add a mark above the upper right corner, so that nobody takes a small run for a run at the paper's size."""
    box = {"boxstyle": "round,pad=0.25", "facecolor": "#FFF3D6", "edgecolor": "#B07A00", "linewidth": 0.6}
    high = figure.get_size_inches()[1]
    figure.text(1, 1 + 0.04 / high, text, ha="right", va="bottom", fontsize=SMALL + 0.5, color="#5A3E00", bbox=box)
