"""From facts to HTML: fills the Jinja2 templates with the view model. Imported by the verb `report`.

Everything is escaped by default. Only what `prose`, `markdown` and `asset` return is markup, and they escape their input
(`asset` reads our own files).
"""

from __future__ import annotations

import os
import re
import uuid
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dpbench.report.gather import Facts
from dpbench.report.tables import Table
from dpbench.report.text import anchor
from dpbench.report.view import page_view

HERE = Path(__file__).parent


def page(facts: Facts) -> str:
    """The whole page."""
    return environment().get_template("page.html").render(page=page_view(facts))


def write(facts: Facts, path: Path) -> None:
    """Write the page to a temporary file and rename it: a link at `path` is replaced, not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        aside.write_text(page(facts), encoding="utf-8")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def table_html(table: Table) -> str:
    """One table as HTML."""
    return str(environment().get_template("macros.html").module.data_table(table))  # type: ignore[attr-defined]


@cache
def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"prose": prose, "markdown": markdown}
    found.globals |= {"anchor": anchor, "asset": asset}
    return found


def prose(value: object) -> Markup:
    """Text with `code` between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(value))))


def markdown(source: str) -> Markup:
    """One of our Markdown texts as HTML, its headings below those of the page; HTML inside it is shown as text."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    body = re.sub(r"<(/?)h(\d)>", lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", body)
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(body)


def asset(name: str) -> Markup:
    """The style sheet or the script, inserted into the page unchanged."""
    return Markup((HERE / name).read_text(encoding="utf-8"))
