"""The pages that are made from the code, the cards, the ledger of claims and the record: one per mechanism, dataset,
paper and board.

Written to docs/mechanisms, docs/datasets, docs/papers and docs/boards before Sphinx reads the sources.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from pages import boards, datasets, mechanisms, papers

DOCS = Path(__file__).resolve().parents[2]
SECTIONS = {"mechanisms": mechanisms.pages, "datasets": datasets.pages, "papers": papers.pages, "boards": boards.pages}


def setup(app: Any) -> dict[str, Any]:
    app.add_config_value("code_digest", "", "env")  # another one: every page is read again
    app.connect("builder-inited", lambda _: write_pages(DOCS))
    app.connect("autodoc-process-docstring", _plain)
    return {"parallel_read_safe": True}


def write_pages(docs: Path) -> None:
    """Write all pages, replacing those that are there."""
    for name, pages in SECTIONS.items():
        shutil.rmtree(docs / name, ignore_errors=True)
        (docs / name).mkdir(parents=True)
        for page, text in pages(docs / name).items():
            (docs / name / f"{page}.md").write_text(text, encoding="utf-8")


def _plain(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |x| is a size in them, and a star is a product. Examples stay as they are."""
    lines[:] = [line if line.lstrip().startswith(">>>") else re.sub(r"([|*])", r"\\\1", line) for line in lines]
