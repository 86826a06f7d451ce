"""The facts of a report, from the store: experiments with their numbers and pictures, verdicts, datasets, environment.

Draws every figure. Imported by the verb `report`; the views turn the facts into the content of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.audit.stored import Stored, stored
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.recorded import source_of
from dpbench.claims.verdicts import Verdict
from dpbench.compare.audits import verdicts as audited
from dpbench.config import catalogue
from dpbench.config.catalogue import options
from dpbench.figures.metadata import About
from dpbench.mechanisms.base import MECHANISMS
from dpbench.report.pictures import Drawn, drawn
from dpbench.report.runs import RunFacts, default_caveat, run_facts, text
from dpbench.results import commands, record
from dpbench.results.environment import Environment
from dpbench.results.record import Record
from dpbench.results.run import DatasetUse, Run
from dpbench.sources.cards import Card, load

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.figures.draw import Drawing

PAPERS = {
    "gs": "Kellaris and Papadopoulos: Practical Differential Privacy via Grouping and Smoothing, PVLDB 2013",
    "sparse": "Cormode, Procopiuc, Srivastava and Tran: Differentially Private Publication of Sparse Data, ICDT 2012",
    "analytics": "Fan and Jin: A Practical Framework for Privacy-Preserving Data Analytics, WWW 2015",
    "sensitivity": "Day and Li: Differentially Private Publishing of High-dimensional Data Using Sensitivity Control, "
    "AsiaCCS 2015",
    "epicrec": "Shen and Jin: EpicRec: Towards Practical Differentially Private Framework for Personalized Recommendation, "
    "CCS 2016",
    "cross": "Across the papers: what none of them compares",
}
COMPARED = "cross"
"""Experiments in which mechanisms are ranked."""
OWN = "own"
"""The group of runs with names of their own: variations of experiments, and ad-hoc runs."""
OWN_TITLE = "Your own runs: variations, and chosen datasets and mechanisms. Not figures of a paper"


def title_of(paper: str) -> str:
    """What a group of experiments or claims is called. A name that is not of a paper is the user's own."""
    return OWN_TITLE if paper == OWN else PAPERS.get(paper, "Your own experiments and claims")


@dataclass
class Experiment:
    """One figure or table: its run, its numbers and its picture."""

    id: str
    """The label of its run: an experiment's id, followed by the datasets read from files, or its own name."""
    title: str
    command: str
    """The command that runs it as defined."""
    run: RunFacts | None = None
    trials: int = 0
    """Stored."""
    numbers: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    pictures: list[Drawn] = field(default_factory=list)
    problem: str = ""
    """Why it cannot be drawn."""
    remarks: list[str] = field(default_factory=list)
    """How this run differs from the experiment's definition."""
    verdicts: list[Verdict] = field(default_factory=list)
    kept: Record | None = None
    """Its record, if it was not run here."""
    recorded: str = ""
    """Where the record comes from: "recorded at COMMIT"."""
    own: bool = False
    """A variation or an ad-hoc run."""
    audited: Mapping[str, str] = field(default_factory=dict)
    """The audit's findings by mechanism, if mechanisms are compared."""

    @property
    def paper(self) -> str:
        return OWN if self.own else self.id.partition("/")[0]


@dataclass
class Dataset:
    """A dataset's card, and how the runs used it: each use once, with the scale."""

    name: str
    card: Card
    uses: list[tuple[str, DatasetUse]] = field(default_factory=list)


@dataclass(frozen=True)
class MechanismFacts:
    """What an installed mechanism states about itself."""

    name: str
    origin: str
    """Paper and place."""
    kinds: str
    guarantee: str
    not_private: str
    """Why it is not private with its default parameters; empty if it is."""
    reconstructed: str


@dataclass
class Facts:
    """Everything the page shows."""

    experiments: list[Experiment]
    verdicts: list[Verdict]
    datasets: list[Dataset]
    mechanisms: list[MechanismFacts]
    environment: dict[str, str]
    results: Path
    written: str
    audit: list[Stored] = field(default_factory=list)
    """What the last audit of the mechanisms found; empty if there was none."""

    @property
    def missing(self) -> list[Experiment]:
        return [e for e in self.experiments if e.run is None and e.kept is None]


def gather(results: Path, scale: str | None, say: Callable[[str], None]) -> Facts:
    """All facts; draws every figure from the stored trials. UserError if there are none."""
    on_record = record.read_all()
    if not on_record:
        commands.stored(results, scale)
    judge = Judge(results, scale)
    verdicts = sorted((judge.verdict(claim) for claim in ledger()), key=lambda v: rank(v.claim.paper))
    runs = {label: run_facts(run) for label, run in judge.each.items()}
    there = {run.name for run in judge.each.values()}
    experiments = []
    for label, run in judge.each.items():
        experiment = Experiment(label, _title(run), commands.own_command(run), runs[label])
        experiment.own = run.name != run.experiment
        experiment.verdicts = [v for v in verdicts if _decided_by(judge, v, run)]
        _draw(experiment, run)
        say(f"{label}: {experiment.problem or f'{experiment.trials} trials'}")
        experiments.append(experiment)
    for name in options("experiment"):
        if name not in there:
            title = catalogue.title(name) or name
            size = on_record[name].scale if name in on_record else scale  # the command that makes what is shown
            experiments.append(Experiment(name, title, commands.run_command(name, results, size)))
            experiments[-1].verdicts = [v for v in verdicts if v.claim.experiment == name]
            if name in on_record:
                _draw_record(experiments[-1], on_record[name])
    experiments.sort(key=lambda e: (rank(e.paper), _natural(e.id)))
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    for experiment in experiments:
        if experiment.paper == COMPARED:
            experiment.audited = audited(results)
    machine = Environment.here().lines()
    return Facts(experiments, verdicts, _datasets(runs), _mechanisms(), machine, results, written, stored(results))


def rank(paper: str) -> int:
    """The order of groups: what is the user's own first, then the papers."""
    return list(PAPERS).index(paper) if paper in PAPERS else -2 if paper == OWN else -1


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts fig9 before fig10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _title(run: Run) -> str:
    """The title of a run, with the datasets read from original files, to distinguish it from the run beside it."""
    title = text(run.title) or (catalogue.title(run.name) if run.name in options("experiment") else "") or run.name
    files = ", ".join(run.original_datasets)
    return f"{title} ({text(files)}: original files)" if files else title


def _decided_by(judge: Judge, verdict: Verdict, run: Run) -> bool:
    decider = judge.run_for(verdict.claim) if verdict.claim.experiment == run.name else None
    return decider is not None and decider.label == run.label


def _draw(experiment: Experiment, run: Run) -> None:
    from dpbench.figures.draw import CannotDraw, about, draw

    try:
        drawing = draw(run)
    except CannotDraw as problem:  # the rest of the page still stands
        experiment.problem = text(problem)
        return
    experiment.trials = drawing.trials
    experiment.remarks = [text(remark) for remark in commands.remarks(run, drawing.trials)]
    _take(experiment, drawing, about(run))


def _draw_record(experiment: Experiment, kept: Record) -> None:
    """The recorded results of an experiment that was not run here."""
    from dpbench.figures.draw import CannotDraw, about_record, draw_record

    experiment.kept, experiment.recorded = kept, source_of(kept)
    try:
        _take(experiment, draw_record(kept), about_record(kept))
    except CannotDraw as problem:
        experiment.problem = text(problem)


def _take(experiment: Experiment, drawing: Drawing, about: About) -> None:
    from dpbench.figures.style import paper_style, plt

    experiment.numbers, experiment.summary = drawing.numbers, drawing.summary
    for name, figure in drawing.figures.items():
        with paper_style():
            experiment.pictures.append(drawn(name, figure, about))
        plt.close(figure)


def _datasets(runs: Mapping[str, RunFacts]) -> list[Dataset]:
    """Every dataset, installed or in a run. Only the cards of installed ones are opened."""
    known = options("dataset")
    used = [(run.scale, use) for run in runs.values() for use in run.datasets]
    found = {name: Dataset(name, load(name)) for name in known}
    for scale, use in used:
        dataset = found.setdefault(use.name, Dataset(use.name, Card(use.name)))
        if (scale, use) not in dataset.uses:
            dataset.uses.append((scale, use))
    return list(found.values())


def _mechanisms() -> list[MechanismFacts]:
    return [
        MechanismFacts(
            name=name,
            origin=f"{cls.paper}, {cls.place}" if cls.place else cls.paper,
            kinds=", ".join(cls.kinds),
            guarantee=f"{cls.privacy}; {cls.neighbours}",
            not_private=default_caveat(cls),
            reconstructed=cls.reconstructed,
        )
        for name, cls in MECHANISMS.items()
    ]
