"""The view model: the whole content of the page, as typed data without markup. Built from the facts; rendered by templates.

A section is one field of `PageView`, one entry of SECTIONS and one template in templates/sections. Imported by `page`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.claims.verdicts import tally
from dpbench.report.gather import Dataset, Experiment, Facts, MechanismFacts
from dpbench.report.tables import Cell, Head, Table, heads, table
from dpbench.report.text import anchor, listed
from dpbench.report.view_answer import Answer, answers
from dpbench.report.view_audit import AuditView, audit_view
from dpbench.report.view_claims import ClaimsView, ErrataView, claims_view, errata_view
from dpbench.report.view_experiments import LEADERBOARD, PaperView, paper_view, papers_view

TITLE = "Publishing counts under differential privacy: five papers, run again"


@dataclass(frozen=True)
class Section:
    """A part of the page. Its template and its field of `PageView` have its id as their name."""

    id: str
    title: str
    short: str = ""
    """Its name in the navigation."""


SECTIONS = (
    Section("answer", "What holds and what does not", "Answer"),
    Section("claims", "Claims"),
    Section("figures", "Figures and tables", "Figures"),
    Section("leaderboard", "Leaderboard"),
    Section("datasets", "Datasets"),
    Section("mechanisms", "Mechanisms"),
    Section("audit", "Audit of privacy", "Audit"),
    Section("errata", "Errata"),
    Section("environment", "Environment and seeds", "Environment"),
)


@dataclass(frozen=True)
class HeaderView:
    """The head of the page."""

    done: int
    experiments: int
    recorded: int
    """Experiments that were not run here and are shown from the record."""
    scales: str
    trials: int
    changed: tuple[str, ...]
    """Experiments whose run is not as defined, not finished, or without a figure."""
    claims: int
    verdicts: str
    data: str
    """Which datasets were generated, which were read from original files."""
    written: str


@dataclass(frozen=True)
class Entry:
    """An experiment in the index."""

    id: str
    title: str
    state: str
    """Empty when it was run here."""


@dataclass(frozen=True)
class DatasetView:
    """A dataset: how the runs used it, its statistics and its card."""

    name: str
    title: str
    uses: tuple[tuple[bool, str], ...]
    """For each use: whether from original files, and a description."""
    statistics: Table | None
    card: str
    """Markdown."""


@dataclass(frozen=True)
class MechanismView:
    """A row of the table of mechanisms."""

    facts: MechanismFacts

    @property
    def anchor(self) -> str:
        return anchor("mechanism", self.facts.name)

    @property
    def filters(self) -> Mapping[str, str]:
        privacy = "not private" if self.facts.not_private else "private"
        return {"privacy": privacy, "origin": "reconstructed" if self.facts.reconstructed else "as published"}


@dataclass(frozen=True)
class MechanismsView:
    """The section of mechanisms."""

    rows: tuple[MechanismView, ...]
    heads: tuple[Head, ...]
    choices: Mapping[str, Sequence[str]]
    reconstructed: tuple[str, ...]
    not_private: tuple[str, ...]


@dataclass(frozen=True)
class EnvironmentView:
    """The section of runs, seeds and versions."""

    runs: Table
    versions: Table


@dataclass(frozen=True)
class PageView:
    """The whole page."""

    title: str
    sections: tuple[Section, ...]
    header: HeaderView
    answer: tuple[Answer, ...]
    index: tuple[Entry, ...]
    claims: ClaimsView
    figures: tuple[PaperView, ...]
    leaderboard: PaperView
    datasets: tuple[DatasetView, ...]
    mechanisms: MechanismsView
    audit: AuditView
    errata: ErrataView
    environment: EnvironmentView

    @property
    def linked(self) -> frozenset[str]:
        """The papers, and own groups, that have figures on the page to link to. Own claims may be about a paper's experiment."""
        return frozenset(paper.id for paper in (*self.figures, self.leaderboard))


def page_view(facts: Facts) -> PageView:
    return PageView(
        title=TITLE,
        sections=SECTIONS,
        header=_header(facts),
        answer=answers(facts),
        index=tuple(Entry(e.id, e.title, _state(e)) for e in facts.experiments),
        claims=claims_view(facts),
        figures=papers_view(facts.experiments),
        leaderboard=paper_view(LEADERBOARD, facts.experiments),
        datasets=tuple(map(_dataset, facts.datasets)),
        mechanisms=_mechanisms(facts.mechanisms),
        audit=audit_view(facts),
        errata=errata_view(facts),
        environment=_environment(facts),
    )


def _state(e: Experiment) -> str:
    return "" if e.run else "on record, not run here" if e.kept else "not run"


def _header(facts: Facts) -> HeaderView:
    found = tally(facts.verdicts)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items())
    return HeaderView(
        done=len({e.run.experiment for e in facts.experiments if e.run and not e.own}),
        experiments=len({e.run.experiment if e.run else e.id for e in facts.experiments if not e.own}),
        recorded=sum(e.run is None and e.kept is not None for e in facts.experiments),
        scales=listed(sorted({e.run.scale for e in facts.experiments if e.run})),
        trials=sum(e.trials for e in facts.experiments),
        changed=tuple(e.id for e in facts.experiments if e.remarks or e.problem),
        claims=found.claims,
        verdicts=counts,
        data=_data(facts),
        written=facts.written,
    )


def _data(facts: Facts) -> str:
    """One sentence on where the data of all runs came from; nothing if there are none."""
    datasets = facts.datasets
    if not any(d.uses for d in datasets):
        return "Where the data comes from is said at each figure."
    original = [d.name for d in datasets if any(use.original for _, use in d.uses)]
    generated = [d.name for d in datasets if any(not use.original for _, use in d.uses)]
    if not original:
        recorded = any(e.kept for e in facts.experiments)
        return f"All data {'of these runs ' * recorded}is generated, none is from original files."
    read = f"Read from original files: {', '.join(original)}."
    return f"{read} Generated: {', '.join(generated)}." if generated else read


def _dataset(d: Dataset) -> DatasetView:
    uses = dict.fromkeys((use.original, _use(scale, use.origin, use.choice)) for scale, use in d.uses)
    card = re.sub(r"\A# .*\n", "", d.card.markdown()) if d.card.text else ""
    return DatasetView(d.name, d.card.title, tuple(uses), _statistics(d), card)


def _use(scale: str, origin: str, given: str) -> str:
    return "; ".join(filter(None, [origin, given, f"scale {scale}"]))


def _statistics(d: Dataset) -> Table | None:
    """The statistics of the data in the runs, beside those of the paper and of the original files from the card."""
    columns: dict[str, Mapping[str, Any]] = {}
    for scale, use in d.uses:
        if use.statistics:
            columns.setdefault(f"these runs ({_use(scale, use.origin, use.choice)})", use.statistics)
    for facts, about in ((d.card.paper, "table"), (d.card.original, "of")):
        if facts:
            columns[str(facts.get(about) or "the original")] = {k: v for k, v in facts.items() if k != about}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    if not names:
        return None
    rows = [[name, *(column.get(name) for column in columns.values())] for name in names]
    return table(["statistic", *columns], rows, id=anchor("stat", d.name), caption=f"Statistics of {d.name}")


def _mechanisms(mechanisms: Sequence[MechanismFacts]) -> MechanismsView:
    return MechanismsView(
        rows=tuple(map(MechanismView, mechanisms)),
        heads=heads("mechanism", "from", "data", "guarantee", "not private by default", "reconstructed"),
        choices={"privacy": ("private", "not private"), "origin": ("as published", "reconstructed")},
        reconstructed=tuple(m.name for m in mechanisms if m.reconstructed),
        not_private=tuple(m.name for m in mechanisms if m.not_private),
    )


def _environment(facts: Facts) -> EnvironmentView:
    rows = []
    for e in facts.experiments:
        name = Cell(e.id, e.id, href=f"#{anchor('exp', e.id)}")
        if (run := e.run) is None:
            if kept := e.kept:
                data, seeds = "; ".join(kept.origins), ", ".join(map(str, kept.data_seeds))
                rows.append(
                    [
                        name,
                        kept.scale,
                        kept.settings,
                        kept.trials,
                        "on record",
                        kept.seed,
                        data,
                        seeds,
                        kept.written[:16].replace("T", " "),
                    ]
                )
            continue
        seeds = ", ".join(map(str, sorted({use.seed for use in run.datasets if not use.original})))
        data = listed([word for word, is_it in (("generated", False), ("original", True)) if _has(run.datasets, is_it)])
        rows.append([name, run.scale, run.settings, run.trials, e.trials, run.seed, data, seeds, run.written])
    names = [
        "experiment",
        "scale",
        "settings",
        "trials per setting",
        "stored trials",
        "noise seed",
        "data",
        "data seed",
    ]
    return EnvironmentView(
        runs=table([*names, "run (UTC)"], rows, id="runs", caption="Runs and their seeds"),
        versions=table(
            ["what", "version"],
            list(facts.environment.items()),
            id="machine",
            caption="The machine and the versions that wrote this page",
        ),
    )


def _has(uses: Sequence[Any], original: bool) -> bool:
    return any(use.original == original for use in uses)
