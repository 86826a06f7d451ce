"""What the templates need beyond the facts: counts, sentences and tables, as plain data without markup. Imported by `page`.

A section is one entry of SECTIONS and one template in templates/sections. Templates read the facts (`facts`) directly; what
takes more than a field is a property of `PageView` (`page`).
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from dpbench.auditing.summary import ORDER, AuditSummary, by_mechanism, shown_loss
from dpbench.claims.verdicts import Tally, tally
from dpbench.config.schema import SCALES
from dpbench.figures.style import epsilon_name
from dpbench.model.claim import UNTESTABLE
from dpbench.model.finding import Finding
from dpbench.model.verdict import Verdict
from dpbench.paths import EXPERIMENTS
from dpbench.ranking.boards import PRIVATE
from dpbench.ranking.rows import BOARDS, NEEDED, winners
from dpbench.report.answer import PaperAnswer, answers
from dpbench.report.experiment import Experiment
from dpbench.report.gather import Facts
from dpbench.report.marks import default_caveat
from dpbench.report.papers import COMPARED
from dpbench.report.tables import Cell, Table, table
from dpbench.report.text import anchor, listed, minutes
from dpbench.storage.commands import RESULTS, audit_command

TITLE = "Publishing counts under differential privacy: five papers, run again"
DIFFERENCES = EXPERIMENTS / "DIFFERENCES.md"


@dataclass(frozen=True)
class Section:
    """A part of the page. Its template has its id as its name."""

    id: str
    title: str
    short: str = ""
    """Its name in the navigation."""


SECTIONS = (
    Section("boards", "Who wins: the boards", "Boards"),
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


class PageView:
    """What the page says about all facts together."""

    title, sections = TITLE, SECTIONS

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    # The head of the page.

    @property
    def experiments_run(self) -> int:
        return len({e.run.name for e in self.facts.experiments if e.run and not e.own})

    @property
    def experiments_known(self) -> int:
        return len({e.run.name if e.run else e.id for e in self.facts.experiments if not e.own})

    @property
    def scales(self) -> str:
        return listed(sorted({e.run.scale for e in self.facts.experiments if e.run}))

    @property
    def data(self) -> str:
        """One sentence on where the data of all runs came from."""
        datasets = self.facts.datasets
        if not any(d.uses for d in datasets):
            return "Where the data comes from is said at each figure."
        original, samples = (
            [d.name for d in datasets if any(use.original and any(use.individuals) is sample for _, use in d.uses)]
            for sample in (False, True)
        )
        generated = [d.name for d in datasets if any(not use.original for _, use in d.uses)]
        if not original and not samples:
            recorded = any(e.record for e in self.facts.experiments)
            return f"All data {'of these runs ' * recorded}is generated, none is from original files."
        read = f"Read from original files: {', '.join(original)}." if original else ""
        read += f" Read from samples of the original files: {', '.join(samples)}." if samples else ""
        read = read.strip()
        return f"{read} Generated: {', '.join(generated)}." if generated else read

    # Claims.

    @property
    def answers(self) -> list[PaperAnswer]:
        return answers(self.facts.verdicts)

    @cached_property
    def tally(self) -> Tally:
        return tally(self.facts.verdicts)

    @property
    def tallies(self) -> dict[str, Tally]:
        """The verdicts of each paper's claims."""
        papers = dict.fromkeys(v.claim.paper for v in self.facts.verdicts)
        return {paper: tally([v for v in self.facts.verdicts if v.claim.paper == paper]) for paper in papers}

    @property
    def too_small(self) -> tuple[int, str, str] | None:
        """Many untestable claims only need a larger run: how many, at which scales, and the command; the page says it once."""
        waiting = [v for v in self.facts.verdicts if v.verdict == UNTESTABLE and "needs scale=" in v.reason]
        scales = {scale: sum(v.claim.scale == scale for v in waiting) for scale in SCALES}
        scales = {scale: count for scale, count in scales.items() if count}
        if not scales:
            return None
        need = ", ".join(f"{count} need scale {scale}" for scale, count in scales.items())
        folder = [] if self.facts.results == RESULTS else ["--results", str(self.facts.results)]
        words = ["python", "-m", "dpbench", "claims", "--run", "--scale", next(iter(scales)), *folder]
        return len(waiting), need, shlex.join(words)

    @cached_property
    def differences(self) -> tuple[str, str]:
        """What we do differently from the papers: a title and a Markdown text; empty if there is none."""
        title, _, body = DIFFERENCES.read_text(encoding="utf-8").partition("\n") if DIFFERENCES.is_file() else ("",) * 3
        return title.lstrip("# "), body

    # Experiments.

    @cached_property
    def papers(self) -> dict[str, list[Experiment]]:
        """The experiments by paper, in the order of the page; the comparisons across papers always have a group."""
        groups: dict[str, list[Experiment]] = {}
        for e in self.facts.experiments:
            groups.setdefault(e.paper, []).append(e)
        return groups | {COMPARED: groups.get(COMPARED, [])}

    @cached_property
    def winners(self) -> Table | None:
        """Who wins on each private board at each ε; None if no board was run or is on record."""
        rows: list[list[object]] = []
        for e in self.papers[COMPARED]:
            name = e.run.name if e.run else e.id
            if e.numbers is None or name not in BOARDS or not {*NEEDED} <= {*e.numbers.columns}:
                continue
            size = e.run.scale if e.run else e.record.scale if e.record else ""
            for one in winners(name, e.numbers):
                if one.board in PRIVATE:
                    shown = Cell(BOARDS[name], BOARDS[name], href=f"#{anchor('exp', e.id)}")
                    budget = Cell(epsilon_name(one.epsilon), f"{one.epsilon:.9g}", number=True)
                    regret = Cell(one.regret_text, f"{one.regret:.9g}", number=True)
                    in_all = f"{one.best} of {one.settings}"
                    rows.append([shown, str(one.board), budget, one.who, regret, in_all, size])
        names = ["what is published", "guarantee", "ε", "lowest regret", "regret (95 %)", "best in settings", "scale"]
        caption = "The mechanism with the lowest regret over all datasets of a board"
        return table(names, rows, id="winners", caption=caption, tall=True) if rows else None

    # Mechanisms and the audit.

    @property
    def reconstructed(self) -> list[str]:
        return [name for name, cls in self.facts.mechanisms.items() if cls.reconstructed]

    @cached_property
    def caveats(self) -> dict[str, str]:
        """The mechanisms that are not private by default, with the reason."""
        caveats = {name: default_caveat(cls) for name, cls in self.facts.mechanisms.items()}
        return {name: caveat for name, caveat in caveats.items() if caveat}

    @cached_property
    def audit(self) -> list[AuditSummary]:
        return by_mechanism([each.finding for each in self.facts.audit])

    @property
    def audit_counts(self) -> dict[str, int]:
        """The number of mechanisms by verdict."""
        counts = Counter(summary.verdict for summary in self.audit)
        return {verdict: counts[verdict] for verdict in ORDER if counts[verdict]}

    @property
    def audit_made(self) -> str:
        """When the audit was made, with which version, at which ε."""
        audit = self.facts.audit
        written = sorted({each.written for each in audit})
        when = listed(list(dict.fromkeys(filter(None, [*written[:1], *written[-1:]]))))
        versions = listed(sorted({each.version for each in audit}))
        budgets = listed([f"{epsilon:.4g}" for epsilon in sorted({each.finding.epsilon for each in audit})])
        return f"{when}, dpbench {versions}, ε = {budgets}"

    @property
    def audit_command(self) -> str:
        return audit_command(self.facts.results)

    @property
    def every_audit(self) -> Table:
        """All choices of parameters."""
        rows = []
        for each in self.facts.audit:
            f = each.finding
            loss = Cell(shown_loss(f), f"{f.loss:.9g}", number=True)
            rows.append([f.mechanism, f.parameters, f.method, states(f), f.epsilon, loss, f.verdict, f.pairs, f.reason])
        names = ["mechanism", "parameters", "method", "states", "ε", "loss found", "verdict", "pairs", "why"]
        return table(names, rows, id="audit-every", caption="The audit of every choice of parameters", tall=True)

    # The environment.

    @property
    def runs(self) -> Table:
        names = "experiment|scale|settings|trials per setting|stored trials|noise seed|data|data seed|run (UTC)"
        rows = [_run_row(e) for e in self.facts.experiments if not e.missing]
        return table(names.split("|"), rows, id="runs", caption="Runs and their seeds")

    @property
    def versions(self) -> Table:
        caption = "The machine and the versions that wrote this page"
        return table(["what", "version"], list(self.facts.environment.items()), id="machine", caption=caption)


def _run_row(e: Experiment) -> list[object]:
    name = Cell(e.id, e.id, href=f"#{anchor('exp', e.id)}")
    if run := e.run:
        kinds = [kind for kind, there in (("generated", run.data_seeds), ("original", run.original_datasets)) if there]
        settings, trials, stored, data = len(run.settings), run.trial_range(), e.trials, listed(kinds)
        shown: tuple[object, ...] = (run.scale, settings, trials, stored, run.seed, data)
        seeds, written = run.data_seeds, run.written
    else:
        record = e.record
        assert record is not None
        shown = (record.scale, record.settings, record.trials, "on record", record.seed, "; ".join(record.origins))
        seeds, written = record.data_seeds, record.written
    return [name, *shown, ", ".join(map(str, seeds)), minutes(written)]


def states(finding: Finding) -> str:
    """The guarantee that was audited."""
    return f"(ε, {finding.delta:.3g})" if finding.delta else finding.guarantee


def also(v: Verdict) -> str:
    """A verdict from other evidence."""
    measured = f"{v.measured}, {v.interval}" if v.interval else v.measured
    return f"also {v.verdict} ({measured}): {v.source}" if measured else f"also {v.verdict}: {v.source}"


def border(v: Verdict) -> float | str:
    """The sort key of what a paper expects: the border of the region, or the lower one of two."""
    if not v.claim.expect:
        return ""
    region = v.claim.region
    return region.low if math.isfinite(region.low) else region.high
