"""The experiments on the page: each figure with its claims and its numbers, and what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpbench.report import html, verdicts
from dpbench.report.gather import PAPERS, Experiment
from dpbench.report.html import Row, anchor, code, folded, prose, text

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 400  # of one table of numbers
WIDE = 2.2  # a picture this much wider than high stands above its claims, not beside them
LEADERBOARD = "cross"


def papers(experiments: Sequence[Experiment]) -> str:
    """The section of figures and tables, by paper."""
    parts = []
    for paper in dict.fromkeys(e.paper for e in experiments if e.paper != LEADERBOARD):
        parts.append(f'<h3 id="{anchor("paper", paper)}">{text(PAPERS.get(paper, paper))}</h3>')
        parts.append(_all([e for e in experiments if e.paper == paper]))
    return "".join(parts)


def leaderboard(experiments: Sequence[Experiment]) -> str:
    """The section of what goes across the papers."""
    here = f'<div id="{anchor("paper", LEADERBOARD)}">'
    return f"{here}{_all([e for e in experiments if e.paper == LEADERBOARD])}</div>"


def _all(experiments: Sequence[Experiment]) -> str:
    done = "".join(_experiment(e, e.manifest) for e in experiments if e.manifest is not None)
    missing = "".join(
        f'<li id="{anchor("exp", e.id)}"><b>{text(e.id)}</b> {text(e.title)}<br>{code(e.command)}</li>'
        for e in experiments
        if e.manifest is None
    )
    return done + (f"<h4>Not run yet</h4><ul>{missing}</ul>" if missing else "")


def _experiment(e: Experiment, manifest: dict[str, Any]) -> str:
    facts = [f"scale {manifest['scale']}", f"{manifest['trials']} trials a cell", f"seed {manifest['seed']}"]
    facts += [f"{len(manifest['cells'])} cells", *_sources(manifest.get("datasets", {}))]
    warnings = "".join(f'<p class="warn note">This run is {prose(r)}.</p>' for r in e.remarks)
    if e.problem:
        warnings += f'<p class="warn note">No figure: {prose(e.problem)}. {code(e.command)}</p>'
    picture = html.image(e.picture, f"{e.id}: {e.title}") if e.picture else ""
    claims = verdicts.beside(e.verdicts)
    wide = e.picture is not None and html.aspect(e.picture) > WIDE
    layout = " wide" if wide else "" if picture and claims else " alone"
    left = "".join(f"<li>{text(setting)}: {text(reason)}</li>" for setting, reason in manifest.get("left_out", []))
    parts = [
        f'<h3>{text(e.title)} <span class="soft small">{text(e.id)}</span></h3>',
        f'<p class="soft small">{text("; ".join(facts))}</p>{warnings}',
        f'<div class="beside{layout}"><div>{picture}</div>{claims}</div>',
        _summary(e) if e.summary is not None else "",
        _numbers(e.id, e.numbers) if e.numbers is not None else "",
        folded("Left out of the plan", f'<ul class="small">{left}</ul>', aside="left") if left else "",
    ]
    return f'<article id="{anchor("exp", e.id)}">{"".join(parts)}</article>'


def source(spec: dict[str, Any]) -> str:
    return "read from files" if "path" in spec.get("params", {}) else f"generated, seed {spec.get('seed')}"


def _sources(specs: dict[str, dict[str, Any]]) -> list[str]:
    """Where the data came from, datasets of one origin together."""
    origins: dict[str, list[str]] = {}
    for name, spec in specs.items():
        origins.setdefault(source(spec), []).append(name)
    return [f"{', '.join(names)}: {origin}" for origin, names in origins.items()]


def _rows(frame: pd.DataFrame) -> list[Row]:
    return [Row(list(values)) for values in frame.itertuples(index=False, name=None)]


def _summary(e: Experiment) -> str:
    assert e.summary is not None
    heads = [str(c) for c in e.summary.columns]
    return html.table(heads, _rows(e.summary), id=anchor("summary", e.id), caption=f"Summary of {e.id}")


def _numbers(experiment: str, numbers: pd.DataFrame) -> str:
    name = anchor("numbers", experiment)
    rest = f", the first {MOST_ROWS} here, all in figures/{experiment}.csv" if len(numbers) > MOST_ROWS else ""
    table = html.table(
        [str(c) for c in numbers.columns],
        _rows(numbers.head(MOST_ROWS)),
        id=name,
        caption=f"The numbers of {experiment}",
        tall=True,
    )
    shown = f"The numbers ({len(numbers)} rows{text(rest)})"
    return folded(shown, html.filters(name, {}, "find a row") + table, aside="numbers")
