"""The site works without a network: the build fails if a page loads a script, a style or an image from another host.

Links that a reader may follow are not affected. Formulas are written as text, because the usual script for them is fetched.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]+)", re.IGNORECASE)
LINKED = re.compile(r"<link\b[^>]*\brel=\"(?:canonical|license|author|search|index|next|prev)\"", re.IGNORECASE)


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True}


def _check(app: Any, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        pages = sorted(Path(app.outdir).rglob("*.html"))
        found = [
            f"{page.relative_to(app.outdir)} loads {url}" for page in pages for url in fetched(page.read_text("utf-8"))
        ]
        if found:
            from sphinx.errors import ExtensionError

            raise ExtensionError("not offline: " + "; ".join(found[:5]))


def fetched(page: str) -> list[str]:
    """What a browser fetches from other hosts to show a page."""
    return [match[1] for match in LOADED.finditer(page) if not LINKED.match(match[0])]
