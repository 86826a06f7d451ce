"""One page per mechanism: what its class says about itself."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from pathlib import Path

from dpbench.config import catalogue
from dpbench.mechanisms.base import MECHANISMS, Mechanism
from dpbench.report.papers import PAPERS
from pages.markdown import first_sentence, page, plain, table, toctree
from pages.papers import experiment_link, heading

MODERN = "Modern mechanisms, which are in none of the five papers"


def pages(_folder: Path) -> dict[str, str]:
    found = {name: mechanism_page(name, cls) for name, cls in MECHANISMS.items()}
    return {"index": index_page(), **found}


def index_page() -> str:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for name, cls in MECHANISMS.items():
        group = heading(cls.paper) if cls.paper in PAPERS else MODERN
        row = (f"[{name}]({name}.md)", plain(first_sentence(cls.__doc__ or "")), cls.privacy, ", ".join(cls.kinds))
        groups.setdefault(group, []).append(row)
    known = [heading(paper) for paper in PAPERS]
    ordered = sorted(groups, key=lambda group: known.index(group) if group in known else len(known))
    parts = [
        f"## {group}\n\n{table(('name', 'what it does', 'guarantee', 'data'), groups[group])}" for group in ordered
    ]
    return page(
        "# Mechanisms",
        "A mechanism publishes data under differential privacy. Each has a name for the command line and for "
        '`dpbench.mechanism("NAME")`. [Add your own](../howto/mechanism.md); mechanisms of other libraries: '
        "[Use OpenDP and diffprivlib](../howto/peers.md).",
        *parts,
        toctree(MECHANISMS.names()),
    )


def mechanism_page(name: str, cls: type[Mechanism]) -> str:
    parameters = list(_parameters(cls))
    used = [e for e in catalogue.options("experiment") if name in catalogue.axes(e).mechanisms]
    call = ", ".join([f'"{name}"', *(f"{field.name}=..." for field in dataclasses.fields(cls) if _required(field))])
    return page(
        f"# {name}",
        plain(inspect.cleandoc(cls.__doc__ or "")),
        table(("", ""), _facts(cls)),
        f"```python\nimport dpbench\n\nmechanism = dpbench.mechanism({call})\n```",
        "## Parameters\n\n" + table(("parameter", "default", "meaning"), parameters) if parameters else "",
        "## Experiments that run it\n\n" + "\n".join(f"- {experiment_link(e)}" for e in used) if used else "",
    )


def _facts(cls: type[Mechanism]) -> Iterator[tuple[str, str]]:
    source = f"[{cls.paper}](../papers/{cls.paper}.md)" if cls.paper in PAPERS else plain(cls.paper)
    yield "Reference", ", ".join(filter(None, ("" if cls.paper == "none" else source, plain(cls.place))))
    yield "Data", ", ".join(cls.kinds)
    yield "Guarantee", {"ε": "pure ε", "none": "none is stated"}.get(cls.privacy, cls.privacy)
    yield "[Neighbours](../concepts/neighbours.md)", plain(cls.neighbours)
    try:
        made = cls()
    except TypeError:  # it has parameters without a default
        made = None
    if made is not None:
        reason = made.not_private()
        yield "Private with its defaults", f"no: {plain(reason)}" if reason else "yes"
        reason = made.inexact()
        yield "[Exact noise](../howto/exact.md)", f"no: {plain(reason)}" if reason else "yes"
    if cls.reconstructed:
        yield "Reconstructed", plain(cls.reconstructed)


def _required(field: dataclasses.Field[object]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parameters(cls: type[Mechanism]) -> Iterator[tuple[str, str, str]]:
    meanings = _meanings(cls)
    for field in dataclasses.fields(cls):
        yield (
            f"`{field.name}`",
            "required" if _required(field) else f"`{field.default!r}`",
            meanings.get(field.name, ""),
        )


def _meanings(cls: type) -> dict[str, str]:
    """The meaning of each field: the text below it in the source, where there is one, else the comment beside it."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        try:
            source = textwrap.dedent(inspect.getsource(base))
        except (OSError, TypeError):
            continue
        (tree,) = ast.parse(source).body
        lines = source.splitlines()
        for field, below in itertools.pairwise([*getattr(tree, "body", []), ast.Pass()]):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            text = text or lines[(field.end_lineno or 1) - 1][field.end_col_offset :].partition("# ")[2]
            if isinstance(text, str) and text:
                found[field.target.id] = plain(" ".join(text.split()))
    return found
