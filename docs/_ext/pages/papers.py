"""One page per paper: its experiments, its figures and verdicts on record, and where we differ."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.verdicts import tally
from dpbench.config import catalogue
from dpbench.figures.draw import CannotDraw, Drawing, draw_record
from dpbench.model.claim import UNTESTABLE
from dpbench.model.verdict import Verdict
from dpbench.paths import EXPERIMENTS, RECORD
from dpbench.ranking.rows import BOARDS
from dpbench.report.answer import EVIDENCE_HEADS, answers, evidence_row
from dpbench.report.papers import COMPARED, PAPERS
from dpbench.report.text import expected
from dpbench.storage import record
from pages.markdown import page, plain, table, toctree

ABOUT = Path(__file__).resolve().parents[2] / "about"
NOTHING = (
    "Nothing here is on record yet: no figure at paper size can be shown, and claims that need one are not testable."
)


def pages(folder: Path) -> dict[str, str]:
    return {"index": index_page(), **{paper: paper_page(paper, folder) for paper in PAPERS}}


def heading(paper: str) -> str:
    """The title of a paper."""
    before, _, after = PAPERS[paper].partition(": ")
    return before if paper == COMPARED else re.sub(r", [^,]* \d{4}$", "", after)


def experiment_link(name: str) -> str:
    paper = name.partition("/")[0]
    return f"[{name}](../papers/{paper}.md): {plain(catalogue.title(name))}"


def experiments(paper: str) -> list[str]:
    """The experiments of a paper; fig9 before fig10."""

    def natural(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]

    return sorted((e for e in catalogue.options("experiment") if e.startswith(f"{paper}/")), key=natural)


def index_page() -> str:
    rows = [
        (f"[{paper}]({paper}.md)", plain(PAPERS[paper]), _counted(verdicts(paper)), _on_record(paper))
        for paper in PAPERS
    ]
    return page(
        "# The papers",
        "Each paper has a short name, with which the names of its experiments and claims begin. The verdicts come from the "
        "record, which was made once at the size of the papers, and from audits and computations, which need no record. "
        "`python -m dpbench claims` prints all claims; [Claims and verdicts](../concepts/verdicts.md) says what verdicts mean.",
        table(("name", "paper", "claims", "experiments on record"), rows),
        toctree(PAPERS),
    )


def paper_page(paper: str, folder: Path, records: Path = RECORD) -> str:
    """`folder`: where the figures go."""
    about = ABOUT / f"{paper}.md"
    own = experiments(paper)
    found = verdicts(paper, records)
    on_record = [name for name in own if record.read(name, records)]
    return page(
        f"# {heading(paper)}",
        "" if paper == COMPARED else f"{plain(PAPERS[paper])}. Short name: `{paper}`.",
        about.read_text(encoding="utf-8") if about.is_file() else "",
        "## Experiments",
        table(("experiment", "what it shows", "on record"), (_experiment(name, records) for name in own)),
        f"Run one with `python -m dpbench run experiment={own[0]}`, or all of them at the size of the paper with "
        f"`python -m dpbench reproduce {paper}`.",
        "## Figures on record",
        *(_figure(name, folder, records) for name in on_record),
        "" if on_record else NOTHING,
        *_claims(paper, found),
        *_differences(paper),
    )


def _experiment(name: str, records: Path) -> tuple[str, str, str]:
    found = record.read(name, records)
    if found is None:
        return f"`{name}`", plain(catalogue.title(name)), "not yet"
    trials = f"up to {found.trials} trials" if found.trials > 1 else "1 trial"
    told = f"{trials} at {found.scale} size, commit `{found.commit[:10]}`"
    return f"`{name}`", plain(catalogue.title(name)), told


def _on_record(paper: str) -> str:
    own = experiments(paper)
    return f"{sum(record.read(name) is not None for name in own)} of {len(own)}"


def record_figures(name: str, folder: Path, records: Path = RECORD, drawing: Drawing | None = None) -> dict[str, str]:
    """The figures of an experiment as they are on record, drawn into files beside the page: how a page shows each, by name."""
    from dpbench.figures.style import paper_style, plt

    found = record.read(name, records)
    assert found is not None
    title, shown = plain(found.title or catalogue.title(name)), {}
    for added, figure in (drawing or draw_record(found)).figures.items():
        file = folder / "figures" / f"{name.replace('/', '-')}{f'-{added}' if added else ''}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        with paper_style():
            figure.savefig(file, dpi=110)
        plt.close(figure)
        shown[added] = f"```{{image}} figures/{file.name}\n:alt: {title}\n```"
    return shown


def _figure(name: str, folder: Path, records: Path) -> str:
    """The figures of an experiment with its title; of a board, where its page is."""
    found = record.read(name, records)
    assert found is not None
    parts = [f"### {plain(found.title or catalogue.title(name))}"]
    if name in BOARDS:
        return page(*parts, f"See [its page](../boards/{name.partition('/')[2]}.md).")
    try:
        drawing = draw_record(found)
    except CannotDraw as problem:
        return page(*parts, f"The record cannot be drawn: {plain(str(problem))}.")
    parts += record_figures(name, folder, records, drawing).values()
    if drawing.figure is None and drawing.summary is not None:
        shown = drawing.summary.astype(str)
        parts.append(table([str(c) for c in shown.columns], shown.to_numpy().tolist()))
    parts.append(f"`python -m dpbench run experiment={name} scale={found.scale}` computes it again.")
    return page(*parts)


@cache
def verdicts(paper: str, records: Path = RECORD) -> list[Verdict]:
    """What `claims` says in an empty folder: the record, and what audits and computations decide."""
    with tempfile.TemporaryDirectory() as empty:
        judge = Judge(Path(empty), record=records)
        return [judge.verdict(claim) for claim in ledger() if claim.paper == paper]


def _counted(found: Sequence[Verdict]) -> str:
    counts = tally(found).counts
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number) or "-"


def _claims(paper: str, found: Sequence[Verdict]) -> Iterator[str]:
    if not found:
        return
    yield "## Claims"
    (answer,) = answers(found)
    yield " ".join(answer.sentences)
    yield (
        f"{tally(found).claims} sentences of the paper are counted: {_counted(found)}. "
        f"`python -m dpbench claims {paper}` prints them; [Claims and verdicts](../concepts/verdicts.md) says what they mean."
    )
    yield table(EVIDENCE_HEADS, [evidence_row(tally(found))])
    yield "Cells: reproduced / dependent / contradicted."
    decided = [one for one in found if one.verdict != UNTESTABLE and one.claim.counted]
    waiting = [one for one in found if one.verdict == UNTESTABLE]
    beside = [one for one in found if one.verdict != UNTESTABLE and not one.claim.counted]
    heads = ("what the paper says", "expected and found")
    if decided:
        yield table(heads, map(_decided, decided))
    if beside:
        yield "### Not counted: repeated claims, and notes of ours"
        yield table(heads, map(_decided, beside))
    if waiting:
        listed = "\n".join(f"- {_sentence(one)} *{plain(_lacking(one))}.*" for one in waiting)
        yield f"### Not testable from what is on record\n\n{listed}"


def _lacking(one: Verdict) -> str:
    return f"{one.claim.experiment} is not on record" if one.reason.endswith(" was not run") else one.reason


def _sentence(one: Verdict) -> str:
    claim = one.claim
    return f"{plain(claim.says).rstrip('.')} ({plain(claim.place)}; `{claim.id.partition('/')[2]}`)."


def _decided(one: Verdict) -> tuple[str, str]:
    spread = f" ({one.interval})" if one.interval else ""
    note = f" *{plain(one.claim.note)}*" if one.claim.note else ""
    found = plain(f"{one.measured}{spread}")
    after = "border set after the numbers were seen" if one.claim.set_after else ""
    tried = [plain(text) for text in (one.sides, after) if text]
    parts = [f"expected {plain(expected(one.claim.expect))}; found {found}", *filter(None, (_data(one),)), *tried]
    parts += [f"{other.verdict} on {_data(other)}: {plain(other.measured)}" for other in one.others if other.decider]
    return f"**{one.verdict}**: {_sentence(one)}{note}", "; ".join(parts)


def _data(one: Verdict) -> str:
    """What decided it; empty if nothing did."""
    return f"original files of {', '.join(one.files)}" if one.files else str(one.evidence or "")


def _differences(paper: str) -> Iterator[str]:
    """The part of DIFFERENCES.md that is about a paper."""
    text = (EXPERIMENTS / "DIFFERENCES.md").read_text(encoding="utf-8")
    for part in text.split("\n## ")[1:]:
        title, _, content = part.partition("\n")
        if title.strip().lower() == paper:
            yield "## Where we differ"
            yield content.strip()
