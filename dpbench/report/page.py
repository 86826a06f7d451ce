"""The page itself: header, sections and links between them; datasets, mechanisms and environment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dpbench.claims.ledger import VERDICTS
from dpbench.report import figures, html, verdicts
from dpbench.report.gather import Dataset, Facts
from dpbench.report.html import Raw, Row, anchor, folded, link, prose, text

HERE = Path(__file__).parent


def page(facts: Facts) -> str:
    """The whole page."""
    sections = {
        "claims": ("Claims", verdicts.claims(facts)),
        "figures": ("Figures and tables", figures.papers(facts.experiments)),
        "leaderboard": ("Leaderboard", figures.leaderboard(facts.experiments)),
        "datasets": ("Datasets", _datasets(facts)),
        "mechanisms": ("Mechanisms", _mechanisms(facts)),
        "errata": ("Errata", verdicts.errata(facts)),
        "environment": ("Environment and seeds", _environment(facts)),
    }
    links = "".join(f'<a href="#{key}">{text(title.partition(" and ")[0])}</a>' for key, (title, _) in sections.items())
    body = "".join(
        f'<section id="{key}"><h2>{text(title)}</h2>{part}</section>' for key, (title, part) in sections.items()
    )
    css, js = (HERE / "page.css").read_text(), (HERE / "page.js").read_text()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>dpbench report</title>'
        f'<link rel="icon" href="data:,"><style>\n{css}</style></head><body>'
        f"{_header(facts)}"
        f'<nav aria-label="sections"><div><div class="links">{links}</div>'
        f'<button type="button" id="theme" aria-label="switch between light and dark">◐</button></div></nav>'
        f"<main>{body}</main><script>\n{js}</script></body></html>\n"
    )


def _header(facts: Facts) -> str:
    done = len(facts.experiments) - len(facts.missing)
    scales = sorted({str(e.manifest["scale"]) for e in facts.experiments if e.manifest})
    trials = sum(e.trials for e in facts.experiments)
    counts = ", ".join(f"{sum(v.verdict == name for v in facts.verdicts)} {name}" for name in VERDICTS)
    changed = [e for e in facts.experiments if e.remarks or e.problem]
    notes = f"Not whole: {', '.join(link('exp', e.id) for e in changed)}. " if changed else ""
    return (
        '<header class="top"><h1>Publishing counts under differential privacy: five papers, reproduced</h1>'
        f'<p class="soft">{done} of {len(facts.experiments)} experiments were run at scale {text(" and ".join(scales))}, '
        f"{trials:,} trials. {notes}{len(facts.verdicts)} claims: {text(counts)}. Written {text(facts.written)}.</p></header>"
    )


def _datasets(facts: Facts) -> str:
    return "".join(map(_dataset, facts.datasets)) or "<p>There are no datasets.</p>"


def _dataset(d: Dataset) -> str:
    used = f"{figures.source(d.spec)}, scale {d.scale}" if d.spec else "in none of these runs"
    body = html.markdown(re.sub(r"\A# .*\n", "", d.card.markdown())) if d.card.text else "<p>It has no card yet.</p>"
    title = f"<b>{text(d.name)}</b> {text(d.card.title)} <span class='soft small'>({text(used)})</span>"
    return folded(title, _statistics(d) + body, id=anchor("data", d.name))


def _statistics(d: Dataset) -> str:
    """Those of the data in the runs beside those of the paper and of the original files, as the card has them."""
    columns: dict[str, Any] = {f"in these runs, scale {d.scale}": d.statistics} if d.statistics else {}
    for facts, about in ((d.card.paper, "table"), (d.card.original, "of")):
        if facts:
            columns[str(facts.get(about) or "the original")] = {k: v for k, v in facts.items() if k != about}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    if not names:
        return ""
    rows = [Row([name, *(column.get(name) for column in columns.values())]) for name in names]
    caption = f"Statistics of {d.name}"
    return html.table(["statistic", *columns], rows, id=anchor("stat", d.name), caption=caption)


def _mechanisms(facts: Facts) -> str:
    heads = list(facts.mechanisms[0]) if facts.mechanisms else ["mechanism"]
    rows = []
    for m in facts.mechanisms:
        private = "not private" if m["not private by default"] else "private"
        data = {"privacy": private, "origin": "reconstructed" if m["reconstructed"] else "as published"}
        cells: list[Any] = [Raw(prose(m[h])) for h in heads]
        if caveat := m["not private by default"]:
            cells[heads.index("not private by default")] = Raw(f'<span class="warn">{prose(caveat)}</span>')
        rows.append(Row(cells, data, anchor("mechanism", m["mechanism"])))
    choices = {"privacy": ("private", "not private"), "origin": ("as published", "reconstructed")}
    return (
        "<p>What is our reading of a part the text does not give is called reconstructed; what looks at the data outside "
        f"the privacy budget is called not private, with the parameter that mends it. {_tally(facts)} Other readings and "
        f'deviations: <a href="#differences">where we differ from the papers</a>.</p>'
        + html.filters("mechanisms-table", choices, "find a mechanism")
        + html.table(heads, rows, id="mechanisms-table", caption="Mechanisms and their guarantees", cards=True)
    )


def _tally(facts: Facts) -> str:
    """Which are meant, by name."""
    parts = []
    for key, what in (("reconstructed", "Reconstructed in part"), ("not private by default", "Not private by default")):
        names = [link("mechanism", m["mechanism"]) for m in facts.mechanisms if m[key]]
        parts.append(f"{what}: {', '.join(names) or 'none'}.")
    return " ".join(parts)


def _environment(facts: Facts) -> str:
    rows = []
    for e in facts.experiments:
        if (m := e.manifest) is None:
            continue
        seeds = sorted({spec.get("seed", 0) for spec in m.get("datasets", {}).values()})
        name = Raw(link("exp", e.id), e.id)
        numbers = [len(m["cells"]), m["trials"], e.trials, m["seed"], Raw(text(", ".join(map(str, seeds))))]
        rows.append(Row([name, m["scale"], *numbers, m.get("written", "")[:16].replace("T", " ")]))
    heads = ["experiment", "scale", "cells", "trials a cell", "stored trials", "noise seed", "data seed", "run (UTC)"]
    runs = html.table(heads, rows, id="runs", caption="Runs and their seeds")
    here = html.table(
        ["what", "version"],
        [Row(pair) for pair in facts.environment.items()],
        id="machine",
        caption="Where this page was made",
    )
    return (
        "<p>A trial's noise comes from the seed, the setting and the trial's number alone: the same command gives the same "
        f"numbers on any machine, with any number of workers.</p>{runs}<h3>Where this page was made</h3>{here}"
    )
