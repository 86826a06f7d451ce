"""What the page says about experiments: each figure with its facts, claims and numbers, and what was not run.

Imported by `view`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.report.gather import COMPARED, OWN, OWN_TITLE, PAPERS, Experiment
from dpbench.report.marks import Marks, Note, audit_notes, notes
from dpbench.report.runs import RunFacts
from dpbench.report.tables import Table, rows_of, table
from dpbench.report.text import anchor
from dpbench.report.view_claims import Beside, beside

MOST_ROWS = 400  # of one table of numbers
WIDE = 2.2  # a picture with a larger ratio of width to height stands above its claims, not beside them
PER_PIXEL = 1.45  # pixels of the picture for one of the page: sharp on dense screens, with text as large as the page's
LEADERBOARD = COMPARED


@dataclass(frozen=True)
class Picture:
    """A figure inside the page."""

    alt: str
    data: str
    """The PNG file in base64."""
    width: int
    height: int

    @property
    def shown_width(self) -> int:
        return round(self.width / PER_PIXEL)

    @property
    def wide(self) -> bool:
        return self.width / self.height > WIDE


@dataclass(frozen=True)
class Numbers:
    """The table of an experiment's numbers, shortened when it is long."""

    table: Table
    total: int

    @property
    def shown(self) -> int:
        return len(self.table.rows)


@dataclass(frozen=True)
class ExperimentView:
    """One figure or table of a paper that was run."""

    id: str
    title: str
    command: str
    facts: tuple[str, ...]
    privacy: tuple[Note, ...]
    remarks: tuple[str, ...]
    problem: str
    picture: Picture | None
    claims: Beside
    summary: Table | None
    numbers: Numbers | None
    left_out: tuple[tuple[str, str], ...]

    @property
    def layout(self) -> str:
        """The CSS class that places picture and claims."""
        if self.picture and self.picture.wide:
            return "wide"
        return "" if self.picture and (self.claims.listed or self.claims.folded) else "alone"


@dataclass(frozen=True)
class Missing:
    """An experiment that was not run."""

    id: str
    title: str
    command: str


@dataclass(frozen=True)
class PaperView:
    """The experiments of one paper."""

    id: str
    title: str
    done: tuple[ExperimentView, ...]
    missing: tuple[Missing, ...]


def papers_view(experiments: Sequence[Experiment]) -> tuple[PaperView, ...]:
    """All papers, without what goes across them."""
    names = dict.fromkeys(e.paper for e in experiments if e.paper != LEADERBOARD)
    return tuple(paper_view(name, experiments) for name in names)


def paper_view(paper: str, experiments: Sequence[Experiment]) -> PaperView:
    mine = [e for e in experiments if e.paper == paper]
    done = tuple(experiment_view(e, e.run) for e in mine if e.run is not None)
    missing = tuple(Missing(e.id, e.title, e.command) for e in mine if e.run is None)
    title = OWN_TITLE if paper == OWN else PAPERS.get(paper, paper)
    return PaperView(paper, title, done, missing)


def experiment_view(e: Experiment, run: RunFacts) -> ExperimentView:
    marks = Marks(run.mechanisms)
    return ExperimentView(
        id=e.id,
        title=e.title,
        command=e.command,
        facts=_facts(run),
        privacy=(*notes(run.mechanisms), *audit_notes(run.mechanisms, e.audited)),
        remarks=tuple(e.remarks),
        problem=e.problem,
        picture=_picture(e.picture, f"{e.id}: {e.title}") if e.picture else None,
        claims=beside(e.verdicts),
        summary=_summary(e, marks),
        numbers=_numbers(e, marks),
        left_out=run.left_out,
    )


def _facts(run: RunFacts) -> tuple[str, ...]:
    trials = f"{run.trials} trial{'s' * (run.trials != 1)} per setting"
    settings = f"{run.settings} setting{'s' * (run.settings != 1)}"
    return (f"scale {run.scale}", settings, trials, f"noise seed {run.seed}", *_origins(run))


def _origins(run: RunFacts) -> list[str]:
    """Where the data came from, datasets of one origin together."""
    origins: dict[str, list[str]] = {}
    for use in run.datasets:
        origins.setdefault(use.origin, []).append(use.name)
    return [f"{', '.join(dict.fromkeys(names))}: {origin}" for origin, names in origins.items()]


def _picture(png: bytes, alt: str) -> Picture:
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    return Picture(alt, base64.b64encode(png).decode(), width, height)


def _summary(e: Experiment, marks: Marks) -> Table | None:
    if e.summary is None:
        return None
    names = [str(c) for c in e.summary.columns]
    return table(
        names,
        rows_of(e.summary),
        id=anchor("summary", e.id),
        caption=f"Summary of {e.id}",
        head_mark=marks.head,
        cell_mark=marks.cell,
    )


def _numbers(e: Experiment, marks: Marks) -> Numbers | None:
    if e.numbers is None:
        return None
    made = table(
        [str(c) for c in e.numbers.columns],
        rows_of(e.numbers.head(MOST_ROWS)),
        id=anchor("numbers", e.id),
        caption=f"Numbers of {e.id}",
        tall=True,
        head_mark=marks.head,
        cell_mark=marks.cell,
    )
    return Numbers(made, len(e.numbers))
