"""How a notebook shows data, releases and mechanisms: a small table, without scripts or styles. Imported by their classes."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np

SHOWN = 8  # numbers of an array


def facts_table(title: str, rows: Iterable[tuple[str, object]], note: str = "") -> str:
    """A title, one row per fact, and a note."""
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td>{html.escape(_shown(value))}</td></tr>'
        for name, value in rows
    )
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<p><b>{html.escape(title)}</b></p><table><tbody>{cells}</tbody></table>{below}"


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        first = ", ".join(f"{number:.4g}" for number in flat[:SHOWN].tolist())
        return f"{first} ... ({flat.size:,} numbers)" if flat.size > SHOWN else first
    if isinstance(value, float | np.floating):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)
