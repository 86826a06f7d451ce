"""The sections on experiments: each figure with its facts, claims and numbers, and what was not run.

Imported by `view`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.report.gather import COMPARED, Experiment, title_of
from dpbench.report.marks import Marks, Note, audit_notes, notes
from dpbench.report.pictures import Drawn
from dpbench.report.runs import MechanismUse, RunFacts
from dpbench.report.tables import Table, rows_of, table
from dpbench.report.text import anchor, slug
from dpbench.report.view_claims import Beside, beside
from dpbench.results.record import Record
from dpbench.results.setting import origins

MOST_ROWS = 400  # rows shown of one table of numbers
WIDE = 2.2  # a picture with a larger ratio of width to height stands above its claims, not beside them
MANY = 8  # more claims than this stand below the picture, in columns: beside it they would leave a large gap below it
PER_PIXEL = 1.45  # pixels of the picture per pixel of the page: sharp on dense screens, text as large as on the page
PLAIN_CSV = 50_000  # a CSV file of up to this many bytes is put into the page uncompressed
LEADERBOARD = COMPARED


@dataclass(frozen=True)
class Download:
    """A file inside the page."""

    name: str
    label: str
    href: str
    """A data URI."""


@dataclass(frozen=True)
class Picture:
    """A figure inside the page."""

    alt: str
    data: str
    """The PNG file in base64."""
    width: int
    height: int
    points: str
    """The points, for the text on hover, as JSON: [[x, y, text], ...]."""
    pdf: Download

    @property
    def shown_width(self) -> int:
        return round(self.width / PER_PIXEL)

    @property
    def wide(self) -> bool:
        return self.width / self.height > WIDE


@dataclass(frozen=True)
class Numbers:
    """The table of an experiment's numbers, shortened if it is long."""

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
    pictures: tuple[Picture, ...]
    csv: Download | None
    claims: Beside
    summary: Table | None
    numbers: Numbers | None
    left_out: tuple[tuple[str, str], ...]

    @property
    def layout(self) -> str:
        """The CSS class that places picture and claims."""
        if self.pictures and (self.pictures[0].wide or len(self.claims.listed) > MANY):
            return "wide"
        return "" if self.pictures and (self.claims.listed or self.claims.folded) else "alone"


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
    """All papers, without the comparisons across papers."""
    names = dict.fromkeys(e.paper for e in experiments if e.paper != LEADERBOARD)
    return tuple(paper_view(name, experiments) for name in names)


def paper_view(paper: str, experiments: Sequence[Experiment]) -> PaperView:
    mine = [e for e in experiments if e.paper == paper]
    done = tuple(view for e in mine if (view := _view(e)) is not None)
    missing = tuple(Missing(e.id, e.title, e.command) for e in mine if _view(e) is None)
    return PaperView(paper, title_of(paper), done, missing)


def _view(e: Experiment) -> ExperimentView | None:
    """The run, or else the record; None if there is neither."""
    if e.run is not None:
        return experiment_view(e, _facts(e.run), e.run.mechanisms, e.run.left_out)
    if e.kept is None:
        return None
    return experiment_view(e, _record_facts(e.kept, e.recorded), _not_private(e.kept))


def experiment_view(
    e: Experiment,
    facts: tuple[str, ...],
    mechanisms: tuple[MechanismUse, ...],
    left_out: tuple[tuple[str, str], ...] = (),
) -> ExperimentView:
    marks = Marks(mechanisms)
    return ExperimentView(
        id=e.id,
        title=e.title,
        command=e.command,
        facts=facts,
        privacy=(*notes(mechanisms), *audit_notes(mechanisms, e.audited)),
        remarks=tuple(e.remarks),
        problem=e.problem,
        pictures=tuple(_picture(e, one) for one in e.pictures),
        csv=_csv(e),
        claims=beside(e.verdicts),
        summary=_summary(e, marks),
        numbers=_numbers(e, marks),
        left_out=left_out,
    )


def _facts(run: RunFacts) -> tuple[str, ...]:
    settings = f"{run.settings} setting{'s' * (run.settings != 1)}"
    return (f"scale {run.scale}", settings, run.trials_told, f"noise seed {run.seed}", *origins(run.datasets))


def _record_facts(kept: Record, recorded: str) -> tuple[str, ...]:
    draws = len(kept.data_seeds)
    several = (f"{draws} draws of the data",) if draws > 1 else ()
    trials = f"up to {kept.trials} trials per setting" if kept.trials > 1 else "1 trial per setting"
    counts = (f"{kept.settings} setting{'s' * (kept.settings != 1)}", trials, *several)
    return (f"not run here: {recorded}", f"scale {kept.scale}", *counts, f"noise seed {kept.seed}", *kept.origins)


def _not_private(kept: Record) -> tuple[MechanismUse, ...]:
    return tuple(MechanismUse(name, {}, "ε", reason) for name, reason in kept.not_private.items())


def _picture(e: Experiment, one: Drawn) -> Picture:
    width, height = int.from_bytes(one.png[16:20], "big"), int.from_bytes(one.png[20:24], "big")
    name = f"{slug(e.id)}{f'-{slug(one.name)}' if one.name else ''}.pdf"
    label = f"PDF ({one.name})" if one.name else "PDF"
    pdf = Download(name, label, f"data:application/pdf;base64,{base64.b64encode(one.pdf).decode()}")
    points = json.dumps([[p.x, p.y, p.text] for p in one.points], ensure_ascii=False, separators=(",", ":"))
    alt = f"{e.id}: {e.title}{f' ({one.name})' if one.name else ''}"
    return Picture(alt, base64.b64encode(one.png).decode(), width, height, points, pdf)


def _csv(e: Experiment) -> Download | None:
    """All numbers of the figure; compressed when they are long."""
    if e.numbers is None:
        return None
    content = e.numbers.to_csv(index=False).encode()
    if len(content) <= PLAIN_CSV:
        return Download(f"{slug(e.id)}.csv", "CSV", f"data:text/csv;base64,{base64.b64encode(content).decode()}")
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    return Download(f"{slug(e.id)}.csv.gz", "CSV (gzip)", f"data:application/gzip;base64,{packed}")


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
