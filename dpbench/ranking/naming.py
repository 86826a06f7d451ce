"""How a comparison is named: by its mechanism, its data and what was chosen for it. Imported by `entry`.

Two comparisons that differ in anything but their scale and their trials have different names, so that neither replaces the run
or the figure of the other one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePath

from dpbench.model.setting import DECLARED, TABLE, Dataset, Variant

LONGEST = 100  # characters of a name
COLUMNS = ("user", "item", "context", "cell", "count", "shape", "header", "on_bad_line")
"""Parameters of a user's table that are part of a comparison's name."""


def label_of(use: Dataset) -> str:
    """The name of a dataset in a comparison: a user's table goes by the name of its file."""
    if use.source != TABLE or use.name != TABLE:
        return use.name
    stem = PurePath(str(use.params.get("path", ""))).name.partition(".")[0]
    return re.sub(r"\W+", "_", stem).strip("_") or TABLE


def name_of(
    variant: Variant | None,
    uses: Sequence[Dataset],
    bound: int | None,
    epsilon: Sequence[float | str] | float | str | None,
    board: str,
) -> str:
    """Such as `mine.Rounded-step5-on-visits-bound20-epsilon0.5`. `uses`: datasets that were chosen; `board`: if it was."""
    parts: list[str] = []
    if variant is not None:
        given = {
            key: value for key, value in variant.params.items() if value != DECLARED and key not in variant.declared
        }
        parts += [variant.name, *(f"{key}{value}" for key, value in given.items())]
    names = list(dict.fromkeys(use.name for use in uses))
    parts += ["on", *names] if variant and names else names
    tables = [use for use in uses if use.source == TABLE]
    parts += [f"{key}.{use.params[key]}" for use in tables[:1] for key in COLUMNS if use.params.get(key)]
    parts += [f"bound{bound}"] if bound is not None else []
    budgets = [epsilon] if isinstance(epsilon, str | float | int) else [*(epsilon or ())]
    parts += ["epsilon" + "-".join(map(str, budgets))] if budgets else []
    parts += [board.rpartition("/")[2]] if board else []
    whole = "-".join(parts)
    name = re.sub(r"[^\w.-]+", "_", whole)
    if len(name) <= LONGEST:
        return name
    mark = hashlib.blake2b(whole.encode(), digest_size=3).hexdigest()
    return f"{name[: LONGEST - 7].rstrip('-.')}-{mark}"
