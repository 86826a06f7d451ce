"""The pages that are made from the code, the cards, the ledger of claims and the record: one per mechanism, dataset and paper.

Written to docs/mechanisms, docs/datasets and docs/papers before Sphinx reads the sources.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpbench.claims.ledger import VERDICTS, ledger
from dpbench.claims.recorded import recorded
from dpbench.config import catalogue
from dpbench.mechanisms.base import MECHANISMS
from dpbench.paths import RECORD
from dpbench.report.gather import PAPERS
from dpbench.results import record
from dpbench.sources.cards import load

DOCS = Path(__file__).parent.parent
MADE = ("mechanisms", "datasets", "papers")
EXPERIMENTS = DOCS.parent / "experiments"


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", lambda _: write_pages())
    app.connect("autodoc-process-docstring", _plain)
    return {"parallel_read_safe": True}


def _plain(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |x| is a size in them, and a star is a product."""
    lines[:] = [re.sub(r"([|*])", r"\\\1", line) for line in lines]


def write_pages() -> None:
    for name in MADE:
        shutil.rmtree(DOCS / name, ignore_errors=True)
        (DOCS / name).mkdir()
    _section("mechanisms", "Mechanisms", {name: mechanism_page(name, cls) for name, cls in MECHANISMS.items()})
    _section("datasets", "Datasets", {name: dataset_page(name) for name in catalogue.options("dataset")})
    _section("papers", "The papers", {paper: paper_page(paper) for paper in PAPERS})


def _section(folder: str, title: str, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        (DOCS / folder / f"{name}.md").write_text(text, encoding="utf-8")
    listed = "\n".join(pages)
    text = f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    (DOCS / folder / "index.md").write_text(text, encoding="utf-8")


def mechanism_page(name: str, cls: type) -> str:
    """What a mechanism says about itself, its parameters, and the experiments that run it."""
    lines = [f"# {name}", "", inspect.cleandoc(cls.__doc__ or ""), ""]
    facts = {
        "From": ", ".join(filter(None, (cls.paper, cls.place))),
        "Takes": ", ".join(cls.kinds),
        "Guarantee": f"{cls.privacy}; neighbours: {cls.neighbours}",
        "Not private by default": _caveat(cls),
        "Reconstructed": cls.reconstructed,
    }
    lines += [f"- **{what}**: {text}" for what, text in facts.items() if text]
    parameters = list(_parameters(cls))
    if parameters:
        lines += ["", "## Parameters", "", *_table(("parameter", "default", "meaning"), parameters)]
    used = [e for e in catalogue.options("experiment") if name in catalogue.axes(e).mechanisms]
    if used:
        lines += ["", "## Experiments that run it", "", *(f"- `{e}`: {catalogue.title(e)}" for e in used)]
    return "\n".join(lines) + "\n"


def _caveat(cls: type) -> str:
    try:
        return cls().not_private()
    except TypeError:  # it has parameters without a default
        return ""


def _parameters(cls: type) -> Iterator[tuple[str, str, str]]:
    """The fields of a mechanism; their meaning stands in the source as a text below each of them."""
    import ast
    import textwrap

    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, ValueError):
            continue
        body = getattr(tree, "body", [])
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                text = getattr(below.value, "value", None)
                if isinstance(text, str) and isinstance(field.target, ast.Name):
                    meanings[field.target.id] = " ".join(text.split())
    for field in dataclasses.fields(cls):
        default = "required" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        yield f"`{field.name}`", default, meanings.get(field.name, "")


def dataset_page(name: str) -> str:
    """The card of a dataset, and the experiments that use it."""
    card = load(name)
    text = card.markdown() if card.text else f"# {name}\n\nNo card yet.\n"
    used = [e for e in catalogue.options("experiment") if name in catalogue.axes(e).datasets]
    if used:
        text += "\n## Experiments that use it\n\n" + "\n".join(f"- `{e}`: {catalogue.title(e)}" for e in used) + "\n"
    return text


def paper_page(paper: str) -> str:
    """A paper: its experiments, the verdicts of the record, and where we differ."""
    lines = [f"# {paper}", "", f"{PAPERS[paper]}.", ""]
    experiments = [e for e in catalogue.options("experiment") if e.startswith(f"{paper}/")]
    lines += ["## Experiments", ""]
    lines += _table(("experiment", "what it shows", "on record"), [_experiment(e) for e in experiments])
    claims = [claim for claim in ledger() if claim.paper == paper]
    recorded_here = {claim.id: found for claim in claims if (found := recorded(claim, RECORD))}
    if claims:
        counts = ", ".join(f"{sum(v.verdict == name for v in recorded_here.values())} {name}" for name in VERDICTS)
        lines += ["", "## Claims", "", f"{len(claims)} claims; on record: {counts}.", ""]
        rows = [
            (
                claim.id.partition("/")[2],
                claim.place,
                claim.says,
                claim.expect,
                recorded_here[claim.id].measured if claim.id in recorded_here else "",
                recorded_here[claim.id].verdict if claim.id in recorded_here else "not on record",
            )
            for claim in claims
        ]
        lines += _table(("claim", "place", "what is said", "expected", "measured", "verdict"), rows)
    differences = _differences(paper)
    if differences:
        lines += ["", "## Where we differ", "", differences]
    return "\n".join(lines) + "\n"


def _experiment(name: str) -> tuple[str, str, str]:
    found = record.read(name)
    told = f"{found.trials} trials at {found.commit}" if found else "no"
    return f"`{name}`", catalogue.title(name), told


def _differences(paper: str) -> str:
    """The part of DIFFERENCES.md that is about a paper."""
    text = (EXPERIMENTS / "DIFFERENCES.md").read_text(encoding="utf-8")
    parts = text.split("\n## ")
    return next((part.partition("\n")[2].strip() for part in parts[1:] if part.split()[0].lower() == paper), "")


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    def cell(text: str) -> str:
        return " ".join(str(text).split()).replace("|", "\\|")

    return [
        f"| {' | '.join(heads)} |",
        f"| {' | '.join('---' for _ in heads)} |",
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
    ]
