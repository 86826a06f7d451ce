"""Markdown from plain text. Imported by the makers of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """Plain text whose only mark is `code`: what Markdown would take for a mark is escaped."""
    parts = re.split(r"(`[^`\n]*`)", text)
    return "".join(
        part if at % 2 else re.sub(r"([\\*_\[\]<>$|#~])", r"\\\1", part).replace("{", "&#123;")
        for at, part in enumerate(parts)
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown of one line."""

    def cell(text: str) -> str:
        return re.sub(r"(?<!\\)\|", r"\\|", " ".join(str(text).split()))

    lines = [heads, ["---"] * len(heads), *([cell(text) for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def toctree(names: Iterable[str]) -> str:
    """The pages below an index, which links to them itself."""
    listed = "\n".join(names)
    return f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def page(*parts: str) -> str:
    """The parts of a page, with an empty line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def first_sentence(text: str) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[^.A-Z]\.)\s", paragraph)[0]
