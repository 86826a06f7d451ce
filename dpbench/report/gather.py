"""The facts of a report, from the store: experiments with their numbers and pictures, verdicts, datasets, environment.

Draws every figure. Imported by the verbs `report` and `reproduce`; the templates show the facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.auditing.cache import StoredFinding, stored
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.recorded import source_of
from dpbench.config import catalogue
from dpbench.config.catalogue import options
from dpbench.figures.metadata import About
from dpbench.mechanisms.base import MECHANISMS, Mechanism
from dpbench.model.environment import Environment
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.model.setting import origins
from dpbench.model.verdict import Verdict
from dpbench.ranking.entitled import verdicts as audited
from dpbench.report.datasets import UsedDataset
from dpbench.report.experiment import Experiment
from dpbench.report.papers import COMPARED, rank
from dpbench.report.text import printable
from dpbench.sources.cards import Card, load
from dpbench.storage import commands, record

if TYPE_CHECKING:
    from dpbench.figures.draw import Drawing
    from dpbench.report.pictures import Drawn


@dataclass
class Facts:
    """Everything the page shows."""

    experiments: list[Experiment]
    verdicts: list[Verdict]
    datasets: list[UsedDataset]
    mechanisms: Mapping[str, type[Mechanism]]
    """The installed ones."""
    environment: dict[str, str]
    results: Path
    written: str
    audit: list[StoredFinding] = field(default_factory=list)
    """What the last audit of the mechanisms found; empty if there was none."""

    @property
    def missing(self) -> list[Experiment]:
        return [e for e in self.experiments if e.missing]


def gather(
    results: Path,
    scale: str | None,
    say: Callable[[str], None],
    only: Collection[str] | None = None,
    *,
    audit: bool = False,
) -> Facts:
    """All facts; draws every figure from the stored trials. UserError if there are none.

    only: the experiments to show beside those that were run here, with the claims of both; all by default.
    audit: audit for the claims anew where the code has changed since the record was made.
    """
    on_record = record.read_all()
    if not on_record:
        commands.stored(results, scale)
    judge = Judge(results, scale, audit=audit)
    names = [name for name in options("experiment") if only is None or name in only]
    shown = {*names, *judge.runs}
    claims = [claim for claim in ledger() if only is None or claim.experiment in shown]
    verdicts = sorted((judge.verdict(claim) for claim in claims), key=lambda v: rank(v.claim.paper))
    experiments = []
    for label, run in judge.each.items():
        experiment = Experiment(label, _title(run), printable(commands.own_command(run)), run)
        experiment.verdicts = [v for v in verdicts if _decided_by(judge, v, run)]
        _draw(experiment, run)
        say(f"{label}: {experiment.problem or f'{experiment.trials} trials'}")
        experiments.append(experiment)
    run_here = {run.name for run in judge.each.values()}
    for name in names:
        if name not in run_here:
            kept = on_record.get(name)
            size = kept.scale if kept else scale  # the command that makes what is shown
            command = commands.run_command(name, results, size)
            experiment = Experiment(name, catalogue.title(name) or name, command, record=kept)
            experiment.verdicts = [v for v in verdicts if v.claim.experiment == name]
            if kept:
                _draw_record(experiment, kept)
            experiments.append(experiment)
    experiments.sort(key=lambda e: (rank(e.paper), _natural(e.id)))
    for experiment in experiments:
        if experiment.paper == COMPARED:
            experiment.audited = audited(results)
    return Facts(
        experiments,
        verdicts,
        _datasets(judge.each.values()),
        dict(MECHANISMS.items()),
        Environment.here().lines(),
        results,
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        stored(results),
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts fig9 before fig10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _title(run: Run) -> str:
    """The title of a run, with the datasets read from files, to distinguish it from the run beside it."""
    title = run.title or (catalogue.title(run.name) if run.name in options("experiment") else "") or run.name
    files = "; ".join(origins(use for use in run.datasets.values() if use.original))
    return printable(f"{title} ({files})" if files else title)


def _decided_by(judge: Judge, verdict: Verdict, run: Run) -> bool:
    decider = judge.run_for(verdict.claim) if verdict.claim.experiment == run.name else None
    return decider is not None and decider.label == run.label


def _draw(experiment: Experiment, run: Run) -> None:
    from dpbench.figures.draw import CannotDraw, about, draw

    try:
        drawing = draw(run)
        experiment.trials = drawing.trials
        experiment.remarks = [printable(remark) for remark in commands.remarks(run, drawing.trials)]
        experiment.numbers, experiment.summary = drawing.numbers, drawing.summary
        experiment.pictures = _pictures(drawing, about(run), with_pdf=True)
    except CannotDraw as problem:  # the rest of the page still stands
        experiment.problem = printable(problem)


def _draw_record(experiment: Experiment, kept: Record) -> None:
    """The recorded results of an experiment that was not run here."""
    from dpbench.figures.draw import CannotDraw, about_record, draw_record, record_tables
    from dpbench.report.pictures import cached

    experiment.recorded = source_of(kept)

    def pictures() -> list[Drawn]:
        return _pictures(draw_record(kept), about_record(kept), with_pdf=False)

    try:
        experiment.numbers, experiment.summary = record_tables(kept)
        experiment.pictures = cached(kept, pictures)
    except CannotDraw as problem:
        experiment.problem = printable(problem)


def _pictures(drawing: Drawing, about: About, *, with_pdf: bool) -> list[Drawn]:
    from dpbench.figures.draw import cannot_render
    from dpbench.figures.style import paper_style, plt
    from dpbench.report.pictures import drawn

    pictures = []
    for name, figure in drawing.figures.items():
        try:
            with paper_style():
                pictures.append(drawn(name, figure, about, with_pdf=with_pdf))
        except Exception as error:  # a text in it may be no valid formula, or far too long
            raise cannot_render(error) from error
        finally:
            plt.close(figure)
    return pictures


def _datasets(runs: Iterable[Run]) -> list[UsedDataset]:
    """Every dataset, installed or in a run. Only the cards of installed ones are opened."""
    datasets = {name: UsedDataset(name, load(name)) for name in options("dataset")}
    for run in runs:
        for use in {str(setting.dataset): setting.dataset for setting in run.settings}.values():
            dataset = datasets.setdefault(use.name, UsedDataset(use.name, Card(use.name)))
            if (run.scale, use) not in dataset.uses:
                dataset.uses.append((run.scale, use))
    return list(datasets.values())
