"""From facts to HTML: fills the Jinja2 templates with the facts. Imported by the verb `report`.

Everything is escaped by default. Only what `prose`, `markdown` and `asset` return is markup, and they escape their input
(`asset` reads our own files).
"""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dpbench.auditing.summary import shown_loss
from dpbench.model.claim import BASES, CONTRADICTED, REPRODUCED, VERDICTS
from dpbench.model.verdict import Evidence
from dpbench.report.answer import EVIDENCE_HEADS, evidence_row
from dpbench.report.gather import Facts
from dpbench.report.papers import COMPARED, title_of
from dpbench.report.tables import Table
from dpbench.report.text import anchor, expected, plural, slug
from dpbench.report.view import PageView, also, border, states
from dpbench.storage.files import write_atomic

HERE = Path(__file__).parent
UNSEEN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""Control characters, also those that turn the direction of a text around, and halves of characters."""


def page(facts: Facts) -> str:
    """The whole page."""
    return UNSEEN.sub(" ", environment().get_template("page.html").render(page=PageView(facts), facts=facts))


def write(facts: Facts, path: Path) -> None:
    """Write the page to a temporary file and rename it: a link at `path` is replaced, not followed."""
    write_atomic(path, page(facts).encode())


def table_html(table: Table) -> str:
    """One table as HTML."""
    return str(environment().get_template("macros.html").module.data_table(table))  # type: ignore[attr-defined]


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"prose": prose, "markdown": markdown, "base64": base64_text, "expected": expected}
    functions = (also, anchor, asset, border, plural, shown_loss, slug, states, title_of)
    jinja.globals |= {function.__name__: function for function in functions}
    jinja.globals |= {"BASES": BASES, "COMPARED": COMPARED, "CONTRADICTED": CONTRADICTED, "VERDICTS": VERDICTS}
    jinja.globals |= {"REPRODUCED": REPRODUCED, "EVIDENCE": [*Evidence], "EVIDENCE_HEADS": EVIDENCE_HEADS}
    jinja.globals["evidence_row"] = evidence_row
    return jinja


def base64_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def prose(value: object) -> Markup:
    """Text with `code` between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(value))))


def markdown(source: str) -> Markup:
    """One of our Markdown texts as HTML, its headings below those of the page; HTML inside it is shown as text."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    body = re.sub(r"<(/?)h(\d)>", lambda tag: f"<{tag[1]}h{min(6, int(tag[2]) + 2)}>", body)
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(body)


def asset(name: str) -> Markup:
    """The style sheet or the script, inserted into the page unchanged."""
    return Markup((HERE / name).read_text(encoding="utf-8"))
