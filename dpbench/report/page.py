"""Writes the facts down as one HTML page: claims, figures beside their numbers and claims, leaderboard, datasets, errata."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.claims import Verdict
from dpbench.ledger import BASES, CONTRADICTED, VERDICTS
from dpbench.report import html
from dpbench.report.gather import PAPERS, Experiment, Facts
from dpbench.report.html import Raw, Row, code, prose, slug, text

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).parent
MOST_ROWS = 400  # of one table of numbers
WIDE = 2.2  # a picture this much wider than high stands above its claims, not beside them
LEADERBOARD = "cross"


def page(facts: Facts) -> str:
    """The whole page."""
    sections = {
        "claims": ("Claims", _claims(facts)),
        "figures": ("Figures and tables", _figures([e for e in facts.experiments if e.paper != LEADERBOARD])),
        "leaderboard": ("Leaderboard", _leaderboard([e for e in facts.experiments if e.paper == LEADERBOARD])),
        "datasets": ("Datasets", _datasets(facts)),
        "mechanisms": ("Mechanisms", _mechanisms(facts)),
        "errata": ("Errata", _errata(facts)),
        "environment": ("Environment and seeds", _environment(facts)),
    }
    links = "".join(f'<a href="#{key}">{text(title)}</a>' for key, (title, _) in sections.items())
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


def chip(verdict: str) -> str:
    return f'<span class="chip {verdict.replace(" ", "")}">{text(verdict)}</span>'


def anchor(experiment: str) -> str:
    return f"exp-{slug(experiment)}"


def _header(facts: Facts) -> str:
    done = len(facts.experiments) - len(facts.missing)
    scales = sorted({str(e.manifest["scale"]) for e in facts.experiments if e.manifest})
    trials = sum(e.trials for e in facts.experiments)
    counts = ", ".join(f"{sum(v.verdict == name for v in facts.verdicts)} {name}" for name in VERDICTS)
    where = f" at scale {' and '.join(scales)}" if scales else ""
    return (
        '<header class="top"><h1>Publishing counts under differential privacy: five papers, reproduced</h1>'
        f'<p class="soft">{done} of {len(facts.experiments)} experiments were run{text(where)}, {trials:,} trials. '
        f"{len(facts.verdicts)} claims: {text(counts)}.</p></header>"
    )


def _claims(facts: Facts) -> str:
    if not facts.verdicts:
        return "<p>There is no ledger of claims.</p>"
    rows = []
    for paper in dict.fromkeys(v.claim.paper for v in facts.verdicts):
        mine = [v for v in facts.verdicts if v.claim.paper == paper]
        counts = {name: sum(v.verdict == name for v in mine) for name in VERDICTS}
        bar = "".join(
            f'<i class="{name.replace(" ", "")}" style="width:{100 * count / len(mine):.2f}%"></i>'
            for name, count in counts.items()
        )
        links = [
            Raw(f'<a href="#claims-list" data-verdict="{name}" data-paper="{text(paper)}">{count}</a>', count)
            for name, count in counts.items()
        ]
        rows.append(Row([Raw(text(PAPERS.get(paper, paper)), paper), *links, Raw(f'<div class="bar">{bar}</div>', "")]))
    summary = html.table(["paper", *VERDICTS, "share"], rows, id="summary", cards=True)
    papers = list(dict.fromkeys(v.claim.paper for v in facts.verdicts))
    choices = {"verdict": VERDICTS, "paper": papers, "basis": list(BASES)}
    meaning = "; ".join(f"<i>{text(name)}</i>: {text(what)}" for name, what in BASES.items())
    return (
        "<p>Reproduced: the 95 % interval of what was measured lies where the paper expects it. Contradicted: it lies "
        "outside. Inconclusive: it reaches across the border. Intervals are about the mechanisms' noise; the data are one "
        "draw. Where a claim is about several settings, the deciding one is shown and the intervals hold together.</p>"
        f'{summary}<h3 id="claims-list">Every claim</h3><p class="soft small">Basis: {meaning}.</p>'
        + html.filters("claims-table", choices, "find a claim")
        + html.table(
            ["claim", "verdict", "measured", "95 % interval", "paper expects", "decided by"],
            [_claim(v) for v in facts.verdicts],
            id="claims-table",
            cards=True,
        )
    )


def _claim(v: Verdict) -> Row:
    claim = v.claim
    about = f'<span class="says">{prose(claim.says)}</span>'
    for remark in (f"{claim.id}; {claim.place}; {claim.basis}", claim.note, v.reason):
        about += f'<span class="remark soft small">{prose(remark)}</span>' if remark else ""
    measured = text(v.measured) + (f'<span class="remark soft small">{text(v.where)}</span>' if v.where else "")
    decided = text(claim.evidence)
    if claim.experiment:
        decided = f'<a href="#{anchor(claim.experiment)}">{text(claim.experiment)}</a>'
        decided += f' <span class="soft small">{text(v.scale)}</span>' if v.scale else ""
    data = {"verdict": v.verdict, "paper": claim.paper, "basis": claim.basis}
    value = v.decider.value if v.decider else ""
    cells = [Raw(about, claim.id), Raw(chip(v.verdict), v.verdict), Raw(measured, value), v.interval, claim.expect]
    return Row([*cells, Raw(decided, claim.experiment)], data, f"claim-{slug(claim.id)}")


def _figures(experiments: list[Experiment]) -> str:
    parts = []
    for paper in dict.fromkeys(e.paper for e in experiments):
        mine = [e for e in experiments if e.paper == paper]
        parts.append(f'<h3 id="paper-{slug(paper)}">{text(PAPERS.get(paper, paper))}</h3>')
        parts += [_experiment(e) for e in mine if e.manifest is not None]
        parts.append(_missing([e for e in mine if e.manifest is None]))
    return "".join(parts)


def _missing(experiments: list[Experiment]) -> str:
    if not experiments:
        return ""
    items = "".join(
        f'<li id="{anchor(e.id)}"><b>{text(e.id)}</b> {text(e.title)}<br>{code(e.command)}</li>' for e in experiments
    )
    return f"<h4>Not run yet</h4><ul>{items}</ul>"


def _experiment(e: Experiment) -> str:
    assert e.manifest is not None
    facts = [f"scale {e.manifest['scale']}", f"{e.manifest['trials']} trials a cell", f"seed {e.manifest['seed']}"]
    facts.append(f"{len(e.manifest['cells'])} cells")
    facts += _sources(e.manifest.get("datasets", {}))
    left = "".join(f"<li>{text(setting)}: {text(reason)}</li>" for setting, reason in e.manifest.get("left_out", []))
    picture = html.image(e.picture, f"{e.id}: {e.title}") if e.picture else ""
    if e.problem:
        picture += f'<p class="warn">{text(e.problem[:1].upper() + e.problem[1:])}. {code(e.command)}</p>'
    claims = "".join(_mini(v) for v in e.verdicts)
    beside = f'<div><h4>Claims</h4><ul class="claims">{claims}</ul></div>' if claims else ""
    wide = e.picture is not None and html.aspect(e.picture) > WIDE
    alone = " wide" if wide else "" if picture and beside else " alone"
    return (
        f'<article id="{anchor(e.id)}"><h3>{text(e.title)} <span class="soft small">{text(e.id)}</span></h3>'
        f'<p class="soft small">{text("; ".join(facts))}</p>'
        f'<div class="beside{alone}"><div>{picture}</div>{beside}</div>'
        + (_numbers(e.id, e.numbers) if e.numbers is not None else "")
        + (
            f'<details><summary class="small">Left out of the plan</summary><ul class="small">{left}</ul></details>'
            if left
            else ""
        )
        + "</article>"
    )


def _source(spec: dict[str, Any]) -> str:
    return "read from files" if "path" in spec.get("params", {}) else f"generated, seed {spec.get('seed')}"


def _sources(specs: dict[str, dict[str, Any]]) -> list[str]:
    """Where the data came from, datasets of one origin together."""
    origins: dict[str, list[str]] = {}
    for name, spec in specs.items():
        origins.setdefault(_source(spec), []).append(name)
    return [f"{', '.join(names)}: {origin}" for origin, names in origins.items()]


def _mini(v: Verdict) -> str:
    numbers = f" {text(v.measured)}" if v.measured else ""
    numbers += f' <span class="soft">({text(v.interval)})</span>' if v.interval else ""
    more = f' <a href="#claim-{slug(v.claim.id)}" aria-label="more of {text(v.claim.id)}">more</a>'
    expected = f' <span class="soft">paper: {text(v.claim.expect)}</span>' if v.claim.expect else ""
    return f"<li>{chip(v.verdict)}{numbers}{expected}<br>{prose(v.claim.says)}{more}</li>"


def _numbers(experiment: str, numbers: pd.DataFrame) -> str:
    name = f"numbers-{slug(experiment)}"
    shown = numbers.head(MOST_ROWS)
    heads = [str(c) for c in numbers.columns]
    rows = [Row(list(values)) for values in shown.itertuples(index=False, name=None)]
    rest = f", the first {MOST_ROWS} here, all in figures/{experiment}.csv" if len(numbers) > MOST_ROWS else ""
    return (
        f'<details><summary class="small">The numbers ({len(numbers)} rows{text(rest)})</summary>'
        + html.filters(name, {}, "find a row")
        + html.table(heads, rows, id=name, tall=True)
        + "</details>"
    )


def _leaderboard(experiments: list[Experiment]) -> str:
    if not experiments:
        return "<p>There is no experiment across the papers yet.</p>"
    done = [e for e in experiments if e.manifest is not None]
    return "".join(_experiment(e) for e in done) + _missing([e for e in experiments if e.manifest is None])


def _datasets(facts: Facts) -> str:
    return "".join(_dataset(**entry) for entry in facts.datasets) or "<p>There are no datasets.</p>"


def _dataset(name: str, card: str, spec: dict[str, Any] | None, scale: str, statistics: dict[str, float]) -> str:
    used = f' <span class="soft small">{text(_source(spec))}, scale {text(scale)}</span>' if spec else ""
    body = html.markdown(_without_title(card)) if card else '<p class="soft">It has no card yet.</p>'
    if statistics:
        heads = ["statistic of the data in these runs", "value"]
        body = html.table(heads, [Row(pair) for pair in statistics.items()], id=f"stat-{slug(name)}") + body
    return f'<details id="data-{slug(name)}"><summary><b>{text(name)}</b>{used}</summary>{body}</details>'


def _without_title(card: str) -> str:
    return re.sub(r"\A# .*\n", "", card)


def _mechanisms(facts: Facts) -> str:
    heads = list(facts.mechanisms[0]) if facts.mechanisms else ["mechanism"]
    rows = []
    for m in facts.mechanisms:
        private = "not private" if m["not private by default"] else "private"
        data = {"privacy": private, "origin": "reconstructed" if m["reconstructed"] else "as published"}
        cells: list[Any] = [Raw(prose(m[h])) for h in heads]
        if caveat := m["not private by default"]:
            cells[heads.index("not private by default")] = Raw(f'<span class="warn">{prose(caveat)}</span>')
        rows.append(Row(cells, data))
    choices = {"privacy": ("private", "not private"), "origin": ("as published", "reconstructed")}
    return (
        "<p>What is our reading of a part the text does not give is called reconstructed; what looks at the data outside "
        "the privacy budget is called not private, with the parameter that mends it.</p>"
        + html.filters("mechanisms-table", choices, "find a mechanism")
        + html.table(heads, rows, id="mechanisms-table", cards=True)
    )


def _errata(facts: Facts) -> str:
    known = [v for v in facts.verdicts if v.claim.basis == "erratum"]
    odd = [v for v in facts.verdicts if v.verdict == CONTRADICTED and v.claim.basis != "erratum"]
    rows = [_erratum(v) for v in known]
    parts = ["<p>What the papers state and our measurements contradict, or plain arithmetic where it says so.</p>"]
    heads = ["the paper says", "place", "verdict", "measured", "paper expects", "why"]
    parts.append(html.table(heads, rows, id="errata-table", cards=True))
    if odd:
        names = ", ".join(f'<a href="#claim-{slug(v.claim.id)}">{text(v.claim.id)}</a>' for v in odd)
        parts.append(f"<p>Contradicted in these runs as well, without being known as errata: {names}.</p>")
    return "".join(parts)


def _erratum(v: Verdict) -> Row:
    claim = v.claim
    where = Raw(
        f"{text(claim.place)} <span class='soft small'>({text(claim.paper)})</span>", f"{claim.paper} {claim.place}"
    )
    remark = "" if claim.experiment else f'<span class="remark soft small">{text(claim.evidence)}</span>'
    measured = Raw(text(v.measured) + remark, v.decider.value if v.decider else "")
    return Row(
        [
            Raw(prose(claim.says)),
            where,
            Raw(chip(v.verdict), v.verdict),
            measured,
            claim.expect,
            Raw(prose(claim.note or v.reason)),
        ]
    )


def _environment(facts: Facts) -> str:
    here = html.table(["where this page was made", ""], [Row(pair) for pair in facts.environment.items()], id="machine")
    done: Iterable[Experiment] = (e for e in facts.experiments if e.manifest is not None)
    rows = []
    for e in done:
        assert e.manifest is not None
        seeds = sorted({spec.get("seed", 0) for spec in e.manifest.get("datasets", {}).values()})
        link = Raw(f'<a href="#{anchor(e.id)}">{text(e.id)}</a>', e.id)
        cells = len(e.manifest["cells"])
        rows.append(
            Row(
                [
                    link,
                    e.manifest["scale"],
                    cells,
                    e.manifest["trials"],
                    e.trials,
                    e.manifest["seed"],
                    ", ".join(map(str, seeds)),
                ]
            )
        )
    heads = ["experiment", "scale", "cells", "trials a cell", "stored trials", "seed of the noise", "seed of the data"]
    runs = html.table(heads, rows, id="runs", cards=True) if rows else "<p>Nothing was run yet.</p>"
    return (
        "<p>A trial's noise comes from the seed, the setting and the trial's number alone: the same command gives the same "
        f"numbers on any machine, with any number of workers.</p>{runs}<h4>Machine and packages</h4>{here}"
    )
