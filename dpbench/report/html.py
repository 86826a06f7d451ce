"""Pieces of HTML: escaped text, tables that sort and filter, figures inside the page. Knows nothing of experiments."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

PER_PIXEL = (
    1.45  # pixels of a picture to one of the page: sharp on dense screens, and the text of a figure as the page's
)


@dataclass(frozen=True)
class Raw:
    """Text that is HTML already, and what it sorts by."""

    text: str
    sort: str | float | None = None


@dataclass(frozen=True)
class Row:
    """Cells of a table; `data` is what the filters look at."""

    cells: Sequence[Any]
    data: Mapping[str, str] = field(default_factory=dict)
    id: str = ""


def text(value: object) -> str:
    return html.escape(str(value), quote=True)


def prose(value: object) -> str:
    """Text with `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def slug(value: object) -> str:
    return "".join(c if c.isalnum() else "-" for c in str(value))


def anchor(kind: str, name: object) -> str:
    """Where on the page the thing of that kind and name is."""
    return f"{kind}-{slug(name)}"


def link(kind: str, name: object, shown: str = "") -> str:
    return f'<a href="#{anchor(kind, name)}">{text(shown or name)}</a>'


def code(value: object) -> str:
    return f"<code>{text(value)}</code>"


def folded(summary: str, body: str, *, id: str = "", aside: str = "") -> str:
    """Something that opens on a click, and on paper unless it is an `aside`, of that kind; `summary` is HTML."""
    names = f' id="{text(id)}"' if id else ""
    names += f' class="aside {aside}"' if aside else ""
    return f"<details{names}><summary{' class=small' if aside else ''}>{summary}</summary>{body}</details>"


def number(value: float) -> str:
    """Four significant digits, thousands apart, no needless exponents."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3e}"
    return f"{value:.4g}"


def is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool)


def cell(value: Any, head: str) -> str:
    label = f' data-head="{text(head)}"'
    if isinstance(value, Raw):
        sort = "" if value.sort is None else f' data-v="{text(value.sort)}"'
        return f"<td{label}{sort}><div>{value.text}</div></td>" if value.text else f"<td{label}{sort}></td>"
    if is_number(value):
        as_float = float(value)
        sort = "" if math.isnan(as_float) else f"{as_float:.9g}"
        return f'<td class="n"{label} data-v="{sort}">{number(as_float)}</td>'
    return f"<td{label}>{text('' if value is None else value)}</td>"


def table(
    heads: Sequence[str], rows: Iterable[Row], *, id: str, caption: str, cards: bool = False, tall: bool = False
) -> str:
    """A table whose columns sort. `caption` is for who does not see the page; `cards`: rows become cards on a phone;
    `tall`: it scrolls inside its box."""
    rows = list(rows)
    head = "".join(
        f'<th scope="col"{" class=n" if any(is_number(row.cells[i]) for row in rows[:20]) else ""}>{text(h)}</th>'
        for i, h in enumerate(heads)
    )
    body = "".join(_row(row, heads) for row in rows)
    box = "scroll" + (" cards" if cards else "") + (" tall" if tall else "")
    # What scrolls must be reachable by keyboard.
    return (
        f'<div class="{box}" tabindex="0" role="region" aria-label="{text(caption)}">'
        f'<table class="sortable" id="{text(id)}"><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: Row, heads: Sequence[str]) -> str:
    data = "".join(f' data-{name}="{text(value)}"' for name, value in row.data.items())
    names = f' id="{text(row.id)}"' if row.id else ""
    return f"<tr{names}{data}>{''.join(cell(c, h) for c, h in zip(row.cells, heads, strict=True))}</tr>"


def filters(table_id: str, choices: Mapping[str, Sequence[str]], hint: str) -> str:
    """A search box and a choice a key for a table; a row fits by its `data` of that key."""
    selects = "".join(
        f'<select name="{text(name)}" aria-label="{text(name)}"><option value="">any {text(name)}</option>'
        + "".join(f'<option value="{text(v)}">{text(v)}</option>' for v in values)
        + "</select>"
        for name, values in choices.items()
    )
    return (
        f'<div class="tools" data-table="{text(table_id)}"><input type="search" placeholder="{text(hint)}" '
        f'aria-label="{text(hint)}">{selects}<span class="count soft small" aria-live="polite"></span></div>'
    )


def _size(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def aspect(png: bytes) -> float:
    width, height = _size(png)
    return width / height


def image(png: bytes, alt: str) -> str:
    """A figure; where the screen is too narrow for it, it scrolls in its own box."""
    width, height = _size(png)
    body = base64.b64encode(png).decode()
    size = f'width="{width}" height="{height}" style="--wide: {width / PER_PIXEL:.0f}px"'
    return (
        f'<figure tabindex="0" role="group" aria-label="{text(alt)}">'
        f'<img {size} alt="{text(alt)}" src="data:image/png;base64,{body}"></figure>'
    )


def markdown(source: str) -> str:
    """A text of ours, under the headings of the page; HTML inside it is shown, not obeyed."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    body = re.sub(r"<(/?)h(\d)>", lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", body)
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return f'<div class="card">{body}</div>'
