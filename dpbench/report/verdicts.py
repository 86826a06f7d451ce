"""The claims on the page: their summary by paper, all of them, those beside a figure, and the errata."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from dpbench.claims.judge import Verdict
from dpbench.claims.ledger import BASES, CONTRADICTED, UNTESTABLE, VERDICTS
from dpbench.config.schema import SCALES
from dpbench.paths import EXPERIMENTS
from dpbench.report import html
from dpbench.report.gather import PAPERS, Facts
from dpbench.report.html import Raw, Row, anchor, code, folded, link, prose, text
from dpbench.results.commands import RESULTS

FEW = 3  # so many untestable claims beside a figure are shown, more are folded away


def chip(verdict: str) -> str:
    return f'<span class="chip {verdict.replace(" ", "")}">{text(verdict)}</span>'


def claims(facts: Facts) -> str:
    """The section of all claims."""
    if not facts.verdicts:
        return "<p>There is no ledger of claims.</p>"
    papers = list(dict.fromkeys(v.claim.paper for v in facts.verdicts))
    choices = {"verdict": VERDICTS, "paper": papers, "basis": list(BASES)}
    meaning = "; ".join(f"<i>{text(name)}</i>: {text(what)}" for name, what in BASES.items())
    return (
        "<p>Reproduced: the 95 % interval of what was measured lies where the paper expects it. Contradicted: it lies "
        "outside. Inconclusive: it reaches across the border. Intervals are about the mechanisms' noise; the data are one "
        "draw. Where a claim is about several settings, the deciding one is shown and the intervals hold together.</p>"
        f"{_summary(facts.verdicts, papers)}{_too_small(facts)}"
        f'<details id="claims-list" open><summary><h3>Every claim ({len(facts.verdicts)})</h3></summary>'
        f'<p class="soft small">Basis: {meaning}.</p>'
        + html.filters("claims-table", choices, "find a claim")
        + html.table(
            ["claim", "verdict", "measured", "95 % interval", "paper expects", "decided by"],
            [_claim(v) for v in facts.verdicts],
            id="claims-table",
            caption="Every claim with its verdict",
            cards=True,
            tall=True,
        )
        + "</details>"
    )


def _summary(verdicts: Sequence[Verdict], papers: Sequence[str]) -> str:
    rows = []
    for paper in papers:
        mine = [v for v in verdicts if v.claim.paper == paper]
        counts = {name: sum(v.verdict == name for v in mine) for name in VERDICTS}
        bar = "".join(
            f'<i class="{name.replace(" ", "")}" style="width:{100 * count / len(mine):.2f}%"></i>'
            for name, count in counts.items()
        )
        links = [
            Raw(f'<a href="#claims-list" data-verdict="{name}" data-paper="{text(paper)}">{count}</a>', count)
            for name, count in counts.items()
        ]
        share = ", ".join(f"{count} {name}" for name, count in counts.items())
        drawn = f'<div class="bar" role="img" aria-label="{share}">{bar}</div>'
        rows.append(Row([Raw(_paper(paper), paper), *links, Raw(drawn, next(iter(counts.values())) / len(mine))]))
    return html.table(["paper", *VERDICTS, "share"], rows, id="summary", caption="Claims by paper", cards=True)


def _paper(paper: str) -> str:
    return f'<a href="#{anchor("paper", paper)}">{text(paper)}</a> {text(PAPERS.get(paper, paper))}'


def _too_small(facts: Facts) -> str:
    """Most untestable claims lack nothing but size: says so once, with the command."""
    wanting = [v for v in facts.verdicts if v.verdict == UNTESTABLE and "needs scale=" in v.reason]
    if not wanting:
        return ""
    scales = {scale: sum(v.claim.scale == scale for v in wanting) for scale in SCALES}
    scales = {scale: count for scale, count in scales.items() if count}
    need = ", ".join(f"{count} need scale {scale}" for scale, count in scales.items())
    words = ["--scale", next(iter(scales)), *(["--results", str(facts.results)] if facts.results != RESULTS else [])]
    command = shlex.join(["python", "-m", "dpbench", "claims", "--run", *words])
    return f'<p class="small">{len(wanting)} claims cannot be tested by runs this small ({text(need)}): {code(command)}</p>'


def _claim(v: Verdict) -> Row:
    claim = v.claim
    about = f'<span class="says">{prose(claim.says)}</span>'
    for remark in (f"{claim.id}; {claim.place}; {claim.basis}", claim.note, v.reason):
        about += f'<span class="remark soft small">{prose(remark)}</span>' if remark else ""
    decided = text(claim.evidence)
    if claim.experiment:
        decided = link("exp", claim.experiment)
        decided += f' <span class="soft small">{text(v.scale)}</span>' if v.scale else ""
    data = {"verdict": v.verdict, "paper": claim.paper, "basis": claim.basis}
    cells = [Raw(about, claim.id), Raw(chip(v.verdict), v.verdict), *_measured(v), _expected(v)]
    return Row([*cells, Raw(decided, claim.experiment)], data, anchor("claim", claim.id))


def _measured(v: Verdict) -> tuple[Raw, Raw]:
    """The measured value and its interval, which sort as numbers whatever unit they are shown in."""
    where = f'<span class="remark soft small">{text(v.where)}</span>' if v.where else ""
    value = v.decider.value if v.decider else ""
    low = v.decider.low if v.decider and v.interval else ""
    return Raw(text(v.measured) + where, value), Raw(text(v.interval), low)


def _expected(v: Verdict) -> Raw:
    """Sorts by the border, or the lower one of two."""
    if not v.claim.expect:
        return Raw("", "")
    region = v.claim.region
    return Raw(text(v.claim.expect), region.low if math.isfinite(region.low) else region.high)


def beside(verdicts: Sequence[Verdict]) -> str:
    """The claims that an experiment decides, for its figure; what could not be tested comes last."""
    if not verdicts:
        return ""
    tested = [v for v in verdicts if v.verdict != UNTESTABLE]
    rest = [v for v in verdicts if v.verdict == UNTESTABLE]
    listed = _list([*tested, *rest] if len(rest) <= FEW else tested)
    if len(rest) > FEW:
        listed += folded(f"{len(rest)} claims this run cannot test", _list(rest), aside="untested")
    return f"<div><h4>Claims</h4>{listed}</div>"


def _list(verdicts: Sequence[Verdict]) -> str:
    items = "".join(_mini(v) for v in verdicts)
    return f'<ul class="claims">{items}</ul>' if items else ""


def _mini(v: Verdict) -> str:
    numbers = f" {text(v.measured)}" if v.measured else ""
    numbers += f' <span class="soft">({text(v.interval)})</span>' if v.interval else ""
    more = f' <a href="#{anchor("claim", v.claim.id)}" aria-label="more of {text(v.claim.id)}">more</a>'
    expected = f' <span class="soft">paper: {text(v.claim.expect)}</span>' if v.claim.expect else ""
    return f"<li>{chip(v.verdict)}{numbers}{expected}<br>{prose(v.claim.says)}{more}</li>"


def errata(facts: Facts) -> str:
    """The section of what is wrong in the papers, and of what we do otherwise."""
    known = [v for v in facts.verdicts if v.claim.basis == "erratum"]
    odd = [v for v in facts.verdicts if v.verdict == CONTRADICTED and v.claim.basis != "erratum"]
    heads = ["the paper says", "place", "verdict", "measured", "paper expects", "why"]
    table = html.table(heads, [_erratum(v) for v in known], id="errata-table", caption="Known errata", cards=True)
    parts = [
        f"<p>What the papers state and our measurements contradict, or plain arithmetic where it says so.</p>{table}"
    ]
    if odd:
        names = ", ".join(link("claim", v.claim.id) for v in odd)
        parts.append(f"<p>Contradicted in these runs as well, without being known as errata: {names}.</p>")
    return "".join(parts) + _differences(EXPERIMENTS / "DIFFERENCES.md")


def _erratum(v: Verdict) -> Row:
    claim = v.claim
    says = f"{prose(claim.says)} {link('claim', claim.id, 'more')}"
    place = f'{text(claim.place)} <span class="soft small">({text(claim.paper)})</span>'
    why = Raw(prose(claim.note or v.reason))
    cells = [Raw(says, claim.says), Raw(place, f"{claim.paper} {claim.place}"), Raw(chip(v.verdict), v.verdict)]
    value = _measured(v)[0]
    if not claim.experiment:
        value = Raw(f'{value.text}<span class="remark soft small">{text(claim.evidence)}</span>', value.sort)
    return Row([*cells, value, _expected(v), why])


def _differences(path: Path) -> str:
    if not path.is_file():
        return ""
    title, _, body = path.read_text().partition("\n")
    return folded(f"<b>{text(title.lstrip('# '))}</b>", html.markdown(body), id="differences")
